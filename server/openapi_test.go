package server_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/nudgewire/nudgewire/server"
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
