// Package exit has the exit statuses of all commands, and errors that know theirs.
package exit

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
)

// Exit statuses, the same for every command. 69, 75 and 78 are those of sysexits.h.
const (
	Good        = 0
	Failed      = 1
	Usage       = 2
	NoDaemon    = 3
	Nothing     = 4
	Unreachable = 69
	TryLater    = 75
	Config      = 78
)

// Table says what each status means, for people; ByAnswer gives the answers of a daemon theirs. Together
// they are the whole table: a status that a command ends with is one of these.
var (
	Table = []struct {
		Code  int
		Means string
	}{
		{Good, "good"},
		{Failed, "failed, or a webhook that is rejected"},
		{Usage, "wrong usage, or a file named on the command line that cannot be read"},
		{NoDaemon, "no daemon"},
		{Nothing, "nothing found"},
		{Unreachable, "service unreachable"},
		{TryLater, "try later"},
		{Config, "bad config, or none"},
	}
	ByAnswer = map[int]int{
		http.StatusBadRequest:          Usage,
		http.StatusNotFound:            Nothing,
		http.StatusUnprocessableEntity: Config,
		http.StatusTooManyRequests:     TryLater,
		http.StatusServiceUnavailable:  TryLater,
		http.StatusBadGateway:          Unreachable,
	}
)

// OfAnswer is the status that a command ends with after a daemon answered so, 0 for none of its own.
func OfAnswer(status int) int { return ByAnswer[status] }

// Words is the table for people, on one line.
func Words() string {
	words := make([]string, len(Table))
	for i, e := range Table {
		words[i] = fmt.Sprintf("%d %s", e.Code, e.Means)
	}
	return strings.Join(words, "; ")
}

// An Error is an error that knows its exit status and what to do next.
type Error struct {
	Code int
	err  error
	hint string // a sentence; "" when the error says it all
}

func (e *Error) Error() string { return e.err.Error() }
func (e *Error) Unwrap() error { return e.err }

func Fail(code int, hint, format string, args ...any) error {
	return &Error{Code: code, err: fmt.Errorf(format, args...), hint: hint}
}

// Silent ends with a status after everything worth saying has been said.
func Silent(code int) error { return &Error{Code: code} }

// Report prints err and the next step, and returns the exit status it asks for.
func Report(w io.Writer, err error) int {
	if err == nil {
		return 0
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = &Error{Code: Failed, err: err}
		var remote *refusal.Error
		switch {
		case errors.Is(err, server.ErrNoDaemon):
			e.Code, e.hint = NoDaemon, "start it with: nudgewire serve"
		case errors.As(err, &remote):
			e.Code, e.hint = cmp.Or(ByAnswer[remote.Status], Failed), remote.Hint
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
	return e.Code
}
