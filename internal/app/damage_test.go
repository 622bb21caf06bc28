package app_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
)

// A daemon that lost commits says so everywhere, takes webhooks, sends nothing, and goes on once a person says so.
func TestADamagedLogIsToldAndHoldsEverything(t *testing.T) {
	t.Parallel()
	first := open(t, options{})
	for i := range 12 {
		first.mustTake(first.shopify("orders/create", "", numbered(i)))
	}
	first.eventually("messages", func() bool { return first.service.Accepted(phone(11)[1:]) == 1 })

	folder := t.TempDir()
	for _, side := range []string{"", "-wal", "-shm"} { // as a kill leaves them
		text, err := os.ReadFile(filepath.Join(first.folder, "nudgewire.db"+side))
		if err != nil {
			t.Fatal(err)
		}
		if side == "-wal" {
			text[len(text)/2] ^= 1
		}
		if err := os.WriteFile(filepath.Join(folder, "nudgewire.db"+side), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sign(t, first.folder, folder)
	first.stop()

	core, logs := observer.New(zap.ErrorLevel)
	h := open(t, options{folder: folder, log: zap.New(core)})
	if logs.FilterMessageSnippet("nothing is sent: the log of the database was damaged: up to").Len() != 1 {
		t.Errorf("the log says %v", logs.All())
	}
	res, err := http.Get(h.url + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	if err = errors.Join(err, res.Body.Close()); err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(text), "nothing is sent until the damage is reviewed") {
		t.Errorf("/readyz: %d %s (%v)", res.StatusCode, text, err)
	}
	s, err := server.ShowStatus.Call(t.Context(), h.ask, server.None{})
	if err != nil || len(s.Holds) != 1 || !strings.Contains(s.Holds[0].Words(), "may be lost; what would be sent again: nudgewire messages list --state waiting; it goes on with: nudgewire resume --reviewed") {
		t.Errorf("status: %+v (%v)", s.Holds, err)
	}
	h.mustTake(h.shopify("orders/create", "", numbered(50)))
	_, err = server.Resume.Call(t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeAll})
	var no *refusal.Error
	if !errors.As(err, &no) || !strings.Contains(no.Hint, "nudgewire resume --reviewed") {
		t.Errorf("resume: %v", err)
	}
	if _, err := server.Halt.Call(t.Context(), h.ask, server.HaltRequest{Reviewed: true}); err == nil {
		t.Error("halt ends a review")
	}
	if n := h.service.Accepted(phone(50)[1:]); n != 0 {
		t.Errorf("%d messages were sent", n)
	}
	if _, err := server.Resume.Call(t.Context(), h.ask, server.HaltRequest{Reviewed: true}); err != nil {
		t.Fatal(err)
	}
	h.eventually("the message that waited", func() bool { return h.service.Accepted(phone(50)[1:]) == 1 })
}

// sign makes a copy of the data its own, as after a kill: else it would be a copy, which is reviewed first.
func sign(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(from, "nudgewire.db.instance"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n") // the third is the number of the file
	if err := os.WriteFile(filepath.Join(to, "nudgewire.db.instance"), []byte(lines[0]+lines[1]), 0o600); err != nil {
		t.Fatal(err)
	}
}

// numbered is the order of a number, by the phone of that number.
func numbered(n int) map[string]any {
	o := order(phone(n), phone(n), "10.00")
	o["id"] = 1000 + n
	return o
}

// A file of the data that is cut off under the daemon closes the door: webhooks are refused, and everybody who asks is told what to do.
func TestAFileThatIsCutOffClosesTheDoor(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.ErrorLevel)
	h := open(t, options{log: zap.New(core)})
	h.mustTake(h.shopify("orders/create", "", numbered(1)))
	if err := os.Truncate(filepath.Join(h.folder, "nudgewire.db-wal"), 0); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if code, _ := h.do(h.shopify("orders/create", "", numbered(2+i))); code != http.StatusServiceUnavailable {
			t.Errorf("a webhook is answered %d", code)
		}
	}
	res, err := http.Get(h.url + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	if err = errors.Join(err, res.Body.Close()); err != nil || res.StatusCode != http.StatusServiceUnavailable ||
		!strings.Contains(string(text), `"why":"the data is damaged","hint":"stop the daemon, keep a copy`) || strings.Contains(string(text), h.folder) {
		t.Errorf("/readyz is %d: %s (%v)", res.StatusCode, text, err)
	}
	_, err = server.ShowStatus.Call(t.Context(), h.ask, server.None{})
	var told *refusal.Error
	if !errors.As(err, &told) || !strings.Contains(told.Words, "nudgewire.db-wal was cut off, or written over") || !strings.Contains(told.Hint, "keep a copy of the data's folder, and start it anew") {
		t.Errorf("status: %v", err)
	}
	h.eventually("a line in the log", func() bool {
		all := logs.FilterMessage("webhooks are rejected and nothing is sent").All()
		return len(all) == 1 && strings.Contains(all[0].ContextMap()["hint"].(string), "start it anew")
	})
}
