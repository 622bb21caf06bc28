package apiclient

import (
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// An Answer is what the service said to a call that asks it to do something.
//
// Source: Messaging Automation Service API v1. The shape of these answers is not shown
// there, so everything in them is read where it is found and missed where it is not: an
// accepted message without a MessageID cannot be followed, but was accepted.
type Answer struct {
	MessageID  string   // digits, exact however long; "" when the answer carries none that can be read
	MessageIDs []string // when the answer carries a list of them, as one to an upload may
	Phones     []string // digits, whose each of MessageIDs is, "" where the list does not say; nil where it says none
	CampaignID string   // when the answer carries one, as one to an upload may
	Raw        string   // the first 4 KB, as valid text
	HTTPStatus int

	denied bool // a 2xx that says no (see saysNo) and names no message
}

// maxRaw is how much of an answer is kept, in bytes.
const maxRaw = 4 << 10

// maxDigits is the longest id taken for one: far beyond any integer type.
const maxDigits = 64

// readAnswer reads a 2xx answer. whole is false when the text was cut, and then it holds
// nothing to rely on.
func readAnswer(text []byte, whole bool) Answer {
	all := string(text) // the one copy: the raw text and the ids point into it
	a := Answer{Raw: rawText(all)}
	if !whole || !gjson.Valid(all) {
		return a
	}
	return a.read(gjson.Parse(all))
}

// read looks at the answer's own members first and at those of its "data" where they lack.
func (a Answer) read(all gjson.Result) Answer {
	if !all.IsObject() {
		return a
	}
	data, no := a.members(all)
	if data.IsObject() {
		_, inner := a.members(data)
		no = no || inner
	}
	if a.MessageIDs == nil {
		a.MessageIDs, a.Phones = identifiers(data)
	}
	a.denied = no && a.MessageID == "" && a.MessageIDs == nil
	return a
}

// members takes what is not known yet from an object, in one walk over it, and returns its data and whether it
// says no. Of members of one name the first counts.
func (a *Answer) members(object gjson.Result) (data gjson.Result, no bool) {
	object.ForEach(func(key, value gjson.Result) bool {
		no = no || saysNo(key.Str, value)
		switch key.Str {
		case "data":
			if !data.Exists() {
				data = value
			}
		case "message_id":
			if a.MessageID == "" {
				a.MessageID = identifier(value)
			}
		case "campaign_id":
			if a.CampaignID == "" {
				a.CampaignID = label(value)
			}
		case "message_ids", "messages":
			if a.MessageIDs == nil {
				a.MessageIDs, a.Phones = identifiers(value)
			}
		}
		return true
	})
	return data, no
}

// saysNo reports whether a member of an answer says that nothing was taken. Section 3 of the document says so of a
// message by status "failed" and a text in error; names and words count in any case. An error that is empty, false or
// null, as many services write beside what they took, is none.
func saysNo(name string, value gjson.Result) bool {
	switch {
	case strings.EqualFold(name, "success"):
		return value.Type == gjson.False
	case strings.EqualFold(name, "status"):
		return value.Type == gjson.String && strings.EqualFold(strings.TrimSpace(value.Str), "failed")
	case strings.EqualFold(name, "error"):
		switch value.Type {
		case gjson.String:
			return strings.TrimSpace(value.Str) != ""
		case gjson.JSON:
			some := false
			value.ForEach(func(_, _ gjson.Result) bool { some = true; return false })
			return some
		default:
			return value.Type == gjson.True || value.Type == gjson.Number && value.Num != 0
		}
	default:
		return false
	}
}

// identifier reads a message id: a JSON integer or a string of digits, "" for all else, and for 0, which is what a service writes
// that has none. The
// digits are taken from the text itself, so no number type rounds them.
func identifier(r gjson.Result) string {
	var text string
	switch r.Type {
	case gjson.Number:
		text = r.Raw
	case gjson.String:
		text = r.Str
	default:
		return ""
	}
	if len(text) > maxDigits || !digits(text) || strings.Trim(text, "0") == "" {
		return ""
	}
	return text
}

// identifiers reads a list of ids, or of objects with one each. Whose an id is is known only
// where its object has a phone, too: its position in the list says nothing.
func identifiers(r gjson.Result) (ids, phones []string) {
	if !r.IsArray() {
		return nil, nil
	}
	known, seen := false, map[string]bool{}
	r.ForEach(func(_, one gjson.Result) bool {
		phone := ""
		if one.IsObject() {
			phone, one = recipient(one.Get("phone")), one.Get("message_id")
		}
		if id := identifier(one); id != "" && !seen[id] {
			seen[id] = true
			ids, phones = append(ids, id), append(phones, phone)
			known = known || phone != ""
		}
		return true
	})
	if !known {
		phones = nil
	}
	return ids, phones
}

// maxPhone is the most digits of a phone with its country code (E.164).
const maxPhone = 15

// recipient reads a phone as the service writes them: digits, or "" for all else.
func recipient(r gjson.Result) string {
	if phone := identifier(r); len(phone) <= maxPhone {
		return phone
	}
	return ""
}

// label reads a campaign id, which travels as a string in requests.
func label(r gjson.Result) string {
	if r.Type == gjson.String && len(r.Str) <= maxDigits {
		return r.Str
	}
	return identifier(r)
}

// rawText is the head of an answer as text that any database takes: valid UTF-8, no NUL,
// and no character cut in two.
func rawText(text string) string {
	if len(text) > maxRaw {
		end := maxRaw
		for end > maxRaw-utf8.UTFMax && !utf8.RuneStart(text[end]) {
			end--
		}
		text = strings.Clone(text[:end]) // not to keep all of a long answer
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
