package suite

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/store"
)

// attempt is how a claimed message ended, a second after the claim.
func attempt(d nudgewire.Message, state nudgewire.State) nudgewire.Attempt {
	a := nudgewire.Attempt{MessageID: d.ID, Owner: d.Owner, Number: d.Attempt, State: state, At: d.UpdatedAt.Add(time.Second)}
	switch state {
	case nudgewire.StateAccepted:
		a.Message = &nudgewire.Message{ServiceID: "90071992547409931", Phone: d.Phone, Category: d.Category, NextPollAt: a.At.Add(5 * time.Second)}
	case nudgewire.StateWaiting:
		a.Reason, a.RetryAt = "429 slow down", a.At.Add(time.Minute)
	default:
		a.Reason = "as the test says"
	}
	return a
}

func (l *ledger) mustFinish(d nudgewire.Message, state nudgewire.State) nudgewire.Attempt {
	l.t.Helper()
	a := attempt(d, state)
	if err := l.Finish(l.ctx, a); err != nil {
		l.t.Fatal(err)
	}
	return a
}

// claimed stores a message and claims it.
func (l *ledger) claimed(key string, changes ...change) nudgewire.Message {
	l.t.Helper()
	return l.claimedAt(noon.Add(time.Hour), key, changes...)
}

func (l *ledger) claimedAt(at time.Time, key string, changes ...change) nudgewire.Message {
	l.t.Helper()
	id := l.enqueue(key, changes...)
	got := l.mustClaim(at, 1)
	if len(got) != 1 || got[0].ID != id {
		l.t.Fatalf("claimed %+v, not message %d: %+v", got, id, l.message(id))
	}
	return got[0]
}

