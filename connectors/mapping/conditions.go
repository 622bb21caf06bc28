package mapping

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nudgewire/nudgewire/connectors/problems"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// A Rule is one condition of skip_if or of a kind rule: a path alone (it has a value that is
// not false or 0), or a path compared:
//
//	completed_at != null
//	status == refunded
//	total >= 10
//	email contains @example.com
//
// Comparing with < > <= >= is by number; a text that is none fails the rule.
type Rule struct {
	Source string // as written
	Left   *Expr
	Op     string
	Right  string
	Null   bool
	number messaging.Amount
}

var ruleOps = []string{"==", "!=", ">=", "<=", ">", "<", " contains "}

const ruleHint = "write a path, or compare it: status == paid, completed_at != null, total >= 10, email contains @example.com"

func ParseRule(text string) (*Rule, error) {
	t := &Rule{Source: text}
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
	if t.Left, err = ParseExprAbout(strings.TrimSpace(text[:at]), true); err != nil {
		return nil, err
	}
	if op == "" {
		return t, nil
	}
	t.Op = strings.TrimSpace(op)
	right := strings.TrimSpace(text[at+len(op):])
	if right == "" {
		return nil, &problems.SyntaxFault{At: len(text), Msg: "nothing to compare with behind " + t.Op, Hint: ruleHint}
	}
	if q := right[0]; (q == '\'' || q == '"') && len(right) >= 2 && right[len(right)-1] == q {
		t.Right = right[1 : len(right)-1]
	} else {
		t.Right, t.Null = right, right == "null"
	}
	switch t.Op {
	case ">", "<", ">=", "<=":
		if t.number, err = messaging.ParseAmount(t.Right); err != nil {
			return nil, &problems.SyntaxFault{At: at, Msg: fmt.Sprintf("%s compares numbers, and %q is none", t.Op, t.Right), Hint: ruleHint}
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

// Holds reports whether the rule is true for the item.
func (t *Rule) Holds(v *View) bool {
	got := t.Left.Text(v)
	switch t.Op {
	case "":
		return t.present(v, got) && got != "false" && got != "0"
	case "==":
		if t.Null {
			return !t.present(v, got)
		}
		return t.equal(got)
	case "!=":
		if t.Null {
			return t.present(v, got)
		}
		return !t.equal(got)
	case "contains":
		return strings.Contains(strings.ToLower(got), strings.ToLower(t.Right))
	}
	a, err := messaging.ParseAmount(got)
	if err != nil || !a.Reported() {
		return false
	}
	switch c := a.Cmp(t.number); t.Op {
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
func (t *Rule) present(v *View, got string) bool {
	if got != "" {
		return true
	}
	if t.Left.From != FromItem && t.Left.From != FromRoot {
		return false
	}
	raw := t.Left.Raw(v)
	if raw == "" || (raw[0] != '{' && raw[0] != '[') {
		return false
	}
	return raw[rawjson.SkipSpace(raw, 1)] != raw[0]+2 // '{'+2 is '}', '['+2 is ']'
}

// equal compares as texts, and as numbers where both are: 10 is 10.00.
func (t *Rule) equal(got string) bool {
	if got == t.Right {
		return true
	}
	if !numeric(got) || !numeric(t.Right) {
		return false
	}
	a, errA := strconv.ParseFloat(got, 64)
	b, errB := strconv.ParseFloat(t.Right, 64)
	return errA == nil && errB == nil && a == b
}

// numeric reports whether text may be a number that a float64 holds exactly: ids of 16 and
// more digits are only equal when they are written alike.
func numeric(text string) bool {
	return text != "" && len(text) < 16 && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'))
}

// MatchesPattern reports whether word fits pattern, in which * matches any characters.
func MatchesPattern(pattern, word string) bool {
	if before, after, ok := strings.Cut(pattern, "*"); ok {
		if !strings.HasPrefix(word, before) {
			return false
		}
		word = word[len(before):]
		for i := 0; i <= len(word); i++ {
			if MatchesPattern(after, word[i:]) {
				return true
			}
		}
		return false
	}
	return pattern == word
}
