package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/server"
)

// Exit statuses, the same for every command. 69, 75 and 78 are those of sysexits.h.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitNoDaemon    = 3
	exitNothing     = 4
	exitUnreachable = 69
	exitTryLater    = 75
	exitConfig      = 78
)

// An exitError is an error that knows its exit status and what to do next.
type exitError struct {
	code int
	err  error
	hint string // a sentence; "" when the error says it all
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func fail(code int, hint, format string, args ...any) error {
	return &exitError{code: code, err: fmt.Errorf(format, args...), hint: hint}
}

// errSilent ends with a status after everything worth saying has been said.
func errSilent(code int) error { return &exitError{code: code} }

// report prints err and the next step, and returns the exit status it asks for.
func report(w io.Writer, err error) int {
	if err == nil {
		return 0
	}
	e, ok := errors.AsType[*exitError](err)
	if !ok {
		e = &exitError{code: exitFailed, err: err}
		var remote *server.Error
		switch {
		case errors.Is(err, server.ErrNoDaemon):
			e.code, e.hint = exitNoDaemon, "start it with: nudgewire serve"
		case errors.As(err, &remote):
			e.code, e.hint = remoteCode(remote), remote.Hint
		}
	}
	if e.err != nil {
		// Some errors have several lines, and a stranger's error may forge one: what follows the
		// first is set in.
		words := strings.ReplaceAll(plain.Lines(strings.TrimRight(err.Error(), "\n")), "\n", "\n  ")
		fmt.Fprintf(w, "nudgewire: %s\n", words)
		if e.hint != "" {
			fmt.Fprintf(w, "  %s\n", plain.Text(e.hint))
		}
	}
	return e.code
}

// remoteCode turns a daemon's refusal into an exit status.
func remoteCode(e *server.Error) int {
	switch e.Status {
	case 404:
		return exitNothing
	case 422:
		return exitConfig
	case 429, 503:
		return exitTryLater
	case 502:
		return exitUnreachable
	default:
		return exitFailed
	}
}
