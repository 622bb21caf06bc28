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
	CampaignID string   // when the answer carries one, as one to an upload may
	Raw        string   // the first 4 KB, as valid text
	HTTPStatus int

	denied bool // a 2xx that says "success": false and names no message
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

func (a Answer) read(all gjson.Result) Answer {
	if !all.IsObject() {
		return a
	}
	data := all.Get("data")
	for _, place := range []gjson.Result{all, data} {
		if !place.IsObject() {
			continue
		}
		if a.MessageID == "" {
			a.MessageID = identifier(place.Get("message_id"))
		}
		if a.CampaignID == "" {
			a.CampaignID = label(place.Get("campaign_id"))
		}
		for _, list := range []string{"message_ids", "messages"} {
			if a.MessageIDs == nil {
				a.MessageIDs = identifiers(place.Get(list))
			}
		}
	}
	if a.MessageIDs == nil {
		a.MessageIDs = identifiers(data)
	}
	a.denied = all.Get("success").Type == gjson.False && a.MessageID == "" && a.MessageIDs == nil
	return a
}

// identifier reads a message id: a JSON integer or a string of digits, "" for all else. The
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
	if len(text) > maxDigits || !digits(text) {
		return ""
	}
	return text
}

// identifiers reads a list of ids, or of objects with one each.
func identifiers(r gjson.Result) []string {
	if !r.IsArray() {
		return nil
	}
	var ids []string
	r.ForEach(func(_, one gjson.Result) bool {
		if one.IsObject() {
			one = one.Get("message_id")
		}
		if id := identifier(one); id != "" {
			ids = append(ids, id)
		}
		return true
	})
	return ids
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
		text = text[:end]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
