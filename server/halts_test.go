package server_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/server"
	"github.com/nudgewire/nudgewire/store"
	"github.com/nudgewire/nudgewire/triggers"
)

// named is a daemon whose config has names.
type named struct{ still }

func (named) View() server.DaemonView {
	return server.DaemonView{Triggers: []string{"reminder", "thanks"}, Templates: []string{"cart_reminder", "winback"}}
}

// calendar is one job, and nothing else is asked of it.
type calendar struct{ jobs }

type jobs interface{ server.Jobs }

func (calendar) Jobs(time.Time) []nudgewire.Job { return []nudgewire.Job{{Name: "winback-weekly"}} }

func halting(t *testing.T) (*server.Client, *store.Store) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{DSN: "sqlite:" + filepath.Join(t.TempDir(), "n.db"), Settle: triggers.Settle})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return server.Local(server.Admin(server.AdminOptions{
		Store: s, Daemon: named{}, Jobs: calendar{}, Country: "GB", Now: time.Now, Log: zap.NewNop(),
	})), s
}

func TestHaltAndResumeAnswerWithAllThatIsHalted(t *testing.T) {
	ask, _ := halting(t)
	ctx := t.Context()
	same := func(when string, want, got []server.HaltView, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(server.HaltView{}, "Since"), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	all := server.HaltView{Scope: store.HaltAll, Reason: "wrong price"}
	trigger := server.HaltView{Scope: store.HaltTrigger, Name: "reminder"}
	got, err := ask.Halt(ctx, server.HaltRequest{Scope: store.HaltAll, Reason: "wrong price"})
	same("halt", []server.HaltView{all}, got, err)
	got, err = ask.Halt(ctx, server.HaltRequest{Scope: store.HaltTrigger, Name: "reminder"})
	same("halt trigger", []server.HaltView{all, trigger}, got, err)
	all.Reason = "wrong price, again"
	got, err = ask.Halt(ctx, server.HaltRequest{Scope: store.HaltAll, Reason: all.Reason})
	same("halt again", []server.HaltView{all, trigger}, got, err)
	status, err := ask.Status(ctx)
	same("status", []server.HaltView{all, trigger}, status.Halts, err)
	got, err = ask.Resume(ctx, server.HaltRequest{Scope: store.HaltAll})
	same("resume", []server.HaltView{trigger}, got, err)
	got, err = ask.Resume(ctx, server.HaltRequest{Scope: store.HaltTrigger, Name: "reminder"})
	same("resume trigger", nil, got, err)
	for _, r := range []server.HaltRequest{{Scope: store.HaltTemplate, Name: "winback"}, {Scope: store.HaltJob, Name: "winback-weekly"}} {
		if got, err := ask.Halt(ctx, r); err != nil || got[len(got)-1].Name != r.Name {
			t.Errorf("halt %s %s: %+v, %v", r.Scope, r.Name, got, err)
		}
	}
}

func TestAHaltOfWhatNobodyKnowsIsRefused(t *testing.T) {
	ask, s := halting(t)
	ctx := t.Context()
	if err := s.Halt(ctx, store.Halt{Scope: store.HaltTrigger, Name: "reminder"}); err != nil {
		t.Fatal(err)
	}
	halt := func(scope store.HaltScope, name string) func() error {
		return func() error { _, err := ask.Halt(ctx, server.HaltRequest{Scope: scope, Name: name}); return err }
	}
	resume := func(scope store.HaltScope, name string) func() error {
		return func() error { _, err := ask.Resume(ctx, server.HaltRequest{Scope: scope, Name: name}); return err }
	}
	tests := map[string]struct {
		do          func() error
		status      int
		words, hint string
	}{
		"a misspelt trigger": {
			halt(store.HaltTrigger, "remider"), 404,
			`no trigger "remider" in the config, and nothing of that name waits to be sent; nothing was halted`, `did you mean "reminder"?`,
		},
		"a trigger like none": {
			halt(store.HaltTrigger, "birthday"), 404,
			`no trigger "birthday" in the config, and nothing of that name waits to be sent; nothing was halted`, "there are reminder, thanks",
		},
		"a misspelt template": {
			halt(store.HaltTemplate, "cart-reminders"), 404,
			`no template "cart-reminders" in the config, and nothing of that name waits to be sent; nothing was halted`, `did you mean "cart_reminder"?`,
		},
		"a misspelt job": {
			halt(store.HaltJob, "winback-weakly"), 404,
			`no job "winback-weakly" in the config, and nothing of that name waits to be sent; nothing was halted`, `did you mean "winback-weekly"?`,
		},
		"a job taken for a trigger": {
			halt(store.HaltTrigger, "winback-weekly"), 404,
			`no trigger "winback-weekly" in the config, and nothing of that name waits to be sent; nothing was halted`,
			"there is a job of that name: nudgewire halt job winback-weekly",
		},
		"everything by a name":  {halt(store.HaltAll, "x"), 400, "all takes no name", ""},
		"a trigger without one": {halt(store.HaltTrigger, ""), 400, "which trigger?", ""},
		"no such scope":         {halt("triger", "x"), 400, `scope "triger": want all, trigger, template or job`, ""},
		"a resume of what goes on": {
			resume(store.HaltJob, "winback-weekly"), 404, `job "winback-weekly" is not halted`, `halted: trigger "reminder"`,
		},
		"a resume of everything": {resume(store.HaltAll, ""), 404, "everything is not halted", `halted: trigger "reminder"`},
		"a misspelt resume":      {resume(store.HaltTrigger, "remindr"), 404, `trigger "remindr" is not halted`, `did you mean "reminder"?`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			e, ok := errors.AsType[*server.Error](tt.do())
			if !ok || e.Status != tt.status || e.Words != tt.words || e.Hint != tt.hint {
				t.Errorf("%+v, want %d %q %q", e, tt.status, tt.words, tt.hint)
			}
		})
	}
	if halts, err := s.Halts(ctx); err != nil || len(halts) != 1 {
		t.Errorf("refused halts left %+v, %v", halts, err)
	}
	if err := s.Resume(ctx, store.HaltTrigger, "reminder"); err != nil {
		t.Fatal(err)
	}
	if e, ok := errors.AsType[*server.Error](resume(store.HaltAll, "")()); !ok || e.Hint != "nothing is halted" {
		t.Errorf("a resume of nothing: %+v", e)
	}
}

