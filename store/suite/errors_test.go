package suite

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/store"
)

// refused ends a claimed message with the service's words.
func (l *ledger) refused(d nudgewire.Message, state nudgewire.State, class nudgewire.ErrorClass, words string, at time.Time) {
	l.t.Helper()
	a := nudgewire.Attempt{MessageID: d.ID, Owner: owner, Number: d.Attempt, State: state, Reason: "refused: " + words, Words: words, Class: class, At: at}
	if state == nudgewire.StateWaiting {
		a.RetryAt = d.DueAt
	}
	if state == nudgewire.StateAccepted {
		a.Reason = ""
		a.Message = &nudgewire.Message{ID: d.ID, ServiceID: nudgewire.ServiceID(fmt.Sprint(1000 + d.ID)), Status: nudgewire.StatusAccepted, NextPollAt: at}
	}
	if err := l.Finish(l.ctx, a); err != nil {
		l.t.Fatal(err)
	}
}

// says is what the service says of a message when it is asked.
func (l *ledger) says(id nudgewire.MessageID, status nudgewire.Status, class nudgewire.ErrorClass, words string, at time.Time) {
	l.t.Helper()
	p := nudgewire.Poll{MessageID: id, Status: status, Error: words, Class: class, At: at, NextPollAt: at.Add(time.Minute)}
	if err := l.FinishPoll(l.ctx, p); err != nil {
		l.t.Fatal(err)
	}
}

