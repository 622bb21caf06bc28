package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

// with is plainConfig whose reminder says what an edit does.
func with(onChange string) string {
	return strings.Replace(plainConfig, sends, sends+"    on_change: "+onChange+"\n", 1)
}

// news makes another rule of the reminder.
func (h *house) news() {
	h.t.Helper()
	h.edit("cart.total >= 50", "cart.total >= 65")
	h.edit("wait: 1h", "wait: 2h")
	h.edit("cart_reminder", "cart_news")
}

func words(changes []preview.RuleChange, err error) (out []string) {
	if err != nil {
		return []string{err.Error()}
	}
	for _, c := range changes {
		out = append(out, c.Words())
	}
	return out
}

// waiting is what a plan says of what waits.
func waiting(p server.ConfigPlan, err error) ([]preview.RuleChange, error) { return p.Waiting, err }

// reloaded is a reload with what it says.
func (h *house) reloaded() []string {
	h.t.Helper()
	v, err := server.Reload.Call(h.t.Context(), h.ask, server.ReloadRequest{})
	return words(v.Changes, err)
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// rename is what is said of a new name that has the rule of one that leaves, without its key was.
func rename(was, name string) string {
	return fmt.Sprintf("%[2]s has the rule that %[1]s had: write was: %[1]s to keep its memory; without it %[2]s knows nothing of what %[1]s sent, and what is open stays under the old name", was, name)
}

// stand is where the reminders to the first n phones are: state, what is sent, how long after the event they are due, and why.
func (h *house) stand(n int) (out []string) {
	h.t.Helper()
	for i := range n {
		m := h.reminder(phone(i))
		e, err := server.ShowEvent.Call(h.t.Context(), h.ask, m.EventID)
		if err != nil {
			h.t.Fatal(err)
		}
		reason, _, _ := strings.Cut(m.Reason, " (config ")
		out = append(out, strings.Join([]string{string(m.State), m.What, m.DueAt.Sub(e.Event.ReceivedAt).Round(time.Hour).String(), reason}, "|"))
	}
	return out
}

var changed = map[string]struct {
	before, after string // what is said
	stand         []string
}{
	"pin": {
		"reminder: edited, 3 wait: pinned", "reminder: edited, 3 wait: pinned",
		[]string{`waiting|template "cart_reminder"|1h0m0s|`, `waiting|template "cart_reminder"|1h0m0s|`, `waiting|template "cart_reminder"|1h0m0s|`},
	},
	"migrate": {
		"reminder: edited, 3 wait: planned anew, and cancelled where the trigger would not plan it any more",
		"reminder: edited, 3 waited: 2 planned anew, 1 cancelled",
		[]string{
			`cancelled|template "cart_reminder"|1h0m0s|the rule changed: cart.total >= 65 does not hold (cart.total = 60.00)`,
			`waiting|template "cart_news"|2h0m0s|planned anew: the rule changed`,
			`waiting|template "cart_news"|2h0m0s|planned anew: the rule changed`,
		},
	},
	"cancel": {
		"reminder: edited, 3 wait: cancelled", "reminder: edited, 3 waited: 3 cancelled",
		[]string{
			`cancelled|template "cart_reminder"|1h0m0s|the rule changed, and its on_change is cancel`,
			`cancelled|template "cart_reminder"|1h0m0s|the rule changed, and its on_change is cancel`,
			`cancelled|template "cart_reminder"|1h0m0s|the rule changed, and its on_change is cancel`,
		},
	},
}

func (h *house) threeCarts() {
	h.t.Helper()
	for i, total := range []string{"60.00", "70.00", "90.00"} {
		h.mustTake(h.shopify("checkouts/update", "", cart("c"+string(rune('1'+i)), phone(i), total)))
	}
}

func TestAnEditDoesWhatOnChangeSays(t *testing.T) {
	t.Parallel()
	for how, want := range changed {
		t.Run(how, func(t *testing.T) {
			h := open(t, options{config: with(how)})
			h.threeCarts()
			planned := h.stand(3)
			// A comment, or another order of keys, is no edit.
			h.edit("    wait: 1h\n", "    # an hour\n    wait: 60m\n")
			same(t, "a reload with a comment says", h.reloaded())
			h.edit("    # an hour\n    wait: 60m\n", "    wait: 1h\n")

			h.news()
			same(t, "before it", words(waiting(server.PlanConfig.Call(t.Context(), h.ask, server.PlanRequest{}))), want.before)
			same(t, "after asking it stands", h.stand(3), planned...)
			same(t, "the reload says", h.reloaded(), want.after)
			same(t, "it stands", h.stand(3), want.stand...)
			same(t, "another reload says", h.reloaded())
			same(t, "and then it stands", h.stand(3), want.stand...)

			// What waits is cancelled by its order as before.
			h.mustTake(h.shopify("orders/create", "", order("c3", phone(2), "90.00")))
			if m := h.reminder(phone(2)); m.State != messaging.StateCancelled {
				t.Errorf("its order leaves it %s", m.State)
			}
		})
	}
}

// The file may change while nothing runs.
func TestAStartDoesWhatOnChangeSays(t *testing.T) {
	t.Parallel()
	for how, want := range changed {
		t.Run(how, func(t *testing.T) {
			folder := t.TempDir()
			h := open(t, options{folder: folder, config: with(how)})
			h.threeCarts()
			h.stop()
			config := strings.NewReplacer("cart.total >= 50", "cart.total >= 65", "wait: 1h", "wait: 2h", "cart_reminder", "cart_news").Replace(with(how))
			h = open(t, options{folder: folder, config: config})
			same(t, "it stands", h.stand(3), want.stand...)
		})
	}
}

func TestAReloadBackToTheOldRulePlansAsBefore(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: with("migrate")})
	h.threeCarts()
	text, err := os.ReadFile(h.file())
	if err != nil {
		t.Fatal(err)
	}
	planned := h.stand(3)
	h.news()
	h.reloaded()
	h.write(string(text))
	same(t, "the reload says", h.reloaded(), "reminder: edited, 2 waited: 2 planned anew")
	got := h.stand(3)
	for i, line := range got {
		got[i] = strings.ReplaceAll(line, "planned anew: the rule changed", "")
	}
	same(t, "it stands", got[1:], planned[1:]...)
	if !strings.HasPrefix(got[0], "cancelled|") {
		t.Errorf("what was cancelled is %s", got[0])
	}
}

