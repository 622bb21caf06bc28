package apiclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// An Outcome is what is known about a call after it ended.
type Outcome string

// The outcomes. Only NotAccepted may be followed by the same call again without the risk of
// a second message.
const (
	NotAccepted Outcome = "not_accepted" // surely not taken: may be tried again
	Accepted    Outcome = "accepted"     // taken
	Rejected    Outcome = "rejected"     // understood and refused: again cannot help
	InDoubt     Outcome = "in_doubt"     // may have been taken
)

// OutcomeOf reads the outcome off the error of a call. No error is Accepted; an error that
// does not come from this package is InDoubt, because it proves nothing.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return Accepted
	}
	if call, ok := errors.AsType[*CallError](err); ok {
		return call.Outcome
	}
	return InDoubt
}

// What an error of a call may be about, for errors.Is. What its status means, TroubleOf says.
var (
	ErrWebPage    = errors.New("a web page, and not an answer of the service") // a 2xx from a proxy, say
	ErrUnreadable = errors.New("the answer cannot be read")                    // a status answer in no known shape
	ErrFileSize   = errors.New("the file does not have the announced size")    // CreateCampaign

	errBadMessageID = errors.New("a message id is one or more digits, 64 at the most")
)

// A CallError is a call that was not accepted, and what follows from that.
type CallError struct {
	Call       string        // the endpoint: "send-template"
	Outcome    Outcome       // never Accepted
	HTTPStatus int           // 0 when there was no answer
	RetryAfter time.Duration // how long the service asks to wait; 0 when it does not say
	Words      string        // the service's own, one line of at most 300 characters, phones masked
	Err        error         // what broke, or one of the Err values; nil for a plain refusal

	question bool // the call asks and changes nothing
}

// Error says what was called, how far it came and why it ended there.
func (e *CallError) Error() string {
	text := e.Call
	switch {
	case e.HTTPStatus != 0:
		text += strings.TrimRight(fmt.Sprintf(": %d %s", e.HTTPStatus, http.StatusText(e.HTTPStatus)), " ")
	case e.Outcome == Rejected:
	case e.question:
		text += ": no answer"
	case e.Outcome == NotAccepted:
		text += ": not sent"
	default:
		text += ": sent, but not answered"
	}
	if e.Words != "" {
		text += ": " + e.Words
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.RetryAfter > 0 {
		text += "; try again in " + e.RetryAfter.String()
	}
	return text
}

// Unwrap is what broke.
func (e *CallError) Unwrap() error { return e.Err }

// broken is the error of a call that got no answer: NotAccepted when its content can be proven
// not to have left, else InDoubt. b is nil for a call that only asks.
func (e *endpoint) broken(err error, b *body, patience time.Duration) *CallError {
	call := &CallError{Call: e.name, Outcome: NotAccepted, Err: err, question: b == nil}
	if b != nil {
		if b.seal() {
			call.Outcome = InDoubt
		}
		if b.failure != nil {
			call.Err = b.failure
		}
	}
	if errors.Is(call.Err, context.DeadlineExceeded) {
		call.Err = fmt.Errorf("%w (at most %s)", call.Err, patience)
	}
	if head, ok := errors.AsType[tls.RecordHeaderError](call.Err); ok && string(head.RecordHeader[:]) == "HTTP/" {
		call.Err = fmt.Errorf("the base URL says https, but plain HTTP is spoken there: %w", call.Err)
	}
	return call
}

// judge is the outcome that a status outside 2xx leaves. given says whether a Retry-After
// came with it that could be read.
//
// 503 alone proves nothing: a proxy answers so as well when the service died over the
// request. With Retry-After somebody declined it on purpose.
func judge(status int, given bool) Outcome {
	switch {
	case status == http.StatusTooManyRequests, status == http.StatusTooEarly:
		return NotAccepted
	case status == http.StatusServiceUnavailable && given:
		return NotAccepted
	case status == http.StatusRequestTimeout:
		return InDoubt
	case status >= 300 && status < 500:
		return Rejected
	default:
		return InDoubt
	}
}

// maxRetryAfter bounds what a service may ask for; a wait beyond a day is a mistake of its
// clock or its unit.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads the header of that name: seconds, or an HTTP date, which is held against
// the answer's own Date where there is one, so that two clocks need not agree.
func retryAfter(h http.Header, now time.Time) (wait time.Duration, given bool) {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if text == "" {
		return 0, false
	}
	if digits(text) {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter, true
		}
		return time.Duration(seconds) * time.Second, true
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return min(max(at.Sub(now), 0), maxRetryAfter), true
}

// digits reports whether text is one or more ASCII digits and nothing else.
func digits(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return text != ""
}
