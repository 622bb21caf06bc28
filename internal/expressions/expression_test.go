package expressions

import (
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// conditions are the sentences of the language. Each holds for aCart, does not hold, or
// cannot be told, with the reason.
func TestConditions(t *testing.T) {
	const yes, no = "yes", "no"
	tests := []struct{ text, want string }{
		// Amounts.
		{`cart.total >= 50`, yes},
		{`cart.total > 79.90`, no},
		{`cart.total == 79.9`, yes},
		{`50 <= cart.total`, yes},
		{`50 < cart.total < 100`, yes},
		{`order.total * 0.1 > 5`, yes},
		{`cart.total + 5 == 84.90`, yes},
		{`cart.total - order.total == 19.9`, yes},
		{`-cart.total < 0`, yes},
		{`order.number == 2 or customer.tags contains "vip"`, yes},
		{`order.number % 2 == 0`, yes},
		{`10 / 4 == 2.5`, yes},
		{`0.1 + 0.2 == 0.3`, yes},
		{`9223372036854775807 + 1 == number("9223372036854775808")`, yes},
		{`cart.total / 0 > 1`, "0 is 0, and nothing can be divided by it"},
		{`deal.amount < 1`, "deal.amount is missing"},
		{`deal.amount == nil`, yes},

		// Text and tags.
		{`customer.tags contains "vip"`, yes},
		{`"vip" in customer.tags`, yes},
		{`"gold" in customer.tags`, no},
		{`not (customer.tags contains "wholesale")`, yes},
		{`customer.tags not contains "wholesale"`, yes},
		{`customer.name contains "Lee"`, yes},

		// Missing is not empty.
		{`order.currency == ""`, "order.currency is missing"},
		{`order.currency != "GBP"`, "order.currency is missing"},
		{`not (order.currency contains "GBP")`, "order.currency is missing"},
		{`order.currency not in ["GBP"]`, "order.currency is missing"},
		{`order.currency == nil`, yes},
		{`(order.currency ?? "GBP") == "GBP"`, yes},
		{`deal.owner == ""`, yes},
		{`not (deal.owner contains "Ann")`, yes},
		{`deal.owner == nil`, yes},
		{`len(order.items) == 0`, "order.items is missing"},
		{`none(order.items, .sku == "HAT")`, "order.items is missing"},
		{`order.items == nil or len(order.items) == 0`, yes},
		{`none(cart.items, .url == "")`, ".url is missing"},
		{`not ("https://shop.example/hat" in map(cart.items, .url))`, ".url is missing"},
		{`"https://shop.example/mug" in map(cart.items, .url)`, yes},
		{`len(filter(cart.items, .url == "x")) == 0`, ".url is missing"},
		{`order.currency + "x" == "x"`, "order.currency is missing"},
		{`order.currency == "GBP" ? true : true`, "order.currency is missing"},
		{`customer.name contains "lee"`, no},
		{`lower(customer.name) contains "lee"`, yes},
		{`customer.country in ["GB", "IE"]`, yes},
		{`customer.country not in ["DE"]`, yes},
		{`order.number in [1, 2]`, yes},
		{`customer.email endsWith "@example.com"`, yes},
		{`contact.phone startsWith "44"`, yes},
		{`customer.first_name == "Ann" and customer.last_name != "Smith"`, yes},
		{`customer.name matches "^A.*e$"`, yes},
		{`form.answers.color == "red"`, yes},
		{`form.answers["What size?"] == "L"`, yes},
		{`"color" in form.answers`, yes},
		{`"taste" in form.answers`, no},
		{`form.answers.taste == "sweet"`, "form.answers.taste is missing"},
		{`customer.accepts_marketing`, yes},
		{`not customer.accepts_marketing`, no},
		{`customer.accepts_marketing == true`, yes},
		{`event.connector == "shopify" && event.kind startsWith "cart."`, yes},
		{`event.topic == "checkouts/update" and event.id == "evt-1"`, yes},

		// Lists.
		{`len(cart.items) == 2`, yes},
		{`cart.items[0].title == "Blue mug"`, yes},
		{`cart.items[-1].title == "Rain coat"`, yes},
		{`cart.items[5].title == "Hat"`, "cart.items[5] is missing: cart.items has 2 entries"},
		{`deal.owner == "" or cart.items[5].title == "Hat"`, yes},
		{`any(cart.items, .price > 50)`, yes},
		{`all(cart.items, .price > 50)`, no},
		{`none(cart.items, .sku == "HAT")`, yes},
		{`one(cart.items, # .sku == "MUG")`, yes},
		{`count(cart.items, .quantity > 1) == 1`, yes},
		{`sum(cart.items, .quantity) == 3`, yes},
		{`sum(cart.items, .price * .quantity) == 79.90`, yes},
		{`len(filter(cart.items, .price < 10)) == 1`, yes},
		{`find(cart.items, .price > 50).title == "Rain coat"`, yes},
		{`"MUG" in map(cart.items, .sku)`, yes},
		{`any(raw.lines, .rate > 10)`, yes},
		{`any(raw.lines, .missing > 10)`, ".missing is missing"},

		// Times.
		{`now - event.occurred_at < 1h`, yes},
		{`now - event.occurred_at == 1m`, yes},
		{`cart.expires_at - 2h > now`, yes},
		{`cart.expires_at - duration("2h") == cart.expires_at - 2h`, yes},
		{`cart.expires_at - now == 6h`, yes},
		{`now + 1d12h > cart.expires_at`, yes},
		{`2 * 30m == 1h`, yes},
		{`time(raw.when) < now`, yes},
		{`time("2026-11-27") < now`, yes},
		{`time(1764236400) < now`, yes},

		// The payload as the sender wrote it.
		{`raw.code == "0123"`, yes},
		{`raw.total >= 50`, yes},
		{`raw.total == cart.total`, yes},
		{`raw.count + 1 == 4`, yes},
		{`raw.big == "12345678901234567890"`, yes},
		{`raw.vip`, yes},
		{`raw.code`, "raw.code is text, not true or false"},
		{`raw.text_total >= 50`, "raw.text_total is text, not a number like 50; number(raw.text_total) reads it as a number"},
		{`number(raw.text_total) >= 50`, yes},
		{`number(raw.code) == 123`, yes},
		{`number(raw.names[0]) > 1`, `"Ann" is not a decimal number`},
		{`raw.nothing == "x"`, "raw.nothing is missing"},
		{`raw.nothing != "x"`, "raw.nothing is missing"},
		{`not (raw.nothing > 5)`, "raw.nothing is missing"},
		{`raw.nothing > 5 or raw.count == 3`, yes},
		{`raw.nothing > 5 and raw.count == 4`, no},
		{`raw.note == nil`, yes},
		{`raw.vip != nil`, yes},
		{`raw.empty == nil`, yes},
		{`raw.nothing.at.all == nil`, yes},
		{`(raw.nothing ?? "none") == "none"`, yes},
		{`(raw.code ?? "none") == "0123"`, yes},
		{`raw.list[1] == 2`, yes},
		{`raw.list[9] == 2`, "raw.list[9] is missing: raw.list has 3 entries"},
		{`2 in raw.list`, yes},
		{`raw.list contains 7`, no},
		{`raw.names contains "Bob"`, yes},
		{`len(raw.list) == 3`, yes},
		{`raw["a.b"] == "dotted"`, yes},
		{`raw["#"] == "hash"`, yes},
		{`raw.nested.deep.x == "y"`, yes},
		{`raw.nested?.deep?.x == "y"`, yes},
		{`raw.nested > 5`, "raw.nested is an object, not a number like 5"},
		{`raw.code.deeper == 1`, "raw.code.deeper is missing"},
		{`raw.list[raw.count - 3] == 1`, yes},
		{`len(raw.count) == 1`, "raw.count is a number; len wants a list or text"},

		// Choices.
		{`customer.language == "de" ? cart.total > 50 : cart.total > 100`, yes},
		{`round(cart.total * 0.1, 2) == 7.99`, yes},
		{`split("a, b", ",") contains "b"`, yes},
		{`replace(customer.name, "Ann", "Bob") == "Bob Lee"`, yes},
		{`customer.name | upper() == "ANN LEE"`, yes},
		{`"2h" == "2h" and customer.name != '3d'`, yes}, // no duration inside quotes
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

func TestConditionsThatCannotBeMeant(t *testing.T) {
	tests := []struct {
		text, msg, hint string
		at              int // byte
	}{
		{`cart.totl > 5`, `unknown name "totl" in cart`, `did you mean "total"?`, 5},
		{`crat.total > 5`, `unknown name "crat"`, `did you mean "cart"?`, 0},
		{`total > 5`, `unknown name "total"`, `did you mean "cart.total"?`, 0},
		{`previous.status == "failed"`, `unknown name "previous"`, "it is what became of the step before: only the if of a step knows it, from the second one on", 0},
		{`cart.items[0].titel == "x"`, `unknown name "titel" in cart.items[0]`, `did you mean "title"?`, 14},
		{`cart.items.title == "x"`, `cart.items is a list and has no "title"`, `take one entry, cart.items[0].title, or ask any(cart.items, .title …)`, 0},
		{`any(cart.items, .prise > 5)`, `unknown name "prise" in an item`, `did you mean "price"?`, 17},
		{`customer.name.first == "x"`, `customer.name is text and has no "first"`, "", 0},
		{`now.hour < 9`, `now is a time and has no "hour"`, `write date(now, "HH")`, 0},
		{`cart.expires_at.quarter == 1`, `cart.expires_at is a time and has no "quarter"`, `write date(cart.expires_at, "D MMM YYYY")`, 0},
		{`customer.country == GB`, `unknown name "GB"`, `did you mean "GB" in quotes? names begin with event, contact, customer, cart, order, deal, form, message, raw, now`, 20},
		{`date(now, "%d/%m/%Y") == "x"`, `"%d" is no part of a date`, datePatternHint, 10},
		{`date(now, "dd.MM.yyyy") == "x"`, `"dd" is no part of a date`, datePatternHint, 10},
		{`date(now, "DD.MM.yyyy [dd]") == "x"`, `"yyyy" is no part of a date`, datePatternHint, 10},
		{`date(cart.totl) == "x"`, `unknown name "totl" in cart`, `did you mean "total"?`, 10},
		{`number(lower(custmer.name)) > 5`, `unknown name "custmer"`, `did you mean "customer"?`, 13},
		{`cart.total contains "x"`, "cart.total is an amount, not text", "", 0},
		{`cart.total == "50"`, `cart.total is an amount, not text like "50"`, "numbers are written without quotes", 0},
		{`cart.total > customer.name`, "cart.total is an amount, not text like customer.name", "number(customer.name) reads it as a number", 0},
		{`order.status > 5`, "order.status is text, not a number like 5", "number(order.status) reads it as a number", 0},
		{`cart.total`, "cart.total is an amount, not true or false", "compare it, as in cart.total > 0", 0},
		{`customer.name`, "customer.name is text, not true or false", `compare it, as in customer.name != ""`, 0},
		{`customer.tags`, "customer.tags is a list, not true or false", "ask for what is in it, as in len(customer.tags) > 0", 0},
		{`customer.name and cart.total > 5`, "customer.name is text, not true or false", `compare it, as in customer.name != ""`, 0},
		{`customer.tags == "vip"`, "customer.tags is a list and cannot be compared", `ask what is in it, as in customer.tags contains "…", or for len(customer.tags)`, 0},
		{`cart == nil and cart.items contains "x"`, "cart.items is a list of whole items", `ask any(cart.items, .title == "…")`, 16},
		{`customer.accepts_marketing > 1`, "customer.accepts_marketing is true or false: it is neither more nor less than anything", "", 0},
		{`not customer.tags contains "x"`, `"not" means customer.tags alone here`, `write not (customer.tags contains "x")`, 0},
		{`now - event.occurred_at > 60`, "now - event.occurred_at is a length of time, not a number like 60", "a length of time is written with its unit: 90s, 45m, 2h, 3d", 0},
		{`cart.expires_at > "2026-11-27"`, `cart.expires_at is a time, not text like "2026-11-27"`, `time("2026-11-27") reads it as a time`, 0},
		{`cart.expires_at < 2h`, "cart.expires_at is a time, not a length of time like 2h", "compare how long ago it is, as in now - cart.expires_at", 0},
		{`cart.expires_at - 2 < now`, `cart.expires_at is a time and 2 is a number: "-" does not work on them`, "a length of time is written with its unit: 90s, 45m, 2h, 3d", 0},
		{`customer.name + 5 == "x"`, `customer.name is text and 5 is a number: "+" does not work on them`, "number(…) reads text as a number, text(…) writes a number as text", 0},
		{`uper(customer.name) == "X"`, `unknown function "uper"`, `did you mean "upper"?`, 0},
		{`repeat("x", 1000000) == "x"`, `unknown function "repeat"`, "the functions are all, any, count, date, duration, filter, find, join, len, lower, map, money, none, number, one, replace, round, split, sum, text, time, trim, upper", 0},
		{`now() > cart.expires_at`, `unknown function "now"`, "now is a name: write it without brackets", 0},
		{`len() > 1`, "len takes one argument, not 0: write len(list)", "", 0},
		{`len(cart.total) > 1`, "cart.total is an amount; len wants a list or text", "", 4},
		{`any(cart.total, # > 1)`, "cart.total is an amount, not a list", "", 4},
		{`any(cart.items, .title)`, ".title is text, not true or false", `compare it, as in .title != ""`, 16},
		{`cart.total = 50`, `a single "=" compares nothing`, `write "==" to compare`, 11},
		{`cart.total => 50`, `"=>" is not understood here`, `write ">="`, 11},
		{`cart.total <> 50`, `"<>" is not understood here`, `write "!="`, 11},
		{`customer.name is "Ann"`, `"is" is not understood here`, `write "=="`, 14},
		{`customer.tags has "vip"`, `"has" is not understood here`, `write "contains"`, 14},
		{`cart.total > 5 & customer.accepts_marketing`, `"&" is not understood here`, `write "and"`, 15},
		{`cart.total > £50`, `"£" means nothing here`, "amounts are written without a currency; cart.currency is its own name", 13},
		{`cart.total > 1,000`, `"," does not fit here`, `numbers are written without commas; several conditions are several lines, or joined by "and"`, 14},
		{`{{ cart.total }} > 5`, "{{ }} does not belong here", "an expression is written without it; templates alone have it", 0},
		{`customer.language | default: "en" == "de"`, `"| default:" belongs inside {{ }}`, `write (customer.language ?? "en")`, 27},
		{`raw.code ?? "x" == "0123"`, `"??" beside another operator needs brackets`, `write (customer.language ?? "en") == "de"`, 16},
		{`customer.tags + 1 > 2`, `customer.tags is a list and 1 is a number: "+" does not work on them`, "", 0},
		{`sum(cart.items, .title) > 2`, "sum adds numbers, and this is text", "write sum(cart.items, .quantity)", 0},
		{`any(cart.items)`, "a list and what to ask of each entry are expected", "as in any(cart.items, .price > 100)", 14},
		{`cart.expires_at`, "cart.expires_at is a time, not true or false", "compare it, as in cart.expires_at > now", 0},
		{`now - event.occurred_at`, "now - event.occurred_at is a length of time, not true or false", "compare it, as in now - event.occurred_at > 1h", 0},
		{`cart == 5`, "cart is a cart and cannot be compared", "name one of its fields: cart.currency, .expires_at, .id, .items, .total, .url", 0},
		{`-customer.name == "x"`, "customer.name is text, not a number", "", 0},
		{`cart.total startsWith "7"`, "cart.total is an amount, not text", "text(cart.total) is its digits", 0},
		{`customer.name contains 5`, "5 is a number, not text", "", 23},
		{`customer.tags contains 5`, "5 is a number, not text", "", 23},
		{`cart.id["x"] == 1`, `cart.id is text and has no "x"`, "", 0},
		{`cart.items[cart.id].title == "x"`, "cart.id is text, not the number of an entry", "", 11},
		{`form.answers[5 + 1] == "x"`, "5 + 1 is an amount, not text", "", 13},
		{`cart[cart.id] == "x"`, "cart is a cart and has no entries", "", 0},
		{`[cart, 1] contains 1`, "cart is a cart and cannot be in a list", "", 1},
		{`customer.name[0:2] == "An"`, "a part of a list or text, [from:to], cannot be taken here", "", 0},
		{`#index > 5`, `"#" does not fit here`, "", 0},
		{`len == 5`, `unknown name "len"`, "it is a function: write len(…)", 0},
		{`cart..total > 5`, `the operator ".." is not known here`, "a name has one dot between its parts: cart.total", 0},
		{`cart.total > 50 AND customer.accepts_marketing`, `"AND" is not understood here`, `write "and" in small letters`, 16},
		{`cart.total >`, "the expression ends too early", "something is missing after its last word, or a bracket is not closed", 12},
		{`(cart.total > 5`, "the expression ends too early", "something is missing after its last word, or a bracket is not closed", 15},
		{`cart.total > 5)`, `")" does not fit here`, "see whether every bracket is opened and closed", 14},
		{`cart.total > 5 customer.name`, `"customer" does not fit here`, `an operator such as "and", "==" or "+" is missing before it`, 15},
		{`customer.name == “Ann”`, "a typographic quote is no quote here", `write plain quotes: "text"`, 17},
		{`customer.name == "Ann`, "a quote is not closed", "", 21},
		{`now - event.occurred_at > 5x`, `"5x" is not a number`, "a length of time is written 90s, 45m, 2h, 3d or 1h30m", 27},
		{`customer.name matches "("`, "\"(\" is not a regular expression: missing closing ): `(`", "", 22},
		{`customer.name matches customer.email`, `the pattern after "matches" is written out in quotes; customer.email is not`, "", 22},
		{`"vip" in customer.name`, `"in" asks for an entry of a list, and customer.name is text`, `write customer.name contains "vip"`, 0},
		{`customer.country in ["GB", 44]`, "customer.country is text, not a number like 44", "number(customer.country) reads it as a number", 0},
		{`let x = 1; x > 0`, `one expression is expected, without "let" and ";"`, "", 4},
		{`cart.total.round() > 5`, "cart.total.round is not a function", "write it without the brackets", 0},
		{`{"a": 1} == nil`, `{a: 1} cannot be used here`, "", 0},
		{``, "the expression is empty", "", 0},
		{`cart.total > 5 and "Ünïcödé" == customer.nmae`, `unknown name "nmae" in customer`, `did you mean "name"?`, 45},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			_, faults := CompileCondition(tt.text)
			if len(faults) != 1 {
				t.Fatalf("got %d faults, want 1: %+v", len(faults), faults)
			}
			got := faults[0]
			if got.Msg != tt.msg || got.Hint != tt.hint || got.Offset != tt.at {
				t.Errorf("got  %d: %s; %s\nwant %d: %s; %s", got.Offset, got.Msg, got.Hint, tt.at, tt.msg, tt.hint)
			}
		})
	}
}

func TestAllMistakesOfAnExpressionAreReportedAtOnce(t *testing.T) {
	_, faults := CompileCondition(`cart.totl > 5 and custmer.name == "x" or lenn(cart.items) > 2`)
	var got []string
	for _, f := range faults {
		got = append(got, f.Msg)
	}
	want := `unknown name "totl" in cart|unknown name "custmer"|unknown function "lenn"`
	if strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", strings.Join(got, "|"), want)
	}
}

