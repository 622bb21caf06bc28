package server_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/server"
)

// What the description says is what the routes answer: every answer of a session, with and without phones, is held against it, and
// every body that the session sends.
func TestTheDescriptionIsHeldToTheAnswers(t *testing.T) {
	h := lively(t)
	ann := access.Process("ann")
	hold := description(t)
	viewer := access.Who{Name: "viewer", Scopes: []access.Scope{access.Read, access.Operate, access.Contacts, access.Manage, access.Sending}}
	good := 0
	for _, rt := range server.Routes() {
		what := rt.Method + " " + rt.Path
		at := "/paths/" + pointer.Replace(server.DescribedPath(&rt)) + "/" + strings.ToLower(rt.Method)
		sent := body(&rt)
		if rt.In != nil && sent != "{}" {
			hold(at+"/requestBody/content/application~1json/schema", "the body of "+what, []byte(sent))
		}
		for _, who := range []*access.Who{&ann, &viewer, nil} {
			rec := call(h, who, rt.Method, path(&rt), sent)
			var all bytes.Buffer
			if _, err := all.ReadFrom(rec.Body); err != nil {
				t.Fatal(err)
			}
			kind := pointer.Replace(rec.Header.Get("Content-Type"))
			if rec.StatusCode == http.StatusOK {
				good++
				hold(at+"/responses/200/content/"+kind+"/schema", what, all.Bytes())
			} else {
				hold(at+"/responses/default/content/"+kind+"/schema", what, all.Bytes())
			}
		}
	}
	if good < 50 {
		t.Errorf("only %d answers were good: the test looks at too little", good)
	}
}

var pointer = strings.NewReplacer("~", "~0", "/", "~1")

// description holds JSON against the part of the description at a place.
func description(t *testing.T) func(at, what string, body []byte) {
	t.Helper()
	text, err := json.Marshal(server.OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	return func(at, what string, body []byte) {
		t.Helper()
		schema, err := c.Compile("openapi.json#" + at)
		if err != nil {
			t.Fatalf("%s: %v", at, err)
		}
		for line := range bytes.Lines(bytes.TrimSpace(body)) {
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
			if err != nil {
				t.Fatalf("%s: %v in %s", what, err, line)
			}
			if err := schema.Validate(v); err != nil {
				t.Errorf("%s is not as described: %v\n%s", what, err, line)
			}
		}
	}
}

// Each operation has examples: of its parameters, its body and its answers, which are as the description says, and no text of them is empty. No
// two paths differ in the names of their parts alone, and no list of what is required is empty: other readers take neither.
func TestEachOperationHasExamples(t *testing.T) {
	text, err := json.Marshal(server.OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	hold := description(t)
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters []struct {
				Name, In string
				Example  any
			}
			RequestBody *example
			Responses   map[string]example
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	shapes, operations := map[string]string{}, 0
	for path, methods := range doc.Paths {
		shape := regexp.MustCompile(`\{\w+\}`).ReplaceAllString(path, "{}")
		if other := shapes[shape]; other != "" {
			t.Errorf("%s and %s are one path", path, other)
		}
		shapes[shape] = path
		for method, op := range methods {
			operations++
			at, what := "/paths/"+pointer.Replace(path)+"/"+method, method+" "+path
			for _, p := range op.Parameters {
				if p.Example == nil || p.In == "path" && !strings.Contains(path, "{"+p.Name+"}") {
					t.Errorf("%s: the parameter %+v", what, p)
				}
			}
			if op.RequestBody != nil {
				op.RequestBody.hold(hold, at+"/requestBody", "the body of "+what)
			}
			if len(op.Responses) != 2 {
				t.Errorf("%s has %d answers", what, len(op.Responses))
			}
			for status, answer := range op.Responses {
				answer.hold(hold, at+"/responses/"+status, "the answer "+status+" of "+what)
			}
		}
	}
	if operations != len(server.Routes()) {
		t.Errorf("%d operations of %d routes", operations, len(server.Routes()))
	}
	for _, empty := range []string{`"required":[]`, `"required":null`} {
		if bytes.Contains(text, []byte(empty)) {
			t.Errorf("there is %s", empty)
		}
	}
}

// An example is what stands in a description for a body or an answer.
type example struct {
	Content map[string]struct{ Example json.RawMessage }
}

func (e *example) hold(hold func(at, what string, body []byte), at, what string) {
	for kind, one := range e.Content {
		body := one.Example
		if len(body) == 0 || bytes.Contains(body, []byte(`:""`)) || bytes.Equal(body, []byte("null")) {
			body = []byte(`"there is no example, or one with an empty text: ` + base64.StdEncoding.EncodeToString(body) + `"`)
		}
		hold(at+"/content/"+pointer.Replace(kind)+"/schema", "the example of "+what, body)
	}
}

// The examples of requests are read by their routes, and what they name may not be there.
func TestTheExamplesOfRequestsAreRead(t *testing.T) {
	h, ann := lively(t), access.Process("ann")
	for _, rt := range server.Routes() {
		if rt.In == nil {
			continue
		}
		sent := server.ExampleRequest(&rt)
		res := call(h, &ann, rt.Method, path(&rt), string(sent))
		answer, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode == http.StatusBadRequest {
			t.Errorf("%s %s with %s: %s", rt.Method, rt.Path, sent, answer)
		}
	}
}

// Generators that read OpenAPI 3.0 know no null among types, and no word of 3.1; test/openapi/try has one make a client.
func TestTheDescriptionIsToldAsGeneratorsReadIt(t *testing.T) {
	h, everything := lively(t), access.Who{Name: "ann", Scopes: access.Scopes, From: access.FromSocket}
	read := func(version string) map[string]any {
		t.Helper()
		res := call(h, &everything, http.MethodGet, server.Base+"/openapi.json?version="+version, "")
		var doc map[string]any
		if err := json.NewDecoder(res.Body).Decode(&doc); err != nil {
			t.Fatal(err)
		}
		return doc
	}
	newer, older := read("3.1"), read("3.0")
	if newer["openapi"] != "3.1.0" || older["openapi"] != "3.0.3" || len(older["paths"].(map[string]any)) != len(newer["paths"].(map[string]any)) {
		t.Fatalf("%v and %v", newer["openapi"], older["openapi"])
	}
	schemas := older["components"].(map[string]any)["schemas"].(map[string]any)
	nullable := 0
	var look func(at string, v any)
	look = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if _, text := v["type"].(string); v["type"] != nil && !text && !strings.HasSuffix(at, "/properties") {
				t.Errorf("%s has the type %v", at, v["type"])
			}
			if v["type"] == "null" || v["anyOf"] != nil && !strings.HasSuffix(at, "/properties") {
				t.Errorf("%s is %v", at, v)
			}
			if v["nullable"] == true {
				nullable++
			}
			if to, is := v["$ref"].(string); is && schemas[strings.TrimPrefix(to, "#/components/schemas/")] == nil {
				t.Errorf("%s names %s, which is not there", at, to)
			}
			for key, one := range v {
				look(at+"/"+key, one)
			}
		case []any:
			for _, one := range v {
				look(at, one)
			}
		}
	}
	look("", older)
	if nullable < 50 {
		t.Errorf("%d parts may be null: the test looks at too little", nullable)
	}
	if res := call(h, &everything, http.MethodGet, server.Base+"/openapi.json?version=2", ""); res.StatusCode != http.StatusBadRequest {
		t.Errorf("version 2: %s", res.Status)
	}
}
