package connectors_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// What says who is meant, whether something is sent and how much is never read as if it were not there. Every value of
// every sample of every preset is spoilt, once by a word and once by an object, and taken out: where a field came from
// the value, the spoilt event has no phone, or names the field among those that cannot be read.
func TestNoSpoiltValueOfAnyPresetIsReadAsMissing(t *testing.T) {
	met := map[string]bool{}
	for _, name := range connectors.PresetNames() {
		preset, _ := connectors.Preset(name)
		chooses := map[string]bool{}
		for _, filter := range regexp.MustCompile(`\[(\w+)~?=`).FindAllStringSubmatch(fmt.Sprint(preset.Map, preset.MapFor), -1) {
			chooses[filter[1]] = true
		}
		for _, word := range preset.Event.Type { // it says what happened, by being there
			path, _, _ := strings.Cut(word.When, " ")
			chooses[path[strings.LastIndex(path, ".")+1:]] = true
		}
		con := mustCompile(t, name, ownConfig(t, name, testSecret), connectors.Options{Country: "GB"})
		for _, s := range con.SamplesAt(mutationNow, 7) {
			whole, ok := inspected(t, con, s, s.Body)
			if !ok {
				t.Fatalf("%s, sample %s is not taken", name, s.Name)
			}
			for _, at := range placesOf(s.Body) {
				last := at[len(at)-1]
				if chooses[strings.TrimSuffix(last[strings.LastIndex(last, "[")+1:], "]")] { // in a form the name is in its last brackets
					continue // it says which value is read
				}
				missing, ok := inspected(t, con, s, put(s.Body, at, nil))
				if !ok || len(missing) != len(whole) {
					continue
				}
				for _, spoilt := range []any{"xqzzy", map[string]any{"q": map[string]any{"z": 1}}} {
					got, ok := inspected(t, con, s, put(s.Body, at, spoilt))
					if !ok || len(got) != len(whole) {
						continue
					}
					for i := range got {
						for _, field := range fedBy(whole[i], missing[i]) {
							if got[i].event.Kind != whole[i].event.Kind || field == "contact.tags" && spoilt == "xqzzy" {
								continue // a word is a tag
							}
							met[field] = true
							if !got[i].stops(field) {
								t.Errorf("%s, sample %s, %s spoilt by %v: %s is read as if it were not there: phone %q, unreadable %q",
									name, s.Name, strings.Join(at, "."), spoilt, field, got[i].event.Contact.Phone, got[i].event.Unreadable)
							}
						}
					}
				}
			}
		}
	}
	for _, field := range []string{
		"contact.phone", "contact.country", "contact.tags", "contact.accepts_marketing", "cart.total", "cart.currency", "cart.items.price", "cart.items.quantity",
		"order.total", "order.currency", "order.number", "order.items.price", "order.items.quantity", "event.occurred_at",
	} {
		if !met[field] {
			t.Errorf("no sample has a value for %s", field)
		}
	}
}

// seen is an event and which path each of its fields came from.
type seen struct {
	event  messaging.Event
	fields map[string]string
}

// stops reports whether what uses the field is not sent.
func (s seen) stops(field string) bool {
	if slices.Contains(s.event.Unreadable, field) || field == "contact.phone" && s.event.Contact.Phone == "" && s.event.Contact.PhoneProblem != "" {
		return true
	}
	list, part, _ := strings.Cut(field, ".items.")
	return part != "" && slices.Contains(s.event.Unreadable, list+".items")
}

