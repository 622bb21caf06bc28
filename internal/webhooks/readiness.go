package webhooks

import (
	"encoding/json"
	"net/http"

	"github.com/nudgewire/nudgewire/internal/listeners"
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
