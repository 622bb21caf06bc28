package expressions

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// rawValue is one value of the sender's document. Whole numbers are numbers, decimals are
// amounts with all their digits; a whole number beyond 64 bits is an identifier, not a
// quantity, and stays the text of its digits. Text stays text, also when it reads as a
// number: what the sender wrote is what "raw" shows, and number() reads it.
//
// Objects and lists stay gjson.Results, so only what an expression names is ever decoded.
func rawValue(r gjson.Result) any {
	switch r.Type {
	case gjson.String:
		return r.Str
	case gjson.True:
		return true
	case gjson.False:
		return false
	case gjson.Number:
		return rawNumber(r.Raw)
	case gjson.JSON:
		return r
	default:
		return nil
	}
}

func rawNumber(digits string) any {
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return int(n)
	}
	if strings.ContainsAny(digits, ".eE") {
		if a, err := messaging.ParseAmount(digits); err == nil {
			return a
		}
	}
	return digits
}

// rawMember is r's value under key; the last one where a sender wrote the key twice, as
// encoding/json has it. gjson's own paths are not used: "#", "*" and "@" mean things in
// them, and a key may hold any of these.
func rawMember(r gjson.Result, key string) gjson.Result {
	var found gjson.Result
	if r.IsObject() {
		r.ForEach(func(k, v gjson.Result) bool {
			if k.Str == key {
				found = v
			}
			return true
		})
	}
	return found
}

// rawElements walks a list of the payload; visit returns false to stop.
func rawElements(r gjson.Result, visit func(any) bool) {
	r.ForEach(func(_, v gjson.Result) bool { return visit(rawValue(v)) })
}