// What was pinned by an earlier edit follows as soon as on_change says so.
func TestWhatWasPinnedIsPlannedAnewLater(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: with("pin")})
	h.threeCarts()
	h.news()
	same(t, "pinned", h.reloaded(), changed["pin"].after)
	h.edit("on_change: pin", "on_change: migrate")
	same(t, "then", h.reloaded(), changed["migrate"].after)
	same(t, "it stands", h.stand(3), changed["migrate"].stand...)
}

// Defaults decide for triggers that do not say it themselves.
func TestDefaultsSayWhatAnEditDoes(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: strings.Replace(plainConfig, "defaults: {", "defaults: {on_change: cancel, ", 1)})
	h.threeCarts()
	h.news()
	same(t, "the reload says", h.reloaded(), changed["cancel"].after)
}

// An edit of a trigger that does not send touches nothing: what waits is paused. Once it sends again, on_change decides.
func TestAnEditOfATriggerThatDoesNotSend(t *testing.T) {
	t.Parallel()
	for name, stop := range stops {
		t.Run(name, func(t *testing.T) {
			h := open(t, options{config: with("cancel")})
			h.threeCarts()
			h.edit(sends, stop)
			h.news()
			reason := map[string]string{"off": "is off", "shadow": "is in mode shadow", "gone": "is gone from the config"}[name]
			same(t, "before it", words(waiting(server.PlanConfig.Call(t.Context(), h.ask, server.PlanRequest{}))), "reminder: "+reason+", 3 wait: paused")
			same(t, "the reload says", h.reloaded(), "reminder: "+reason+", 3 wait: paused")
			for i := range 3 {
				if m := h.reminder(phone(i)); m.State != messaging.StateWaiting || m.What != `template "cart_reminder"` {
					t.Errorf("it is %s, %s", m.State, m.What)
				}
			}
			h.edit(stop, sends)
			want := []string{changed["cancel"].after}
			if name == "gone" { // the other name had the rule meanwhile, and leaves
				want = append(want, rename("remainder", "reminder"))
			}
			same(t, "back again, the reload says", h.reloaded(), want...)
		})
	}
}

