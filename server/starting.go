package server

import (
	"net/http"
	"strconv"
)

// Starting answers at the public door while the daemon waits for what it cannot start without. Anybody may ask, so why names
// no place: "the disk is full".
func Starting(why func() string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["X-Content-Type-Options"] = nosniff
		if r.URL.Path == "/healthz" {
			say(w, http.StatusOK, "ok")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "5")
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusServiceUnavailable)
		w.Write([]byte(`{"error":"not ready, try again","starting":` + strconv.Quote(why()) + "}\n"))
	})
}
