package app_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// nearlyAlways are quiet hours of all day in London but for a minute that is some hours away.
func nearlyAlways(t *testing.T) string {
	t.Helper()
	london, err := time.LoadLocation("Europe/London")
	if err != nil {
		t.Fatal(err)
	}
	free := time.Now().In(london).Add(-150 * time.Minute)
	return fmt.Sprintf("%s-%s", free.Add(time.Minute).Format("15:04"), free.Format("15:04"))
}

// of is the one message of a trigger to a phone, as it is shown; nil while there is none.
func (h *house) of(trigger, phone string) *server.MessageView {
	h.t.Helper()
	rows, err := server.ListMessages.Call(h.t.Context(), h.ask, server.ListQuery{Trigger: trigger, Limit: 1000})
	if err != nil {
		h.t.Fatalf("messages of %s: %v", trigger, err)
	}
	for _, m := range rows {
		if m.Trigger == trigger && "+"+string(m.Phone) == phone {
			one := h.show(m.ID)
			return &one
		}
	}
	return nil
}

// Quiet hours hold back marketing and nothing else; what they put off can be cancelled, outlives a restart, and goes
// when a reload lifts them.
func TestQuietHoursMeetWhatElseHappens(t *testing.T) {
	t.Parallel()
	quiet := "language: en, quiet_hours: " + nearlyAlways(t) + "}"
	config := strings.NewReplacer("wait: 1h", "wait: 1s", "language: en}", quiet).Replace(plainConfig)
	h := open(t, options{config: config})
	deferred := func(phone string) func() bool {
		return func() bool {
			m := h.of("reminder", phone)
			return m != nil && m.State == messaging.StateWaiting && len(m.Verdicts) > 0
		}
	}
	h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(1), "60.00")))
	h.mustTake(h.shopify("checkouts/update", "", cart("c3", phone(3), "60.00")))
	h.eventually("a reminder is put off", deferred(phone(1)))
	h.eventually("and the other one", deferred(phone(3)))
	m := h.of("reminder", phone(1))
	v := m.Verdicts[0]
	if v.Rule != "quiet_hours" || v.Action != messaging.DeferSend || !strings.Contains(v.Reason, "quiet hours are ") || !strings.Contains(v.Reason, " in Europe/") ||
		v.Until.IsZero() || !m.DueAt.Equal(v.Until) || !v.Until.After(time.Now().Add(20*time.Hour)) {
		t.Errorf("put off: %+v", v)
	}

	// An order, which is utility, goes at night, and cancels what was put off.
	h.mustTake(h.shopify("orders/create", "", order("c1", phone(1), "60.00")))
	h.eventually("the order is confirmed", func() bool {
		m := h.of("thanks", phone(1))
		return m != nil && m.State == messaging.StateAccepted
	})
	if m := h.of("reminder", phone(1)); m.State != messaging.StateCancelled {
		t.Errorf("after the order the reminder is %s", m.State)
	}
	if s := h.status(); s.Daemon.Guessed != 0 || s.Deferred != 1 {
		t.Errorf("%d deferred, %d guesses", s.Deferred, s.Daemon.Guessed)
	}

	// The prefix of a satellite phone says no zone: defaults.timezone is taken, and counted.
	const satellite = "+870773111632"
	h.mustTake(h.shopify("checkouts/update", "", cart("c4", satellite, "60.00")))
	h.eventually("a satellite phone's is put off, too", deferred(satellite))
	if s := h.status(); s.Daemon.Guessed == 0 {
		t.Error("the guess was not counted")
	}

	h.stop()
	h = open(t, options{config: config, folder: h.folder})
	h.mustTake(h.shopify("checkouts/update", "", cart("c5", phone(5), "60.00")))
	h.eventually("after a restart the rules hold", deferred(phone(5)))
	if m := h.of("reminder", phone(3)); m.State != messaging.StateWaiting || m.Attempt != 0 {
		t.Errorf("after a restart what was put off is %s, attempt %d", m.State, m.Attempt)
	}
	h.edit(quiet, "language: en}")
	h.reload()
	for _, one := range []string{phone(3), satellite, phone(5)} {
		h.eventually("without quiet hours it goes", func() bool { return h.of("reminder", one).State == messaging.StateAccepted })
	}
}

// What is dropped in quiet hours ends with its reason.
func TestQuietHoursThatDrop(t *testing.T) {
	t.Parallel()
	quiet := "language: en, quiet_hours: {hours: " + nearlyAlways(t) + ", on_hit: drop}}"
	h := open(t, options{config: strings.NewReplacer("wait: 1h", "wait: 1s", "language: en}", quiet).Replace(plainConfig)})
	h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(1), "60.00")))
	h.eventually("it is dropped", func() bool {
		m := h.of("reminder", phone(1))
		return m != nil && m.State == messaging.StateDropped && strings.HasPrefix(m.Reason, "quiet hours are ")
	})
}

