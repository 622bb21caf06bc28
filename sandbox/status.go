package sandbox

import (
	"net/http"
	"strconv"
	"time"

	"github.com/nudgewire/nudgewire/internal/rawjson"
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
	b := make([]byte, 0, 160)
	b = strconv.AppendInt(append(b, `{"success":true,"message_id":`...), id, 10)
	b = append(append(append(b, `,"status":"`...), at.status...), `","delivered":`...)
	b = strconv.AppendBool(b, !at.delivered.IsZero())
	if !at.delivered.IsZero() {
		b = append(at.delivered.AppendFormat(append(b, `,"timestamp":"`...), timeLayout), '"')
	}
	if at.status == "failed" {
		b = rawjson.AppendString(append(b, `,"error":`...), at.reason)
	}
	return reply{status: http.StatusOK, body: append(b, '}'), messageID: id, words: at.reason}, nil
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