// What is halted is planned anew and stays halted; resumed, it goes as the new rule says.
func TestWhatIsHaltedIsPlannedAnew(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: with("migrate")})
	halt := server.HaltRequest{Scope: messaging.ScopeTrigger, Name: "reminder"}
	if _, err := server.Halt.Call(t.Context(), h.ask, halt); err != nil {
		t.Fatal(err)
	}
	h.threeCarts()
	h.edit("wait: 1h", "wait: 1s")
	h.edit("cart_reminder", "cart_news")
	same(t, "the reload says", h.reloaded(), "reminder: edited, 3 waited: 3 planned anew")
	time.Sleep(1100 * time.Millisecond)
	h.settle("+447700900777")
	if n := h.service.Accepted(phone(0)[1:]); n != 0 {
		t.Fatalf("%d left while halted", n)
	}
	if _, err := server.Resume.Call(t.Context(), h.ask, halt); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		h.eventually("it is sent", func() bool { return h.service.Accepted(phone(i)[1:]) == 1 })
		if m := h.reminder(phone(i)); m.What != `template "cart_news"` {
			t.Errorf("sent was %s", m.What)
		}
	}
}

// A message whose new time is past by more than it may be late is not sent late.
func TestWhatIsTooLateByTheNewRuleIsCancelled(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: with("migrate")})
	old := cart("c1", phone(0), "60.00")
	old["updated_at"] = time.Now().UTC().Add(-30 * time.Minute).Format(time.RFC3339)
	h.mustTake(h.shopify("checkouts/update", "", old))
	h.edit("wait: 1h", "wait: 1s\n    expires: 1s")
	time.Sleep(2100 * time.Millisecond)
	same(t, "the reload says", h.reloaded(), "reminder: edited, 1 waited: 1 cancelled")
	if m := h.reminder(phone(0)); !strings.HasPrefix(m.Reason, "the rule changed: its message was due at ") {
		t.Errorf("it is %s: %s", m.State, m.Reason)
	}
}

// What is being sent when its rule is edited is met when it comes back to wait; one that waits to be
// tried again keeps the time of that.
func TestWhatIsBeingSentWhenItsRuleIsEditedFollows(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"migrate", "cancel"} {
		t.Run(how, func(t *testing.T) {
			h := open(t, options{config: strings.Replace(with(how), "wait: 1h", "wait: 1s", 1)})
			f := h.service.Faults()
			f.ErrorRate, f.Status, f.RetryAfter = 1, 429, units.Duration(time.Hour)
			h.service.SetFaults(f)
			h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(0), "60.00")))
			h.eventually("the first attempt", func() bool { m := h.reminder(phone(0)); return m.Attempt > 0 && m.State == messaging.StateWaiting })
			due := h.reminder(phone(0)).DueAt
			h.edit("cart_reminder", "cart_news")
			h.reloaded()
			m := h.reminder(phone(0))
			switch {
			case how == "cancel" && m.State != messaging.StateCancelled:
				t.Errorf("it is %s", m.State)
			case how == "migrate" && (m.What != `template "cart_news"` || m.DueAt.Before(due)):
				t.Errorf("it is %s, due %s instead of %s", m.What, m.DueAt, due)
			}
		})
	}
	t.Run("claimed", func(t *testing.T) {
		h := open(t, options{config: strings.Replace(with("cancel"), "wait: 1h", "wait: 1s", 1)})
		g := h.gated()
		h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(0), "60.00")))
		h.eventually("its call has begun", func() bool { return len(g.phones()) > 0 })
		f := h.service.Faults()
		f.ErrorRate, f.Status, f.RetryAfter = 1, 429, units.Duration(time.Hour)
		h.service.SetFaults(f)
		h.edit("cart_reminder", "cart_news")
		same(t, "the reload says", h.reloaded())
		g.open()
		h.eventually("it waits again", func() bool { return h.reminder(phone(0)).State == messaging.StateWaiting })
		h.service.SetFaults(sandbox.Faults{})
		if err := h.LateRules(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		if m := h.reminder(phone(0)); m.State != messaging.StateCancelled {
			t.Errorf("it is %s", m.State)
		}
	})
}

