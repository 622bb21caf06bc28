package expressions

import (
	"testing"
	"time"
)

// What the payload turns out to hold is checked when an event is met: the words are for
// "why", so they name the place.
func TestWhatThePayloadTurnsOutToHold(t *testing.T) {
	const yes, no = "yes", "no"
	tests := []struct{ text, want string }{
		{`any(["vip", "gold"], customer.tags contains #)`, yes},
		{`len(["a", raw.code]) == 2`, yes},
		{`any(raw.count, # > 1)`, "raw.count is a number, not a list"},
		{`all(raw.list, # > 0)`, yes},
		{`all(raw.names, # > 0)`, "# is text, not a number like 0; number(#) reads it as a number"},
		{`none(raw.lines, .rate > 100)`, yes},
		{`none(raw.lines, .nothing > 100)`, ".nothing is missing"},
		{`one(raw.lines, .rate > 10)`, yes},
		{`one(raw.lines, .nothing > 10)`, ".nothing is missing"},
		{`count(raw.lines, .name == "a") == 1`, yes},
		{`count(raw.lines, .nothing == "a") == 1`, ".nothing is missing"},
		{`sum(raw.list) == 6`, yes},
		{`sum(raw.lines, .rate) == 25.5`, yes},
		{`sum(raw.lines, .nothing) == 25.5`, ".nothing is missing"},
		{`sum(raw.names) == 5`, `the sum is a number and an entry is text: "+" does not work on them`},
		{`find(raw.lines, .rate > 50).name == "a"`, "no entry of the list fits"},
		{`raw.names contains 5`, "an entry of raw.names is text, not a number"},
		{`raw.code contains 5`, "raw.code is text and can contain only text"},
		{`raw.nested contains "x"`, "raw.nested is an object, neither text nor a list"},
		{`raw.vip contains "x"`, "raw.vip is true or false, neither text nor a list"},
		{`raw.count startsWith "3"`, "raw.count is a number, not text"},
		{`text(raw.count) startsWith "3"`, yes},
		{`raw.code + "4" == "01234"`, yes},
		{`raw.code + 4 == "01234"`, `raw.code is text and 4 is a number: "+" does not work on them`},
		{`raw.total * raw.count == 239.70`, yes},
		{`-raw.count == -3`, yes},
		{`-raw.code == 1`, `0 is a number and raw.code is text: "-" does not work on them`},
		{`raw.count * 10m == 30m`, yes},
		{`raw.count % 0 == 1`, "0 is 0, and nothing can be divided by it"},
		{`5.5 % 2 == 1.5`, yes},
		{`raw.when > now`, "raw.when is text, not a time like now"},
		{`time(raw.when) - 2h < now - 1h`, yes},
		{`raw.vip == "yes"`, `raw.vip is true or false, not text like "yes"`},
		{`raw.vip == true`, yes},
		{`raw.code in ["0123", "0124"]`, yes},
		{`raw.count in [1, 3]`, yes},
		{`raw.nothing in [1, 3]`, "raw.nothing is missing"},
		{`customer.language in [raw.nothing, "fr"]`, "raw.nothing is missing"},
		{`raw.vip in [true]`, yes},
		{`cart.expires_at in [now + 6h]`, yes},
		{`form.answers[raw.nothing] == "x"`, "raw.nothing is missing"},
		{`form.answers["col" + "or"] == "red"`, yes},
		{`cart.items[order.number].title == "x"`, "cart.items[order.number] is missing: cart.items has 2 entries"},
		{`raw[customer.language] == "x"`, "raw[customer.language] is missing"},
		{`raw.vip ? raw.count > 2 : false`, yes},
		{`(raw.count > 2 ? 1.5 : 2) < 2`, yes},
		{`raw.nothing ? true : true`, "raw.nothing is missing"},
		{`time(raw.count) > now`, no},
		{`time(raw.total) > now`, "a decimal number is not a time"},
		{`time(raw.names[0]) > now`, `"Ann" is not a time such as 2026-11-27T09:30:00Z`},
		{`time(1764236400000) < now`, yes},
		{`duration(raw.names[0]) > 1h`, `"Ann" is not a duration`},
		{`number(raw.empty) > 1`, "an empty text is not a number"},
		{`round(raw.total, raw.count) == 79.9`, yes},
		{`round(raw.total, 40) == 79.9`, "round keeps 0 to 12 digits"},
		{`round(cart.total) == 80`, yes},
		{`split(raw.code, raw.empty) contains "0"`, "split needs something to split at"},
		{`replace(raw.code, raw.empty, "x") == ""`, "replace needs something to replace"},
		{`len(raw.code) == 4`, yes},
		{`len(form.answers) == 2`, yes},
		{`len(customer.tags) == 2`, yes},
		{`upper(raw.count) == "3"`, "raw.count is a number; upper wants text"},
		{`trim(" a ") == "a"`, yes},
		{`join(raw.names, "+") == "Ann+Bob"`, yes},
		{`join(raw.list) == "1, 2, 3"`, yes},
		{`9223372036854775807 * 2 > 9223372036854775807`, yes},
		{`-9223372036854775807 - 2 < -9223372036854775807`, yes},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			c, faults := CompileCondition(tt.text)
			if len(faults) > 0 {
				t.Fatalf("compile: %+v", faults)
			}
			s := NewScope(aCart(t), noon, time.UTC)
			defer s.Free()
			got := c.Evaluate(s)
			answer := got.Error
			if answer == "" {
				answer = map[bool]string{true: yes, false: no}[got.Held]
			}
			if answer != tt.want || got.Held != (tt.want == yes) {
				t.Errorf("got %q (held %v), want %q", answer, got.Held, tt.want)
			}
		})
	}
}