// errorTexts is what the service said about messages that it did not send.
func (s suite) errorTexts(t *testing.T) {
	at := noon.Add(2 * time.Hour)
	t.Run("texts that differ by numbers are one, the newest first", func(t *testing.T) {
		l := s.open(t)
		l.at(at)
		for i := range 3 {
			l.refused(l.claimed(fmt.Sprint(i)), nudgewire.StateRejected, "", fmt.Sprintf("flow  token x%d9 for +4477****%d expired", i, 10+i), at)
		}
		l.at(at.Add(time.Hour))
		d := l.claimed("4")
		l.refused(d, nudgewire.StateAccepted, "", "", at)
		l.says(d.ID, nudgewire.StatusFailed, "", "error 131049: no", at)
		e := l.claimed("5")
		l.refused(e, nudgewire.StateWaiting, nudgewire.ErrorRecipientLimit, "error 131050: no", at)
		got, err := l.ErrorTexts(l.ctx, time.Time{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		want := []store.ErrorText{
			{Text: "error 131049: no", Sample: "error 131049: no", Failed: 1, First: at.Add(time.Hour), Last: at.Add(time.Hour), Message: d.ID},
			{Text: "error 131050: no", Sample: "error 131050: no", Rejected: 1, First: at.Add(time.Hour), Last: at.Add(time.Hour), Message: e.ID},
			{Text: "flow token # for +# expired", Sample: "flow  token x29 for +4477****12 expired", Rejected: 3, First: at, Last: at, Message: 3},
		}
		same(t, "texts", want, got)
		for class, want := range map[string][]nudgewire.MessageID{"recipient_limit": {e.ID}, "unknown": {d.ID, 3, 2, 1}, "template": nil} {
			rows, err := l.Messages(l.ctx, store.MessageFilter{Class: class})
			if err != nil {
				t.Fatal(err)
			}
			var ids []nudgewire.MessageID
			for i := range rows {
				ids = append(ids, rows[i].ID)
			}
			same(t, "of the class "+class, want, ids)
		}
		got, err = l.ErrorTexts(l.ctx, at.Add(time.Minute), 1)
		if err != nil || len(got) != 1 {
			t.Errorf("since a while, at most one: %v, %v", got, err)
		}
		story, err := l.MessageStory(l.ctx, e.ID)
		if err != nil || len(story.Attempts) != 1 || story.Attempts[0].Class != nudgewire.ErrorRecipientLimit || story.Attempts[0].Words != "error 131050: no" {
			t.Errorf("the attempt: %+v, %v", story.Attempts, err)
		}
		if story, err = l.MessageStory(l.ctx, d.ID); err != nil || story.Status == "" || story.ErrorClass != "" {
			t.Errorf("the message: %+v, %v", story.Message, err)
		}
	})
	t.Run("no code that was sent stays in a text", func(t *testing.T) {
		l := s.open(t)
		d := l.claimed("1", func(p *nudgewire.Plan) { p.Proposals[0].Message.Send.Forget = true })
		l.refused(d, nudgewire.StateAccepted, "", "", at)
		l.says(d.ID, nudgewire.StatusFailed, "", "your code is 734912, but nobody is there", at)
		got, err := l.ErrorTexts(l.ctx, time.Time{}, 0)
		if err != nil || len(got) != 1 || got[0].Sample != "your code is #, but nobody is there" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// retryByClass is a person's order about messages of one class.
func (s suite) retryByClass(t *testing.T) {
	at := noon.Add(2 * time.Hour)
	l := s.open(t)
	l.at(at)
	d := l.claimed("1")
	l.refused(d, nudgewire.StateRejected, "", "gateway is busy", at)
	l.refused(l.claimed("2"), nudgewire.StateRejected, nudgewire.ErrorPermanent, "invalid phone", at)
	rules, _ := nudgewire.CompileErrorRules([]nudgewire.ErrorRule{{Match: "gateway is busy", Class: nudgewire.ErrorRetry}})
	order := func(now time.Time, dry bool) (went, stayed []store.Tally) {
		t.Helper()
		went, stayed, err := l.Retry(l.ctx, store.Retry{
			Filter: store.MessageFilter{State: nudgewire.StateRejected}, Now: now, DryRun: dry, Ended: now.Add(-time.Hour), Expires: 6 * time.Hour,
			OfClass: func(words string, _ nudgewire.ErrorClass) (bool, nudgewire.ErrorClass) {
				return rules.Class(words) == nudgewire.ErrorRetry, rules.Class(words)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return went, stayed
	}
	went, stayed := order(at.Add(time.Minute), false)
	same(t, "too soon", []store.Tally{}, went)
	if len(stayed) != 2 {
		t.Errorf("stay: %+v", stayed)
	}
	late := at.Add(2 * time.Hour)
	for _, dry := range []bool{true, false} {
		went, stayed = order(late, dry)
		same(t, "goes", []store.Tally{{Words: "was rejected by the service: refused: gateway is busy", N: 1}}, went)
		same(t, "stays", []store.Tally{{Words: "is of class permanent", N: 1}}, stayed)
	}
	if again := l.message(3); again.State != nudgewire.StateWaiting || !again.ExpiresAt.Equal(late.Add(6*time.Hour)) {
		t.Errorf("%+v", again)
	}
}

// serviceBlocks is the service's word that a contact wants no messages.
func (s suite) serviceBlocks(t *testing.T) {
	at := noon.Add(2 * time.Hour)
	const ana = "447700900123"
	blocks := func(l *ledger) string {
		t.Helper()
		all, err := l.Blocks(l.ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		words := ""
		for _, b := range all {
			words += fmt.Sprintf("%s by %s: %s\n", b.Phone, b.Source, b.Reason)
		}
		return words
	}
	start := func(l *ledger, when time.Time) {
		p := cart("", phone(ana), dedupe("start"))
		p.Event.Kind = "contact.subscribed"
		p.Proposals[0] = nudgewire.Proposal{
			Decision:    nudgewire.Decision{Trigger: nudgewire.OptOut, Outcome: nudgewire.Allowed, At: when},
			Correlation: nudgewire.Correlation{Trigger: nudgewire.OptOut, Phone: ana}, EventAt: when,
		}
		l.mustAccept(p)
	}
	const byService = ana + " by the service: recipient has opted out\n"
	for name, c := range map[string]struct {
		before, after func(l *ledger)
		want          string
	}{
		"the service blocks":                        {want: byService},
		"a person's block stays a person's":         {before: func(l *ledger) { l.person(ana) }, want: ana + " by by hand: \n"},
		"a person's block afterwards is a person's": {after: func(l *ledger) { l.person(ana); start(l, at.Add(time.Hour)) }, want: ana + " by by hand: \n"},
		"a person allows": {after: func(l *ledger) {
			if err := l.Allow(l.ctx, ana); err != nil {
				t.Fatal(err)
			}
		}},
		"a later start allows":             {after: func(l *ledger) { start(l, at.Add(time.Hour)) }},
		"an earlier start changes nothing": {after: func(l *ledger) { start(l, at.Add(-time.Hour)) }, want: byService},
	} {
		for _, how := range []string{"rejected", "failed"} {
			t.Run(name+", "+how, func(t *testing.T) {
				l := s.open(t)
				l.at(at)
				d, waiting := l.claimed("1"), l.enqueue("2")
				if c.before != nil {
					c.before(l)
				}
				if how == "rejected" {
					l.refused(d, nudgewire.StateRejected, nudgewire.ErrorOptOut, "recipient has opted out", at)
				} else {
					l.refused(d, nudgewire.StateAccepted, "", "", at)
					l.says(d.ID, nudgewire.StatusFailed, nudgewire.ErrorOptOut, "recipient has opted out", at)
				}
				if c.after != nil {
					c.after(l)
				}
				if got := blocks(l); got != c.want {
					t.Errorf("blocked: %q, want %q", got, c.want)
				}
				l.mustClaim(at, 9)
				if state := l.message(waiting).State; (state == nudgewire.StateDropped) != (c.want != "") {
					t.Errorf("what waits is %s", state)
				}
			})
		}
	}
}

// templatePauses is what a template does that the service does not send now.
func (s suite) templatePauses(t *testing.T) {
	at := noon.Add(2 * time.Hour)
	const words = "template reminder is paused"
	other := func(p *nudgewire.Plan) { p.Proposals[0].Message.Send.Template = "other" }
	paused := func(l *ledger) (out []string) {
		t.Helper()
		all, err := l.Holds(l.ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range all {
			if h.Kind == nudgewire.HoldService {
				out = append(out, fmt.Sprintf("%s for %s, probe %d", h.Name, h.Until.Sub(at), h.Probe))
			}
		}
		return out
	}
	probe := func(l *ledger, at time.Time) (ids []nudgewire.MessageID) {
		t.Helper()
		l.at(at)
		got, err := l.ProbeHolds(l.ctx, at)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range got {
			ids = append(ids, h.Probe)
		}
		return ids
	}
	ids := func(ds []nudgewire.Message) (out []nudgewire.MessageID) {
		for _, d := range ds {
			out = append(out, d.ID)
		}
		return out
	}
	open := func(t *testing.T) (l *ledger, inHand, asWell nudgewire.Message) {
		l = s.open(t)
		l.at(at)
		for i := range 5 { // 1 to 5
			l.enqueue(fmt.Sprint(i))
		}
		l.enqueue("other", other, due(noon.Add(61*time.Minute))) // 6
		got := l.mustClaim(at, 2)
		l.refused(got[0], nudgewire.StateWaiting, nudgewire.ErrorTemplate, words, at)
		return l, got[0], got[1]
	}
	t.Run("the template alone waits, three hours and then six, and one message probes", func(t *testing.T) {
		l, _, second := open(t)
		same(t, "paused", []string{"reminder for 3h0m0s, probe 0"}, paused(l))
		if h, is := l.Held(&second); !is || h.Kind != nudgewire.HoldService {
			t.Errorf("who was claimed before may go: %+v", h)
		}
		// What was on its way when the pause began makes it no longer.
		l.refused(second, nudgewire.StateWaiting, nudgewire.ErrorTemplate, words, at)
		same(t, "paused still", []string{"reminder for 3h0m0s, probe 0"}, paused(l))
		same(t, "others go", []nudgewire.MessageID{6}, ids(l.mustClaim(at, 9)))
		same(t, "no probe before its time", []nudgewire.MessageID{}, probe(l, at.Add(3*time.Hour-time.Second)))

		late := at.Add(3 * time.Hour)
		same(t, "probe", []nudgewire.MessageID{1}, probe(l, late))
		same(t, "one probe at a time", []nudgewire.MessageID{}, probe(l, late.Add(time.Minute)))
		got := l.mustClaim(late, 9)
		same(t, "the probe alone goes", []nudgewire.MessageID{1}, ids(got))
		if _, is := l.Held(&got[0]); is {
			t.Error("the probe is halted at the last look")
		}
		l.refused(got[0], nudgewire.StateWaiting, nudgewire.ErrorTemplate, words, late)
		same(t, "twice as long", []string{"reminder for 9h0m0s, probe 0"}, paused(l))
		same(t, "nothing goes", []nudgewire.MessageID{}, ids(l.mustClaim(late, 9)))

		late = at.Add(9 * time.Hour)
		same(t, "probe again", []nudgewire.MessageID{1}, probe(l, late))
		got = l.mustClaim(late, 9)
		l.refused(got[0], nudgewire.StateAccepted, "", "", late)
		same(t, "lifted", []string{}, paused(l))
		got = l.mustClaim(late, 9)
		same(t, "the rest goes", []nudgewire.MessageID{2, 3, 4, 5}, ids(got))

		// Soon after, it is taken for the same trouble.
		l.refused(got[0], nudgewire.StateWaiting, nudgewire.ErrorTemplate, words, late.Add(time.Hour))
		same(t, "longer still", []string{"reminder for 22h0m0s, probe 0"}, paused(l)) // 9h + 1h + 12h
	})
	t.Run("a probe that ends in another way gives place to the next", func(t *testing.T) {
		l, _, second := open(t)
		l.refused(second, nudgewire.StateWaiting, nudgewire.ErrorTemplate, words, at)
		late := at.Add(3 * time.Hour)
		same(t, "probe", []nudgewire.MessageID{1}, probe(l, late))
		if err := l.CancelMessage(l.ctx, 1, ""); err != nil {
			t.Fatal(err)
		}
		same(t, "next probe", []nudgewire.MessageID{2}, probe(l, late))
		got := l.mustClaim(late, 9)
		l.refused(got[0], nudgewire.StateRejected, nudgewire.ErrorPermanent, "invalid phone", late)
		same(t, "the one after", []nudgewire.MessageID{3}, probe(l, late))
	})
	t.Run("a halt by a person holds the probe, too", func(t *testing.T) {
		l, _, second := open(t)
		l.refused(second, nudgewire.StateWaiting, nudgewire.ErrorTemplate, words, at)
		l.mustHalt(nudgewire.Hold{Scope: nudgewire.ScopeTemplate, Kind: nudgewire.HoldHalt, Name: "reminder"})
		late := at.Add(3 * time.Hour)
		same(t, "no probe", []nudgewire.MessageID{}, probe(l, late))
		if err := l.EndHold(l.ctx, nudgewire.Hold{Scope: nudgewire.ScopeTemplate, Name: "reminder", Kind: nudgewire.HoldHalt}); err != nil {
			t.Fatal(err)
		}
		same(t, "the pause stays", []string{"reminder for 3h0m0s, probe 0"}, paused(l))
		same(t, "probe", []nudgewire.MessageID{1}, probe(l, late))
	})
	t.Run("a person lifts it", func(t *testing.T) {
		l, _, second := open(t)
		l.refused(second, nudgewire.StateWaiting, nudgewire.ErrorTemplate, words, at)
		if err := l.EndSendHolds(l.ctx, "reminder"); err != nil {
			t.Fatal(err)
		}
		same(t, "lifted", []string{}, paused(l))
		if n := len(l.mustClaim(at, 9)); n != 6 {
			t.Errorf("%d go", n)
		}
		if err := l.EndSendHolds(l.ctx, "reminder"); !errors.Is(err, nudgewire.ErrNotFound) {
			t.Errorf("twice: %v", err)
		}
	})
	t.Run("told by a status, a status lifts it, and older messages change nothing", func(t *testing.T) {
		l := s.open(t)
		l.at(at)
		for i := range 5 {
			l.enqueue(fmt.Sprint(i))
		}
		got := l.mustClaim(at, 3)
		for _, d := range got {
			l.refused(d, nudgewire.StateAccepted, "", "", at)
		}
		l.says(1, nudgewire.StatusFailed, nudgewire.ErrorTemplate, words, at)
		l.says(2, nudgewire.StatusFailed, nudgewire.ErrorTemplate, words, at.Add(time.Minute))
		same(t, "paused", []string{"reminder for 3h0m0s, probe 0"}, paused(l))
		if m, err := l.Message(l.ctx, 1); err != nil || m.ErrorClass != nudgewire.ErrorTemplate {
			t.Errorf("what failed: %+v, %v", m, err)
		}
		if again := l.message(6); again.Key != "0" || again.State != nudgewire.StateWaiting {
			t.Errorf("what goes again: %+v", again)
		}
		late := at.Add(3 * time.Hour)
		same(t, "probe", []nudgewire.MessageID{4}, probe(l, late))
		got = l.mustClaim(late, 9)
		l.refused(got[0], nudgewire.StateAccepted, "", "", late)
		same(t, "an acceptance does not tell", 1, len(paused(l)))
		l.says(4, nudgewire.StatusSent, "", "", late.Add(time.Second))
		same(t, "lifted", []string{}, paused(l))
		l.says(3, nudgewire.StatusFailed, nudgewire.ErrorTemplate, words, late.Add(time.Minute))
		same(t, "of a message from before", []string{}, paused(l))
	})
}
