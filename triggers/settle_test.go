package triggers

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nudgewire/nudgewire"
)

// wished is a planned wish of cart-1, forty-five minutes ahead.
func wished() nudgewire.Wish {
	return nudgewire.Wish{
		Decision: nudgewire.Decision{Trigger: "abandoned-cart", Outcome: nudgewire.Planned, Key: "cart-1", At: noon},
		Affair:   nudgewire.Affair{Trigger: "abandoned-cart", Key: "cart-1", Phone: "447700900123"},
		Owe:      nudgewire.Dispatch{Trigger: "abandoned-cart", DueAt: noon.Add(45 * time.Minute), Send: nudgewire.Send{Template: "cart_reminder"}},
		Again:    nudgewire.Again{Mode: nudgewire.Restart},
		Every:    nudgewire.Every{Mode: nudgewire.EveryOnce},
		EventAt:  noon,
	}
}

func cancelling() nudgewire.Wish {
	w := wished()
	w.Decision.Outcome, w.Owe, w.Forget = nudgewire.Cancelling, nudgewire.Dispatch{}, noon.Add(24*time.Hour)
	return w
}

func TestSettle(t *testing.T) {
	waiting := nudgewire.Waiting{ID: 7, DueAt: noon.Add(5 * time.Minute), CreatedAt: noon.Add(-40 * time.Minute), EventAt: noon.Add(-41 * time.Minute), Restarts: 3}
	sent := &nudgewire.Sent{ID: 5, State: nudgewire.StateAccepted, At: noon.Add(-24 * time.Hour)}
	stone := &nudgewire.Tombstone{EventID: 12, Ref: "shopify.order.created", EventAt: noon.Add(-78*time.Minute - 53*time.Second), ExpiresAt: noon.Add(time.Hour)}
	byPhone := func(w *nudgewire.Wish) { w.Affair.Key = "" }
	tests := map[string]struct {
		wish  nudgewire.Wish
		with  func(*nudgewire.Wish)
		facts nudgewire.Facts
		want  nudgewire.Settlement
	}{
		"a first event is planned": {
			wish: wished(),
			want: nudgewire.Settlement{Outcome: nudgewire.Planned, Insert: true, Reason: `template "cart_reminder" due 2026-11-27 12:45:00 UTC (in 45m)`},
		},
		"without a wait it is due at once": {
			wish: wished(), with: func(w *nudgewire.Wish) { w.Owe.DueAt = noon },
			want: nudgewire.Settlement{Outcome: nudgewire.Planned, Insert: true, Reason: `template "cart_reminder" due at once`},
		},
		"an order that came first cancels": {
			wish: wished(), facts: nudgewire.Facts{Tombstone: stone},
			want: nudgewire.Settlement{Outcome: nudgewire.Cancelled, Reason: "cancelled before it was planned: shopify.order.created (event 12) came at 10:41:07 UTC"},
		},
		"an order without a key spares a cart of the phone that was filled after it": {
			wish: wished(), facts: nudgewire.Facts{Tombstone: &nudgewire.Tombstone{EventID: 12, Ref: "shopify.order.created", EventAt: noon.Add(-time.Minute), ByPhone: true}},
			want: nudgewire.Settlement{Outcome: nudgewire.Planned, Insert: true, Reason: `template "cart_reminder" due 2026-11-27 12:45:00 UTC (in 45m)`},
		},
		"an order of yesterday is named with its day": {
			wish: wished(), facts: nudgewire.Facts{Tombstone: &nudgewire.Tombstone{EventID: 3, Ref: "shopify.order.created", EventAt: noon.Add(-20 * time.Hour)}},
			want: nudgewire.Settlement{Outcome: nudgewire.Cancelled, Reason: "cancelled before it was planned: shopify.order.created (event 3) came at 2026-11-26 16:00:00 UTC"},
		},
		"a keyed affair is over even for later events": {
			wish: wished(), with: func(w *nudgewire.Wish) { w.EventAt = noon.Add(time.Hour) }, facts: nudgewire.Facts{Tombstone: stone},
			want: nudgewire.Settlement{Outcome: nudgewire.Cancelled, Reason: "cancelled before it was planned: shopify.order.created (event 12) came at 10:41:07 UTC"},
		},
		"a phone's next cart is another matter": {
			wish: wished(), with: byPhone, facts: nudgewire.Facts{Tombstone: stone},
			want: nudgewire.Settlement{Outcome: nudgewire.Planned, Insert: true, Reason: `template "cart_reminder" due 2026-11-27 12:45:00 UTC (in 45m)`},
		},
		"a phone's earlier cart is ended": {
			wish: wished(), with: func(w *nudgewire.Wish) { byPhone(w); w.EventAt = stone.EventAt }, facts: nudgewire.Facts{Tombstone: stone},
			want: nudgewire.Settlement{Outcome: nudgewire.Cancelled, Reason: "cancelled before it was planned: shopify.order.created (event 12) came at 10:41:07 UTC"},
		},
		"a second event restarts what waits": {
			wish: wished(), facts: nudgewire.Facts{Waiting: []nudgewire.Waiting{waiting}},
			want: nudgewire.Settlement{Outcome: nudgewire.Restarted, Restart: 7, DueAt: noon.Add(45 * time.Minute), Reason: "dispatch 7 takes this event's content and waits anew, until 2026-11-27 12:45:00 UTC"},
		},
		"of several the newest is restarted": {
			wish: wished(), facts: nudgewire.Facts{Waiting: []nudgewire.Waiting{{ID: 2}, waiting}},
			want: nudgewire.Settlement{Outcome: nudgewire.Restarted, Restart: 7, DueAt: noon.Add(45 * time.Minute), Reason: "dispatch 7 takes this event's content and waits anew, until 2026-11-27 12:45:00 UTC"},
		},
		"beyond the most restarts the timer stays": {
			wish: wished(), with: func(w *nudgewire.Wish) { w.Again.Max = 3 }, facts: nudgewire.Facts{Waiting: []nudgewire.Waiting{waiting}},
			want: nudgewire.Settlement{Outcome: nudgewire.Restarted, Restart: 7, DueAt: waiting.DueAt, Reason: "dispatch 7 takes this event's content; its timer stays at 2026-11-27 12:05:00 UTC: it was restarted 3 times, the most that again allows"},
		},
		"beyond the time for restarts the timer stays": {
			wish: wished(), with: func(w *nudgewire.Wish) { w.Again.Within = 30 * time.Minute }, facts: nudgewire.Facts{Waiting: []nudgewire.Waiting{waiting}},
			want: nudgewire.Settlement{Outcome: nudgewire.Restarted, Restart: 7, DueAt: waiting.DueAt, Reason: "dispatch 7 takes this event's content; its timer stays at 2026-11-27 12:05:00 UTC: its first event came more than 30m ago, the longest that again allows"},
		},
		"an older event does not overwrite newer content": {
			wish: wished(), with: func(w *nudgewire.Wish) { w.EventAt = noon.Add(-time.Hour) }, facts: nudgewire.Facts{Waiting: []nudgewire.Waiting{waiting}},
			want: nudgewire.Settlement{Outcome: nudgewire.Refused, Reason: "dispatch 7 waits with newer content: its event happened at 2026-11-27 11:19:00 UTC, this one before it at 2026-11-27 11:00:00 UTC"},
		},
		"again: ignore lets the first one stand": {
			wish: wished(), with: func(w *nudgewire.Wish) { w.Again.Mode = nudgewire.Ignore }, facts: nudgewire.Facts{Waiting: []nudgewire.Waiting{waiting}},
			want: nudgewire.Settlement{Outcome: nudgewire.Refused, Reason: "already waiting (dispatch 7, due 2026-11-27 12:05:00 UTC); again: ignore"},
		},
		"again: parallel owes another": {
			wish: wished(), with: func(w *nudgewire.Wish) { w.Again.Mode = nudgewire.Parallel }, facts: nudgewire.Facts{Waiting: []nudgewire.Waiting{waiting}},
			want: nudgewire.Settlement{Outcome: nudgewire.Planned, Insert: true, Reason: `template "cart_reminder" due 2026-11-27 12:45:00 UTC (in 45m)`},
		},
		"once is once": {
			wish: wished(), facts: nudgewire.Facts{Last: sent},
			want: nudgewire.Settlement{Outcome: nudgewire.Refused, Reason: "dispatch 5 for key cart-1 was accepted at 2026-11-26 12:00:00 UTC; every: once"},
		},
		"a cooldown says when it ends": {
			wish: wished(), with: func(w *nudgewire.Wish) {
				byPhone(w)
				w.Every = nudgewire.Every{Mode: nudgewire.EveryCooldown, Cooldown: 72 * time.Hour}
			},
			facts: nudgewire.Facts{Last: sent},
			want:  nudgewire.Settlement{Outcome: nudgewire.Refused, Reason: "dispatch 5 for this phone was accepted at 2026-11-26 12:00:00 UTC; every: 3d ends 2026-11-29 12:00:00 UTC"},
		},
		"a cooldown that has ended plans": {
			wish: wished(), with: func(w *nudgewire.Wish) {
				w.Every = nudgewire.Every{Mode: nudgewire.EveryCooldown, Cooldown: 24 * time.Hour}
			},
			facts: nudgewire.Facts{Last: sent},
			want:  nudgewire.Settlement{Outcome: nudgewire.Planned, Insert: true, Reason: `template "cart_reminder" due 2026-11-27 12:45:00 UTC (in 45m)`},
		},
		"every: always plans": {
			wish: wished(), with: func(w *nudgewire.Wish) { w.Every.Mode = nudgewire.EveryAlways }, facts: nudgewire.Facts{Last: sent},
			want: nudgewire.Settlement{Outcome: nudgewire.Planned, Insert: true, Reason: `template "cart_reminder" due 2026-11-27 12:45:00 UTC (in 45m)`},
		},
		"what is in doubt may have arrived": {
			wish: wished(), facts: nudgewire.Facts{Last: &nudgewire.Sent{ID: 5, State: nudgewire.StateInDoubt, At: noon}},
			want: nudgewire.Settlement{Outcome: nudgewire.Refused, Reason: "dispatch 5 for key cart-1 is in doubt, it may have arrived; sent at 2026-11-27 12:00:00 UTC; every: once"},
		},
		"cancelling ends all that wait and is remembered": {
			wish: cancelling(), facts: nudgewire.Facts{Waiting: []nudgewire.Waiting{{ID: 2, DueAt: noon}, waiting}},
			want: nudgewire.Settlement{
				Outcome: nudgewire.Cancelling, Cancel: []nudgewire.DispatchID{2, 7}, Bury: true,
				Reason: "cancels dispatch 2 (due 2026-11-27 12:00:00 UTC), dispatch 7 (due 2026-11-27 12:05:00 UTC); remembered until 2026-11-28 12:00:00 UTC",
			},
		},
		"cancelling before anything waits is remembered": {
			wish: cancelling(),
			want: nudgewire.Settlement{Outcome: nudgewire.Cancelling, Bury: true, Reason: "nothing waits for key cart-1; remembered until 2026-11-28 12:00:00 UTC"},
		},
		"cancelling too late says what was sent": {
			wish: cancelling(), facts: nudgewire.Facts{Last: sent},
			want: nudgewire.Settlement{Outcome: nudgewire.Cancelling, Bury: true, Reason: "nothing waits for key cart-1; dispatch 5 was accepted at 2026-11-26 12:00:00 UTC; remembered until 2026-11-28 12:00:00 UTC"},
		},
		"cancelling what is being sent, in doubt, or was refused calls it off": {
			wish: cancelling(), facts: nudgewire.Facts{Last: &nudgewire.Sent{ID: 8, State: nudgewire.StateSending, At: noon}, Open: []nudgewire.Open{
				{ID: 6, State: nudgewire.StateRejected}, {ID: 7, State: nudgewire.StateInDoubt}, {ID: 8, State: nudgewire.StateSending}, {ID: 9, State: nudgewire.StateDropped},
			}},
			want: nudgewire.Settlement{
				Outcome: nudgewire.Cancelling, CallOff: []nudgewire.DispatchID{6, 7, 8, 9}, Bury: true,
				Reason: "dispatch 7 is in doubt, it may have arrived: it is not sent again; dispatch 8 is being sent: it is cancelled if the service does not take it; remembered until 2026-11-28 12:00:00 UTC",
			},
		},
		"an event that plans, too, calls off as well though it is not remembered": {
			wish: cancelling(), with: func(w *nudgewire.Wish) { w.Forget = time.Time{} }, facts: nudgewire.Facts{Open: []nudgewire.Open{{ID: 8, State: nudgewire.StateSending}}},
			want: nudgewire.Settlement{
				Outcome: nudgewire.Cancelling, CallOff: []nudgewire.DispatchID{8},
				Reason: "dispatch 8 is being sent: it is cancelled if the service does not take it",
			},
		},
		"calling off by phone spares what happened later": {
			wish: cancelling(), with: func(w *nudgewire.Wish) { byPhone(w); w.EventAt = noon.Add(-time.Hour) },
			facts: nudgewire.Facts{Open: []nudgewire.Open{{ID: 8, State: nudgewire.StateSending, EventAt: noon}, {ID: 9, State: nudgewire.StateSending, EventAt: noon.Add(-2 * time.Hour)}}},
			want: nudgewire.Settlement{
				Outcome: nudgewire.Cancelling, CallOff: []nudgewire.DispatchID{9}, Bury: true,
				Reason: "dispatch 9 is being sent: it is cancelled if the service does not take it; remembered until 2026-11-28 12:00:00 UTC",
			},
		},
		"cancelling by phone spares what happened later": {
			wish: cancelling(), with: func(w *nudgewire.Wish) { byPhone(w); w.EventAt = noon.Add(-time.Hour) }, facts: nudgewire.Facts{Waiting: []nudgewire.Waiting{waiting}},
			want: nudgewire.Settlement{Outcome: nudgewire.Cancelling, Bury: true, Reason: "nothing waits for this phone; dispatch 7 stays: its event happened later; remembered until 2026-11-28 12:00:00 UTC"},
		},
		"a refusal stays as it is": {
			wish: nudgewire.Wish{Decision: nudgewire.Decision{Outcome: nudgewire.Refused, Reason: "no"}}, facts: nudgewire.Facts{Waiting: []nudgewire.Waiting{waiting}},
			want: nudgewire.Settlement{Outcome: nudgewire.Refused, Reason: "no"},
		},
		"a shadow stays as it is": {
			wish: nudgewire.Wish{Decision: nudgewire.Decision{Outcome: nudgewire.Shadowed, Reason: "would"}}, facts: nudgewire.Facts{Tombstone: stone},
			want: nudgewire.Settlement{Outcome: nudgewire.Shadowed, Reason: "would"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.with != nil {
				tt.with(&tt.wish)
			}
			if diff := cmp.Diff(tt.want, Settle(tt.wish, tt.facts)); diff != "" {
				t.Errorf("Settle (-want +got):\n%s", diff)
			}
		})
	}
}

