package server_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/scheduler"
)

// named is a daemon whose config has names.
type named struct{ still }

func (named) View() server.DaemonView {
	return server.DaemonView{Triggers: []string{"reminder", "thanks"}, Templates: []string{"cart_reminder", "winback"}, UnderWay: 5}
}

// calendar is one job, and nothing else is asked of it.
type calendar struct{ jobs }

type jobs interface{ server.Jobs }

func (calendar) Progress(messaging.RunID) (p scheduler.Progress, ok bool) { return p, false }

func (calendar) WaitsFor(messaging.RunID) []messaging.RunID { return nil }

func (calendar) Jobs(time.Time) []messaging.Job { return []messaging.Job{{Name: "winback-weekly"}} }

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
	}), access.Process("Ann")), s
}

func TestHaltAndResumeAnswerWithAllThatIsHalted(t *testing.T) {
	ask, _ := halting(t)
	ctx := t.Context()
	same := func(when string, want, got []messaging.Hold, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(messaging.Hold{}, "At"), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	all := messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldHalt, Reason: "wrong price", Who: "Ann"}
	trigger := messaging.Hold{Scope: messaging.ScopeTrigger, Kind: messaging.HoldHalt, Name: "reminder", Who: "Ann"}
	got, err := server.Halt.Call(ctx, ask, server.HaltRequest{Scope: messaging.ScopeAll, Reason: "wrong price"})
	same("halt", []messaging.Hold{all}, got, err)
	got, err = server.Halt.Call(ctx, ask, server.HaltRequest{Scope: messaging.ScopeTrigger, Name: "reminder"})
	same("halt trigger", []messaging.Hold{all, trigger}, got, err)
	all.Reason = "wrong price, again"
	got, err = server.Halt.Call(ctx, ask, server.HaltRequest{Scope: messaging.ScopeAll, Reason: all.Reason})
	same("halt again", []messaging.Hold{all, trigger}, got, err)
	status, err := server.ShowStatus.Call(ctx, ask, server.None{})
	same("status", []messaging.Hold{all, trigger}, status.Holds, err)
	got, err = server.Resume.Call(ctx, ask, server.HaltRequest{Scope: messaging.ScopeAll})
	same("resume", []messaging.Hold{trigger}, got, err)
	got, err = server.Resume.Call(ctx, ask, server.HaltRequest{Scope: messaging.ScopeTrigger, Name: "reminder"})
	same("resume trigger", nil, got, err)
	for _, r := range []server.HaltRequest{{Scope: messaging.ScopeTemplate, Name: "winback"}, {Scope: messaging.ScopeJob, Name: "winback-weekly"}} {
		if got, err := server.Halt.Call(ctx, ask, r); err != nil || got[len(got)-1].Name != r.Name {
			t.Errorf("halt %s %s: %+v, %v", r.Scope, r.Name, got, err)
		}
	}
}

