package apiclient

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// A Status is how far a message came, by the service.
type Status struct {
	MessageID string // digits
	Status    string // queued, sent, delivered, read or failed; other words are kept as they came
	Delivered bool
	Timestamp time.Time // of delivery, UTC; zero when the answer carries none that can be read
	Error     string    // the reason when Status is failed
	Raw       string    // the first 4 KB of the answer, as valid text
}

// MessageStatus asks how far a message came.
//
// Source: Messaging Automation Service API v1, 4.5 (GET /message-status/{message_id}). id is
// the digits of Answer.MessageID.
//
// Every error is a *CallError. Asking changes nothing, so its Outcome matters less than its
// HTTPStatus (404: not known, or not yet), its Trouble, and ErrUnreadable: an answer in no known
// shape, or about another message. A connection that the service had closed is replaced silently.
func (c *Client) MessageStatus(ctx context.Context, id string) (_ Status, err error) {
	e := c.status
	if len(id) > maxDigits || !digits(id) {
		return Status{}, &CallError{Call: e.name, Outcome: Rejected, Err: errBadMessageID}
	}
	if c.ended != nil {
		defer func(began time.Time) { c.ended(e.name, OutcomeOf(err), time.Since(began)) }(time.Now())
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req := e.pattern.WithContext(ctx)
	u := *e.pattern.URL
	u.Path += id
	req.URL = &u
	resp, page, cut, err := c.exchange(c.asking, e, req, nil, c.timeout)
	if resp == nil {
		return Status{}, err
	}
	text := string(page)
	if err != nil {
		return Status{Raw: rawText(text)}, err
	}
	unreadable := func(why error) (Status, error) {
		return Status{Raw: rawText(text)}, &CallError{
			Call: e.name, Outcome: InDoubt, HTTPStatus: resp.StatusCode, Err: why, question: true,
		}
	}
	if cut != nil {
		return unreadable(errors.Join(ErrUnreadable, cut))
	}
	if isWebPage(resp, page) {
		return unreadable(fmt.Errorf("%w: %w", ErrUnreadable, ErrWebPage))
	}
	s, err := readStatus(text, id)
	if err != nil {
		return unreadable(err)
	}
	return s, nil
}

// readStatus reads a status answer, at the top or under "data". The message's own id may be
// missing there, but it must not be another one.
func readStatus(text, id string) (Status, error) {
	if !gjson.Valid(text) {
		return Status{}, fmt.Errorf("%w: not JSON", ErrUnreadable)
	}
	object := gjson.Parse(text)
	if object.Get("status").Type != gjson.String {
		object = object.Get("data")
	}
	if !object.IsObject() {
		return Status{}, fmt.Errorf("%w: it names no status", ErrUnreadable)
	}
	s := Status{MessageID: id}
	var clock string
	var itsID gjson.Result
	object.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "message_id":
			itsID = value
		case "status":
			if value.Type == gjson.String {
				s.Status = value.Str
			}
		case "delivered":
			s.Delivered = value.Type == gjson.True
		case "timestamp":
			clock = value.String()
		case "error":
			s.Error = sentence(value)
		}
		return true
	})
	if itsID.Exists() && identifier(itsID) != id {
		return Status{}, fmt.Errorf("%w: it is about another message", ErrUnreadable)
	}
	if s.Status = strings.TrimSpace(s.Status); s.Status == "" || len(s.Status) > maxDigits {
		return Status{}, fmt.Errorf("%w: it names no status", ErrUnreadable)
	}
	s.Status = canonical(s.Status)
	s.Timestamp = parseTime(clock)
	s.Raw = rawText(text)
	return s, nil
}

// canonical is a known status without a new string, and in lower case as the API writes it.
func canonical(text string) string {
	for _, known := range [...]string{"queued", "sent", "delivered", "read", "failed"} {
		if strings.EqualFold(text, known) {
			return known
		}
	}
	return text
}

// sentence is an error field as text, be it a string or an object with a message.
func sentence(r gjson.Result) string {
	if r.IsObject() {
		if m := r.Get("message"); m.Type == gjson.String {
			return m.Str
		}
		return r.Raw
	}
	return r.String()
}

// parseTime reads an ISO 8601 instant. One without a zone is UTC, as the API promises.
func parseTime(text string) time.Time {
	if text == "" {
		return time.Time{}
	}
	for _, layout := range [...]string{
		time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05", "20060102T150405Z0700",
	} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}
