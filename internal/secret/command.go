package secret

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/plain"
)

// commandVariable names the command that ${command:NAME} asks. It comes from the environment of the process and not from
// the config, so that nobody who may only write the config, or have it checked, decides what runs.
const commandVariable = "NUDGEWIRE_SECRET_COMMAND"

// commandPatience bounds one answer of the command: a start must not hang on a vault that does not answer.
const commandPatience = 10 * time.Second

// maxComplaint is how much of what a command says on standard error is repeated, in bytes.
const maxComplaint = 300

// fromCommand is what the command prints when it is called with its own words and the name behind them.
func fromCommand(ref, name string, look Lookup) (string, error) {
	if !plainName.MatchString(name) {
		return "", badName(ref, "command")
	}
	line, _ := find(look, commandVariable)
	words := strings.Fields(line)
	if len(words) == 0 {
		return "", &Error{
			Msg:  fmt.Sprintf("%s: no command is named (%s is not set)", ref, commandVariable),
			Next: fmt.Sprintf("set %s to a command that prints a secret when the secret's name is its last argument", commandVariable),
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], name)...) //nolint:gosec // whoever sets the environment chooses the program
	cmd.WaitDelay = time.Second                                           // a child of the command's that keeps the pipes open
	out, complaint := &bounded{max: maxFile}, &bounded{max: maxComplaint}
	cmd.Stdout, cmd.Stderr = out, complaint
	err := cmd.Run()
	fail := func(msg, hint string) (string, error) {
		return "", &Error{Msg: fmt.Sprintf("%s: %s: %s", ref, words[0], msg), Next: hint, Err: err}
	}
	value := withoutLineEnd(out.kept.Bytes())
	switch {
	case ctx.Err() != nil:
		return fail(fmt.Sprintf("no answer within %s", commandPatience), "call it in a shell: it must not ask anything")
	case errors.Is(err, exec.ErrNotFound):
		return fail("there is no such command", "correct "+commandVariable)
	case err != nil:
		msg := err.Error()
		if said := plain.OneLine(complaint.kept.String()); said != "" {
			msg += ": " + said
		}
		return fail(msg, fmt.Sprintf("call it in a shell with %s as its last argument", name))
	case out.over:
		return fail("prints more than 64 KiB", "a secret is short; check the command")
	case value == "":
		return fail("prints nothing", fmt.Sprintf("call it in a shell with %s as its last argument", name))
	}
	return value, nil
}

// bounded keeps the first max bytes of what is written to it.
type bounded struct {
	kept bytes.Buffer // not embedded: its ReadFrom would take everything
	max  int
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	room := min(len(p), b.max-b.kept.Len())
	b.over = b.over || room < len(p)
	b.kept.Write(p[:room])
	return len(p), nil
}
