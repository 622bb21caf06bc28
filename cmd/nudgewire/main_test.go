package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/text/encoding/charmap"
)

// The test binary is the program, too: scripts run it as "nudgewire", and the crash test
// starts it so that it can be killed.
func TestMain(m *testing.M) {
	testscript.Main(apart{m}, map[string]func(){"nudgewire": main})
}

// userCache is what apart hides.
var userCache = os.Getenv("XDG_CACHE_HOME")

// apart runs the tests where the notes that daemons leave for their user are nobody's.
type apart struct{ *testing.M }

func (a apart) Run() int {
	folder, err := os.MkdirTemp("", "nudgewire-test-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(folder) }() // a temporary folder
	_ = os.Setenv("XDG_CACHE_HOME", folder)     // fails for a bad name alone
	return a.M.Run()
}

func TestCommands(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("NO_COLOR", "1")
			e.Setenv("TZ", "UTC")
			e.Setenv("API_KEY", "key")
			e.Setenv("SECRET", "a-long-enough-secret")
			e.Setenv("SERVICE", freeAddress(t))
			e.Setenv("LISTEN", freeAddress(t))
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, ".cache"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"western": western, "exits": exits, "eventually": eventually, "mkconfig": mkconfig,
		},
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}

// western FILE LINE writes a file in Windows-1252 from a line on, which scripts cannot hold.
func western(ts *testscript.TestScript, _ bool, args []string) {
	line, err := strconv.Atoi(args[1])
	ts.Check(err)
	lines := strings.SplitAfter(ts.ReadFile(args[0]), "\n")
	rest, err := charmap.Windows1252.NewEncoder().String(strings.Join(lines[line-1:], ""))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Join(lines[:line-1], "")+rest), 0o600))
}