func TestAPayloadThatIsNoJSONHoldsNothing(t *testing.T) {
	for _, payload := range []string{"", "{", "<a/>", `{"a":1}}`, "\x00\xff"} {
		e := aCart(t)
		e.Payload = []byte(payload)
		if v, why := evaluate(t, "raw.a", e); v != nil || why != "raw.a is missing" {
			t.Errorf("%q holds %v (%s)", payload, v, why)
		}
	}
}

func TestTheLastOfTwoEqualKeysCounts(t *testing.T) {
	e := aCart(t)
	e.Payload = []byte(`{"a":1,"a":2}`)
	if v, _ := evaluate(t, "raw.a", e); v != 2 {
		t.Errorf("got %v", v)
	}
}

// FuzzPayload holds conditions that look everywhere against whatever a sender may post.
func FuzzPayload(f *testing.F) {
	for _, seed := range []string{`{"a":[1,"x",null,{"b":[[]]}]}`, `[1,2`, `{"a":1e999999}`, `"\ud800"`, `{"a":{"a":{"a":[]}}}`, `1`, ``} {
		f.Add([]byte(seed))
	}
	var clauses []*Condition
	for _, text := range []string{
		`raw.a > 5 or raw.a[0] == "x" or raw["a"].b contains raw.a`, `any(raw.a, # == raw.a or .b > 5)`, `sum(raw.a) + raw.b * raw.c > len(raw.a)`,
		`(raw.a ?? raw.b ?? raw.c) == nil`, `join(raw.a) matches "x+"`, `time(raw.a) < now and duration(raw.b) > 1h and number(raw.c) / raw.d > 1`,
		`raw[raw.a][raw.b] == raw`, `raw.a in raw.b or raw.a in [raw.b, raw.c]`, `replace(raw.a, raw.b, raw.c) startsWith upper(raw.d)`,
	} {
		c, faults := CompileCondition(text)
		if len(faults) > 0 {
			f.Fatalf("%s: %+v", text, faults)
		}
		clauses = append(clauses, c)
	}
	e := aCart(f)
	f.Fuzz(func(t *testing.T, payload []byte) {
		e := *e
		e.Payload = payload
		s := NewScope(&e, noon, time.UTC)
		defer s.Free()
		for _, c := range clauses {
			got := c.Evaluate(s)
			if got.Held && got.Error != "" {
				t.Fatalf("it holds and cannot be decided: %+v", got)
			}
		}
	})
}