func TestValuesPrintWithAllTheirDigits(t *testing.T) {
	tests := map[string]string{
		"{{ cart.total }}":                                                "79.90",
		"{{ cart.total + 5 }}":                                            "84.90",
		"{{ order.total }}":                                               "60",
		"{{ round(order.total, 2) }}":                                     "60.00",
		"{{ order.number }}":                                              "2",
		`{{ money(order.total) }}`:                                        "60.00",
		`{{ money(order.total, "GBP") }}`:                                 "60.00",
		`{{ money(order.total, "JPY") }}`:                                 "60",
		`{{ money(order.total, "KWD") }}`:                                 "60.000",
		"{{ raw.code }}":                                                  "0123",
		"{{ raw.total }}":                                                 "79.90",
		"{{ raw.big }}":                                                   "12345678901234567890",
		"{{ raw.vip }}":                                                   "true",
		"{{ cart.expires_at }}":                                           "27 Nov 2026 18:00",
		`{{ date(cart.expires_at) }}`:                                     "27 Nov 2026",
		`{{ date(cart.expires_at, "dddd D MMMM, HH:mm") }}`:               "Friday 27 November, 18:00",
		`{{ date(cart.expires_at, "[Day] DD.MM.YY h:mm a") }}`:            "Day 27.11.26 6:00 pm",
		`{{ date(cart.expires_at, "D MMMM at HH:mm Uhr") }}`:              "27 November at 18:00 Uhr",
		`{{ cart.expires_at - now }}`:                                     "6h",
		`{{ join(map(cart.items, .title), " and ") }}`:                    "Blue mug and Rain coat",
		`{{ join(customer.tags) }}`:                                       "VIP, spring",
		`{{ upper(customer.first_name) }}`:                                "ANN",
		`{{ customer.first_name | lower() }}`:                             "ann",
		`Hi {{ customer.first_name }}, {{cart.total}} {{cart.currency}}!`: "Hi Ann, 79.90 GBP!",
		`{{ raw.nothing | default: "there" }}`:                            "there",
		`{{ deal.name | default: customer.name }}`:                        "Ann Lee",
		`{{ deal.amount | default: 0 }}`:                                  "0",
		`{{ raw.nested.deep.x }}`:                                         "y",
		`{{ customer.language == "de" ? "Hallo" : "Hello" }}`:             "Hallo",
		`{{ "}}" }}{{ '|' | default: "x" }}`:                              "}}|",
		`{{ form.answers["What size?"] | default: "{{" }}`:                "L",
		`{{ raw.vip || raw.vip | default: "||" }}`:                        "true",
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			tpl, faults := CompileTemplate(text)
			if len(faults) > 0 {
				t.Fatalf("compile: %+v", faults)
			}
			s := NewScope(aCart(t), noon, time.UTC)
			defer s.Free()
			got, trouble := tpl.Variable(s)
			if got != want || trouble != "" {
				t.Errorf("got %q (%s), want %q", got, trouble, want)
			}
		})
	}
}

