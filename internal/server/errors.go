package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/listeners"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// An Error is a refusal of the API in words for the person at the keyboard. It travels as a problem of RFC 9457 (application/problem+json)
// and comes out of Client as it went in. Its words and its hint are ours: what strangers wrote is masked where it is put into them, by rejectf, badField,
// mask.Sprintf or mask.Text (TestErrorsMaskWhatTheyInsert). Who may see phones is answered the words of rejectf and badField whole.
type Error struct {
	Status int    `json:"status"`            // 400 bad request, 401 nobody, 403 not allowed, 404 nothing found, 409 wrong state, 413 too long, 422 bad config, 429 too often
	Title  string `json:"title" kind:"ours"` // of the status, in English
	Words  string `json:"detail" kind:"ours"`
	Hint   string `json:"hint,omitempty" kind:"ours"`
	Field  string `json:"field,omitempty" kind:"text"` // of the body, or the parameter, that is wrong: "send.header.url"

	whole string        // Words with the phones in them; "" where there are none to see
	wait  time.Duration // before it may be asked again
}

func (e *Error) Error() string { return e.Words }

// rejectf makes an Error. Phones in texts and errors among args are masked.
func rejectf(status int, hint, format string, args ...any) error {
	return &Error{Status: status, Hint: hint, Words: mask.Sprintf(format, args...), whole: mask.Unmasked(format, args...)}
}

// badField is a 400 for a field of the body or a parameter.
func badField(field, hint, format string, args ...any) error {
	return &Error{Status: http.StatusBadRequest, Field: field, Hint: hint, Words: mask.Sprintf(format, args...), whole: mask.Unmasked(format, args...)}
}

// refusal is an error as it is told to who asks.
func refusal(who Who, err error) *Error {
	e := *publicError(err)
	e.Title = http.StatusText(e.Status)
	if who.May(Phones) {
		e.Words = cmp.Or(e.whole, e.Words)
		e.whole = ""
		return &e
	}
	e.whole = ""
	return mask.Masked(&e).(*Error)
}

// refuse answers with a refusal.
func (a admin) refuse(w http.ResponseWriter, no *Error) {
	if no.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if no.wait > 0 {
		w.Header().Set("Retry-After", seconds(no.wait))
	}
	a.write(w, no.Status, "application/problem+json", no)
}

// write is the only place where an answer is written that is no list of lines.
func (a admin) write(w http.ResponseWriter, status int, kind string, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		a.Log.Error("admin answer", zap.Error(err))
		status, kind, text = http.StatusInternalServerError, "application/problem+json", []byte(`{"status":500,"title":"Internal Server Error","detail":"the answer cannot be written"}`)
	}
	listeners.Answering(w)
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	if _, err := w.Write(append(text, '\n')); err != nil {
		a.Log.Debug("admin answer cut short", zap.Error(err))
	}
}

// publicError is err as the admin API tells it.
func publicError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*store.StateError](err); ok {
		return &Error{Status: http.StatusConflict, Words: string(mask.Own(e.Error()))}
	}
	switch {
	case errors.Is(err, messaging.ErrNotFound):
		return &Error{Status: http.StatusNotFound, Words: mask.Text(err.Error())}
	case errors.Is(err, store.ErrForgotten):
		return &Error{Status: http.StatusConflict, Words: mask.Text(err.Error())}
	case errors.Is(err, store.ErrOverloaded):
		return &Error{Status: http.StatusServiceUnavailable, Words: "the daemon has more to write than it can", Hint: "try again in a moment"}
	default:
		return &Error{Status: http.StatusInternalServerError, Words: mask.Text(err.Error())}
	}
}
