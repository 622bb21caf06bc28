package apiclient

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestMessageStatus(t *testing.T) {
	at := time.Date(2026, 3, 8, 14, 5, 6, 0, time.UTC)
	tests := map[string]struct {
		body string
		want Status
	}{
		"queued":                            {`{"success":true,"message_id":12,"status":"queued","delivered":false}`, Status{MessageID: "12", Status: "queued"}},
		"delivered with a time":             {`{"success":true,"message_id":12,"status":"delivered","delivered":true,"timestamp":"2026-03-08T14:05:06Z"}`, Status{MessageID: "12", Status: "delivered", Delivered: true, Timestamp: at}},
		"a time with fraction and zone":     {`{"message_id":"12","status":"read","delivered":true,"timestamp":"2026-03-08T15:05:06.000+01:00"}`, Status{MessageID: "12", Status: "read", Delivered: true, Timestamp: at}},
		"a time without a zone is UTC":      {`{"status":"read","timestamp":"2026-03-08T14:05:06"}`, Status{MessageID: "12", Status: "read", Timestamp: at}},
		"a time nobody can read is zero":    {`{"status":"read","timestamp":"yesterday"}`, Status{MessageID: "12", Status: "read"}},
		"failed with a reason":              {`{"success":true,"message_id":12,"status":"failed","delivered":false,"error":"insufficient points"}`, Status{MessageID: "12", Status: "failed", Error: "insufficient points"}},
		"failed with a reason in an object": {`{"status":"failed","error":{"code":1,"message":"blocked"}}`, Status{MessageID: "12", Status: "failed", Error: "blocked"}},
		"an error of null is none":          {`{"status":"sent","error":null}`, Status{MessageID: "12", Status: "sent"}},
		"under data":                        {`{"success":true,"data":{"message_id":12,"status":"sent","delivered":false}}`, Status{MessageID: "12", Status: "sent"}},
		"another case of letters":           {`{"status":"Delivered"}`, Status{MessageID: "12", Status: "delivered"}},
		"a word the API does not know":      {`{"status":"paused"}`, Status{MessageID: "12", Status: "paused"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			base := answer(t, func(w http.ResponseWriter, r *http.Request) {
				if got := r.Method + " " + r.RequestURI; got != "GET /api/v1/message-status/12" {
					t.Errorf("asked %s", got)
				}
				if r.Header.Get("Authorization") != "Bearer "+testKey || r.Header.Get("Content-Type") != "" {
					t.Errorf("header is %v", r.Header)
				}
				_, _ = io.WriteString(w, tt.body)
			})
			s, err := open(t, base).MessageStatus(t.Context(), "12")
			if err != nil {
				t.Fatal(err)
			}
			if s.Raw != tt.body {
				t.Errorf("raw is %q", s.Raw)
			}
			if diff := cmp.Diff(tt.want, s, cmpopts.IgnoreFields(Status{}, "Raw")); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMessageStatusErrors(t *testing.T) {
	tests := map[string]struct {
		status int
		body   string
		want   string
	}{
		"a message not known":   {404, `{"error":"no such message"}`, "message-status: 404 Not Found: no such message"},
		"a key not known":       {401, `{"error":"unknown API key"}`, "message-status: 401 Unauthorized: unknown API key"},
		"a key not allowed":     {403, ``, "message-status: 403 Forbidden"},
		"not JSON":              {200, `<html>`, "message-status: 200 OK: the answer cannot be read: a web page, and not an answer of the service"},
		"JSON that is cut":      {200, `{"status":"sent"`, "message-status: 200 OK: the answer cannot be read: not JSON"},
		"no status":             {200, `{"success":true}`, "message-status: 200 OK: the answer cannot be read: it names no status"},
		"a list":                {200, `[1]`, "message-status: 200 OK: the answer cannot be read: it names no status"},
		"a number for a status": {200, `{"status":3}`, "message-status: 200 OK: the answer cannot be read: it names no status"},
		"another message":       {200, `{"message_id":13,"status":"sent"}`, "message-status: 200 OK: the answer cannot be read: it is about another message"},
		"a rounded id":          {200, `{"message_id":12.0,"status":"sent"}`, "message-status: 200 OK: the answer cannot be read: it is about another message"},
		"too long":              {200, string(make([]byte, 70<<10)), "message-status: 200 OK: the answer cannot be read\nanswer longer than 64 KB"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			base := answer(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			_, err := open(t, base).MessageStatus(t.Context(), "12")
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
			if errors.Is(err, ErrUnreadable) != (tt.status == 200) {
				t.Errorf("unreadable: %v", errors.Is(err, ErrUnreadable))
			}
		})
	}
	t.Run("an id that is no id is not asked for", func(t *testing.T) {
		base := answer(t, func(http.ResponseWriter, *http.Request) { t.Error("something was asked") })
		c := open(t, base)
		for _, id := range []string{"", "12/../../x", "1?a=b", "-1", string(make([]byte, 65))} {
			if _, err := c.MessageStatus(t.Context(), id); !errors.Is(err, errBadMessageID) {
				t.Errorf("id %q: %v", id, err)
			}
		}
	})
	t.Run("a service that is not there", func(t *testing.T) {
		_, err := open(t, "http://"+vacant(t)).MessageStatus(t.Context(), "12")
		checkEnd(t, want{NotAccepted, 0, 0, `message-status: no answer: dial tcp .*: connect: connection refused`}, err)
	})
}

func FuzzReadStatus(f *testing.F) {
	f.Add(`{"message_id":12,"status":"sent","delivered":false}`)
	f.Add(`{"data":{"status":"failed","error":{"message":1}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := readStatus(text, "12")
		if (err == nil) == (s.Status == "") {
			t.Errorf("status %q with error %v", s.Status, err)
		}
	})
}
