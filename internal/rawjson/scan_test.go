package rawjson

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var jsonSeeds = []string{
	`{}`, `[]`, `"a"`, `0`, `-0.5e+10`, `null`, `true`, `{"a":[1,2,{"b":"\u00e9\n"}]}`, `{"a":1,"a":2}`, ` [ 1 , 2 ] `,
	`{'a':1}`, `{"a":01}`, `[1,]`, `{"a":1,}`, `{"a"}`, `"\x"`, `"\ud83d\ude00"`, `"\ud83d"`, `nul`, `[1 2]`, `{"a":1}}`, "\"\x01\"", `-`, `1.`, `1e`, `{"":{"":""}}`,
	`{"n":123456789012345678901234567890}`, `"` + "\xff" + `"`,
}

// The scanner's verdict is the standard library's, apart from depth.
func FuzzScannerAgreesWithTheStandardLibrary(f *testing.F) {
	for _, s := range jsonSeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		err := Check(s)
		if fault, ok := errors.AsType[*Fault](err); ok && strings.Contains(fault.Msg, "nested") {
			return
		}
		if valid := json.Valid([]byte(s)); valid != (err == nil) {
			t.Fatalf("Check(%q) = %v, json.Valid = %v", s, err, valid)
		}
		if err != nil {
			if fault, ok := errors.AsType[*Fault](err); !ok || fault.At < 0 || fault.At > len(s) {
				t.Fatalf("Check(%q) = %v without a place inside the text", s, err)
			}
			return
		}
		p := NewProgram()
		slot := p.Add(nil)
		found := make([]Span, p.Slots)
		if err := p.Run(s, found); err != nil || s[found[slot].From:found[slot].To] != strings.TrimSpace(s) {
			t.Fatalf("the Program reads %q as %v, %v", s, found, err)
		}
	})
}

func TestScannerAgreesOnItsSeeds(t *testing.T) {
	for _, s := range jsonSeeds {
		if err := Check(s); json.Valid([]byte(s)) != (err == nil) {
			t.Errorf("Check(%q) = %v, json.Valid = %v", s, err, json.Valid([]byte(s)))
		}
	}
}

// Eight bytes at once find what one at a time finds, wherever it stands and whatever stands around it.
func TestTheEndOfPlainText(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		some := rapid.SampledFrom([]byte{'"', '\\', 0, 1, 0x1f, 0x20, '!', '#', '[', ']', 'a', 0x7f, 0x80, 0xa0, 0xa2, 0xdc, 0xff})
		s := string(rapid.SliceOfN(some, 0, 40).Draw(rt, "text"))
		if rapid.Bool().Draw(rt, "long and plain") {
			s = strings.Repeat("plain ", 5) + s
		}
		from := rapid.IntRange(0, len(s)).Draw(rt, "from")
		want := from
		for want < len(s) && s[want] != '"' && s[want] != '\\' && s[want] >= 0x20 {
			want++
		}
		if got := plainUntil(s, from); got != want {
			rt.Fatalf("plainUntil(%q, %d) = %d, want %d", s, from, got, want)
		}
	})
}

func TestABodyOfBracketsEndsInWords(t *testing.T) {
	for _, open := range []string{"[", `{"a":`} {
		err := Check(strings.Repeat(open, 100_000))
		if err == nil || !strings.Contains(err.Error(), "nested too deep") {
			t.Errorf("%q a hundred thousand times: %v", open, err)
		}
	}
}

func TestWhereJSONBreaks(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"single quotes":                 {`{'a': 1}`, `byte 2: a single quote where JSON wants a double one`},
		"a trailing comma":              {`{"a": 1,}`, `byte 9: a comma before the closing bracket`},
		"nothing":                       {``, `byte 1: the text ends where a value should be`},
		"an end in the middle":          {`{"a": [1, 2`, `byte 12: the text ends before ']'`},
		"an open text":                  {`"abc`, `byte 5: a text without its closing quote`},
		"a word":                        {`{"a": undefined}`, `byte 7: a letter where a value should be`},
		"more behind the end":           {`{} {}`, `byte 4: more text behind the end of the value`},
		"a zero in front":               {`[007]`, `byte 2: a number with a zero in front`},
		"a missing colon":               {`{"a" 1}`, `byte 6: a colon should be here`},
		"a tab inside a text":           {"[\"a\tb\"]", `byte 4: a control character inside a text`},
		"an escape of another language": {`"\x41"`, `byte 3: a backslash and a letter, which is no escape of JSON`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if err := Check(tt.text); err == nil || err.Error() != tt.want {
				t.Errorf("Check(%q) = %v, want %s", tt.text, err, tt.want)
			}
		})
	}
}

// genJSON draws a JSON value as Go's own types, in bounded depth.
func genJSON(depth int) *rapid.Generator[any] {
	text := rapid.StringN(0, 12, 40)
	leaves := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), text.AsAny(), rapid.Int64().AsAny(),
	}
	if depth == 0 {
		return rapid.OneOf(leaves...)
	}
	return rapid.OneOf(append(leaves,
		rapid.SliceOfN(genJSON(depth-1), 0, 4).AsAny(),
		// Names with NUL are taken out before anything is read (see OneReading).
		rapid.MapOfN(text.Filter(func(s string) bool { return !strings.Contains(s, "\x00") }), genJSON(depth-1), 0, 5).AsAny(),
	)...)
}

func TestTextsComeOutAsTheStandardLibraryReadsThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := genJSON(3).Draw(t, "value")
		raw, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if err := Check(string(raw)); err != nil {
			t.Fatalf("Check(%s): %v", raw, err)
		}
		var read any
		decoder := json.NewDecoder(strings.NewReader(string(raw)))
		decoder.UseNumber()
		if err := decoder.Decode(&read); err != nil {
			t.Fatal(err)
		}
		if got := rebuild(string(raw)); !reflect.DeepEqual(stripNUL(read), got) {
			t.Fatalf("%s reads as %#v, want %#v", raw, got, read)
		}
	})
}

// rebuild reads checked JSON with nothing but elements, members and Unquote.
func rebuild(raw string) any {
	switch raw[0] {
	case '[':
		out := []any{}
		for one := range Elements(raw) {
			out = append(out, rebuild(one))
		}
		return out
	case '{':
		out := map[string]any{}
		for name, value := range Members(raw) {
			out[name] = rebuild(value)
		}
		return out
	case '"':
		return Unquote(raw)
	case 'n':
		return nil
	case 't', 'f':
		return raw == "true"
	default:
		return json.Number(raw)
	}
}

func stripNUL(v any) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "\x00", "")
	case []any:
		for i := range v {
			v[i] = stripNUL(v[i])
		}
	case map[string]any:
		out := map[string]any{}
		for name, value := range v {
			out[strings.ReplaceAll(name, "\x00", "")] = stripNUL(value)
		}
		return out
	}
	return v
}

func TestStringsSurviveAnyInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		var out string
		if err := json.Unmarshal(AppendString(nil, in), &out); err != nil {
			t.Fatalf("%q: %v", in, err)
		}
		// encoding/json on the same input is the reference for broken UTF-8.
		ref, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var want string
		if err := json.Unmarshal(ref, &want); err != nil {
			t.Fatal(err)
		}
		if out != want {
			t.Errorf("%q came out as %q, want %q", in, out, want)
		}
	})
}
