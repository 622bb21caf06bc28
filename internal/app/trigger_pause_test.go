package app_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

// sends is where a trigger that sends begins in plainConfig, and stops how it begins in one that
// does not send by it any more.
const sends = "  reminder:\n"

var stops = map[string]string{
	"off":    "  reminder:\n    mode: off\n",
	"shadow": "  reminder:\n    mode: shadow\n",
	"gone":   "  remainder:\n",
}

// reload is the reload command; what it says is paused comes back as words.
func (h *house) reload() (paused []string) {
	h.t.Helper()
	v, err := server.Reload.Call(h.t.Context(), h.ask, server.ReloadRequest{})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, p := range v.Paused {
		paused = append(paused, p.Waits()+": "+p.Reason)
	}
	return paused
}

func (h *house) reminder(phone string) server.MessageView {
	h.t.Helper()
	for _, m := range h.messages() {
		if m.Trigger == "reminder" && string(m.Phone) == phone[1:] {
			return m
		}
	}
	h.t.Fatalf("no reminder to %s", phone)
	return server.MessageView{}
}

// settle gives the sender time to send what it may, judged by a message that it may send.
func (h *house) settle(phone string) {
	h.t.Helper()
	if _, err := server.SendMessage.Call(h.t.Context(), h.ask, server.SendRequest{Phone: phone, Send: messaging.Send{Template: "other", Language: "en"}}); err != nil {
		h.t.Fatal(err)
	}
	h.eventually("another message leaves", func() bool { return h.service.Accepted(phone[1:]) == 1 })
}

func TestWhatWaitsOfATriggerThatDoesNotSendIsPausedAndStillCancelled(t *testing.T) {
	t.Parallel()
	reasons := map[string]string{"off": "is off", "shadow": "is in mode shadow", "gone": "is gone from the config"}
	for name, stop := range stops {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			config := strings.Replace(plainConfig, "wait: 1h", "wait: 1s", 1)
			h := open(t, options{folder: folder, config: config})
			if _, err := server.Halt.Call(t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeTrigger, Name: "reminder"}); err != nil {
				t.Fatal(err)
			}
			for i, c := range []string{"c1", "c2", "c3"} {
				h.mustTake(h.shopify("checkouts/update", "", cart(c, phone(i), "60.00")))
			}
			h.edit(sends, stop)
			if got, want := h.reload(), []string{"3 messages of reminder wait: " + reasons[name]}; !slices.Equal(got, want) {
				t.Fatalf("reload says %q, want %q", got, want)
			}
			// A person's halt ends, and the pause stays.
			left, err := server.Resume.Call(t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeTrigger, Name: "reminder"})
			if err != nil || len(left) != 1 || left[0].State() != "paused" || left[0].Waiting != 3 {
				t.Fatalf("resume of the halt leaves %+v, %v", left, err)
			}
			h.mustTake(h.shopify("orders/create", "", order("c1", phone(0), "60.00")))
			if m := h.reminder(phone(0)); m.State != messaging.StateCancelled {
				t.Errorf("its order leaves it %s", m.State)
			}
			h.stop()

			// After a restart the same holds, though the config that planned them is not the present one.
			h = open(t, options{folder: folder, config: strings.Replace(config, sends, stop, 1)})
			bought := order("c2", phone(1), "60.00")
			bought["id"] = 9007199254740994
			h.mustTake(h.shopify("orders/create", "", bought))
			if m := h.reminder(phone(1)); m.State != messaging.StateCancelled {
				t.Errorf("after a restart, its order leaves it %s", m.State)
			}
			time.Sleep(1100 * time.Millisecond) // past the due time of all
			h.settle("+447700900777")
			due := h.reminder(phone(2))
			if n := h.service.Accepted(phone(2)[1:]); n != 0 || due.State != messaging.StateWaiting {
				t.Fatalf("%d sent, and it is %s", n, due.State)
			}
			if s := h.status(); len(s.Holds) != 1 || !strings.Contains(s.Holds[0].Words(), "1 message of reminder waits") {
				t.Errorf("status tells %+v", s.Holds)
			}

			// Back in the config, it goes on with the due time that it had.
			h.edit(stop, sends)
			if got := h.reload(); len(got) != 0 {
				t.Errorf("back again, reload says %q", got)
			}
			h.eventually("it is sent", func() bool { return h.service.Accepted(phone(2)[1:]) == 1 })
			if m := h.reminder(phone(2)); !m.DueAt.Equal(due.DueAt) {
				t.Errorf("it was due at %s and is now at %s", due.DueAt, m.DueAt)
			}
		})
	}
}

