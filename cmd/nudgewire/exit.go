package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/server"
)

// Exit statuses, the same for every command. 69, 75 and 78 are those of sysexits.h.
const (
	exitGood        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNoDaemon    = 3
	exitNothing     = 4
	exitUnreachable = 69
	exitTryLater    = 75
	exitConfig      = 78
)

// exitTable says what each status means, for people; answers gives the answers of a daemon theirs. Together
// they are the whole table: a status that a command ends with is one of these.
var (
	exitTable = []struct {
		code  int
		means string
	}{
		{exitGood, "good"},
		{exitFailed, "failed, or a webhook that is rejected"},
		{exitUsage, "wrong usage, or a file named on the command line that cannot be read"},
		{exitNoDaemon, "no daemon"},
		{exitNothing, "nothing found"},
		{exitUnreachable, "service unreachable"},
		{exitTryLater, "try later"},
		{exitConfig, "bad config, or none"},
	}
	answers = map[int]int{
		http.StatusBadRequest:          exitUsage,
		http.StatusNotFound:            exitNothing,
		http.StatusUnprocessableEntity: exitConfig,
		http.StatusTooManyRequests:     exitTryLater,
		http.StatusServiceUnavailable:  exitTryLater,
		http.StatusBadGateway:          exitUnreachable,
	}
)

// exitWords is the table for people, on one line.
func exitWords() string {
	words := make([]string, len(exitTable))
	for i, e := range exitTable {
		words[i] = fmt.Sprintf("%d %s", e.code, e.means)
	}
	return strings.Join(words, "; ")
}

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
			e.code, e.hint = cmp.Or(answers[remote.Status], exitFailed), remote.Hint
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