func drawTime(t *rapid.T, label string) time.Time {
	return noon.Add(time.Duration(rapid.IntRange(-72*60, 72*60).Draw(t, label)) * time.Minute)
}

func drawWish(t *rapid.T) nudgewire.Wish {
	w := wished()
	w.Decision.Outcome = rapid.SampledFrom([]nudgewire.Outcome{nudgewire.Planned, nudgewire.Cancelling, nudgewire.Refused, nudgewire.Shadowed}).Draw(t, "outcome")
	w.Affair.Key = rapid.SampledFrom([]string{"cart-1", ""}).Draw(t, "key")
	w.EventAt, w.Owe.DueAt, w.Forget = drawTime(t, "event"), drawTime(t, "due"), drawTime(t, "forget")
	w.Again = nudgewire.Again{
		Mode: rapid.SampledFrom([]nudgewire.AgainMode{nudgewire.Restart, nudgewire.Ignore, nudgewire.Parallel}).Draw(t, "again"),
		Max:  rapid.IntRange(0, 3).Draw(t, "max"), Within: time.Duration(rapid.IntRange(0, 48).Draw(t, "within")) * time.Hour,
	}
	w.Every = nudgewire.Every{
		Mode:     rapid.SampledFrom([]nudgewire.EveryMode{nudgewire.EveryOnce, nudgewire.EveryAlways, nudgewire.EveryCooldown}).Draw(t, "every"),
		Cooldown: time.Duration(rapid.IntRange(0, 72).Draw(t, "cooldown")) * time.Hour,
	}
	return w
}

