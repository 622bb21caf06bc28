package app_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

// early is a config in a folder of its own, to listen at address, and that folder.
func early(t *testing.T, address string) (o app.Options, folder string) {
	t.Helper()
	folder = t.TempDir()
	o = app.Options{ConfigFile: filepath.Join(folder, "config.yaml"), Env: testEnv, Version: "test"}
	text := "api: {base_url: http://127.0.0.1:9/api/v1, key: \"${API_KEY}\"}\nstorage: sqlite:" + folder + "/nudgewire.db\n" +
		plainConfig + "\nserver: {listen: \"" + address + "\"}\n"
	if err := os.WriteFile(o.ConfigFile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return o, folder
}

// somebody listens at an address that it gives.
func somebody(t *testing.T) (address string, leave func()) {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l.Addr().String(), func() { _ = l.Close() }
}

func TestAPortInUseIsToldBeforeAnythingIsMade(t *testing.T) {
	t.Parallel()
	address, leave := somebody(t)
	defer leave()
	o, folder := early(t, address)
	_, err := app.New(t.Context(), o)
	port, ok := errors.AsType[*app.PortError](err)
	if !ok || !errors.Is(err, syscall.EADDRINUSE) || port.Hint() != "another program has "+address+": stop it, or set server.listen to a free port" {
		t.Errorf("New: %v", err)
	}
	if _, err := os.Stat(filepath.Join(folder, "nudgewire.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a database was made: %v", err)
	}

	// Where it is a daemon over the same data, that is told.
	st, err := store.Open(t.Context(), store.Options{DSN: "sqlite:" + filepath.Join(folder, "nudgewire.db")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = app.New(t.Context(), o)
	if locked, ok := errors.AsType[*sqlite.LockedError](err); !ok || locked.PID != os.Getpid() {
		t.Errorf("New beside a daemon: %v", err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

// A full disk is played by a file that leads to the device that is always full.
func fullDisk(t *testing.T, folder string) (room func()) {
	t.Helper()
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here")
	}
	path := filepath.Join(folder, "nudgewire.db.calls.new")
	if err := os.Symlink("/dev/full", path); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

func TestAStartWaitsForAFullDisk(t *testing.T) {
	t.Parallel()
	address, leave := somebody(t)
	leave()
	o, folder := early(t, address)
	console, free := somebody(t)
	free()
	f, err := os.OpenFile(o.ConfigFile, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("console: {listen: \"" + console + "\"}\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	room := fullDisk(t, folder)
	if _, err := app.New(t.Context(), o); sqlite.DiskTrouble(err) != "the disk is full" {
		t.Fatalf("who does not want to wait is told %v", err)
	}

	core, logs := observer.New(zap.InfoLevel)
	o.AwaitDisk, o.Log = true, zap.New(core)
	ask := func(path string) (status int, words string) {
		res, err := http.Get("http://" + address + path)
		if err != nil {
			return 0, err.Error()
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Error(err)
		}
		return res.StatusCode, string(text)
	}
	waits := func() {
		t.Helper()
		var status int
		for range 6000 { // a minute
			if status, _ = ask("/hooks/shopify"); status != 0 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if _, words := ask("/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(words, `"starting":"the disk is full","hint":"make room on the disk of the data; `) {
			t.Errorf("a webhook gets %d, and /readyz says %s", status, words)
		}
		if status, _ := ask("/healthz"); status != http.StatusOK {
			t.Errorf("/healthz is %d", status)
		}
		for path, want := range map[string][2]string{
			"/":              {"text/html; charset=utf-8", "it can open its data: the disk is full.</p><p>What to do: make room on the disk"},
			"/api/v1/status": {"application/problem+json", `"detail":"the daemon waits before it can open its data: the disk is full","hint":"make room on the disk`},
		} {
			res, err := http.Get("http://" + console + path)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(res.Body) // what is cut is not what is wanted
			res.Body.Close()
			if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") != "5" || res.Header.Get("Content-Type") != want[0] || !strings.Contains(string(text), want[1]) {
				t.Errorf("the console answers %s: %s %v\n%s", path, res.Status, res.Header, text)
			}
		}
	}
	type made struct {
		app *app.App
		err error
	}
	begin := func(ctx context.Context) chan made {
		done := make(chan made, 1)
		go func() {
			a, err := app.New(ctx, o)
			done <- made{a, err}
		}()
		return done
	}

	// Asked to stop while it waits, it says what it waited for.
	ctx, cancel := context.WithCancel(t.Context())
	done := begin(ctx)
	waits()
	cancel()
	if got := <-done; sqlite.DiskTrouble(got.err) != "the disk is full" || got.app != nil {
		t.Errorf("stopped while it waited: %v", got.err)
	}

	done = begin(t.Context())
	waits()
	room()
	got := <-done
	if got.err != nil {
		t.Fatalf("there is room, and it does not start: %v", got.err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- got.app.Run(ctx) }()
	if status, words := ask("/readyz"); status != http.StatusOK {
		t.Errorf("/readyz is %d: %s", status, words)
	}
	if res, err := http.Get("http://" + console + "/api/v1/status"); err != nil || res.StatusCode != http.StatusUnauthorized {
		t.Errorf("the console, once there is room: %v %v", res, err)
	} else {
		res.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
	cancel()
	if err := <-ran; err != nil {
		t.Error(err)
	}
	if n := logs.FilterMessageSnippet("webhooks are answered 503 and nothing is sent: the disk is full").Len(); n != 2 {
		t.Errorf("%d lines on two starts that waited", n)
	}
}
