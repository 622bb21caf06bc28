package drift

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// shapeOf is the shape of a payload, a word for each field.
func shapeOf(t *testing.T, payload string, known ...string) string {
	t.Helper()
	contact := messaging.Contact{Name: "Ada Lovelace", Email: "countess@example.com", ID: "x9"}
	fields, ok := Shape(payload, &contact, func(name string) bool { return slices.Contains(known, name) })
	if !ok {
		return "not looked at"
	}
	var out []string
	for _, f := range fields {
		out = append(out, f.Path+":"+string(f.Type))
	}
	return strings.Join(out, " ")
}

func TestTheShapeOfAPayload(t *testing.T) {
	for payload, want := range map[string]string{
		`{"a":"x","b":1,"c":true,"d":null,"e":"","f":" ","g":-1.5e3}`: "a:text b:number c:boolean d:null e:empty f:empty g:number",
		`{"customer":{"phone":"+44"},"items":[{"t":"a"},{"t":1}]}`:    "customer:object customer.phone:text items:list items[]:object items[].t:number items[].t:text",
		`{"tags":["a","b"],"none":[],"o":{}}`:                         "none:list o:object tags:list tags[]:text",
		`[{"a":1}]`:                                                   "[]:object [].a:number",
		`{"a":[[1]]}`:                                                 "a:list a[]:list a[][]:number",
		`{"first.name":1,"a b":{}}`:                                   `"first.name":number *:object`,
		`{"@type":"x","$ref":1}`:                                      "$ref:number @type:text",
		`{"état":1,"telefonNr2":"x"}`:                                 "telefonNr2:text état:number",
		``:                                                            "not looked at",
		`"text"`:                                                      "not looked at",
		`{"a":1`:                                                      "not looked at",
		`just text`:                                                   "not looked at",
		// Names that are data.
		`{"+447700900123":1,"447700900123":2}`:                     "*:number",
		`{"ada@example.com":{"n":1},"2026-11-20":{"n":"x"}}`:       "*:object *.n:number *.n:text",
		`{"users":{"Ada":1,"ada_lovelace":2,"countess":3,"x9":4}}`: "users:object users.*:number",
		`{"canada":1,"adapter":2}`:                                 "adapter:number canada:number",
		`{"d3b07384d113edec49eaa6238ad5ff00":1,"Ada Lovelace":2}`:  "*:number",
	} {
		if got := shapeOf(t, payload); got != want {
			t.Errorf("%s is %q, want %q", payload, got, want)
		}
	}
	if got, want := shapeOf(t, `{"line 1":"x","ada":"y"}`, "line 1", "ada"), `"line 1":text ada:text`; got != want {
		t.Errorf("names that the config has written: %q, want %q", got, want)
	}
}

// What is too large or too deep changes nothing of what is known of the rest.
func TestTheBoundsOfAShape(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)
	if got := shapeOf(t, deep); strings.Count(got, ":") != mostDepth {
		t.Errorf("a deep one is %q", got)
	}
	var wide, table strings.Builder
	for i := range mostValues + 1 {
		fmt.Fprintf(&wide, `,"x%d":1`, i%900)
	}
	if got := shapeOf(t, "{"+wide.String()[1:]+"}"); got != "not looked at" {
		t.Errorf("a wide one is %.80q", got)
	}
	for i := range mostMembers + 1 {
		fmt.Fprintf(&table, `,"%s":1`, strings.Repeat("n", i%50+1)+string(rune('a'+i/50)))
	}
	if got := shapeOf(t, "{"+table.String()[1:]+"}"); got != "*:number" {
		t.Errorf("a table is %q", got)
	}
	long := `{"items":[` + strings.Repeat(`{"a":1},`, mostEntries) + `{"late":1}]}`
	if got := shapeOf(t, long); got != "items:list items[]:object items[].a:number" {
		t.Errorf("a long list is %q", got)
	}
	if got := shapeOf(t, `{"a":"`+strings.Repeat("x", mostBytes)+`"}`); got != "not looked at" {
		t.Error("a huge one is looked at")
	}
}

// Whatever a payload says, no value of it and no name with digits, an address or the contact's name gets into a shape.
func TestNothingPersonalIsInAShape(t *testing.T) {
	secret := rapid.SampledFrom([]string{"+447700900123", "447700900123", "ada@example.com", "Ada Lovelace", "lovelace", "4111-1111", "10 Downing Street", "order 1001", "zq-value"})
	word := rapid.SampledFrom([]string{"customer", "phone", "note", "items", "meta", "a"})
	rapid.Check(t, func(rt *rapid.T) {
		var value func(depth int) any
		value = func(depth int) any {
			switch rapid.IntRange(0, 4).Draw(rt, "sort") {
			case 0:
				return secret.Draw(rt, "text")
			case 1:
				return 447700900123
			case 2:
				return nil
			case 3:
				if depth < 3 {
					return []any{value(depth + 1), value(depth + 1)}
				}
				return true
			default:
				out := map[string]any{}
				for range rapid.IntRange(0, 3).Draw(rt, "members") {
					name := word.Draw(rt, "name")
					if rapid.Bool().Draw(rt, "is data") {
						name = secret.Filter(func(s string) bool { return s != "zq-value" }).Draw(rt, "data")
					}
					if depth < 3 {
						out[name] = value(depth + 1)
					} else {
						out[name] = secret.Draw(rt, "text")
					}
				}
				return out
			}
		}
		payload, err := json.Marshal(map[string]any{"body": value(0)})
		if err != nil {
			rt.Fatal(err)
		}
		contact := messaging.Contact{Name: "Ada Lovelace", Email: "ada@example.com"}
		fields, ok := Shape(string(payload), &contact, nil)
		if !ok {
			rt.Fatalf("%s is not looked at", payload)
		}
		for _, f := range fields {
			for _, bad := range []string{"7700", "ada", "Ada", "lovelace", "example", "4111", "Downing", "1001", "zq"} {
				if strings.Contains(f.Path, bad) {
					rt.Fatalf("%s leaves %s", payload, f.Path)
				}
			}
		}
	})
}
