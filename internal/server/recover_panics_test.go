package server_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
)

// faulty is a daemon with a fault in it.
type faulty struct{ server.Daemon }

func (faulty) View() server.DaemonView { panic("a fault of the program") }

// A fault in what a page asks ends that request, and not the daemon.
func TestAFaultEndsOneRequest(t *testing.T) {
	core, said := observer.New(zap.ErrorLevel)
	w := newTower(t)
	ask := server.Local(server.Admin(server.AdminOptions{Store: w.store, Daemon: faulty{}, Now: time.Now, Log: zap.New(core)}), access.Process("ann"))
	for range 2 {
		_, err := server.ShowStatus.Call(t.Context(), ask, server.None{})
		if e, ok := errors.AsType[*refusal.Error](err); !ok || e.Status != http.StatusInternalServerError || e.Hint == "" {
			t.Fatalf("a fault is answered %v", err)
		}
	}
	if said.Len() != 2 || said.All()[0].ContextMap()["fault"] != "a fault of the program" {
		t.Errorf("the log says %+v", said.All())
	}
	if _, err := server.ListBlocks.Call(t.Context(), ask, server.ListQuery{}); err != nil {
		t.Errorf("after a fault: %v", err)
	}
}

// Half an answer does not look whole.
func TestAFaultAmidAnAnswerCutsIt(t *testing.T) {
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`[]`))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer at.Close()
	ask, err := server.Remote(at.URL, "token")
	if err != nil {
		t.Fatal(err)
	}
	defer ask.Close()
	if _, err := server.ListMessages.Call(t.Context(), ask, server.ListQuery{}); err == nil {
		t.Error("an answer that was cut looks whole")
	}
}