func drawFacts(t *rapid.T) (f nudgewire.Facts) {
	for i := range rapid.IntRange(0, 3).Draw(t, "waiting") {
		f.Waiting = append(f.Waiting, nudgewire.Waiting{
			ID: nudgewire.DispatchID(10 + i), DueAt: drawTime(t, "waiting due"), CreatedAt: drawTime(t, "created"),
			EventAt: drawTime(t, "waiting event"), Restarts: rapid.IntRange(0, 4).Draw(t, "restarts"),
		})
	}
	if rapid.Bool().Draw(t, "sent") {
		f.Last = &nudgewire.Sent{ID: 5, State: nudgewire.StateAccepted, At: drawTime(t, "sent at")}
	}
	if rapid.Bool().Draw(t, "buried") {
		f.Tombstone = &nudgewire.Tombstone{EventID: 12, Ref: "shop.order.created", EventAt: drawTime(t, "stone"), ExpiresAt: noon.Add(time.Hour)}
	}
	return f
}

func TestASettlementDoesOneThing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, f := drawWish(t), drawFacts(t)
		s := Settle(w, f)
		if diff := cmp.Diff(s, Settle(w, f)); diff != "" {
			t.Fatalf("twice the same question, two answers:\n%s", diff)
		}
		if s.Insert && (s.Restart != 0 || len(s.Cancel) > 0 || s.Bury) {
			t.Fatalf("inserts and does more: %+v", s)
		}
		if s.Restart != 0 && (len(s.Cancel) > 0 || s.Bury || s.DueAt.IsZero()) {
			t.Fatalf("restarts and does more: %+v", s)
		}
		if s.Insert != (s.Outcome == nudgewire.Planned) || (s.Restart != 0) != (s.Outcome == nudgewire.Restarted) {
			t.Fatalf("outcome and deed differ: %+v", s)
		}
		if (len(s.Cancel) > 0 || s.Bury) && s.Outcome != nudgewire.Cancelling {
			t.Fatalf("cancels without saying so: %+v", s)
		}
		if w.Decision.Outcome == nudgewire.Planned && f.Tombstone != nil && w.Affair.Key != "" && s.Outcome != nudgewire.Cancelled {
			t.Fatalf("a buried affair came back: %+v", s)
		}
		if w.Again.Mode != nudgewire.Parallel && len(f.Waiting) > 0 && s.Insert {
			t.Fatalf("two wait for one affair: %+v", s)
		}
		if w.Every.Mode == nudgewire.EveryOnce && f.Last != nil && s.Insert {
			t.Fatalf("once became twice: %+v", s)
		}
		if s.Outcome != w.Decision.Outcome && s.Reason == "" {
			t.Fatalf("no reason for %+v", s)
		}
	})
}