func TestAHaltOfWhatNobodyKnowsIsRefused(t *testing.T) {
	ask, s := halting(t)
	ctx := t.Context()
	if err := s.Hold(ctx, messaging.Hold{Scope: messaging.ScopeTrigger, Kind: messaging.HoldHalt, Name: "reminder"}); err != nil {
		t.Fatal(err)
	}
	halt := func(scope messaging.HoldScope, name string) func() error {
		return func() error {
			_, err := server.Halt.Call(ctx, ask, server.HaltRequest{Scope: scope, Name: name})
			return err
		}
	}
	resume := func(scope messaging.HoldScope, name string) func() error {
		return func() error {
			_, err := server.Resume.Call(ctx, ask, server.HaltRequest{Scope: scope, Name: name})
			return err
		}
	}
	tests := map[string]struct {
		do          func() error
		status      int
		words, hint string
	}{
		"a misspelt trigger": {
			halt(messaging.ScopeTrigger, "remider"), 404,
			`no trigger "remider" in the config, and nothing of that name waits to be sent; nothing was halted`, `did you mean "reminder"?`,
		},
		"a trigger like none": {
			halt(messaging.ScopeTrigger, "birthday"), 404,
			`no trigger "birthday" in the config, and nothing of that name waits to be sent; nothing was halted`, "there are reminder, thanks",
		},
		"a misspelt template": {
			halt(messaging.ScopeTemplate, "cart-reminders"), 404,
			`no template "cart-reminders" in the config, and nothing of that name waits to be sent; nothing was halted`, `did you mean "cart_reminder"?`,
		},
		"a misspelt job": {
			halt(messaging.ScopeJob, "winback-weakly"), 404,
			`no job "winback-weakly" in the config, and nothing of that name waits to be sent; nothing was halted`, `did you mean "winback-weekly"?`,
		},
		"a job taken for a trigger": {
			halt(messaging.ScopeTrigger, "winback-weekly"), 404,
			`no trigger "winback-weekly" in the config, and nothing of that name waits to be sent; nothing was halted`,
			"there is a job of that name: nudgewire halt job winback-weekly",
		},
		"everything by a name":  {halt(messaging.ScopeAll, "x"), 400, "all takes no name", ""},
		"a trigger without one": {halt(messaging.ScopeTrigger, ""), 400, "which trigger?", ""},
		"no such scope":         {halt("triger", "x"), 400, `scope "triger": want all, trigger, template or job`, "did you mean trigger?"},
		"a run": {
			halt(messaging.ScopeRun, "12"), 400, `scope "run": want all, trigger, template or job`,
			"a run is stopped with: nudgewire jobs pause 12, and goes on with: nudgewire jobs resume 12",
		},
		"a resume of a run": {
			resume(messaging.ScopeRun, ""), 400, `scope "run": want all, trigger, template or job`,
			"a run is stopped with: nudgewire jobs pause RUN, and goes on with: nudgewire jobs resume RUN",
		},
		"a resume of what goes on": {
			resume(messaging.ScopeJob, "winback-weekly"), 404, `job "winback-weekly" is not halted`,
			`trigger "reminder" is halted, and goes on with: nudgewire resume trigger reminder`,
		},
		"a resume of everything": {
			resume(messaging.ScopeAll, ""), 404, "there is no halt of everything",
			`trigger "reminder" is halted, and goes on with: nudgewire resume trigger reminder`,
		},
		"a misspelt resume": {resume(messaging.ScopeTrigger, "remindr"), 404, `trigger "remindr" is not halted`, `did you mean "reminder"?`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			e, ok := errors.AsType[*refusal.Error](tt.do())
			if !ok || e.Status != tt.status || e.Words != tt.words || e.Hint != tt.hint {
				t.Errorf("%+v, want %d %q %q", e, tt.status, tt.words, tt.hint)
			}
		})
	}
	if halts, err := s.Holds(ctx); err != nil || len(halts) != 1 {
		t.Errorf("refused halts left %+v, %v", halts, err)
	}
	if err := s.EndHold(ctx, messaging.Hold{Scope: messaging.ScopeTrigger, Name: "reminder", Kind: messaging.HoldHalt}); err != nil {
		t.Fatal(err)
	}
	for what, hint := range map[string]string{
		"nothing is halted":       "",
		`job "wnb" is not halted`: "nothing is halted",
	} {
		do := resume(messaging.ScopeAll, "")
		if hint != "" {
			do = resume(messaging.ScopeJob, "wnb")
		}
		if e, ok := errors.AsType[*refusal.Error](do()); !ok || e.Words != what || e.Hint != hint {
			t.Errorf("a resume of nothing: %+v, want %q %q", e, what, hint)
		}
	}
}

