package sandbox

import (
	"fmt"
	"net/http"
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

// accepted is the answer to a send, in the account's shape.
func (s *Sandbox) accepted(id int64) reply {
	b := make([]byte, 0, 64)
	switch s.options.Shape {
	case ShapeString:
		b = append(strconv.AppendInt(append(b, `{"success":true,"message_id":"`...), id, 10), `"}`...)
	case ShapeNested:
		b = append(strconv.AppendInt(append(b, `{"success":true,"data":{"message_id":`...), id, 10), `}}`...)
	case ShapeBare:
		b = append(b, `{"success":true}`...)
	default:
		b = append(strconv.AppendInt(append(b, `{"success":true,"message_id":`...), id, 10), '}')
	}
	return reply{status: http.StatusOK, body: b, messageID: id}
}

// created is the answer to an upload, in the account's shape. ids are those of rows, one by one,
// where they are listed.
func (s *Sandbox) created(c Campaign, ids []int64, rows []parcel) reply {
	if s.options.Shape == ShapeBare {
		return reply{status: http.StatusOK, body: []byte(`{"success":true}`)}
	}
	b := make([]byte, 0, 128+20*len(ids))
	b = append(b, `{"success":true`...)
	if s.options.Shape == ShapeNested {
		b = append(b, `,"data":{`...)
	} else {
		b = append(b, ',')
	}
	b = append(rawjson.AppendString(append(b, `"campaign_id":`...), c.ID), `,"contacts":`...)
	b = strconv.AppendInt(b, int64(c.Rows), 10)
	if s.options.ListIDs {
		b = s.appendList(b, ids, rows)
	}
	if s.options.Shape == ShapeNested {
		b = append(b, '}')
	}
	return reply{status: http.StatusOK, body: append(b, '}')}
}

// appendList appends the messages that an upload became: their ids, or one object each with its
// phone.
func (s *Sandbox) appendList(b []byte, ids []int64, rows []parcel) []byte {
	name := `,"message_ids":[`
	if s.options.Phones {
		name = `,"messages":[`
	}
	b = append(b, name...)
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		if s.options.Phones {
			b = append(append(append(b, `{"phone":"`...), rows[i].phone.String()...), `","message_id":`...)
		}
		if s.options.Shape == ShapeString {
			b = append(strconv.AppendInt(append(b, '"'), id, 10), '"')
		} else {
			b = strconv.AppendInt(b, id, 10)
		}
		if s.options.Phones {
			b = append(b, '}')
		}
	}
	return append(b, ']')
}
