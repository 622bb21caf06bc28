package expressions

import (
	"time"

	"github.com/tidwall/gjson"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// eval gives the value of an expression: nil (unknown), bool, int, messaging.Amount, string,
// time.Time, time.Duration, a list (messaging.Tags, []messaging.Item, []any, gjson.Result),
// map[string]string, gjson.Result, or a pointer to one of the nouns.
type eval func(*Scope) any

func amountOf(v any) (messaging.Amount, bool) {
	switch v := v.(type) {
	case messaging.Amount:
		return v, true
	case int:
		return messaging.AmountOf(int64(v)), true
	default:
		return messaging.Amount{}, false
	}
}

// wordsFor names what a value turned out to be.
func wordsFor(v any) string {
	if v == nil {
		return "missing"
	}
	return kindOf(v).words()
}

// present reports whether a value is there and not empty.
func present(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case string:
		return v != ""
	case messaging.Amount:
		return v.Reported()
	default:
		return length(v) != 0
	}
}

// quietly evaluates what may be missing without that being a reason for anything. What cannot be read is not missing.
func quietly(s *Scope, e eval) any {
	before := s.budget
	v := e(s)
	before.steps, before.unread = s.steps, s.unread
	s.budget = before
	return v
}

// valueUnder is what an object of the payload or a table holds under key; nil for nothing.
// Finding a key reads the whole object, so a condition in a loop pays for its length.
func valueUnder(s *Scope, object any, key string) any {
	switch object := object.(type) {
	case gjson.Result:
		if !s.spend(1 + len(object.Raw)/1000) {
			return nil
		}
		return rawValue(rawMember(object, key))
	case map[string]string:
		if text, ok := object[key]; ok {
			return text
		}
	}
	return nil
}

// entry is list[i], nil where there is none, with how many entries the list has; -1 for what
// is no list.
func entry(list any, i int) (v any, count int) {
	count = length(list)
	if i < 0 {
		i += count
	}
	if i < 0 || i >= count {
		return nil, count
	}
	switch list := list.(type) {
	case []messaging.Item:
		return &list[i], count
	case messaging.Tags:
		return list[i], count
	case []any:
		return list[i], count
	case gjson.Result:
		n := 0
		rawElements(list, func(e any) bool {
			if n == i {
				v = e
			}
			n++
			return n <= i
		})
	}
	return v, count
}

// length is how many entries a list has; -1 for what is no list.
func length(list any) int {
	switch list := list.(type) {
	case []messaging.Item:
		return len(list)
	case messaging.Tags:
		return len(list)
	case []any:
		return len(list)
	case gjson.Result:
		if list.IsArray() {
			n := 0
			list.ForEach(func(_, _ gjson.Result) bool { n++; return true })
			return n
		}
	}
	return -1
}

// kindOf is the kind of a value that is there.
func kindOf(v any) Kind {
	switch v := v.(type) {
	case bool:
		return KindFlag
	case int:
		return KindWhole
	case messaging.Amount:
		return KindAmount
	case string:
		return KindText
	case time.Time:
		return KindTime
	case time.Duration:
		return KindSpan
	case map[string]string:
		return KindTable
	default:
		if length(v) >= 0 {
			return KindList
		}
		return KindObject
	}
}
