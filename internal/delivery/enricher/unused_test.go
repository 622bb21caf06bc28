package enricher

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"golang.org/x/text/encoding/charmap"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

// presetRules are a preset and a trigger that listens to all that it is known to make; nil for one whose keys are the sender's own.
func presetRules(t *testing.T, name string) (*connectors.Connector, *triggers.Set) {
	t.Helper()
	var con *connectors.Connector
	for _, word := range []string{"0123456789abcdef0123456789abcdef", "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", "user:0123456789abcdef"} {
		if con, _ = connectors.Compile(name, connectors.Config{Secret: secret.New(word), VerifyToken: secret.New(word), Token: secret.New("t")}, connectors.Options{Country: "GB"}); con != nil {
			break
		}
	}
	if con == nil {
		return nil, nil
	}
	rule := triggers.Rule{Name: "all", Category: messaging.Utility, Send: triggers.Send{Template: "x"}}
	for _, kind := range con.Kinds() {
		rule.On = append(rule.On, name+"."+kind)
	}
	if len(rule.On) == 0 { // whatever its sender makes up
		rule.On = []string{name + ".*"}
	}
	set, found := triggers.Compile([]triggers.Rule{rule}, triggers.Env{Version: "v1", Language: "en", Connectors: map[string]triggers.ConnectorInfo{name: {Kinds: con.Kinds()}}})
	if set == nil {
		t.Fatal(name, found)
	}
	return con, set
}

// cameTo says what became of a request, in one word for each event; "silent" where something was taken and nobody would know.
func cameTo(con *connectors.Connector, set *triggers.Set, r connectors.Request) (words []string) {
	got, err := con.Receive(r)
	switch {
	case err != nil:
		return []string{"4xx"}
	case got.Handshake != "":
		return []string{"handshake"}
	case got.Empty > 0 || len(got.Skipped) > 0:
		words = append(words, "told")
	}
	for i := range got.Events {
		e := &got.Events[i]
		plan := First(con, set, e, r.Now)
		switch {
		case plan.Unused != "":
			words = append(words, "told")
		case plan.Later:
			words = append(words, "looked up")
		case e.Kind != connectors.UnknownKind && e.Contact.Phone != "":
			words = append(words, "event")
		case slices.ContainsFunc(plan.Proposals, func(w messaging.Proposal) bool { return w.Decision.Outcome != messaging.Skipped }):
			words = append(words, "carried out")
		default:
			words = append(words, "silent")
		}
	}
	if len(words) == 0 {
		words = []string{"silent"}
	}
	return words
}

// Whatever shape a body has, its request is an event with a kind and a phone, or refused, or told; over all presets and all their samples.
func TestNothingIsLostBehindA2xx(t *testing.T) {
	now := time.Now()
	latin := func(body string) string {
		out, err := charmap.Windows1252.NewEncoder().String(body)
		if err != nil {
			return body
		}
		return out
	}
	type shape struct {
		typ  string // "" is the sample's own
		body func(string) string
	}
	same := func(body string) string { return body }
	said := func(text string) func(string) string { return func(string) string { return text } }
	shapes := map[string]shape{
		"as it comes":            {"", same},
		"with a mark":            {"", func(b string) string { return "\ufeff" + b }},
		"nothing":                {"", said("")},
		"an empty object":        {"", said("{}")},
		"an empty list":          {"", said("[]")},
		"a list of nothing":      {"", said("[null]")},
		"a list of numbers":      {"", said("[1,2]")},
		"null":                   {"", said("null")},
		"a list of it":           {"", func(b string) string { return "[" + b + "]" }},
		"a list of it and half":  {"", func(b string) string { return "[" + b + ",7]" }},
		"it twice, a line each":  {"", func(b string) string { return strings.TrimSpace(b) + "\n" + strings.TrimSpace(b) }},
		"cut off":                {"", func(b string) string { return b[:len(b)*2/3] }},
		"plain words":            {"text/plain", said("Hello there")},
		"as plain text":          {"text/plain", same},
		"without a type":         {"-", same},
		"under a form's type":    {"application/x-www-form-urlencoded", same},
		"JSON under a form's":    {"application/x-www-form-urlencoded", said(`{"hello":1}`)},
		"a form of somebody":     {"application/x-www-form-urlencoded", said("hello=1")},
		"bytes of nothing":       {"application/x-www-form-urlencoded", said("\x00\x00{x")},
		"in an unknown charset":  {"application/json; charset=klingon", same},
		"in Latin 1, and so":     {"application/json; charset=ISO-8859-1", latin},
		"in Latin 1, and not so": {"application/json", func(string) string { return "{\"name\":\"Ren\xe9\"}" }},
		"XML of somebody":        {"text/xml", said("<a><b>1</b></a>")},
	}
	met := map[string]int{}
	for _, name := range connectors.PresetNames() {
		con, set := presetRules(t, name)
		if con == nil {
			continue
		}
		for _, s := range con.SamplesAt(now, 1) {
			for what, sh := range shapes {
				r := connectors.Request{Method: http.MethodPost, Path: "/hooks/" + name, Header: http.Header{}, Body: []byte(sh.body(string(s.Body))), Now: now, Proven: true}
				for k, v := range s.Header {
					r.Header.Set(k, v)
				}
				switch sh.typ {
				case "":
				case "-":
					r.Header.Del("Content-Type")
				default:
					r.Header.Set("Content-Type", sh.typ)
				}
				words := cameTo(con, set, r)
				for _, w := range words {
					met[w]++
				}
				if slices.Contains(words, "silent") {
					got, _ := con.Receive(r)
					t.Errorf("%s, sample %s, %s: %v: %s", name, s.Name, what, words, kindsOf(got.Events))
				}
				if what == "as it comes" && slices.Contains(words, "4xx") {
					_, err := con.Receive(r)
					t.Errorf("%s, sample %s is refused: %v", name, s.Name, err)
				}
			}
			silentFields(t, con, set, s, now)
		}
	}
	for _, w := range []string{"4xx", "told", "event", "looked up"} {
		if met[w] < 20 {
			t.Errorf("only %d came to %q: %v", met[w], w, met)
		}
	}
}

// silentFields takes one field of a JSON sample away after the other: what is lost with it is told, or the request refused.
func silentFields(t *testing.T, con *connectors.Connector, set *triggers.Set, s connectors.Sample, now time.Time) {
	t.Helper()
	if !gjson.ValidBytes(s.Body) || s.Body[0] != '{' {
		return
	}
	var members []string
	gjson.ParseBytes(s.Body).ForEach(func(k, v gjson.Result) bool {
		members = append(members, k.Raw+":"+v.Raw)
		return true
	})
	for i := range members {
		left := slices.Delete(slices.Clone(members), i, i+1)
		r := connectors.Request{Method: http.MethodPost, Path: "/hooks/x", Header: http.Header{}, Body: []byte("{" + strings.Join(left, ",") + "}"), Now: now, Proven: true}
		for k, v := range s.Header {
			r.Header.Set(k, v)
		}
		if words := cameTo(con, set, r); slices.Contains(words, "silent") {
			got, _ := con.Receive(r)
			t.Errorf("%s, sample %s without %.40s: %v: %s", con.Name(), s.Name, members[i], words, kindsOf(got.Events))
		}
	}
}

func kindsOf(events []messaging.Event) string {
	var out []string
	for i := range events {
		out = append(out, fmt.Sprintf("%s of %q, phone %q", events[i].Kind, events[i].Topic, events[i].Contact.Phone))
	}
	return strings.Join(out, "; ")
}
