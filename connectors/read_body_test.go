package connectors

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// However a body is written, a path of a mapping, a path behind a list step and the raw payload
// say the same.
func TestOneReadingOfJSON(t *testing.T) {
	con, problems := Compile("x", Config{
		Verify: &Verify{Kind: "none"}, Event: EventRule{Type: []mapping.PathRule{{Path: "a.b"}}, ID: []string{"list[0].a.b"}},
	}, Options{})
	if con == nil {
		t.Fatal(problems)
	}
	tests := map[string]struct{ body, want string }{
		"once":                             {`{"a":{"b":"1"}}`, "1"},
		"twice, the last counts":           {`{"a":{"b":"1"},"a":{"b":"2"}}`, "2"},
		"twice inside":                     {`{"a":{"b":"1","b":"2"}}`, "2"},
		"the last is a list":               {`{"a":{"b":"1"},"a":[]}`, ""},
		"the last is null":                 {`{"a":{"b":"1"},"a":null}`, ""},
		"the last lacks it":                {`{"a":{"b":"1"},"a":{"c":"2"}}`, ""},
		"the last is a text":               {`{"a":{"b":"1"},"a":"x"}`, ""},
		"an escaped name is the same name": {`{"a":{"b":"1"},"\u0061":{"b":"2"}}`, "2"},
		"NUL in a name goes away":          {`{"a\u0000":{"b":"1"}}`, "1"},
		"NUL in a name makes it a second":  {`{"a":{"b":"1"},"a\u0000":{"b":"2"}}`, "2"},
		"NUL in a text goes away":          {`{"a":{"b":"1\u00002"}}`, "12"},
		"a backslash before u0000 stays":   {`{"a":{"b":"1\\u00002"}}`, `1\u00002`},
		"two backslashes and NUL":          {`{"a":{"b":"1\\\u00002"}}`, `1\2`},
		"half a surrogate pair":            {`{"a":{"b":"\ud800"}}`, "\uFFFD"},
		"a byte order mark":                {"\ufeff" + `{"a":{"b":"1"}}`, "1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			body := tt.body
			if rest, ok := strings.CutPrefix(body, "\ufeff"); ok {
				body = "\ufeff" + `{"list":[` + rest + `],` + rest[1:]
			} else {
				body = `{"list":[` + body + `],` + body[1:]
			}
			got, err := con.Receive(Request{Method: http.MethodPost, Header: http.Header{}, Body: []byte(body), Now: time.Unix(1, 0)})
			if err != nil {
				t.Fatal(err)
			}
			e := got.Events[0]
			behind := e.DedupeKey
			if strings.HasPrefix(behind, "sha256-") { // there is none
				behind = ""
			}
			if e.Topic != tt.want || behind != tt.want {
				t.Errorf("the path says %q, the path behind a list %q, want %q", e.Topic, behind, tt.want)
			}
			// As package triggers reads raw: the last member of a name.
			raw := gjson.ParseBytes(e.Payload)
			for _, want := range []string{"a", "b"} {
				var found gjson.Result
				raw.ForEach(func(k, v gjson.Result) bool {
					if k.String() == want {
						found = v
					}
					return true
				})
				raw = found
			}
			if raw.String() != tt.want {
				t.Errorf("raw says %q, want %q", raw.String(), tt.want)
			}
		})
	}
	// What only looks like NUL outside of a text stays what it is: no JSON.
	for _, body := range []string{`\u0000{"a":1}`, `{\u0000"a":1}`, `{"a":1\u0000}`} {
		if got := rawjson.OneReading([]byte(body)); string(got) != body {
			t.Errorf("%s became %s", body, got)
		}
	}
}
