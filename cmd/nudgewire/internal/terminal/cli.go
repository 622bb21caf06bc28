// Package terminal is what all commands share: the global flags, what they print and ask, the config, and the way to the daemon or its data.
package terminal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
)

// Streams are the program's ends. Out carries data, Err words.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// A CLI is what every command shares: the streams and the global flags.
type CLI struct {
	Streams
	Config  string
	Server  string // address of a daemon's console; "" asks that of this machine
	JSON    bool
	Quiet   bool
	NoColor bool
	Yes     bool

	Version string         // of this program
	Zone    *time.Location // once it was asked for; see Location
}

const (
	OwnConfig       = "config.yaml"                // of the folder in which a command runs
	InstalledConfig = "/etc/nudgewire/config.yaml" // of a daemon that a package installed
)

// UsualConfig is the config of this folder or, where there is none, that of the daemon that a package installed.
func UsualConfig() string {
	if _, err := os.Stat(OwnConfig); errors.Is(err, os.ErrNotExist) {
		if _, err := os.Stat(InstalledConfig); err == nil {
			return InstalledConfig
		}
	}
	return OwnConfig
}

func EnvOr(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

// Note prints words for people, unless they asked for quiet.
func (c *CLI) Note(format string, args ...any) {
	if !c.Quiet {
		c.Warn(format+"\n", args...)
	}
}

// Confirm asks before something that cannot be taken back. Without a terminal the answer
// is no, and --yes is the way to say yes.
func (c *CLI) Confirm(question string) error {
	if c.Yes {
		return nil
	}
	if !IsTerminal(c.In) {
		return exit.Fail(exit.Usage, "add --yes to go ahead", "%s", question)
	}
	c.Warn("%s [y/N] ", question)
	var answer string
	if _, err := fmt.Fscanln(c.In, &answer); err != nil && !errors.Is(err, io.EOF) && err.Error() != "unexpected newline" {
		return fmt.Errorf("read the answer: %w", err)
	}
	if a := strings.ToLower(answer); a != "y" && a != "yes" {
		return exit.Fail(exit.Failed, "", "nothing was changed")
	}
	return nil
}
