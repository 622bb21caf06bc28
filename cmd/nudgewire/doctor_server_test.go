//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/test/testserver"
)

// stored has the daemon keep its data in a database.
func stored(address string) func(*ward) {
	return func(w *ward) {
		w.t.Helper()
		text, err := os.ReadFile(w.config)
		if err != nil {
			w.t.Fatal(err)
		}
		with := fmt.Sprintf("storage: %q\nnode: {folder: %q}\n", address, filepath.Join(filepath.Dir(w.config), "node"))
		text = regexp.MustCompile(`(?m)^storage: .*\n`).ReplaceAllLiteral(text, []byte(with))
		if err := os.WriteFile(w.config, text, 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
}

// says waits until a command fails with words.
func (w *ward) says(words, command string) {
	w.t.Helper()
	var out string
	var code int
	said := regexp.MustCompile(`(?m)` + words)
	defer func() {
		if w.t.Failed() {
			w.t.Logf("%s ended with %d:\n%s", command, code, out)
		}
	}()
	w.until(command+" says "+words, func() bool {
		code, out = w.run(command)
		return code != 0 && said.MatchString(out)
	})
}

// What people read while the database server hangs, has no connection free, or is a standby; and that all is well by itself once that is over.
func TestWhatStatusAndDoctorSayOfADatabaseServerInTrouble(t *testing.T) {
	t.Parallel()
	server := testserver.ForTest(t, "fsync=off", "max_connections=30")
	fresh := func(t *testing.T) string {
		t.Helper()
		address, err := server.NewDatabase(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return address
	}
	const back = `look at the database server and the way to it; the daemon goes on by itself once it is back`
	well := func(w *ward) {
		w.t.Helper()
		w.until("status and doctor are well", func() bool {
			code, _ := w.run("status")
			_, out := w.run("doctor")
			return code == 0 && regexp.MustCompile(`(?m)database +postgres://\S+ answers in .*: PostgreSQL `).MatchString(out)
		})
		w.until("an order is taken", func() bool { code, _ := w.run("trigger", "shopify", "--sample", "order"); return code == 0 })
	}
	t.Run("hangs", func(t *testing.T) {
		wire, by := testserver.NewWire(t, fresh(t))
		w := newWard(t, stored(by))
		well(w)
		wire.Hang(true)
		w.says(`webhooks are rejected and nothing is sent: .*\n.*`+back, "status")
		w.says(`database +PostgreSQL at \S+: the database cannot be reached.*\n +`+back, "doctor")
		w.says(`daemon +does not say how it is: webhooks are rejected and nothing is sent: .*\n +`+back, "doctor")
		wire.Hang(false)
		well(w)
	})
	t.Run("has no connection free", func(t *testing.T) {
		address := fresh(t)
		w := newWard(t, stored(address))
		well(w)
		free := testserver.Fill(t, address, func() bool {
			_, out := w.run("status")
			return strings.Contains(out, "53300")
		})
		const raise = `raise max_connections of the server, or end programs that are connected to it`
		w.says(`nothing is sent: .*too many clients.*\n +`+raise, "status")
		w.says(`database +PostgreSQL at .*too many clients.*\n +`+raise, "doctor")
		w.says(`daemon +does not say how it is: .*too many clients.*\n +`+raise, "doctor")
		free()
		well(w)
	})
	t.Run("is a standby", func(t *testing.T) {
		standby, err := server.Standby(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = standby.Close() }()
		w := newWard(t)
		stored(standby.DSN("postgres"))(w)
		w.says(`it is a standby, which nobody can write to; name the primary, or all with target_session_attrs=read-write`, "doctor")
	})
}