// Of two reloads the later waits for the first; what waits follows the last.
func TestASecondReloadWhileTheFirstWorks(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: with("migrate")})
	const many = 450 // three commits
	for i := range many {
		h.mustTake(h.shopify("checkouts/update", "", cart("k"+phone(i), phone(i), "80.00")))
	}
	h.edit("cart_reminder", "first")
	done := make(chan error)
	go func() { done <- h.Reload(t.Context()) }()
	h.eventually("the first has begun", func() bool {
		return slices.ContainsFunc(h.messages(), func(m server.MessageView) bool { return m.What == `template "first"` })
	})
	h.edit("template: first", "template: second")
	second := h.Reload(t.Context())
	if err := <-done; err != nil || second != nil {
		t.Fatal(err, second)
	}
	for _, m := range h.messages() {
		if m.What != `template "second"` || m.State != messaging.StateWaiting {
			t.Fatalf("message %d is %s, %s", m.ID, m.State, m.What)
		}
	}
}

// What keeps no variables has no event to plan it anew from.
func TestWhatKeepsNothingIsPinned(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: strings.Replace(with("migrate"), sends, sends+"    keep_variables: false\n", 1)})
	h.threeCarts()
	h.news()
	same(t, "the reload says", h.reloaded(), "reminder: edited, 3 waited: 3 pinned")
}

// A config that nobody has reloaded is held against the daemon, and its rules against those that planned what waits.
func TestAnyConfigIsHeldAgainstWhatWaits(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: with("pin")})
	h.threeCarts()
	printed := func(change func(string) string) string { return change(with("pin")) }
	same(t, "the same", words(waiting(server.PlanConfig.Call(t.Context(), h.ask, server.PlanRequest{Config: printed(strings.Clone)}))))
	same(t, "edited", words(waiting(server.PlanConfig.Call(t.Context(), h.ask, server.PlanRequest{Config: printed(func(c string) string { return strings.Replace(c, "wait: 1h", "wait: 2h", 1) })}))), changed["pin"].before)
	same(t, "gone", words(waiting(server.PlanConfig.Call(t.Context(), h.ask, server.PlanRequest{Config: printed(func(c string) string { return strings.Replace(c, sends, stops["gone"], 1) })}))),
		"reminder: is gone from the config, 3 wait: paused", rename("reminder", "remainder"))
	h.edit("wait: 1h", "wait: 1 hour of")
	if _, err := waiting(server.PlanConfig.Call(t.Context(), h.ask, server.PlanRequest{})); err == nil || !strings.Contains(err.Error(), "cannot be used") {
		t.Errorf("a bad file says %v", err)
	}
}

