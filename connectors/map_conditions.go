package connectors

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// A rule is one condition of skip_if or of a kind rule: a path alone (it has a value that is
// not false or 0), or a path compared:
//
//	completed_at != null
//	status == refunded
//	total >= 10
//	email contains @example.com
//
// Comparing with < > <= >= is by number; a text that is none fails the rule.
type rule struct {
	source string // as written
	left   *expr
	op     string
	right  string
	null   bool
	number messaging.Amount
}

var ruleOps = []string{"==", "!=", ">=", "<=", ">", "<", " contains "}

const ruleHint = "write a path, or compare it: status == paid, completed_at != null, total >= 10, email contains @example.com"

func parseRule(text string) (*rule, error) {
	t := &rule{source: text}
	at, op := len(text), ""
	for _, o := range ruleOps {
		if i := indexOutside(text, o); i >= 0 && i < at {
			at, op = i, o
		}
	}
	// ">=" begins where ">" does: the longer one is meant.
	if op == ">" || op == "<" {
		if at+1 < len(text) && text[at+1] == '=' {
			op += "="
		}
	}
	var err error
	if t.left, err = parseExprAbout(strings.TrimSpace(text[:at]), true); err != nil {
		return nil, err
	}
	if op == "" {
		return t, nil
	}
	t.op = strings.TrimSpace(op)
	right := strings.TrimSpace(text[at+len(op):])
	if right == "" {
		return nil, &syntaxFault{At: len(text), Msg: "nothing to compare with behind " + t.op, Hint: ruleHint}
	}
	if q := right[0]; (q == '\'' || q == '"') && len(right) >= 2 && right[len(right)-1] == q {
		t.right = right[1 : len(right)-1]
	} else {
		t.right, t.null = right, right == "null"
	}
	switch t.op {
	case ">", "<", ">=", "<=":
		if t.number, err = messaging.ParseAmount(t.right); err != nil {
			return nil, &syntaxFault{At: at, Msg: fmt.Sprintf("%s compares numbers, and %q is none", t.op, t.right), Hint: ruleHint}
		}
	}
	return t, nil
}

// indexOutside is the position of op outside of quotes and brackets; -1 for nowhere.
func indexOutside(text, op string) int {
	depth, quote := 0, byte(0)
	for i := range len(text) {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '[':
			depth++
		case c == ']':
			depth--
		case depth == 0 && strings.HasPrefix(text[i:], op) && (i == 0 || text[i-1] != '-'): // -> leads on
			return i
		}
	}
	return -1
}

// holds reports whether the rule is true for the item.
func (t *rule) holds(v *view) bool {
	got := t.left.text(v)
	switch t.op {
	case "":
		return t.present(v, got) && got != "false" && got != "0"
	case "==":
		if t.null {
			return !t.present(v, got)
		}
		return t.equal(got)
	case "!=":
		if t.null {
			return t.present(v, got)
		}
		return !t.equal(got)
	case "contains":
		return strings.Contains(strings.ToLower(got), strings.ToLower(t.right))
	}
	a, err := messaging.ParseAmount(got)
	if err != nil || !a.Reported() {
		return false
	}
	switch c := a.Cmp(t.number); t.op {
	case ">":
		return c > 0
	case "<":
		return c < 0
	case ">=":
		return c >= 0
	default:
		return c <= 0
	}
}

// present reports whether the path leads to something: also an object or a list, which have
// no text, but not to null, "", [] or {}.
func (t *rule) present(v *view, got string) bool {
	if got != "" {
		return true
	}
	if t.left.from != fromItem && t.left.from != fromRoot {
		return false
	}
	raw := t.left.raw(v)
	if raw == "" || (raw[0] != '{' && raw[0] != '[') {
		return false
	}
	return raw[rawjson.SkipSpace(raw, 1)] != raw[0]+2 // '{'+2 is '}', '['+2 is ']'
}

// equal compares as texts, and as numbers where both are: 10 is 10.00.
func (t *rule) equal(got string) bool {
	if got == t.right {
		return true
	}
	if !numeric(got) || !numeric(t.right) {
		return false
	}
	a, errA := strconv.ParseFloat(got, 64)
	b, errB := strconv.ParseFloat(t.right, 64)
	return errA == nil && errB == nil && a == b
}

// numeric reports whether text may be a number that a float64 holds exactly: ids of 16 and
// more digits are only equal when they are written alike.
func numeric(text string) bool {
	return text != "" && len(text) < 16 && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'))
}