const datePatternHint = `write "DD.MM.YYYY": D day, M month, Y year, HH:mm time; other text goes into [brackets]`

func TestTemplatesThatCannotBeMeant(t *testing.T) {
	tests := []struct {
		text, msg, hint string
		at              int
	}{
		{`Hi {{ customer.frist_name }}`, `unknown name "frist_name" in customer`, `did you mean "first_name"?`, 15},
		{`{{ customer.name`, `"{{" is not closed`, "write }} after the value; quotes inside have to be closed, too", 0},
		{`{ customer.name }}`, `"}}" closes nothing`, "a value is written {{ … }}, with both brackets twice", 16},
		{`{{ }}`, "there is nothing between {{ and }}", "write a value: {{ customer.first_name }}", 2},
		{`{{ customer.tags }}`, "customer.tags is a list and cannot be printed", `join(customer.tags, ", ") makes a text of it`, 2},
		{`{{ cart.items }}`, "cart.items is a list and cannot be printed", `print one entry, cart.items[0].title, or all: join(map(cart.items, .title), ", ")`, 2},
		{`{{ deal }}`, "deal is a deal and cannot be printed", "name one of its fields: amount, currency, id, name, owner, stage", 2},
		{`{{ customer.name | default: }}`, "there is nothing after default:", `write a text in quotes: | default: "there"`, 27},
		{`{{ customer.name | default: ther }}`, `unknown name "ther"`, `did you mean "ther" in quotes? names begin with event, contact, customer, cart, order, deal, form, message, raw, now`, 28},
		{`{{ customer.name | default("x") }}`, `unknown function "default"`, `write | default: "…"`, 19},
		{`{{ customer.name | upcase }}`, "| upcase is not understood here", "after | comes default: or a function with its brackets, such as | lower(); write upper(customer.name)", 17},
		{`{{ customer.name | capitalize }}`, "| capitalize is not understood here", "after | comes default: or a function with its brackets, such as | lower(); write upper(customer.name) or lower(customer.name)", 17},
		{`{{ order.total | money }}`, "| money is not understood here", "after | comes default: or a function with its brackets, such as | lower(); write money(order.total)", 15},
		{`{{ customer.name | shout }}`, "| shout is not understood here", "after | comes default: or a function with its brackets, such as | lower()", 17},
		{`{{ customer.name | default "there" }}`, "| default is not understood here", `write a colon: | default: "there"`, 17},
		{`{{ if customer.name }}x{{ end }}`, `there is no "if"`, `write one value for each case: {{ customer.language == "de" ? "Hallo" : "Hello" }}`, 3},
		{`{{#if customer.name}}x{{/if}}`, `there is no "if"`, `write one value for each case: {{ customer.language == "de" ? "Hallo" : "Hello" }}`, 3},
		{`{{ customer.first_name or "there" }}`, `"or" joins conditions, not texts`, `for a text in its place write | default: "there"`, 2},
		{`{{ customer.name | uper() }}`, `unknown function "uper"`, `did you mean "upper"?`, 19},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			_, faults := CompileTemplate(tt.text)
			if len(faults) != 1 {
				t.Fatalf("got %d faults, want 1: %+v", len(faults), faults)
			}
			got := faults[0]
			if got.Msg != tt.msg || got.Hint != tt.hint || got.Offset != tt.at {
				t.Errorf("got  %d: %s; %s\nwant %d: %s; %s", got.Offset, got.Msg, got.Hint, tt.at, tt.msg, tt.hint)
			}
		})
	}
}

func TestEveryNameOfTheNounsCanBeRead(t *testing.T) {
	e := aCart(t)
	for name, r := range roots {
		all := messaging.Names(r.shape.names())
		e.Contact.Empty, e.Cart.Empty, e.Order.Empty, e.Deal.Empty, e.Form.Empty, e.Message.Empty = all, all, all, all, all, all
		for _, field := range r.shape.names() {
			if _, why := evaluate(t, name+"."+field, e); why != "" {
				t.Errorf("%s.%s: %s", name, field, why)
			}
		}
	}
	for _, field := range []string{"id", "sku", "title", "quantity", "price", "url", "image"} {
		if v, why := evaluate(t, "cart.items[0]."+field, e); v == nil {
			t.Errorf("cart.items[0].%s: %s", field, why)
		}
	}
	if ok := roots["contact"].shape.fields["phone_problem"]; ok.read != nil {
		t.Error("the phone's problem is for operators, not for expressions")
	}
}