// A paused run stands beside what is halted, as what it is: resume does not end it and says what
// does, and neither does a resume of its job.
func TestAPausedRunIsListedAndResumedAsARun(t *testing.T) {
	ask, s := halting(t)
	ctx := t.Context()
	start := func(slot string, rows int, deliver messaging.Deliver) messaging.RunID {
		t.Helper()
		now := time.Now()
		r := messaging.Run{
			Job: "winback-weekly", Slot: slot, DueAt: now, Cause: messaging.CauseHand, State: messaging.RunUploading, Deliver: deliver,
			Expires: 24 * time.Hour, CreatedAt: now,
		}
		var err error
		if r.ID, _, err = s.StartRun(ctx, r); err != nil {
			t.Fatal(err)
		}
		for i := range int64(rows) {
			row := messaging.Message{Trigger: r.Job, Key: messaging.RowKey(r.ID, i+1), Phone: "447700900123", Category: messaging.Marketing, DueAt: now}
			if err := s.Enqueue(ctx, r.ID, i+1, []messaging.Message{row}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Claim(ctx, messaging.ClaimRequest{Owner: "o", Now: now, Lease: time.Minute, Marketing: 1}); err != nil {
			t.Fatal(err)
		}
		r.State, r.Before, r.Reason, r.Stopped = messaging.RunPaused, messaging.RunUploading, "paused by Ann", messaging.StopPerson
		if err := s.SetRun(ctx, "", r, messaging.RunUploading); err != nil {
			t.Fatal(err)
		}
		return r.ID
	}
	start("one", 3, messaging.DeliverPerMessage)
	start("two", 0, messaging.DeliverCSV)
	const how = "run 1 of winback-weekly is paused, and goes on with: nudgewire jobs resume 1; run 2 of winback-weekly is paused, and goes on with: nudgewire jobs resume 2"
	for _, c := range []struct {
		in          server.HaltRequest
		words, hint string
	}{
		{server.HaltRequest{Scope: messaging.ScopeAll}, "nothing is halted", how},
		{server.HaltRequest{Scope: messaging.ScopeJob, Name: "winback-weekly"}, `job "winback-weekly" is not halted`, how},
	} {
		_, err := server.Resume.Call(ctx, ask, c.in)
		if e, ok := errors.AsType[*refusal.Error](err); !ok || e.Status != 404 || e.Words != c.words || e.Hint != c.hint {
			t.Errorf("resume %s: %+v, want %q %q", c.in.Scope, e, c.words, c.hint)
		}
	}
	got, err := server.Halt.Call(ctx, ask, server.HaltRequest{Scope: messaging.ScopeTemplate, Name: "winback"})
	if err != nil || len(got) != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	want := []string{
		`template "winback", since <time> UTC; it goes on with: nudgewire resume template winback`,
		"run 1 of winback-weekly, since <time> UTC: paused by Ann; it goes on with: nudgewire jobs resume 1",
		"run 2 of winback-weekly: paused by Ann; it goes on with: nudgewire jobs resume 2",
	}
	for i, h := range got {
		words := h.Words()
		if !h.At.IsZero() {
			words = strings.Replace(words, h.At.UTC().Format(time.DateTime), "<time>", 1)
		}
		if words != want[i] || (h.State() == "paused") != (i > 0) {
			t.Errorf("got  %s\nwant %s", words, want[i])
		}
	}
	if _, err := server.Resume.Call(ctx, ask, server.HaltRequest{Scope: messaging.ScopeAll}); err == nil ||
		errHint(err) != `template "winback" is halted, and goes on with: nudgewire resume template winback; `+how {
		t.Errorf("resume: %v, %s", err, errHint(err))
	}
	r, err := server.ShowRun.Call(ctx, ask, 1)
	if err != nil || r.Messages["waiting"] != 2 || r.Expires != "1d" || r.UnderWay != 1 {
		t.Errorf("the run: %+v, %v", r, err)
	}
}

func errHint(err error) string {
	if e, ok := errors.AsType[*refusal.Error](err); ok {
		return e.Hint
	}
	return ""
}

func TestAHaltSaysHowItsNameIsTyped(t *testing.T) {
	for want, v := range map[string]messaging.Hold{
		"nudgewire resume":                         {Scope: messaging.ScopeAll},
		"nudgewire resume trigger reminder":        {Scope: messaging.ScopeTrigger, Name: "reminder"},
		`nudgewire resume template "spring offer"`: {Scope: messaging.ScopeTemplate, Name: "spring offer"},
		"nudgewire jobs resume 12":                 {Scope: messaging.ScopeRun, Kind: messaging.HoldRun, Name: "12", Job: "winback"},
	} {
		if got := v.GoesOn(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A trigger that left the config may still queue messages: then it can be halted by its old name,
// for as long as that is so, and a halt that was made can always be renewed.
func TestWhatLeftTheConfigCanBeHaltedWhileItQueues(t *testing.T) {
	ask, s := halting(t)
	ctx := t.Context()
	m, err := server.SendMessage.Call(ctx, ask, server.SendRequest{Phone: "07700 900123", Send: messaging.Send{Template: "old_offer", Language: "en"}})
	if err != nil {
		t.Fatal(err)
	}
	old := []server.HaltRequest{{Scope: messaging.ScopeTrigger, Name: m.Trigger}, {Scope: messaging.ScopeTemplate, Name: "old_offer"}}
	for _, r := range old {
		if _, err := server.Halt.Call(ctx, ask, r); err != nil {
			t.Errorf("halt %s %s: %v", r.Scope, r.Name, err)
		}
	}
	if _, err := server.CancelMessage.Call(ctx, ask, server.CancelRequest{ID: m.ID, Reason: ""}); err != nil {
		t.Fatal(err)
	}
	for _, r := range old {
		if _, err := server.Halt.Call(ctx, ask, r); err != nil {
			t.Errorf("halt %s %s again: %v", r.Scope, r.Name, err)
		}
		if _, err := server.Resume.Call(ctx, ask, r); err != nil {
			t.Errorf("resume %s %s: %v", r.Scope, r.Name, err)
		}
		if _, err := server.Halt.Call(ctx, ask, r); err == nil {
			t.Errorf("%s %s queues nothing any more, and was halted", r.Scope, r.Name)
		}
	}
	if _, won, err := s.StartRun(context.WithoutCancel(ctx), messaging.Run{
		Job: "spring", Slot: "2026-03-02 10:00", DueAt: time.Now(), Cause: messaging.CauseCron, State: messaging.RunPlanned, Deliver: messaging.DeliverCSV, CreatedAt: time.Now(),
	}); err != nil || !won {
		t.Fatal(won, err)
	}
	if _, err := server.Halt.Call(ctx, ask, server.HaltRequest{Scope: messaging.ScopeJob, Name: "spring"}); err != nil {
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
	if b, err := server.AllowContact.Call(ctx, ask, "07700 900 123"); err != nil || b.Phone != "447700900123" {
		t.Errorf("allow: %+v, %v", b, err)
	}
	for _, id := range []string{"50%", "a b", "50%25"} {
		if _, err := server.ShowMessage.Call(ctx, ask, id); err == nil || err.Error() != "no message "+id {
			t.Errorf("message %q: %v", id, err)
		}
	}
}