func inspected(t *testing.T, con *connectors.Connector, s connectors.Sample, body []byte) (all []seen, ok bool) {
	t.Helper()
	if body == nil {
		return nil, false
	}
	s.Body = body
	r := connectors.Request{
		Method: s.Method, Path: "/hooks/" + con.Name(), URL: "https://hooks.example.com/hooks/" + con.Name(),
		Header: http.Header{}, Body: s.Body, Now: mutationNow,
	}
	for name, value := range s.Header {
		r.Header.Set(name, value)
	}
	signed, err := con.Sign(r)
	if err != nil {
		return nil, false // the proof is part of the body
	}
	got, readings, err := con.Inspect(signed)
	if err != nil {
		return nil, false // refused, and told
	}
	for i, e := range got.Events {
		one := seen{e, map[string]string{}}
		for _, o := range readings[i].Fields {
			one.fields[o.Field] = o.Path + " " + o.Value
		}
		one.fields["event.occurred_at"] = e.OccurredAt.String()
		one.fields["contact.tags"] = strings.Join(e.Contact.Tags, ",")
		for list, items := range map[string][]messaging.Item{"cart": e.Cart.Items, "order": e.Order.Items} {
			for _, item := range items {
				one.fields[list+".items.price"] += item.Price.String() + " "
				one.fields[list+".items.quantity"] += strconv.Itoa(item.Quantity) + " "
			}
		}
		all = append(all, one)
	}
	return all, true
}

// neverGuessed are the fields that say who, whether and how much.
var neverGuessed = map[string]bool{
	"contact.phone": true, "contact.country": true, "contact.tags": true, "contact.accepts_marketing": true, "contact.accepts_email": true,
	"cart.total": true, "cart.currency": true, "cart.expires_at": true, "cart.items.price": true, "cart.items.quantity": true,
	"order.total": true, "order.currency": true, "order.number": true, "order.items.price": true, "order.items.quantity": true,
	"deal.amount": true, "deal.currency": true, "event.occurred_at": true,
}

// fedBy are the fields that are other ones without a value: they came from it.
func fedBy(whole, missing seen) []string {
	var fields []string
	for _, field := range slices.Sorted(maps.Keys(whole.fields)) {
		if neverGuessed[field] && whole.fields[field] != missing.fields[field] {
			fields = append(fields, field)
		}
	}
	return fields
}

// placesOf are the ways to the single values of a body, JSON or a form.
func placesOf(body []byte) (places [][]string) {
	var walk func(v any, at []string)
	walk = func(v any, at []string) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				walk(v[key], append(slices.Clone(at), key))
			}
		case []any:
			for i := range v {
				walk(v[i], append(slices.Clone(at), strconv.Itoa(i)))
			}
		case nil:
		default:
			places = append(places, at)
		}
	}
	if tree, ok := treeOf(body); ok {
		walk(tree, nil)
	} else if form, err := url.ParseQuery(string(body)); err == nil {
		for _, key := range slices.Sorted(maps.Keys(form)) {
			places = append(places, []string{key})
		}
	}
	return places
}

func treeOf(body []byte) (tree any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	return tree, d.Decode(&tree) == nil
}

// put is the body with another value at one place, nil to take it out; nil for a form that cannot hold it.
func put(body []byte, at []string, value any) []byte {
	tree, ok := treeOf(body)
	if !ok {
		form, _ := url.ParseQuery(string(body)) // placesOf has read it
		switch value := value.(type) {
		case nil:
			form.Del(at[0])
		case string:
			form.Set(at[0], value)
		default:
			return nil
		}
		return []byte(form.Encode())
	}
	var set func(v any, at []string) any
	set = func(v any, at []string) any {
		if len(at) == 0 {
			return value
		}
		switch v := v.(type) {
		case map[string]any:
			if v[at[0]] = set(v[at[0]], at[1:]); v[at[0]] == nil {
				delete(v, at[0])
			}
		case []any:
			i, err := strconv.Atoi(at[0])
			if err != nil {
				panic(fmt.Sprintf("%q is no place in a list", at[0]))
			}
			v[i] = set(v[i], at[1:])
		}
		return v
	}
	out, err := json.Marshal(set(tree, at))
	if err != nil {
		panic(err) // a tree of JSON is JSON
	}
	return out
}