// Rows of a list that go one by one are put off each on its own, also when their job is gone from the config and a person lets
// its run go on; what a person sends by hand goes.
func TestQuietHoursOfRowsAndOfWhatAPersonSends(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	wanted := list(t, filepath.Join(folder, "list.csv"), 3)
	quiet := "language: en, quiet_hours: " + nearlyAlways(t) + "}"
	lists := strings.Replace(jobConfig(folder, byMessage), "language: en}", quiet, 1)
	h := open(t, options{folder: folder, config: lists})
	run, err := server.RunJob.Call(t.Context(), h.ask, server.JobOrder{Job: "winback"})
	if err != nil {
		t.Fatal(err)
	}
	h.eventually("each row is put off", func() bool { return h.status().Deferred == int64(len(wanted)) })
	h.send("447700900999")

	// The job goes from the config, and a person lets its run go on. What waits of it is asked anew: by the config that planned
	// it, also where the defaults of today have no quiet hours.
	asked := func() (times int64) {
		for _, m := range h.messages() {
			if m.Trigger != "winback" {
				continue
			}
			v := h.show(m.ID).Verdicts
			if m.State != messaging.StateWaiting || v[0].Rule != "quiet_hours" {
				t.Fatalf("message %d is %s: %+v", m.ID, m.State, v)
			}
			for _, one := range v {
				times += max(1, one.Times)
			}
		}
		return times
	}
	again := func(what string, by func()) {
		t.Helper()
		before := asked()
		by()
		h.eventually(what, func() bool { return asked() >= before+int64(len(wanted)) && h.status().Deferred == int64(len(wanted)) })
	}
	_, job, _ := strings.Cut(lists, "jobs:")
	_, shop, _ := strings.Cut(plainConfig, "connectors:")
	h.edit("jobs:"+job, "connectors:"+shop)
	h.reload()
	again("the quiet hours of a job that is gone hold", func() {
		if _, err := server.ResumeRun.Call(t.Context(), h.ask, run.ID); err != nil {
			t.Fatal(err)
		}
	})
	h.edit(quiet, "language: en}")
	again("and do where the defaults have none", func() { h.reload() })
	h.eventually("what a person sends goes", func() bool { return h.status().Counts["messages_accepted"] == 1 })

	h.edit("connectors:"+shop, "jobs:"+job)
	h.reload()
	h.eventually("back without quiet hours they go", func() bool {
		for _, phone := range wanted {
			if h.service.Accepted(phone) != 1 {
				return false
			}
		}
		return true
	})
}

// What rules put off is asked about by the rules of a reload once that has paused what it takes the job from.
func TestQuietHoursAreLiftedAsTheirJobIsTurnedOff(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	wanted := list(t, filepath.Join(folder, "list.csv"), 3)
	quiet := "language: en, quiet_hours: " + nearlyAlways(t) + "}"
	h := open(t, options{folder: folder, config: strings.Replace(jobConfig(folder, byMessage), "language: en}", quiet, 1)})
	if _, err := server.RunJob.Call(t.Context(), h.ask, server.JobOrder{Job: "winback"}); err != nil {
		t.Fatal(err)
	}
	h.eventually("each row is put off", func() bool { return h.status().Deferred == int64(len(wanted)) })
	h.edit(quiet, "language: en}")
	h.edit("  winback:\n", "  winback:\n    mode: off\n")
	h.reload()
	h.settle("+447700900777")
	sent := func() (n int) {
		for _, phone := range wanted {
			n += h.service.Accepted(phone)
		}
		return n
	}
	if n := sent(); n != 0 {
		t.Errorf("%d of a job that is off left", n)
	}
	h.edit("    mode: off\n", "")
	h.reload()
	h.eventually("back they go", func() bool { return sent() == len(wanted) })
}

// A language or a zone that a message goes by and nobody said, or said so that it can be read, is counted; a rule's own language is no guess.
func TestGuessesOfLanguagesAndZonesAreCounted(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: `
defaults: {country: GB, language: en, timezone: Europe/London}
connectors: {generic: {secret: "${SHOP_SECRET}", map: {timezone: timezone}, defaults: {timezone: Europe/London}}}
triggers:
  own: {on: generic.order.paid, category: utility, send: {template: x}}
  theirs: {on: generic.order.created, category: utility, send: {template: x, language: "{{ customer.language }}"}}
  steps: {on: generic.order.updated, category: utility, steps: [{send: {template: x, language: "{{ customer.language }}"}}, {wait: 1h, send: {template: y}}]}
`})
	for i, one := range []struct {
		body             string
		languages, zones int64
	}{
		{`{"event":"order.paid","phone":"+447700900123"}`, 0, 0},
		{`{"event":"order.created","phone":"+447700900123","language":"de"}`, 0, 0},
		{`{"event":"order.created","phone":"+447700900123"}`, 1, 0},
		{`{"event":"order.created","phone":"+447700900123","language":"German"}`, 2, 0},
		{`{"event":"order.updated","phone":"+447700900123","language":"German"}`, 3, 0},
		{`{"event":"order.created","phone":"+870773111632","language":"de","timezone":"Nowhere/Land"}`, 3, 1},
		{`{"event":"order.created","phone":"447700900123x9y","language":"German"}`, 3, 1},
	} {
		if status, answer := h.hook("generic", one.body, "Idempotency-Key", fmt.Sprint("k", i)); status != http.StatusOK {
			t.Fatalf("%s: %d %s", one.body, status, answer)
		}
		if d := h.status().Daemon; d.Languages != one.languages || d.Guessed != one.zones {
			t.Errorf("after %s: %d languages and %d zones", one.body, d.Languages, d.Guessed)
		}
	}
}
