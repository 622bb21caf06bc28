package terminal

import (
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/store"
)

// A command beside a daemon that has just begun waits until it answers; without one it does not wait.
func TestACommandWaitsForADaemonThatBegins(t *testing.T) {
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "nudgewire.db")
	ask := (&CLI{}).Dial(dsn)
	defer ask.Close()
	if answers, err := awaitStart(t.Context(), ask, dsn, time.Hour); answers || err != nil {
		t.Errorf("without a daemon: %v, %v", answers, err)
	}
	daemon, err := store.Open(t.Context(), store.Options{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := awaitStart(gone, ask, dsn, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("a command that is ended says %v", err)
	}
	if _, err := awaitStart(t.Context(), ask, dsn, 0); err == nil || !strings.Contains(err.Error(), "the daemon is starting") {
		t.Errorf("a daemon that takes long: %v", err)
	}
	begun := make(chan *http.Server, 1)
	go func() {
		l, err := net.Listen("unix", app.SocketPath(dsn))
		if err != nil {
			t.Error(err)
		}
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) })}
		begun <- s
		_ = s.Serve(l)
	}()
	if answers, err := awaitStart(t.Context(), ask, dsn, time.Hour); !answers || err != nil {
		t.Errorf("beside a daemon that begins: %v, %v", answers, err)
	}
	if err := (<-begun).Close(); err != nil {
		t.Error(err)
	}
	if err := daemon.Close(); err != nil {
		t.Error(err)
	}
}