func (s suite) finish(t *testing.T) {
	t.Run("acceptance stores the message in the same commit", func(t *testing.T) {
		l := s.open(t)
		d := l.claimed("1")
		a := l.mustFinish(d, nudgewire.StateAccepted)
		got := l.message(d.ID)
		if got.State != nudgewire.StateAccepted || got.Reason != "" || got.Owner != "" || !got.LeaseEnds.IsZero() || !got.UpdatedAt.Equal(a.At) {
			t.Errorf("message %+v", got)
		}
		want := got
		want.ServiceID, want.Status, want.Final = "90071992547409931", nudgewire.StatusAccepted, false
		want.AcceptedAt, want.StatusAt, want.NextPollAt = a.At, a.At, a.At.Add(5*time.Second)
		same(t, "message", want, got)
		same(t, "OnPoll", want.NextPollAt, l.lastCall(&l.poll))
		attempts, err := l.Attempts(l.ctx, d.ID)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "attempts", []nudgewire.Attempt{{MessageID: d.ID, Number: 1, State: nudgewire.StateAccepted, At: a.At}}, attempts)
	})
	t.Run("acceptance without a message id is kept with the answer and cannot be followed", func(t *testing.T) {
		l := s.open(t)
		d := l.claimed("1")
		a := attempt(d, nudgewire.StateAccepted)
		a.Message, a.Answer = nil, `{"ok": true}`+strings.Repeat(" ", 5000)
		if err := l.Finish(l.ctx, a); err != nil {
			t.Fatal(err)
		}
		m := l.message(d.ID)
		want := m
		want.ServiceID, want.Status, want.Final = "", nudgewire.StatusUntracked, true
		want.AcceptedAt, want.StatusAt, want.NextPollAt = a.At, a.At, time.Time{}
		same(t, "message", want, m)
		l.totals(map[string]int64{"messages_untracked": 1})
		got, err := l.Attempts(l.ctx, d.ID)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 1 || len(got[0].Answer) != 4096 || !strings.HasPrefix(got[0].Answer, `{"ok": true}`) {
			t.Errorf("attempts %+v", got)
		}
	})
	t.Run("each other end is kept with its words", func(t *testing.T) {
		for _, state := range []nudgewire.State{nudgewire.StateRejected, nudgewire.StateInDoubt, nudgewire.StateDropped} {
			t.Run(string(state), func(t *testing.T) {
				l := s.open(t)
				d := l.claimed("1")
				a := l.mustFinish(d, state)
				got := l.message(d.ID)
				if got.State != state || got.Reason != a.Reason {
					t.Errorf("%s: %s", got.State, got.Reason)
				}
				attempts, err := l.Attempts(l.ctx, d.ID)
				if err != nil {
					t.Fatal(err)
				}
				same(t, "attempts", []nudgewire.Attempt{a}, attempts)
				if got := l.message(d.ID); got.Status != "" {
					t.Errorf("it has a status: %s", got.Status)
				}
			})
		}
	})
	t.Run("an end without words gets some", func(t *testing.T) {
		tests := map[nudgewire.State]string{
			nudgewire.StateRejected: "the service gave no reason",
			nudgewire.StateInDoubt:  "the answer did not come; it may have been sent",
			nudgewire.StateDropped:  "given up by the sender",
		}
		for state, words := range tests {
			l := s.open(t)
			d := l.claimed("1")
			a := attempt(d, state)
			a.Reason = ""
			if err := l.Finish(l.ctx, a); err != nil {
				t.Fatal(err)
			}
			same(t, string(state), words, l.message(d.ID).Reason)
		}
	})
	t.Run("put off, it is claimed again later as the next attempt", func(t *testing.T) {
		l := s.open(t)
		d := l.claimed("1")
		a := l.mustFinish(d, nudgewire.StateWaiting)
		same(t, "OnDue", a.RetryAt, l.woken(a.RetryAt))
		if got := l.mustClaim(a.RetryAt.Add(-time.Microsecond), 1); len(got) != 0 {
			t.Error("claimed too early")
		}
		got := l.mustClaim(a.RetryAt, 1)
		if len(got) != 1 || got[0].Attempt != 2 {
			t.Fatalf("claimed %+v", got)
		}
		l.mustFinish(got[0], nudgewire.StateAccepted)
		attempts, err := l.Attempts(l.ctx, d.ID)
		if err != nil || len(attempts) != 2 || attempts[0].State != nudgewire.StateWaiting || attempts[1].State != nudgewire.StateAccepted {
			t.Errorf("attempts %+v (%v)", attempts, err)
		}
	})
	t.Run("only the holder of the claim is heard", func(t *testing.T) {
		tests := map[string]func(*ledger, *nudgewire.Attempt){
			"another owner":       func(_ *ledger, a *nudgewire.Attempt) { a.Owner = "somebody else" },
			"another attempt":     func(_ *ledger, a *nudgewire.Attempt) { a.Number = 2 },
			"no such message":     func(_ *ledger, a *nudgewire.Attempt) { a.MessageID = 99 },
			"it said so before":   func(l *ledger, a *nudgewire.Attempt) { l.mustFinish(l.message(a.MessageID), nudgewire.StateRejected) },
			"put off by itself":   func(l *ledger, a *nudgewire.Attempt) { l.mustFinish(l.message(a.MessageID), nudgewire.StateWaiting) },
			"doubtful, and again": func(l *ledger, a *nudgewire.Attempt) { l.lapse(); a.State, a.Message = nudgewire.StateInDoubt, nil },
			"late, and not definite": func(l *ledger, a *nudgewire.Attempt) {
				l.lapse()
				a.State, a.Message, a.Doubtful = nudgewire.StateWaiting, nil, true
			},
			"resolved by a person": func(l *ledger, a *nudgewire.Attempt) {
				l.lapse()
				if err := l.Resolve(l.ctx, a.MessageID, nudgewire.ResolveDrop, "enough"); err != nil {
					l.t.Fatal(err)
				}
			},
		}
		for name, meanwhile := range tests {
			t.Run(name, func(t *testing.T) {
				l := s.open(t)
				d := l.claimed("1")
				a := attempt(d, nudgewire.StateAccepted)
				meanwhile(l, &a)
				before := l.message(d.ID)
				err := l.Finish(l.ctx, a)
				if !errors.Is(err, nudgewire.ErrClaimLost) {
					t.Errorf("error %v", err)
				}
				same(t, "message", before, l.message(d.ID))
				if got := l.message(d.ID); got.Status != "" {
					t.Errorf("it has a status: %s", got.Status)
				}
			})
		}
	})
	t.Run("a definite late answer settles what lapsed", func(t *testing.T) {
		for _, c := range []nudgewire.Category{nudgewire.Marketing, nudgewire.Authentication} {
			for _, state := range []nudgewire.State{nudgewire.StateAccepted, nudgewire.StateRejected} {
				t.Run(string(c)+" "+string(state), func(t *testing.T) {
					l := s.open(t)
					d := l.claimed("1", category(c))
					l.lapse()
					d.UpdatedAt = noon.Add(2 * time.Hour)
					l.mustFinish(d, state)
					if got := l.message(d.ID); got.State != state {
						t.Errorf("it is %s", got.State)
					}
					if got := l.mustClaim(noon.Add(9*time.Hour), 9); len(got) != 0 {
						t.Errorf("sent again: %+v", got)
					}
					attempts, err := l.Attempts(l.ctx, d.ID)
					if err != nil || len(attempts) != 2 || attempts[0].State != nudgewire.StateInDoubt || attempts[1].State != state {
						t.Errorf("attempts %+v (%v)", attempts, err)
					}
				})
			}
		}
	})
	t.Run("a late answer settles what a person said to send again", func(t *testing.T) {
		l := s.open(t)
		d := l.claimed("1", category(nudgewire.Marketing))
		l.lapse()
		if err := l.Resolve(l.ctx, d.ID, nudgewire.ResolveResend, "by hand"); err != nil {
			t.Fatal(err)
		}
		d.UpdatedAt = noon.Add(2 * time.Hour)
		l.mustFinish(d, nudgewire.StateAccepted)
		if got := l.mustClaim(noon.Add(9*time.Hour), 9); len(got) != 0 {
			t.Errorf("sent again: %+v", got)
		}
	})
	t.Run("what surely was not taken waits again, although its claim had lapsed", func(t *testing.T) {
		l := s.open(t)
		late := func(key string, changes ...change) (nudgewire.Message, nudgewire.Attempt) {
			d := l.claimed(key, append(changes, category(nudgewire.Marketing))...)
			a := attempt(d, nudgewire.StateWaiting)
			a.RetryAt, a.At = noon.Add(3*time.Hour), noon.Add(2*time.Hour)
			return d, a
		}
		back, backs := late("1")
		_, doubtful := late("2")
		dropped, drops := late("3")
		resolved, resolves := late("4")
		off, offs := late("5")
		blocked, blocks := late("6", phone("447700900106"))
		_, codes := late("7", func(p *nudgewire.Plan) { p.Proposals[0].Message.Send.Forget = true })
		l.lapse()
		doubtful.Doubtful = true
		if err := l.Resolve(l.ctx, dropped.ID, nudgewire.ResolveDrop, "by hand"); err != nil {
			t.Fatal(err)
		}
		if err := l.Resolve(l.ctx, resolved.ID, nudgewire.ResolveResend, "by hand"); err != nil {
			t.Fatal(err)
		}
		l.mustAccept(order("5"))
		if _, err := l.Block(l.ctx, []store.Block{{Phone: blocked.Phone, At: noon}}); err != nil {
			t.Fatal(err)
		}
		for _, lost := range []nudgewire.Attempt{doubtful, drops, resolves, codes} {
			if err := l.Finish(l.ctx, lost); !errors.Is(err, nudgewire.ErrClaimLost) {
				t.Errorf("message %d: %v", lost.MessageID, err)
			}
		}
		for _, heard := range []nudgewire.Attempt{backs, offs, blocks} {
			if err := l.Finish(l.ctx, heard); err != nil {
				t.Errorf("message %d: %v", heard.MessageID, err)
			}
		}
		for d, want := range map[nudgewire.MessageID]nudgewire.State{
			back.ID: nudgewire.StateWaiting, off.ID: nudgewire.StateCancelled, blocked.ID: nudgewire.StateDropped,
			codes.MessageID: nudgewire.StateInDoubt, doubtful.MessageID: nudgewire.StateInDoubt,
		} {
			if got := l.message(d); got.State != want {
				t.Errorf("message %d is %s: %s", d, got.State, got.Reason)
			}
		}
		attempts, err := l.Attempts(l.ctx, back.ID)
		if err != nil || len(attempts) != 1 || attempts[0].State != nudgewire.StateWaiting {
			t.Errorf("attempts %+v (%v): one in doubt would count as sent", attempts, err)
		}
		if got := l.message(back.ID); !got.DueAt.Equal(noon.Add(3 * time.Hour)) {
			t.Errorf("it is due %s", got.DueAt)
		}
	})
	t.Run("late words on a doubt", s.lateWords)
	t.Run("a late answer to an attempt that was begun anew is not heard", func(t *testing.T) {
		l := s.open(t)
		first := l.claimed("1", category(nudgewire.Authentication))
		l.lapse()
		second := l.mustClaim(noon.Add(2*time.Hour), 1)[0]
		if err := l.Finish(l.ctx, attempt(first, nudgewire.StateAccepted)); !errors.Is(err, nudgewire.ErrClaimLost) {
			t.Errorf("error %v", err)
		}
		l.mustFinish(second, nudgewire.StateAccepted)
	})
	t.Run("a late answer to content that was renewed is not heard", func(t *testing.T) {
		l := s.open(t)
		d := l.claimed("1", category(nudgewire.Authentication))
		l.lapse()
		l.settleBy(func(_ nudgewire.Proposal, f nudgewire.Facts) nudgewire.Settlement {
			return nudgewire.Settlement{Outcome: nudgewire.Restarted, Restart: f.Waiting[0].ID, DueAt: noon.Add(3 * time.Hour)}
		})
		l.mustAccept(cart("1", dedupe("again"), category(nudgewire.Authentication)))
		if err := l.Finish(l.ctx, attempt(d, nudgewire.StateAccepted)); !errors.Is(err, nudgewire.ErrClaimLost) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("what no sender may say is refused", func(t *testing.T) {
		l := s.open(t)
		d := l.claimed("1")
		tests := map[string]func(*nudgewire.Attempt){
			`finish message 1: no attempt ends as "cancelled"`:                   func(a *nudgewire.Attempt) { a.State = nudgewire.StateCancelled },
			`finish message 1: needs the claim's owner and number, and the time`: func(a *nudgewire.Attempt) { a.Owner = "" },
			`finish: only an accepted attempt has what the service took`:         func(a *nudgewire.Attempt) { a.State = nudgewire.StateRejected },
		}
		for words, change := range tests {
			a := attempt(d, nudgewire.StateAccepted)
			change(&a)
			wantErr(t, l.Finish(l.ctx, a), words)
		}
	})
}

// lapse ends every claim by its lease.
func (l *ledger) lapse() {
	l.t.Helper()
	if _, err := l.RescueClaims(l.ctx, noon.Add(90*time.Minute), owner); err != nil {
		l.t.Fatal(err)
	}
}

func (s suite) abandon(t *testing.T) {
	const dead = "node:0:dead"
	tests := map[string]struct {
		category nudgewire.Category
		attempts int // claims so far
		owner    string
		after    time.Duration
		expires  time.Duration
		want     nudgewire.State
		words    string
	}{
		"a dead owner's marketing is in doubt": {
			nudgewire.Marketing, 1, dead, 0, 0, nudgewire.StateInDoubt,
			"the daemon ended with attempt 1 claimed, and whether its call had begun is not known; it may have been sent",
		},
		"a dead owner's utility is in doubt": {
			nudgewire.Utility, 1, dead, 0, 0, nudgewire.StateInDoubt,
			"the daemon ended with attempt 1 claimed, and whether its call had begun is not known; it may have been sent",
		},
		"a dead owner's login code waits again": {
			nudgewire.Authentication, 1, dead, 0, 0, nudgewire.StateWaiting,
			"the daemon ended with attempt 1 claimed, and whether its call had begun is not known; it may have been sent; sent again, as its category (authentication) says",
		},
		"a login code is not tried a fourth time": {
			nudgewire.Authentication, 3, dead, 0, 0, nudgewire.StateInDoubt,
			"the daemon ended with attempt 3 claimed, and whether its call had begun is not known; it may have been sent",
		},
		"an expired login code is not sent again": {
			nudgewire.Authentication, 1, dead, 2 * time.Minute, 2 * time.Minute, nudgewire.StateInDoubt,
			"the daemon ended with attempt 1 claimed, and whether its call had begun is not known; it may have been sent",
		},
		"our own claim within its lease stays": {nudgewire.Marketing, 1, owner, time.Minute - time.Microsecond, 0, nudgewire.StateSending, ""},
		"our own claim after its lease is in doubt": {
			nudgewire.Marketing, 1, owner, time.Minute, 0, nudgewire.StateInDoubt,
			"attempt 1 had no outcome within its lease; it may have been sent",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := s.open(t)
			at := noon.Add(time.Hour)
			changes := []change{category(tt.category)}
			if tt.expires != 0 {
				changes = append(changes, expires(at.Add(tt.expires)))
			}
			id := l.enqueue("1", changes...)
			for n := range tt.attempts {
				got, err := l.Claim(l.ctx, nudgewire.ClaimRequest{Owner: tt.owner, Now: at, Lease: time.Minute, Authentication: 1, Utility: 1, Marketing: 1})
				if err != nil || len(got) != 1 {
					t.Fatalf("claimed %+v (%v)", got, err)
				}
				if n < tt.attempts-1 {
					a := attempt(got[0], nudgewire.StateWaiting)
					a.RetryAt, a.Called = at, true
					if err := l.Finish(l.ctx, a); err != nil {
						t.Fatal(err)
					}
				}
			}
			n, err := l.RescueClaims(l.ctx, at.Add(tt.after), owner)
			if err != nil {
				t.Fatal(err)
			}
			d := l.message(id)
			if d.State != tt.want || d.Reason != tt.words {
				t.Errorf("%s: %s", d.State, d.Reason)
			}
			if stays := tt.want == nudgewire.StateSending; stays != (n.Doubtful == 0) {
				t.Errorf("RescueClaims says %+v", n)
			}
		})
	}
	t.Run("a thousand are recovered, each once", func(t *testing.T) {
		l := s.open(t)
		plans := make([]nudgewire.Plan, 1000)
		for i := range plans {
			plans[i] = cart(strings.Repeat("k", i+1))
		}
		if _, err := l.Accept(l.ctx, plans); err != nil {
			t.Fatal(err)
		}
		l.mustClaim(noon.Add(time.Hour), 1000)
		n, err := l.RescueClaims(l.ctx, noon.Add(time.Hour), "a new owner")
		if err != nil || n.Doubtful != 1000 {
			t.Errorf("RescueClaims = %+v, %v", n, err)
		}
		c, err := l.Counts(l.ctx)
		if err != nil || c.InDoubt != 1000 || c.Sending != 0 {
			t.Errorf("%+v (%v)", c, err)
		}
	})
}

