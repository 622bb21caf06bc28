package sandbox

import (
	"crypto/sha256"
	"net/http"
	"strings"
	"time"
)

// An endpoint is one of the API's.
type endpoint int

const (
	unknown endpoint = iota
	sendTemplate
	sendCampaign
	sendText
	createWithCSV
	messageStatus
	endpoints // how many there are
)

var names = [endpoints]string{"unknown", "send-template", "send-campaign", "text", "create-with-csv", "message-status"}

func endpointByName(name string) (endpoint, bool) {
	for e, n := range names {
		if n == name {
			return endpoint(e), true
		}
	}
	return unknown, false
}

func endpointNames() string { return strings.Join(names[1:], ", ") }

// route finds the endpoint of a path below the base URL, and what of the path is left.
func (s *Sandbox) route(path string) (e endpoint, rest string) {
	switch path {
	case "/send-template":
		return sendTemplate, ""
	case "/send-campaign":
		return sendCampaign, ""
	case "/campaigns/create-with-csv":
		return createWithCSV, ""
	}
	if s.textPath != "" && path == s.textPath {
		return sendText, ""
	}
	if id, ok := strings.CutPrefix(path, "/message-status/"); ok {
		return messageStatus, id
	}
	return unknown, ""
}

// A request is one that is being answered, and what became known of it for the Record.
type request struct {
	endpoint endpoint
	rest     string
	now      time.Time
	http     *http.Request
	writer   http.ResponseWriter

	fetched bool
	text    string // the JSON body
	broken  error  // why text is not whole

	phone    string
	subject  subject
	messages int
}

// authorize returns why the request may not use the account, "" when it may.
func (s *Sandbox) authorize(r *http.Request) (words string) {
	h := r.Header.Get("Authorization")
	if h == "" {
		return "header Authorization is missing: send 'Authorization: Bearer <API key>'"
	}
	kind, key, ok := strings.Cut(h, " ")
	if key = strings.TrimSpace(key); !ok || !strings.EqualFold(kind, "Bearer") || key == "" {
		return "header Authorization is not of the form 'Bearer <API key>'"
	}
	// Hashed, so that the time of the look-up tells nothing of the keys.
	if len(s.keys) > 0 && !s.keys[sha256.Sum256([]byte(key))] {
		return "API key is not known"
	}
	return ""
}
