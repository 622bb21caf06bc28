package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/store"
)

// An Error is a refusal of the admin API in words for the person at the keyboard. It travels
// as {"error":"…","hint":"…"} and comes out of Client as it went in.
type Error struct {
	Status int    `json:"-"` // 404 nothing found, 409 wrong state, 422 bad config, 400 bad request
	Words  string `json:"error"`
	Hint   string `json:"hint,omitempty"`
}

func (e *Error) Error() string { return e.Words }

// rejectf makes an Error.
func rejectf(status int, hint, format string, args ...any) error {
	return &Error{Status: status, Hint: hint, Words: fmt.Sprintf(format, args...)}
}

// answer runs a handler and turns what it returns into JSON, a status and, for errors that
// are ours, a log line. It is the only place where the admin API writes an answer.
func answer(log *zap.Logger, do func(r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := do(r)
		status := http.StatusOK
		if err != nil {
			e := publicError(err)
			if e.Status >= http.StatusInternalServerError {
				log.Error("admin request", zap.String("path", r.URL.Path), zap.Error(err))
			}
			status, v = e.Status, e
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if err := json.NewEncoder(w).Encode(v); err != nil {
			log.Debug("admin answer cut short", zap.Error(err))
		}
	}
}

// publicError is err as the admin API tells it.
func publicError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*store.StateError](err); ok {
		return &Error{Status: http.StatusConflict, Words: e.Error()}
	}
	switch {
	case errors.Is(err, nudgewire.ErrNotFound):
		return &Error{Status: http.StatusNotFound, Words: err.Error()}
	case errors.Is(err, store.ErrForgotten):
		return &Error{Status: http.StatusConflict, Words: err.Error()}
	case errors.Is(err, store.ErrOverloaded):
		return &Error{Status: http.StatusServiceUnavailable, Words: "the daemon has more to write than it can", Hint: "try again in a moment"}
	default:
		return &Error{Status: http.StatusInternalServerError, Words: err.Error()}
	}
}
