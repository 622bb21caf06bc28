// Package refusal has the errors by which the API and the pages of the console refuse what they are asked.
package refusal

import (
	"cmp"
	"net/http"
	"time"

	"github.com/nudgewire/nudgewire/internal/mask"
)

// An Error is a refusal of the API in words for the person at the keyboard. It travels as a problem of RFC 9457 (application/problem+json)
// and comes out of a client as it went in. Its words and its hint are ours: what strangers wrote is masked where it is put into them, by Newf, Fieldf,
// mask.Sprintf or mask.Text (TestErrorsMaskWhatTheyInsert). Who may see phones is answered the words of Newf and Fieldf whole.
type Error struct {
	Status int    `json:"status"`            // 400 bad request, 401 nobody, 403 not allowed, 404 nothing found, 409 wrong state, 413 too long, 422 bad config, 429 too often
	Title  string `json:"title" kind:"ours"` // of the status, in English
	Words  string `json:"detail" kind:"ours"`
	Hint   string `json:"hint,omitempty" kind:"ours"`
	Field  string `json:"field,omitempty" kind:"text"` // of the body, or the parameter, that is wrong: "send.header.url"

	Wait time.Duration `json:"-"` // before it may be asked again; the answer's header says it

	whole string // Words with the phones in them; "" where there are none to see
}

func (e *Error) Error() string { return e.Words }

// Newf makes an Error. Phones in texts and errors among args are masked.
func Newf(status int, hint, format string, args ...any) error {
	return &Error{Status: status, Hint: hint, Words: mask.Sprintf(format, args...), whole: mask.Unmasked(format, args...)}
}

// Fieldf is a 400 for a field of the body or a parameter.
func Fieldf(field, hint, format string, args ...any) error {
	return &Error{Status: http.StatusBadRequest, Field: field, Hint: hint, Words: mask.Sprintf(format, args...), whole: mask.Unmasked(format, args...)}
}

// For is the refusal as it is answered to who may see phones, or to who may not.
func (e *Error) For(phones bool) *Error {
	told := *e
	told.Title, told.whole = http.StatusText(e.Status), ""
	if !phones {
		return mask.Masked(&told).(*Error)
	}
	told.Words = cmp.Or(e.whole, e.Words)
	return &told
}
