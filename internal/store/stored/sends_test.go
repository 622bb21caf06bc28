package stored

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// told fills every field below v with something, a different text each, so that a field that the
// encoder forgets, or writes under another's name, is seen.
func told(v reflect.Value, n *int) {
	*n++
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Date(2026, 11, 21, 1, 2, 3, *n, time.UTC)))
	case v.Type() == reflect.TypeFor[messaging.Amount]():
		v.Set(reflect.ValueOf(messaging.AmountOf(int64(*n))))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			told(v.Field(i), n)
		}
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		told(v.Elem(), n)
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		told(v.Index(0), n)
		told(v.Index(1), n)
	case v.Kind() == reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		told(key, n)
		told(value, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case v.Kind() == reflect.String:
		v.SetString(fmt.Sprintf("text %d \"<ö>\"", *n))
	case v.Kind() == reflect.Int:
		v.SetInt(int64(*n))
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	default:
		panic(v.Type().String())
	}
}

func TestEveryFactComesBack(t *testing.T) {
	var e, got messaging.Event
	n := 0
	for _, noun := range []any{&e.Contact, &e.Cart, &e.Order, &e.Deal, &e.Form, &e.Message} {
		told(reflect.ValueOf(noun).Elem(), &n)
	}
	got.Contact.Phone, got.Contact.PhoneProblem = e.Contact.Phone, e.Contact.PhoneProblem // columns of their own
	facts, err := FactsOf(&e)
	if err == nil {
		err = AddFacts(facts, &got)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e, got, cmp.Comparer(func(a, b messaging.Amount) bool { return a.String() == b.String() })); diff != "" {
		t.Errorf("facts changed (-stored +read):\n%s", diff)
	}
	if facts, err := FactsOf(&messaging.Event{Contact: messaging.Contact{Phone: "447700900123"}}); err != nil || facts != "" {
		t.Errorf("nothing told is stored as %s (%v)", facts, err)
	}
}

func TestSendsComeBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "cart.total >= 50", "a\u2028b", "\x00\x1f", `"\\`}))
		send := messaging.Send{
			Template: text.Draw(rt, "template"), Language: text.Draw(rt, "language"), Campaign: text.Draw(rt, "campaign"), Text: text.Draw(rt, "body"),
			Variables: rapid.SliceOfN(text, 0, 3).Draw(rt, "variables"),
		}
		if len(send.Variables) == 0 {
			send.Variables = nil
		}
		if rapid.Bool().Draw(rt, "header") {
			send.Header = &messaging.Header{Type: text.Draw(rt, "type"), URL: text.Draw(rt, "url"), Filename: text.Draw(rt, "filename")}
		}
		var gotSend messaging.Send
		if b := AppendSend(nil, &send); json.Unmarshal(b, &gotSend) != nil {
			rt.Fatalf("%s is no JSON", b)
		}
		var d messaging.Message
		if err := DecodeSend(&d, string(AppendSend(nil, &send))); err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(send, gotSend) + cmp.Diff(send, d.Send); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// What the quick reading of a send does not know must come out as encoding/json says.
func TestAnySendIsReadAsEncodingJSONReadsIt(t *testing.T) {
	for _, text := range []string{
		`{}`, `{"template":"cart","language":"en","variables":["Ana","\u00fc \"x\""]}`, `{"template":null,"text":"hi"}`, `{"Template":"cart"}`,
		`{"template":"a","template":"b"}`, `{"variables":["a"],"variables":["b","c"]}`, `{"variables":["a",null]}`, `{"template":"a","more":{"x":[1]}}`,
		`{"template":"a","header":{"type":"image","url":"u"},"campaign":"417"}`,
		``, `[]`, `"text"`, `{"template":1}`, `{"variables":"a"}`, `{"variables":["a",2]}`, `{"template":"a"`, `{"template":"a"} x`,
	} {
		var want messaging.Send
		wantErr := json.Unmarshal([]byte(text), &want)
		var got messaging.Message
		err := DecodeSend(&got, text)
		if (err != nil) != (wantErr != nil) {
			t.Errorf("%s: error %v, want %v", text, err, wantErr)
		}
		if diff := cmp.Diff(want, got.Send); diff != "" && wantErr == nil {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