// A message that is being sent when its trigger stops to send comes back and stays; the order that
// comes meanwhile is remembered against it.
func TestWhatIsBeingSentWhenItsTriggerStopsComesBackAndStays(t *testing.T) {
	t.Parallel()
	for name, stop := range stops {
		t.Run(name, func(t *testing.T) {
			h := open(t, options{config: strings.Replace(plainConfig, "wait: 1h", "wait: 1s", 1)})
			g := h.gated()
			f := h.service.Faults()
			f.ErrorRate, f.Status, f.RetryAfter = 1, 429, units.Duration(time.Second)
			h.service.SetFaults(f)
			h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(0), "60.00")))
			h.eventually("the first attempt", func() bool { return len(g.phones()) == 1 })
			h.edit(sends, stop)
			h.reload()
			g.open()
			h.eventually("it waits", func() bool { return h.reminder(phone(0)).State == messaging.StateWaiting })
			h.service.SetFaults(sandbox.Faults{})
			h.eventually("it would be tried again", func() bool { return h.reminder(phone(0)).DueAt.Before(time.Now()) })
			h.settle("+447700900777")
			if n := h.service.Accepted(phone(0)[1:]); n != 0 {
				t.Fatalf("%d left", n)
			}
			h.mustTake(h.shopify("orders/create", "", order("c1", phone(0), "60.00")))
			if m := h.reminder(phone(0)); m.State != messaging.StateCancelled {
				t.Errorf("its order leaves it %s", m.State)
			}
		})
	}
}

// Resume by name lets go what is paused, over a restart, too; it stays cancelled by its order.
func TestAPersonSendsOrCancelsWhatIsPaused(t *testing.T) {
	t.Parallel()
	for name, stop := range stops {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			config := strings.Replace(plainConfig, "wait: 1h", "wait: 2s", 1)
			h := open(t, options{folder: folder, config: config})
			letGo := h.hold("cart_reminder")
			h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(0), "60.00")))
			later := cart("c2", phone(1), "60.00")
			later["updated_at"] = time.Now().UTC().Add(time.Second).Format(time.RFC3339)
			h.mustTake(h.shopify("checkouts/update", "", later))
			h.edit(sends, stop)
			h.reload()
			letGo()
			by := server.BulkRequest{Trigger: "reminder", DueBefore: h.reminder(phone(1)).DueAt, Reason: "wrong price"}
			for _, dry := range []bool{true, false} {
				by.DryRun = dry
				if v, err := server.CancelMessages.Call(t.Context(), h.ask, by); err != nil || v.Count != 1 {
					t.Fatalf("cancel (dry run %v): %+v, %v", dry, v, err)
				}
			}
			if m := h.reminder(phone(0)); m.State != messaging.StateCancelled || m.Reason != "cancelled by "+me()+": wrong price" {
				t.Errorf("cancelled: %s, %q", m.State, m.Reason)
			}
			left, err := server.Resume.Call(t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeTrigger, Name: "reminder"})
			if err != nil || len(left) != 1 || left[0].State() != "released" {
				t.Fatalf("resume: %+v, %v", left, err)
			}
			if got := h.reload(); len(got) != 0 {
				t.Errorf("a reload says that it is paused: %q", got)
			}
			h.stop()
			before := h.service // what was due before the stop may have left already
			h = open(t, options{folder: folder, config: strings.Replace(config, sends, stop, 1)})
			h.eventually("it is sent", func() bool { return before.Accepted(phone(1)[1:])+h.service.Accepted(phone(1)[1:]) == 1 })
		})
	}
}

// An order of everything is refused: it would end what nobody meant.
func TestCancellingManyNeedsANarrowing(t *testing.T) {
	t.Parallel()
	h := open(t, options{})
	_, err := server.CancelMessages.Call(t.Context(), h.ask, server.BulkRequest{})
	if err == nil || err.Error() != "that would cancel everything that waits" {
		t.Errorf("cancel of everything: %v", err)
	}
}

// Whoever asks about a message that waits past its time is told what holds it.
func TestAMessageThatWaitsSaysWhatHoldsIt(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: strings.Replace(plainConfig, "wait: 1h", "wait: 1s", 1)})
	halt := server.HaltRequest{Scope: messaging.ScopeTrigger, Name: "reminder"}
	if _, err := server.Halt.Call(t.Context(), h.ask, halt); err != nil {
		t.Fatal(err)
	}
	h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(1), "60.00")))
	held := func(want string) {
		t.Helper()
		says := map[string]func() string{
			"list": func() string { return h.reminder(phone(1)).Held },
			"show": func() string { return h.show(h.reminder(phone(1)).ID).Held },
			"why": func() string {
				stories, err := server.Why.Call(t.Context(), h.ask, server.ListQuery{Phone: phone(1), Limit: 10})
				if err != nil {
					t.Fatal(err)
				}
				return stories[0].Messages[0].Held
			},
		}
		for where, say := range says {
			h.eventually(where+" says "+want, func() bool { return strings.HasPrefix(say(), want) })
		}
	}
	held(`trigger "reminder" is halted`)
	h.edit(sends, stops["gone"])
	h.reload()
	if _, err := server.Resume.Call(t.Context(), h.ask, halt); err != nil {
		t.Fatal(err)
	}
	held(`trigger "reminder" is gone from the config`)

	// The account sends nothing: a message says so while it is due, which is between two tries.
	f := h.service.Faults()
	f.ErrorRate, f.Status = 1, 401
	h.service.SetFaults(f)
	h.edit(stops["gone"], sends)
	h.reload()
	held("sending is halted since ")
}
