package server

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"strings"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/listeners"
	"github.com/nudgewire/nudgewire/internal/mask"
)

// A Readiness is the answer of GET /readyz: status 200 while webhooks can be stored, else 503.
type Readiness struct {
	Ready    bool   `json:"ready"`
	Starting string `json:"starting,omitempty"` // what the daemon waits for before it can open its data: "the disk is full"
	Why      string `json:"why,omitempty"`      // why webhooks cannot be stored any more: "the data is damaged"
	Hint     string `json:"hint,omitempty"`     // what ends that: "make room on the disk of the data"
	Note     string `json:"note,omitempty"`
}

func (v Readiness) write(w http.ResponseWriter) {
	status := http.StatusOK
	if !v.Ready {
		status = http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // whoever asked is gone
}

// ConsoleStarting answers at the console's listener while the daemon waits for what it cannot start without. Nobody can be known yet, so
// it says no more than Starting.
func ConsoleStarting(now func() Readiness, log *zap.Logger) http.Handler {
	const page = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Not ready · nudgewire</title>` +
		`<h1>Not ready yet</h1><p>The daemon runs and waits before it can open its data: %s.</p><p>What to do: %s. Then load this page again.</p>`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Retry-After", "5")
		w.Header().Set("Connection", "close")
		v := now()
		if strings.HasPrefix(r.URL.Path, "/api/") {
			admin{AdminOptions: AdminOptions{Log: log}}.refuse(w, r, &Error{Status: http.StatusServiceUnavailable, Words: "the daemon waits before it can open its data: " + mask.Text(v.Starting), Hint: v.Hint})
			return
		}
		w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintf(w, page, html.EscapeString(v.Starting), html.EscapeString(v.Hint)) // whoever asked is gone
	})
}

// Starting answers at the public door while the daemon waits for what it cannot start without. Anybody may ask, so
// what now says names no folder.
func Starting(now func() Readiness) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if r.URL.Path == "/healthz" {
			listeners.WriteWords(w, http.StatusOK, "ok")
			return
		}
		w.Header().Set("Retry-After", "5")
		w.Header().Set("Connection", "close")
		v := now()
		v.Note = "not ready, try again"
		v.write(w)
	})
}
