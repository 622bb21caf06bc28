package app_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/listeners"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A file that could not be used at the next start is told, once it is put back no more, and reload has the last word.
func TestAConfigFileThatCouldNotBeUsedIsTold(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: plainConfig})
	trouble := func() (words string) {
		for _, one := range h.status().Troubles {
			if one.Code == messaging.TroubleConfig {
				words += one.Words
			}
		}
		return words
	}
	const begins = "the config file was changed and cannot be used as it is; the daemon uses what it read before, and could not start anew: "
	for range 2 {
		h.edit("wait: 1h", "weit: 1h")
		app.LookAtConfigFile(h.App)
		if words := trouble(); len(words) <= len(begins) || words[:len(begins)] != begins {
			t.Errorf("changed, and told %q", words)
		}
		if err := h.Reload(t.Context()); err == nil {
			t.Fatal("the file was taken")
		}
		if words := trouble(); len(words) < 30 || words[:30] != "the last reload was rejected, " {
			t.Errorf("reloaded, and told %q", words)
		}
		h.edit("weit: 1h", "wait: 1h")
		app.LookAtConfigFile(h.App)
		if words := trouble(); words != "" {
			t.Errorf("put back, and told %q", words)
		}
	}
}

// Whatever lies where the config's files lay, nobody waits for it: it is told in words, a reload answers with them, and a stop ends. The
// rules of before go on.
func TestNothingInTheConfigsPlaceHoldsTheDaemon(t *testing.T) {
	t.Parallel()
	places := map[string]func(path string) error{
		"a pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"a folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"a socket": func(path string) error {
			return listeners.AtSocket(path, func(short string) error {
				l, err := net.Listen("unix", short)
				if err == nil {
					l.(*net.UnixListener).SetUnlinkOnClose(false)
					err = l.Close() // its name stays
				}
				return err
			})
		},
	}
	const included, days = "shops.yaml", "days.txt"
	for _, file := range []string{"", included, days} {
		for what, put := range places {
			t.Run(file+" "+what, func(t *testing.T) {
				t.Parallel()
				o := options{folder: t.TempDir(), config: "include: [" + included + "]" + strings.Replace(plainConfig, "language: en", "language: en, quiet_hours: {hours: \"22:00-07:00\", holidays: "+days+"}", 1)}
				for name, text := range map[string]string{included: "connectors: {braze: {secret: a-secret-of-the-shop}}\n", days: "2026-12-25\n"} {
					if err := os.WriteFile(filepath.Join(o.folder, name), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				h := open(t, o)
				path := h.file()
				if file != "" {
					path = filepath.Join(o.folder, file)
				}
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
				if err := put(path); err != nil {
					t.Fatal(err)
				}
				app.LookAtConfigFile(h.App)
				told := ""
				for _, one := range h.status().Troubles {
					if one.Code == messaging.TroubleConfig {
						told = one.Words
					}
				}
				if !strings.Contains(told, "cannot be used as it is") {
					t.Errorf("told %q", told)
				}
				if err := h.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot be used") {
					t.Errorf("reload: %v", err)
				}
				h.stop()
			})
		}
	}
}