// A trigger that left the config may still owe messages: then it can be halted by its old name,
// for as long as that is so, and a halt that was made can always be renewed.
func TestWhatLeftTheConfigCanBeHaltedWhileItOwes(t *testing.T) {
	ask, s := halting(t)
	ctx := t.Context()
	m, err := ask.Send(ctx, server.SendRequest{Phone: "07700 900123", Send: nudgewire.Send{Template: "old_offer", Language: "en"}})
	if err != nil {
		t.Fatal(err)
	}
	old := []server.HaltRequest{{Scope: store.HaltTrigger, Name: m.Trigger}, {Scope: store.HaltTemplate, Name: "old_offer"}}
	for _, r := range old {
		if _, err := ask.Halt(ctx, r); err != nil {
			t.Errorf("halt %s %s: %v", r.Scope, r.Name, err)
		}
	}
	if _, err := ask.Cancel(ctx, m.ID, ""); err != nil {
		t.Fatal(err)
	}
	for _, r := range old {
		if _, err := ask.Halt(ctx, r); err != nil {
			t.Errorf("halt %s %s again: %v", r.Scope, r.Name, err)
		}
		if _, err := ask.Resume(ctx, r); err != nil {
			t.Errorf("resume %s %s: %v", r.Scope, r.Name, err)
		}
		if _, err := ask.Halt(ctx, r); err == nil {
			t.Errorf("%s %s owes nothing any more, and was halted", r.Scope, r.Name)
		}
	}
	if _, won, err := s.StartRun(context.WithoutCancel(ctx), nudgewire.Run{
		Job: "spring", Slot: "2026-03-02 10:00", DueAt: time.Now(), Cause: nudgewire.CauseCron, State: nudgewire.RunPlanned, Deliver: nudgewire.DeliverCSV, CreatedAt: time.Now(),
	}); err != nil || !won {
		t.Fatal(won, err)
	}
	if _, err := ask.Halt(ctx, server.HaltRequest{Scope: store.HaltJob, Name: "spring"}); err != nil {
		t.Errorf("a job with an open run: %v", err)
	}
}

// What people name travels as it is: a blank in a phone, a slash or a per cent sign in a name.
func TestNamesTravelAsTheyAre(t *testing.T) {
	ask, s := halting(t)
	ctx := t.Context()
	if _, err := s.Block(ctx, []store.Block{{Phone: "447700900123"}}); err != nil {
		t.Fatal(err)
	}
	if b, err := ask.Allow(ctx, "07700 900 123"); err != nil || b.Phone != "447700900123" {
		t.Errorf("allow: %+v, %v", b, err)
	}
	for _, id := range []string{"50%", "a b", "50%25"} {
		if _, err := ask.Message(ctx, id); err == nil || err.Error() != "no dispatch or message "+id {
			t.Errorf("message %q: %v", id, err)
		}
	}
}