// A ledger in miniature, to see that a history of events keeps the promises.
type ledger struct {
	facts  nudgewire.Facts
	next   nudgewire.DispatchID
	buried bool
}

func (l *ledger) apply(w nudgewire.Wish, s nudgewire.Settlement) {
	keep := l.facts.Waiting[:0:0]
	for _, one := range l.facts.Waiting {
		ended := false
		for _, id := range s.Cancel {
			ended = ended || id == one.ID
		}
		if one.ID == s.Restart {
			one.DueAt, one.EventAt = s.DueAt, w.EventAt
			one.Restarts++
		}
		if !ended {
			keep = append(keep, one)
		}
	}
	l.facts.Waiting = keep
	if s.Insert {
		l.next++
		l.facts.Waiting = append(l.facts.Waiting, nudgewire.Waiting{ID: l.next, DueAt: w.Owe.DueAt, CreatedAt: w.Decision.At, EventAt: w.EventAt})
	}
	if s.Bury {
		l.buried = true
		l.facts.Tombstone = &nudgewire.Tombstone{EventID: 1, Ref: "x.y", EventAt: w.EventAt, ExpiresAt: w.Forget}
	}
}

func TestAfterACancellationNothingOfAKeyedAffairWaits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l ledger
		for range rapid.IntRange(1, 12).Draw(t, "events") {
			w := drawWish(t)
			w.Affair.Key, w.Forget = "cart-1", noon.Add(time.Hour)
			l.apply(w, Settle(w, l.facts))
			if l.buried && len(l.facts.Waiting) > 0 {
				t.Fatalf("after a cancellation %d wait", len(l.facts.Waiting))
			}
		}
	})
}