// A file that vanished takes its triggers with it, and what waits of them is paused and still cancelled. Where a
// pattern matches nothing any more, the reload is rejected.
func TestAnIncludedFileVanishes(t *testing.T) {
	t.Parallel()
	at := strings.Index(plainConfig, "  reminder:")
	end := strings.Index(plainConfig, "tracking:")
	h := open(t, options{config: plainConfig})
	text, err := os.ReadFile(h.file())
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(h.folder, "triggers")
	file := filepath.Join(folder, "reminder.yaml")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	write(file, "triggers:\n"+plainConfig[at:end])
	write(filepath.Join(folder, "none.yaml"), "# nothing\n")
	h.threeCarts()
	h.write("include: [triggers/*.yaml]\n" + strings.Replace(string(text), plainConfig[at:end], "", 1))
	same(t, "the reload into two files says", h.reloaded())
	if v := h.status(); !slices.Contains(v.Daemon.Triggers, "reminder") {
		t.Fatalf("the triggers are %q", v.Daemon.Triggers)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	same(t, "without the file", h.reloaded(), "reminder: is gone from the config, 3 wait: paused")
	h.mustTake(h.shopify("orders/create", "", order("c1", phone(0), "60.00")))
	if m := h.reminder(phone(0)); m.State != messaging.StateCancelled {
		t.Errorf("its order leaves it %s", m.State)
	}
	if err := os.Remove(filepath.Join(folder, "none.yaml")); err != nil {
		t.Fatal(err)
	}
	if got := h.reloaded(); len(got) != 1 || !strings.Contains(got[0], "matches no file") {
		t.Errorf("a pattern without a file: %q", got)
	}
}

// What is pinned goes on being cancelled by what cancelled it, after a restart, too; and what the new rule plans is not.
func TestWhatIsPinnedIsCancelledAsItWasPlanned(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string][2]string{
		"another event": {"cancel_on: shopify.order.created", "cancel_on: shopify.order.paid"},
		"another key":   {"wait: 1h", "wait: 1h\n    key: customer.first_name"},
		"none any more": {"    cancel_on: shopify.order.created\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			h := open(t, options{folder: folder})
			h.threeCarts()
			h.edit(edit[0], edit[1])
			same(t, "the reload says", h.reloaded(), changed["pin"].after)
			later := cart("c9", phone(9), "60.00")
			later["customer"] = map[string]any{"first_name": "Nora"}
			h.mustTake(h.shopify("checkouts/update", "", later))
			state := func(n int) messaging.State { return h.reminder(phone(n)).State }
			bought := func(token string, n, number int) {
				t.Helper()
				o := order(token, phone(n), "60.00")
				o["id"], o["customer"] = 9007199254740000+number, map[string]any{"first_name": "Bea"}
				h.mustTake(h.shopify("orders/create", "", o))
			}
			bought("c1", 0, 1)
			bought("c9", 9, 2)
			if state(0) != messaging.StateCancelled || state(1) != messaging.StateWaiting || state(9) != messaging.StateWaiting {
				t.Errorf("bought: %s, not bought: %s, of the new rule: %s", state(0), state(1), state(9))
			}
			h.stop()
			h = open(t, options{folder: folder, config: strings.Replace(plainConfig, edit[0], edit[1], 1)})
			bought("c2", 1, 3)
			if state(1) != messaging.StateCancelled || state(2) != messaging.StateWaiting || state(9) != messaging.StateWaiting {
				t.Errorf("after a restart, bought: %s, not bought: %s, of the new rule: %s", state(1), state(2), state(9))
			}
		})
	}
}

// What was paused and is due would leave the moment that its pause ends. The edit comes first, and so do the rules of the due moment.
func TestWhatWasPausedMeetsTheEditBeforeItLeaves(t *testing.T) {
	t.Parallel()
	due := func(t *testing.T, h *house) {
		t.Helper()
		halt := server.HaltRequest{Scope: messaging.ScopeTrigger, Name: "reminder"}
		if _, err := server.Halt.Call(t.Context(), h.ask, halt); err != nil {
			t.Fatal(err)
		}
		h.threeCarts()
		for i := range 20 {
			h.mustTake(h.shopify("checkouts/update", "", cart(fmt.Sprintf("d%d", i), phone(10+i), "70.00")))
		}
		h.edit(sends, stops["off"])
		h.reload()
		if _, err := server.Resume.Call(t.Context(), h.ask, halt); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(h.reminder(phone(29)).DueAt))
	}
	short := func(config string) string { return strings.Replace(config, "wait: 1h", "wait: 1s", 1) }
	for how, want := range map[string]string{"cancel": "reminder: edited, 23 waited: 23 cancelled", "migrate": "reminder: edited, 23 waited: 22 planned anew, 1 cancelled"} {
		t.Run(how, func(t *testing.T) {
			h := open(t, options{config: short(with(how))})
			due(t, h)
			h.edit("cart.total >= 50", "cart.total >= 65")
			h.edit("wait: 1s", "wait: 2h")
			h.edit(stops["off"], sends)
			same(t, "back again, the reload says", h.reloaded(), want)
			h.settle("+447700900777")
			for i := range 30 {
				if n := h.service.Accepted(phone(i)[1:]); n != 0 {
					t.Fatalf("%d left by the rule of before", n)
				}
			}
		})
	}
	t.Run("quiet hours", func(t *testing.T) {
		h := open(t, options{config: short(plainConfig)})
		due(t, h)
		h.edit("language: en}", "language: en, quiet_hours: "+nearlyAlways(t)+"}")
		h.edit(stops["off"], sends)
		h.reload()
		h.settle("+447700900777")
		for i := range 30 {
			if n := h.service.Accepted(phone(i)[1:]); n != 0 {
				t.Fatalf("%d left in the quiet hours that were taken up with the trigger", n)
			}
		}
	})
}
