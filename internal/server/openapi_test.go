package server_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/nudgewire/nudgewire/internal/server"
)

// What the description says is what the routes answer: every answer of a session, with and without phones, is held against it, and
// every body that the session sends.
func TestTheDescriptionIsHeldToTheAnswers(t *testing.T) {
	h := lively(t)
	ann := server.Process("ann")
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
	pointer := strings.NewReplacer("~", "~0", "/", "~1")
	hold := func(at, what string, body []byte) {
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
	viewer := server.Who{Name: "viewer", Scopes: []server.Scope{server.Read, server.Operate, server.Contacts, server.Manage, server.Sending}}
	good := 0
	for _, rt := range server.Routes() {
		what := rt.Method + " " + rt.Path
		at := "/paths/" + pointer.Replace(rt.Path) + "/" + strings.ToLower(rt.Method)
		sent := body(&rt)
		if rt.In != nil && sent != "{}" {
			hold(at+"/requestBody/content/application~1json/schema", "the body of "+what, []byte(sent))
		}
		for _, who := range []*server.Who{&ann, &viewer, nil} {
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

// Generators that read OpenAPI 3.0 know no null among types, and no word of 3.1; test/openapi/try has one make a client.
func TestTheDescriptionIsToldAsGeneratorsReadIt(t *testing.T) {
	h, everything := lively(t), server.Who{Name: "ann", Scopes: server.Scopes, From: server.FromSocket}
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