func (s suite) people(t *testing.T) {
	t.Run("a waiting message is cancelled with the reason", func(t *testing.T) {
		l := s.open(t)
		id := l.enqueue("1")
		if err := l.CancelMessage(l.ctx, id, "by hand: wrong list"); err != nil {
			t.Fatal(err)
		}
		d := l.message(id)
		if d.State != nudgewire.StateCancelled || d.Reason != "by hand: wrong list" {
			t.Errorf("%s: %s", d.State, d.Reason)
		}
	})
	t.Run("what does not wait cannot be cancelled", func(t *testing.T) {
		l := s.open(t)
		wantErr(t, l.CancelMessage(l.ctx, 7, ""), "message 7: not found")
		d := l.claimed("1")
		wantErr(t, l.CancelMessage(l.ctx, d.ID, ""), "message 1 is being sent at this moment (sending); this needs one that is waiting")
		l.mustFinish(d, nudgewire.StateAccepted)
		err := l.CancelMessage(l.ctx, d.ID, "")
		wantErr(t, err, "message 1 was accepted by the service already (accepted); this needs one that is waiting")
		var state *store.StateError
		if !errors.As(err, &state) || state.ID != d.ID || state.State != nudgewire.StateAccepted || state.Want != nudgewire.StateWaiting {
			t.Errorf("%#v", state)
		}
	})
	t.Run("doubt is resolved as told", func(t *testing.T) {
		tests := map[nudgewire.Resolution]nudgewire.State{
			nudgewire.ResolveAccepted: nudgewire.StateAccepted,
			nudgewire.ResolveResend:   nudgewire.StateWaiting,
			nudgewire.ResolveDrop:     nudgewire.StateDropped,
		}
		for resolution, want := range tests {
			t.Run(string(resolution), func(t *testing.T) {
				l := s.open(t)
				d := l.claimed("1", expires(noon.Add(7*time.Hour)))
				l.lapse()
				later := noon.Add(100 * time.Hour)
				l.at(later)
				if err := l.Resolve(l.ctx, d.ID, resolution, "she called"); err != nil {
					t.Fatal(err)
				}
				got := l.message(d.ID)
				if got.State != want || got.Reason != "she called" {
					t.Errorf("%s: %s", got.State, got.Reason)
				}
				l.totals(map[string]int64{"messages_untracked": 0}) // a person's word is no answer of the service
				if has := got.Status != ""; has != (want == nudgewire.StateAccepted) {
					t.Errorf("status %q", got.Status)
				}
				if resolution != nudgewire.ResolveResend {
					return
				}
				same(t, "due and expiry", []time.Time{later, later.Add(6 * time.Hour)}, []time.Time{got.DueAt, got.ExpiresAt})
				if again := l.mustClaim(later, 1); len(again) != 1 || again[0].Attempt != 2 {
					t.Errorf("claimed %+v", again)
				}
			})
		}
	})
	t.Run("only doubt can be resolved, and only as one of three", func(t *testing.T) {
		l := s.open(t)
		id := l.enqueue("1")
		wantErr(t, l.Resolve(l.ctx, id, nudgewire.ResolveDrop, ""), "message 1 still waits for its time (waiting); this needs one that is in_doubt")
		wantErr(t, l.Resolve(l.ctx, 9, nudgewire.ResolveDrop, ""), "message 9: not found")
		wantErr(t, l.Resolve(l.ctx, id, "maybe", ""), `resolve message 1: unknown resolution "maybe"; want accepted, resend or drop`)
	})
}

