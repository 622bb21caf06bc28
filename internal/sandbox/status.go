package sandbox

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// timeLayout is ISO 8601 in UTC.
const timeLayout = "2006-01-02T15:04:05.000Z"

func (s *Sandbox) messageStatus(ask *request) (reply, error) {
	id, err := strconv.ParseInt(ask.rest, 10, 64)
	if err != nil || ask.rest[0] == '+' || ask.rest[0] == '-' {
		return reply{}, refuse("message id must be digits")
	}
	e, ok := s.book.Load().find(id)
	var at progress
	if ok {
		at = s.options.progress(e, id, ask.now)
		ask.phone = e.phone.String()
	}
	if at.status == "" {
		return reply{}, &refusal{http.StatusNotFound, "message " + strconv.FormatInt(id, 10) + " is not known"}
	}
	view := struct {
		Success   bool   `json:"success"`
		ID        int64  `json:"message_id"`
		Status    string `json:"status"`
		Delivered bool   `json:"delivered"`
		Timestamp string `json:"timestamp,omitempty"`
		Error     string `json:"error,omitempty"`
	}{true, id, at.status, !at.delivered.IsZero(), "", at.reason}
	if view.Delivered {
		view.Timestamp = at.delivered.Format(timeLayout)
	}
	text, err := json.Marshal(view)
	return reply{status: http.StatusOK, body: text, messageID: id, words: at.reason}, err
}

// Message is an accepted message as the control endpoint and the tests see it.
type Message struct {
	ID         string    `json:"message_id"`
	Phone      string    `json:"phone"`
	Kind       string    `json:"kind"` // template, campaign, text or upload
	Name       string    `json:"name,omitempty"`
	Language   string    `json:"language,omitempty"`
	Variables  []string  `json:"variables,omitempty"` // of the newest 50,000 or so; the text of a text
	Status     string    `json:"status,omitempty"`
	Error      string    `json:"error,omitempty"`
	AcceptedAt time.Time `json:"accepted_at"`
	StatusAt   time.Time `json:"status_at,omitzero"`
}

// Messages returns what a phone got that is still remembered, oldest first.
func (s *Sandbox) Messages(phone string) []Message {
	n, ok := parseNumber(phone)
	if !ok {
		return nil
	}
	now := s.options.Now()
	l := s.book.Load()
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []Message
	for position := l.people[n].last; position > 0; {
		e, variables, ok := l.at(position - 1)
		if !ok {
			break
		}
		all = append(all, s.message(l, position-1, e, variables, now))
		position = e.before
	}
	for i, j := 0, len(all)-1; i < j; i, j = i+1, j-1 {
		all[i], all[j] = all[j], all[i]
	}
	return all
}

// newest returns the last messages of all, newest first.
func (s *Sandbox) newest(limit int) []Message {
	now := s.options.Now()
	l := s.book.Load()
	l.mu.Lock()
	defer l.mu.Unlock()
	all := []Message{}
	for position := l.next; position > 0 && len(all) < limit; position-- {
		e, variables, ok := l.at(position - 1)
		if !ok {
			break
		}
		all = append(all, s.message(l, position-1, e, variables, now))
	}
	return all
}

func (s *Sandbox) message(l *ledger, position uint32, e entry, variables []string, now time.Time) Message {
	id := l.first + int64(position)
	at := s.options.progress(e, id, now)
	about := l.subjects[e.subject]
	return Message{
		ID: strconv.FormatInt(id, 10), Phone: e.phone.String(),
		Kind: about.kind, Name: about.name, Language: about.language, Variables: variables,
		Status: at.status, Error: at.reason, AcceptedAt: time.Unix(0, e.at).UTC(), StatusAt: at.since,
	}
}
