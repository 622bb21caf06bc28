package sandbox

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// A reply is an answer before it is written.
type reply struct {
	status     int
	body       []byte
	words      string // why not, for the Record
	messageID  int64  // 0 for none
	retryAfter time.Duration
	allow      string
}

// A refusal is an error that is an answer.
type refusal struct {
	status int
	words  string
}

func (r *refusal) Error() string { return r.words }

// refuse is the refusal of a request that breaks a rule.
func refuse(format string, args ...any) error {
	return &refusal{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// say is a refusal in words.
func say(status int, words string) reply {
	return reply{status: status, words: words, body: append(rawjson.AppendString([]byte(`{"success":false,"error":`), words), '}')}
}

var jsonType = []string{"application/json"}

func (a reply) write(w http.ResponseWriter) {
	h := w.Header()
	h["Content-Type"] = jsonType
	if a.retryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((a.retryAfter+time.Second-1)/time.Second), 10))
	}
	if a.allow != "" {
		h.Set("Allow", a.allow)
	}
	if a.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // a client that is gone needs no answer
}

// answerWith is 200 with v under "success": true, in the account's shape: as its neighbours, or under "data".
func (s *Sandbox) answerWith(v any) (reply, error) {
	text, err := json.Marshal(v)
	switch {
	case err != nil:
		return reply{}, err
	case s.options.Shape == ShapeBare:
		text = []byte(`{"success":true}`)
	case s.options.Shape == ShapeNested:
		text = slices.Concat([]byte(`{"success":true,"data":`), text, []byte("}"))
	default:
		text = slices.Concat([]byte(`{"success":true,`), text[1:])
	}
	return reply{status: http.StatusOK, body: text}, nil
}

// A messageID is a number, or text in ShapeString.
func (s *Sandbox) messageID(id int64) any {
	if s.options.Shape == ShapeString {
		return strconv.FormatInt(id, 10)
	}
	return id
}

// accepted is the answer to a send.
func (s *Sandbox) accepted(id int64) (reply, error) {
	a, err := s.answerWith(listed{ID: s.messageID(id)})
	a.messageID = id
	return a, err
}

// A listed is a message in an answer.
type listed struct {
	Phone string `json:"phone,omitempty"`
	ID    any    `json:"message_id"`
}

// created is the answer to an upload. ids are those of rows, one by one, where they are listed.
func (s *Sandbox) created(c Campaign, ids []int64, rows []parcel) (reply, error) {
	answer := struct {
		CampaignID string   `json:"campaign_id"`
		Contacts   int      `json:"contacts"`
		IDs        []any    `json:"message_ids,omitempty"`
		Messages   []listed `json:"messages,omitempty"`
	}{CampaignID: c.ID, Contacts: c.Rows}
	for i, id := range ids {
		if s.options.Phones {
			answer.Messages = append(answer.Messages, listed{rows[i].phone.String(), s.messageID(id)})
		} else {
			answer.IDs = append(answer.IDs, s.messageID(id))
		}
	}
	return s.answerWith(answer)
}