// lateWords is what each late word of an attempt does to a message in doubt, called off before the doubt, after it, or
// not at all. Accepted and rejected are knowledge and end the doubt. "Surely not taken" ends it, too: the message waits
// again, or is cancelled where an order came. A second doubt and a word to drop it know nothing new, and are not heard.
func (s suite) lateWords(t *testing.T) {
	called := map[string]struct{ before, after bool }{
		"not called off": {}, "called off before the doubt": {before: true}, "called off in doubt": {after: true},
	}
	for when, off := range called {
		waits := nudgewire.StateCancelled
		if off == called["not called off"] {
			waits = nudgewire.StateWaiting
		}
		for _, c := range []struct{ word, becomes nudgewire.State }{
			{nudgewire.StateAccepted, nudgewire.StateAccepted},
			{nudgewire.StateRejected, nudgewire.StateRejected},
			{nudgewire.StateWaiting, waits},
			{nudgewire.StateInDoubt, ""},
			{nudgewire.StateDropped, ""},
		} {
			t.Run(string(c.word)+", "+when, func(t *testing.T) {
				l := s.open(t)
				d := l.claimed("1", category(nudgewire.Marketing))
				if off.before {
					l.mustAccept(order("1"))
				}
				l.lapse()
				same(t, "after the lapse", nudgewire.StateInDoubt, l.message(d.ID).State)
				if off.after {
					l.mustAccept(order("1"))
				}
				before := l.message(d.ID)
				d.UpdatedAt = noon.Add(2 * time.Hour)
				err := l.Finish(l.ctx, attempt(d, c.word))
				if c.becomes == "" {
					if !errors.Is(err, nudgewire.ErrClaimLost) {
						t.Errorf("error %v", err)
					}
					same(t, "message", before, l.message(d.ID))
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				same(t, "state", c.becomes, l.message(d.ID).State)
				l.recount()
			})
		}
	}
}
