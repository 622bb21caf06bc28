package server

import (
	"encoding/json"
	"errors"
	"net/http"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/listeners"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/commit"
)

// refusalFor is an error as it is told to who asks.
func refusalFor(who access.Who, err error) *refusal.Error {
	return publicError(err).For(who.May(access.Phones))
}

// refuse answers with a refusal.
func (a admin) refuse(w http.ResponseWriter, no *refusal.Error) {
	if no.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if no.Wait > 0 {
		w.Header().Set("Retry-After", seconds(no.Wait))
	}
	a.write(w, no.Status, "application/problem+json", no)
}

// write is the only place where an answer is written that is no list of lines.
func (a admin) write(w http.ResponseWriter, status int, kind string, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		a.Log.Error("admin answer", zap.Error(err))
		status, kind, text = http.StatusInternalServerError, "application/problem+json", []byte(`{"status":500,"title":"Internal Server Error","detail":"the answer cannot be written"}`)
	}
	listeners.Answering(w)
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	if _, err := w.Write(append(text, '\n')); err != nil {
		a.Log.Debug("admin answer cut short", zap.Error(err))
	}
}

// publicError is err as the admin API tells it.
func publicError(err error) *refusal.Error {
	if e, ok := errors.AsType[*refusal.Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*store.StateError](err); ok {
		return &refusal.Error{Status: http.StatusConflict, Words: string(mask.Own(e.Error()))}
	}
	switch {
	case errors.Is(err, messaging.ErrNotFound):
		return &refusal.Error{Status: http.StatusNotFound, Words: mask.Text(err.Error())}
	case errors.Is(err, store.ErrForgotten):
		return &refusal.Error{Status: http.StatusConflict, Words: mask.Text(err.Error())}
	case errors.Is(err, commit.ErrOverloaded):
		return &refusal.Error{Status: http.StatusServiceUnavailable, Words: "the daemon has more to write than it can", Hint: "try again in a moment"}
	default:
		return &refusal.Error{Status: http.StatusInternalServerError, Words: mask.Text(err.Error())}
	}
}
