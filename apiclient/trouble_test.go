package apiclient

import (
	"errors"
	"io"
	"net/http"
	"testing"
)

// Every answer that a service, or what stands before it, may give, to a send and to a question.
func TestTroubleOf(t *testing.T) {
	for name, tt := range map[string]struct {
		status     int
		retryAfter string
		page       string // as text/html
		body       string
		send       Trouble
		question   Trouble
	}{
		"200":                           {200, "", "", `{"message_id":12,"status":"sent"}`, TroubleNone, TroubleNone},
		"a refusal within 200":          {200, "", "", `{"success":false,"error":"template not approved"}`, TroubleNone, TroubleNone},
		"no points within 200":          {200, "", "", `{"success":false,"error":"Insufficient points"}`, TroubleNone, TroubleNone},
		"a web page instead":            {200, "", "<html>log in", "", TroubleOutage, TroubleOutage},
		"a redirect":                    {302, "", "", "", TroubleAddress, TroubleAddress},
		"a bad request":                 {400, "", "", `{"error":"template not approved"}`, TroubleNone, TroubleNone},
		"a bad request, without points": {400, "", "", `{"error":"you have insufficient points"}`, TroubleNone, TroubleNone},
		"a bad key":                     {401, "", "", "", TroubleKey, TroubleKey},
		"payment required":              {402, "", "", "", TroublePoints, TroublePoints},
		"not allowed":                   {403, "", "", "", TroubleKey, TroubleKey},
		"not found":                     {404, "", "", "", TroubleAddress, TroubleNone},
		"a wrong method":                {405, "", "", "", TroubleAddress, TroubleAddress},
		"a timeout of the service":      {408, "", "", "", TroubleOutage, TroubleOutage},
		"gone":                          {410, "", "", "", TroubleAddress, TroubleNone},
		"refused by its content":        {422, "", "", `{"error":"opted out"}`, TroubleNone, TroubleNone},
		"too early":                     {425, "", "", "", TroubleBusy, TroubleBusy},
		"too many":                      {429, "", "", "", TroubleBusy, TroubleBusy},
		"too many, and points":          {429, "", "", "insufficient points", TroubleBusy, TroubleBusy},
		"500":                           {500, "", "", "insufficient points", TroubleOutage, TroubleOutage},
		"502":                           {502, "", "<html>bad gateway", "", TroubleOutage, TroubleOutage},
		"503":                           {503, "", "", "", TroubleOutage, TroubleOutage},
		"503 with Retry-After":          {503, "7", "", "", TroubleBusy, TroubleBusy},
	} {
		t.Run(name, func(t *testing.T) {
			base := answer(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if tt.page != "" {
					w.Header().Set("Content-Type", "text/html; charset=utf-8")
				}
				if tt.retryAfter != "" {
					w.Header().Set("Retry-After", tt.retryAfter)
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.page+tt.body)
			})
			c := open(t, base)
			_, sent := c.SendTemplate(t.Context(), message)
			_, asked := c.MessageStatus(t.Context(), "12")
			if got, of := TroubleOf(sent), TroubleOf(asked); got != tt.send || of != tt.question {
				t.Errorf("a send: %q, want %q (%v); a question: %q, want %q (%v)", got, tt.send, sent, of, tt.question, asked)
			}
			if tt.send != TroubleOutage && tt.send != TroubleNone && OutcomeOf(sent) == InDoubt {
				t.Errorf("trouble %q leaves the send in doubt", tt.send)
			}
		})
	}
	c := open(t, "http://"+vacant(t), func(o *Options) { o.TextPath = "" })
	_, unsent := c.SendCampaign(t.Context(), testPhone, "417")
	_, unasked := c.MessageStatus(t.Context(), "12")
	_, refused := c.SendText(t.Context(), testPhone, "hello")
	for err, want := range map[error]Trouble{
		unsent: TroubleOutage, unasked: TroubleOutage, refused: TroubleNone, errors.New("odd"): TroubleNone, nil: TroubleNone,
	} {
		if got := TroubleOf(err); got != want || (got.Words() == "") != (got == TroubleNone) {
			t.Errorf("%v: %q with the words %q, want %q", err, got, got.Words(), want)
		}
	}
}
