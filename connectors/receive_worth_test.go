package connectors

import (
	"net/http"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/internal/secret"
)

// Whatever Receive takes is worth its body, for every preset; without its headers nearly nothing is.
func TestWhatCanBeProvenIsWorthItsBody(t *testing.T) {
	needBody := map[string]bool{} // presets whose token is in the body, or that verify nothing
	for _, name := range PresetNames() {
		var c *Connector
		for _, word := range []string{"0123456789abcdef0123456789abcdef", "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", "user:0123456789abcdef"} {
			if c, _ = Compile(name, Config{Preset: name, Secret: secret.New(word), VerifyToken: secret.New(word)}, Options{PublicURL: "https://hooks.example.com"}); c != nil {
				break
			}
		}
		if c == nil {
			continue // its keys are the sender's own
		}
		for _, s := range c.SamplesAt(time.Now(), 1) {
			r := Request{Method: s.Method, URL: "https://hooks.example.com/hooks/x", Path: "/hooks/x", Header: http.Header{}, Body: s.Body, Now: time.Now()}
			if r.Method == "" {
				r.Method = http.MethodPost
			}
			bare := r
			for k, v := range s.Header {
				r.Header.Set(k, v)
			}
			signed, err := c.Sign(r)
			if err != nil {
				continue
			}
			r = signed
			if _, err := c.Receive(r); err != nil {
				continue
			}
			head := r
			head.Body = nil
			if limit, no := c.Worth(&head, int64(len(s.Body))); no != nil || limit != c.MaxBody() {
				t.Errorf("%s, %s: a verified request is worth %d: %v", name, s.Name, limit, no)
			}
			bare.Header, bare.Body = http.Header{}, nil
			limit, no := c.Worth(&bare, 100_000)
			switch {
			case no == nil:
				needBody[name] = true
			case limit != 0 || no.Status < 400:
				t.Errorf("%s: a long request without any signature is worth %d: %v", name, limit, no)
			}
		}
	}
	if len(needBody) > len(PresetNames())/3 {
		t.Errorf("most presets need no header: %v", needBody)
	}
}

func TestABodyThatMayProveItselfIsRead(t *testing.T) {
	const word = "0123456789abcdef"
	token := func(from, field string) *Verify {
		return &Verify{Kind: "token", Name: from, PlaceKeys: PlaceKeys{From: from, Field: field}, Secret: secret.New(word)}
	}
	json := &When{JSON: &JSONShape{Has: []string{"challenge"}}}
	tests := map[string]struct {
		verify    Verify
		handshake *When
		header    string
		query     string
		announced int64
		limit     int64 // -1 is max_body
	}{
		"no header":                               {verify: *token("header", "X-Token"), announced: 10},
		"the wrong token":                         {verify: *token("header", "X-Token"), header: "wrong", announced: 10},
		"the right one":                           {verify: *token("header", "X-Token"), header: word, announced: 10, limit: -1},
		"a token in the body":                     {verify: *token("body", "token"), announced: 10, limit: -1},
		"a token in the query, missing":           {verify: *token("query", "t"), announced: 10},
		"a token in the query":                    {verify: *token("query", "t"), query: "t=" + word, announced: 10, limit: -1},
		"monitor":                                 {verify: Verify{Kind: "token", PlaceKeys: PlaceKeys{From: "header", Field: "X-Token"}, Mode: "monitor", Secret: secret.New(word)}, announced: 10, limit: -1},
		"none":                                    {verify: Verify{Kind: "none"}, announced: 10, limit: -1},
		"the first of several, in the body":       {verify: Verify{Kind: "any_of", CombinedKeys: CombinedKeys{AnyOf: []*Verify{token("body", "token"), token("header", "X-Token")}}}, header: "wrong", announced: 10, limit: -1},
		"a wrong one before one in the body":      {verify: Verify{Kind: "any_of", CombinedKeys: CombinedKeys{AnyOf: []*Verify{token("header", "X-Token"), token("body", "token")}}}, header: "wrong", announced: 10},
		"none of several":                         {verify: Verify{Kind: "any_of", CombinedKeys: CombinedKeys{AnyOf: []*Verify{token("header", "X-Token"), token("query", "t")}}}, announced: 10},
		"all of, one missing":                     {verify: Verify{Kind: "all_of", CombinedKeys: CombinedKeys{AllOf: []*Verify{token("body", "token"), token("query", "t")}}}, announced: 10},
		"a short body that may be a handshake":    {verify: *token("header", "X-Token"), handshake: json, announced: 10, limit: maxHandshake},
		"one in chunks that may be":               {verify: *token("header", "X-Token"), handshake: json, announced: -1, limit: maxHandshake},
		"a long one is none":                      {verify: *token("header", "X-Token"), handshake: json, announced: maxHandshake + 1},
		"no body at all is none":                  {verify: *token("header", "X-Token"), handshake: json, announced: 0},
		"a verified one may be long all the same": {verify: *token("header", "X-Token"), handshake: json, header: word, announced: 100_000, limit: -1},
		"allowed addresses only":                  {verify: Verify{Kind: "token", PlaceKeys: PlaceKeys{From: "header", Field: "X-Token"}, AllowIPs: []string{"192.0.2.1"}, Secret: secret.New(word)}, header: word, announced: 10},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			own := Config{Verify: &tt.verify, Event: EventRule{Kind: "a.b"}, Map: mapping.Mapping{}}
			if tt.handshake != nil {
				own.Handshake = []Handshake{{Name: "try", When: *tt.handshake}}
			}
			c, problems := Compile("mine", own, Options{})
			if c == nil {
				t.Fatal(problems)
			}
			r := Request{Method: http.MethodPost, Path: "/hooks/mine", RawQuery: tt.query, Header: http.Header{}, Now: time.Now()}
			if tt.header != "" {
				r.Header.Set("X-Token", tt.header)
			}
			want := tt.limit
			if want < 0 {
				want = c.MaxBody()
			}
			limit, no := c.Worth(&r, tt.announced)
			if limit != want || (no == nil) != (tt.limit < 0) {
				t.Errorf("worth %d, want %d: %v", limit, want, no)
			}
		})
	}
}