// The same for every name that can be mapped, whatever a preset has of it: the second path and a default have no say
// where the first value is there and cannot be read. A language and a zone are the number's then, and it is told.
func TestNoDefaultTakesThePlaceOfAValue(t *testing.T) {
	good := map[string]string{
		"an amount": `"12.50"`, "a time": `"2026-11-20T09:00:00Z"`, "a whole number": "2", "a phone number": `"+447911123456"`,
		"three letters": `"EUR"`, "a name such as Europe/London": `"Europe/Paris"`, "a code such as en or en-GB": `"fr"`,
	}
	for _, target := range mapping.MapTargets() {
		value := good[target.Is]
		switch {
		case strings.HasPrefix(target.Is, "a country"):
			value = `"GB"`
		case strings.HasPrefix(target.Is, "yes or no"), strings.Contains(target.Is, "given"):
			value = `"yes"`
		case target.Name == "contact.tags":
			value = `"vip"`
		}
		if value == "" {
			continue // any text can be one
		}
		mapping := fmt.Sprintf("map: {%s: [first, second, {default: %s}]", target.Name, value)
		if target.Name != "contact.phone" {
			mapping += ", phone: number"
		}
		con := connector(t, openVerify+mapping+"}\ndefaults: {country: GB, language: en, timezone: Europe/London}")
		for _, bad := range []string{`"xqzzy !"`, `{"q":{"z":1}}`, `[{"q":{"z":1}},[]]`} {
			if target.Name == "contact.tags" && bad[0] == '"' {
				continue
			}
			got, err := con.Receive(request(fmt.Sprintf(`{"first":%s,"second":%s,"number":"+4915123456789"}`, bad, value)))
			if err != nil {
				t.Fatal(err)
			}
			e := got.Events[0]
			switch target.Name {
			case "contact.language", "contact.timezone":
				if bad[0] == '"' && (e.Contact.Language != "fr" && target.Name == "contact.language" || e.Contact.Timezone != "Europe/Paris" && target.Name == "contact.timezone" ||
					len(e.Unread) != 1 || len(e.Unreadable) > 0) {
					t.Errorf("%s %s: %+v, %q", target.Name, bad, e.Contact, e.Unread)
				}
			default:
				if !(seen{event: e}).stops(target.Name) {
					t.Errorf("%s: %s is read as if it were not there: %+v, %q", target.Name, bad, e, e.Unreadable)
				}
			}
		}
	}
}

func TestALanguageAndAZoneAreTheNumbersBeforeTheDefaults(t *testing.T) {
	con := connector(t, openVerify+"map: {phone: phone, language: lang, timezone: tz}\ndefaults: {language: en, timezone: Europe/London}")
	type is struct {
		language, zone string
		guessed        messaging.Guessed
	}
	language, both, none := messaging.Guessed{Language: true}, messaging.Guessed{Language: true, Timezone: true}, messaging.Guessed{}
	for body, want := range map[string]is{
		`{"phone":"+4915123456789","lang":"German","tz":"(GMT+1) Berlin"}`: {"de", "", language}, // the rules of time ask the number
		`{"phone":"+4915123456789","lang":"de","tz":"Nowhere/Land"}`:       {"de", "", none},
		`{"phone":"+80012345678","lang":"German","tz":"Berlin"}`:           {"en", "Europe/London", both},
		`{"phone":"+4915123456789"}`:                                       {"en", "Europe/London", language},
		`{"phone":"+4915123456789","lang":"fr","tz":"Europe/Paris"}`:       {"fr", "Europe/Paris", none},
	} {
		got, err := con.Receive(request(body))
		if err != nil {
			t.Fatal(err)
		}
		if e := got.Events[0]; (is{e.Contact.Language, e.Contact.Timezone, e.Guessed}) != want {
			t.Errorf("%s: %q, %q and %+v, want %+v", body, e.Contact.Language, e.Contact.Timezone, e.Guessed, want)
		}
	}
}
