package server

import (
	"fmt"
	"html"
	"net/http"
	"strings"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/webhooks"
)

// ConsoleStarting answers at the console's listener while the daemon waits for what it cannot start without. Nobody can be known yet, so
// it says no more than webhooks.Starting.
func ConsoleStarting(now func() webhooks.Readiness, log *zap.Logger) http.Handler {
	const page = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Not ready · nudgewire</title>` +
		`<h1>Not ready yet</h1><p>The daemon runs and waits before it can open its data: %s.</p><p>What to do: %s. Then load this page again.</p>`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Retry-After", "5")
		w.Header().Set("Connection", "close")
		v := now()
		if strings.HasPrefix(r.URL.Path, "/api/") {
			admin{AdminOptions: AdminOptions{Log: log}}.refuse(w, refusalFor(access.Who{}, &refusal.Error{Status: http.StatusServiceUnavailable, Words: "the daemon waits before it can open its data: " + mask.Text(v.Starting), Hint: v.Hint}))
			return
		}
		w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintf(w, page, html.EscapeString(v.Starting), html.EscapeString(v.Hint)) // whoever asked is gone
	})
}
