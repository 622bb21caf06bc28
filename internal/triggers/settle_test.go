package triggers

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// wished is a planned proposal of cart-1, forty-five minutes ahead.
func proposed() messaging.Proposal {
	return messaging.Proposal{
		Decision:    messaging.Decision{Trigger: "abandoned-cart", Outcome: messaging.Planned, Key: "cart-1", At: noon},
		Correlation: messaging.Correlation{Trigger: "abandoned-cart", Key: "cart-1", Phone: "447700900123"},
		Message:     messaging.Message{Trigger: "abandoned-cart", DueAt: noon.Add(45 * time.Minute), Send: messaging.Send{Template: "cart_reminder"}},
		OnRepeat:    messaging.OnRepeat{Mode: messaging.Restart},
		Cooldown:    messaging.Cooldown{Mode: messaging.CooldownOnce},
		EventAt:     noon,
	}
}

func cancelling() messaging.Proposal {
	w := proposed()
	w.Decision.Outcome, w.Message, w.Forget = messaging.Cancelling, messaging.Message{}, noon.Add(24*time.Hour)
	return w
}

func TestSettle(t *testing.T) {
	waiting := messaging.Waiting{ID: 7, DueAt: noon.Add(5 * time.Minute), CreatedAt: noon.Add(-40 * time.Minute), EventAt: noon.Add(-41 * time.Minute), Restarts: 3}
	sent := &messaging.Sent{ID: 5, State: messaging.StateAccepted, At: noon.Add(-24 * time.Hour)}
	stone := &messaging.Tombstone{EventID: 12, Ref: "shopify.order.created", EventAt: noon.Add(-78*time.Minute - 53*time.Second), ExpiresAt: noon.Add(time.Hour)}
	byPhone := func(w *messaging.Proposal) { w.Correlation.Key = "" }
	tests := map[string]struct {
		proposal messaging.Proposal
		with     func(*messaging.Proposal)
		facts    messaging.Facts
		want     messaging.Settlement
	}{
		"a first event is planned": {
			proposal: proposed(),
			want:     messaging.Settlement{Outcome: messaging.Planned, Insert: true, Reason: `template "cart_reminder" due 2026-11-27 12:45:00 UTC (in 45m)`},
		},
		"without a wait it is due at once": {
			proposal: proposed(), with: func(w *messaging.Proposal) { w.Message.DueAt = noon },
			want: messaging.Settlement{Outcome: messaging.Planned, Insert: true, Reason: `template "cart_reminder" due at once`},
		},
		"an order that came first cancels": {
			proposal: proposed(), facts: messaging.Facts{Tombstone: stone},
			want: messaging.Settlement{Outcome: messaging.Cancelled, Reason: "cancelled before it was planned: shopify.order.created (event 12) came at 10:41:07 UTC"},
		},
		"an order without a key spares a cart of the phone that was filled after it": {
			proposal: proposed(), facts: messaging.Facts{Tombstone: &messaging.Tombstone{EventID: 12, Ref: "shopify.order.created", EventAt: noon.Add(-time.Minute), ByPhone: true}},
			want: messaging.Settlement{Outcome: messaging.Planned, Insert: true, Reason: `template "cart_reminder" due 2026-11-27 12:45:00 UTC (in 45m)`},
		},
		"an order of yesterday is named with its day": {
			proposal: proposed(), facts: messaging.Facts{Tombstone: &messaging.Tombstone{EventID: 3, Ref: "shopify.order.created", EventAt: noon.Add(-20 * time.Hour)}},
			want: messaging.Settlement{Outcome: messaging.Cancelled, Reason: "cancelled before it was planned: shopify.order.created (event 3) came at 2026-11-26 16:00:00 UTC"},
		},
		"a keyed correlation key is over even for later events": {
			proposal: proposed(), with: func(w *messaging.Proposal) { w.EventAt = noon.Add(time.Hour) }, facts: messaging.Facts{Tombstone: stone},
			want: messaging.Settlement{Outcome: messaging.Cancelled, Reason: "cancelled before it was planned: shopify.order.created (event 12) came at 10:41:07 UTC"},
		},
		"a phone's next cart is another matter": {
			proposal: proposed(), with: byPhone, facts: messaging.Facts{Tombstone: stone},
			want: messaging.Settlement{Outcome: messaging.Planned, Insert: true, Reason: `template "cart_reminder" due 2026-11-27 12:45:00 UTC (in 45m)`},
		},
		"a phone's earlier cart is ended": {
			proposal: proposed(), with: func(w *messaging.Proposal) { byPhone(w); w.EventAt = stone.EventAt }, facts: messaging.Facts{Tombstone: stone},
			want: messaging.Settlement{Outcome: messaging.Cancelled, Reason: "cancelled before it was planned: shopify.order.created (event 12) came at 10:41:07 UTC"},
		},
		"a second event restarts what waits": {
			proposal: proposed(), facts: messaging.Facts{Waiting: []messaging.Waiting{waiting}},
			want: messaging.Settlement{Outcome: messaging.Restarted, Restart: 7, DueAt: noon.Add(45 * time.Minute), Reason: "message 7 takes this event's content and waits anew, until 2026-11-27 12:45:00 UTC"},
		},
		"of several the newest is restarted": {
			proposal: proposed(), facts: messaging.Facts{Waiting: []messaging.Waiting{{ID: 2}, waiting}},
			want: messaging.Settlement{Outcome: messaging.Restarted, Restart: 7, DueAt: noon.Add(45 * time.Minute), Reason: "message 7 takes this event's content and waits anew, until 2026-11-27 12:45:00 UTC"},
		},
		"beyond the most restarts the timer stays": {
			proposal: proposed(), with: func(w *messaging.Proposal) { w.OnRepeat.Max = 3 }, facts: messaging.Facts{Waiting: []messaging.Waiting{waiting}},
			want: messaging.Settlement{Outcome: messaging.Restarted, Restart: 7, DueAt: waiting.DueAt, Reason: "message 7 takes this event's content; its timer stays at 2026-11-27 12:05:00 UTC: it was restarted 3 times, the most that on_repeat allows"},
		},
		"beyond the time for restarts the timer stays": {
			proposal: proposed(), with: func(w *messaging.Proposal) { w.OnRepeat.Within = 30 * time.Minute }, facts: messaging.Facts{Waiting: []messaging.Waiting{waiting}},
			want: messaging.Settlement{Outcome: messaging.Restarted, Restart: 7, DueAt: waiting.DueAt, Reason: "message 7 takes this event's content; its timer stays at 2026-11-27 12:05:00 UTC: its first event came more than 30m ago, the longest that on_repeat allows"},
		},
		"an older event does not overwrite newer content": {
			proposal: proposed(), with: func(w *messaging.Proposal) { w.EventAt = noon.Add(-time.Hour) }, facts: messaging.Facts{Waiting: []messaging.Waiting{waiting}},
			want: messaging.Settlement{Outcome: messaging.Skipped, Reason: "message 7 waits with newer content: its event happened at 2026-11-27 11:19:00 UTC, this one before it at 2026-11-27 11:00:00 UTC"},
		},
		"on_repeat: ignore lets the first one stand": {
			proposal: proposed(), with: func(w *messaging.Proposal) { w.OnRepeat.Mode = messaging.Ignore }, facts: messaging.Facts{Waiting: []messaging.Waiting{waiting}},
			want: messaging.Settlement{Outcome: messaging.Skipped, Reason: "already waiting (message 7, due 2026-11-27 12:05:00 UTC); on_repeat: ignore"},
		},
		"on_repeat: parallel queues another": {
			proposal: proposed(), with: func(w *messaging.Proposal) { w.OnRepeat.Mode = messaging.Parallel }, facts: messaging.Facts{Waiting: []messaging.Waiting{waiting}},
			want: messaging.Settlement{Outcome: messaging.Planned, Insert: true, Reason: `template "cart_reminder" due 2026-11-27 12:45:00 UTC (in 45m)`},
		},
		"once is once": {
			proposal: proposed(), facts: messaging.Facts{Last: sent},
			want: messaging.Settlement{Outcome: messaging.Skipped, Reason: "message 5 for key cart-1 was accepted at 2026-11-26 12:00:00 UTC; cooldown: once"},
		},
		"a cooldown says when it ends": {
			proposal: proposed(), with: func(w *messaging.Proposal) {
				byPhone(w)
				w.Cooldown = messaging.Cooldown{Mode: messaging.CooldownFor, For: 72 * time.Hour}
			},
			facts: messaging.Facts{Last: sent},
			want:  messaging.Settlement{Outcome: messaging.Skipped, Reason: "message 5 for this phone was accepted at 2026-11-26 12:00:00 UTC; cooldown: 3d ends 2026-11-29 12:00:00 UTC"},
		},
		"a cooldown that has ended plans": {
			proposal: proposed(), with: func(w *messaging.Proposal) {
				w.Cooldown = messaging.Cooldown{Mode: messaging.CooldownFor, For: 24 * time.Hour}
			},
			facts: messaging.Facts{Last: sent},
			want:  messaging.Settlement{Outcome: messaging.Planned, Insert: true, Reason: `template "cart_reminder" due 2026-11-27 12:45:00 UTC (in 45m)`},
		},
		"cooldown: none plans": {
			proposal: proposed(), with: func(w *messaging.Proposal) { w.Cooldown.Mode = messaging.CooldownNone }, facts: messaging.Facts{Last: sent},
			want: messaging.Settlement{Outcome: messaging.Planned, Insert: true, Reason: `template "cart_reminder" due 2026-11-27 12:45:00 UTC (in 45m)`},
		},
		"what was in doubt and let be may have arrived": {
			proposal: proposed(), facts: messaging.Facts{Last: &messaging.Sent{ID: 5, State: messaging.StateDropped, At: noon}},
			want: messaging.Settlement{Outcome: messaging.Skipped, Reason: "message 5 for key cart-1 may have arrived and was let be; sent at 2026-11-27 12:00:00 UTC; cooldown: once"},
		},
		"what is in doubt may have arrived": {
			proposal: proposed(), facts: messaging.Facts{Last: &messaging.Sent{ID: 5, State: messaging.StateInDoubt, At: noon}},
			want: messaging.Settlement{Outcome: messaging.Skipped, Reason: "message 5 for key cart-1 is in doubt, it may have arrived; sent at 2026-11-27 12:00:00 UTC; cooldown: once"},
		},
		"cancelling ends all that wait and is remembered": {
			proposal: cancelling(), facts: messaging.Facts{Waiting: []messaging.Waiting{{ID: 2, DueAt: noon}, waiting}},
			want: messaging.Settlement{
				Outcome: messaging.Cancelling, Cancel: []messaging.MessageID{2, 7}, RecordTombstone: true,
				Reason: "cancels message 2 (due 2026-11-27 12:00:00 UTC), message 7 (due 2026-11-27 12:05:00 UTC); an older event that comes before 2026-11-28 12:00:00 UTC brings none",
			},
		},
		"cancelling before anything waits is remembered": {
			proposal: cancelling(),
			want:     messaging.Settlement{Outcome: messaging.Cancelling, RecordTombstone: true, Reason: "no message waited for key cart-1; an older event that comes before 2026-11-28 12:00:00 UTC brings none"},
		},
		"cancelling too late says what was sent": {
			proposal: cancelling(), facts: messaging.Facts{Last: sent},
			want: messaging.Settlement{Outcome: messaging.Cancelling, RecordTombstone: true, Reason: "no message waited for key cart-1; message 5 was accepted at 2026-11-26 12:00:00 UTC; an older event that comes before 2026-11-28 12:00:00 UTC brings none"},
		},
		"cancelling what is being sent, in doubt, or was rejected calls it off": {
			proposal: cancelling(), facts: messaging.Facts{Last: &messaging.Sent{ID: 8, State: messaging.StateSending, At: noon}, Open: []messaging.Open{
				{ID: 6, State: messaging.StateRejected}, {ID: 7, State: messaging.StateInDoubt}, {ID: 8, State: messaging.StateSending}, {ID: 9, State: messaging.StateDropped},
			}},
			want: messaging.Settlement{
				Outcome: messaging.Cancelling, CallOff: []messaging.MessageID{6, 7, 8, 9}, RecordTombstone: true,
				Reason: "message 7 is in doubt, it may have arrived: it is not sent again; message 8 is being sent: it is cancelled if the service does not take it; an older event that comes before 2026-11-28 12:00:00 UTC brings none",
			},
		},
		"an event that plans, too, calls off as well though it is not remembered": {
			proposal: cancelling(), with: func(w *messaging.Proposal) { w.Forget = time.Time{} }, facts: messaging.Facts{Open: []messaging.Open{{ID: 8, State: messaging.StateSending}}},
			want: messaging.Settlement{
				Outcome: messaging.Cancelling, CallOff: []messaging.MessageID{8},
				Reason: "message 8 is being sent: it is cancelled if the service does not take it",
			},
		},
		"calling off by phone spares what happened later": {
			proposal: cancelling(), with: func(w *messaging.Proposal) { byPhone(w); w.EventAt = noon.Add(-time.Hour) },
			facts: messaging.Facts{Open: []messaging.Open{{ID: 8, State: messaging.StateSending, EventAt: noon}, {ID: 9, State: messaging.StateSending, EventAt: noon.Add(-2 * time.Hour)}}},
			want: messaging.Settlement{
				Outcome: messaging.Cancelling, CallOff: []messaging.MessageID{9}, RecordTombstone: true,
				Reason: "message 9 is being sent: it is cancelled if the service does not take it; an older event that comes before 2026-11-28 12:00:00 UTC brings none",
			},
		},
		"cancelling by phone spares what happened later": {
			proposal: cancelling(), with: func(w *messaging.Proposal) { byPhone(w); w.EventAt = noon.Add(-time.Hour) }, facts: messaging.Facts{Waiting: []messaging.Waiting{waiting}},
			want: messaging.Settlement{Outcome: messaging.Cancelling, RecordTombstone: true, Reason: "no message waited for this phone; message 7 stays: its event happened later; an older event that comes before 2026-11-28 12:00:00 UTC brings none"},
		},
		"what is skipped stays skipped": {
			proposal: messaging.Proposal{Decision: messaging.Decision{Outcome: messaging.Skipped, Reason: "no"}}, facts: messaging.Facts{Waiting: []messaging.Waiting{waiting}},
			want: messaging.Settlement{Outcome: messaging.Skipped, Reason: "no"},
		},
		"a shadow stays as it is": {
			proposal: messaging.Proposal{Decision: messaging.Decision{Outcome: messaging.Shadowed, Reason: "would"}}, facts: messaging.Facts{Tombstone: stone},
			want: messaging.Settlement{Outcome: messaging.Shadowed, Reason: "would"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.with != nil {
				tt.with(&tt.proposal)
			}
			if diff := cmp.Diff(tt.want, Settle(tt.proposal, tt.facts)); diff != "" {
				t.Errorf("Settle (-want +got):\n%s", diff)
			}
		})
	}
}

func drawTime(t *rapid.T, label string) time.Time {
	return noon.Add(time.Duration(rapid.IntRange(-72*60, 72*60).Draw(t, label)) * time.Minute)
}

func drawProposal(t *rapid.T) messaging.Proposal {
	w := proposed()
	w.Decision.Outcome = rapid.SampledFrom([]messaging.Outcome{messaging.Planned, messaging.Cancelling, messaging.Skipped, messaging.Shadowed}).Draw(t, "outcome")
	w.Correlation.Key = rapid.SampledFrom([]string{"cart-1", ""}).Draw(t, "key")
	w.EventAt, w.Message.DueAt, w.Forget = drawTime(t, "event"), drawTime(t, "due"), drawTime(t, "forget")
	w.OnRepeat = messaging.OnRepeat{
		Mode: rapid.SampledFrom([]messaging.RepeatMode{messaging.Restart, messaging.Ignore, messaging.Parallel}).Draw(t, "again"),
		Max:  rapid.IntRange(0, 3).Draw(t, "max"), Within: time.Duration(rapid.IntRange(0, 48).Draw(t, "within")) * time.Hour,
	}
	w.Cooldown = messaging.Cooldown{
		Mode: rapid.SampledFrom([]messaging.CooldownMode{messaging.CooldownOnce, messaging.CooldownNone, messaging.CooldownFor}).Draw(t, "every"),
		For:  time.Duration(rapid.IntRange(0, 72).Draw(t, "cooldown")) * time.Hour,
	}
	return w
}

func drawFacts(t *rapid.T) (f messaging.Facts) {
	for i := range rapid.IntRange(0, 3).Draw(t, "waiting") {
		f.Waiting = append(f.Waiting, messaging.Waiting{
			ID: messaging.MessageID(10 + i), DueAt: drawTime(t, "waiting due"), CreatedAt: drawTime(t, "created"),
			EventAt: drawTime(t, "waiting event"), Restarts: rapid.IntRange(0, 4).Draw(t, "restarts"),
		})
	}
	if rapid.Bool().Draw(t, "sent") {
		f.Last = &messaging.Sent{ID: 5, State: messaging.StateAccepted, At: drawTime(t, "sent at")}
	}
	if rapid.Bool().Draw(t, "cancelled") {
		f.Tombstone = &messaging.Tombstone{EventID: 12, Ref: "shop.order.created", EventAt: drawTime(t, "stone"), ExpiresAt: noon.Add(time.Hour)}
	}
	return f
}

func TestASettlementDoesOneThing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, f := drawProposal(t), drawFacts(t)
		s := Settle(w, f)
		if diff := cmp.Diff(s, Settle(w, f)); diff != "" {
			t.Fatalf("twice the same question, two answers:\n%s", diff)
		}
		if s.Insert && (s.Restart != 0 || len(s.Cancel) > 0 || s.RecordTombstone) {
			t.Fatalf("inserts and does more: %+v", s)
		}
		if s.Restart != 0 && (len(s.Cancel) > 0 || s.RecordTombstone || s.DueAt.IsZero()) {
			t.Fatalf("restarts and does more: %+v", s)
		}
		if s.Insert != (s.Outcome == messaging.Planned) || (s.Restart != 0) != (s.Outcome == messaging.Restarted) {
			t.Fatalf("outcome and deed differ: %+v", s)
		}
		if (len(s.Cancel) > 0 || s.RecordTombstone) && s.Outcome != messaging.Cancelling {
			t.Fatalf("cancels without saying so: %+v", s)
		}
		if w.Decision.Outcome == messaging.Planned && f.Tombstone != nil && w.Correlation.Key != "" && s.Outcome != messaging.Cancelled {
			t.Fatalf("a cancelled correlation key came back: %+v", s)
		}
		if w.OnRepeat.Mode != messaging.Parallel && len(f.Waiting) > 0 && s.Insert {
			t.Fatalf("two wait for one correlation key: %+v", s)
		}
		if w.Cooldown.Mode == messaging.CooldownOnce && f.Last != nil && s.Insert {
			t.Fatalf("once became twice: %+v", s)
		}
		if s.Outcome != w.Decision.Outcome && s.Reason == "" {
			t.Fatalf("no reason for %+v", s)
		}
	})
}

// A store in miniature, to see that a history of events keeps the promises.
type miniature struct {
	facts     messaging.Facts
	next      messaging.MessageID
	cancelled bool
}

func (l *miniature) apply(w messaging.Proposal, s messaging.Settlement) {
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
		l.facts.Waiting = append(l.facts.Waiting, messaging.Waiting{ID: l.next, DueAt: w.Message.DueAt, CreatedAt: w.Decision.At, EventAt: w.EventAt})
	}
	if s.RecordTombstone {
		l.cancelled = true
		l.facts.Tombstone = &messaging.Tombstone{EventID: 1, Ref: "x.y", EventAt: w.EventAt, ExpiresAt: w.Forget}
	}
}

func TestAfterACancellationNothingOfACorrelationKeyWaits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l miniature
		for range rapid.IntRange(1, 12).Draw(t, "events") {
			w := drawProposal(t)
			w.Correlation.Key, w.Forget = "cart-1", noon.Add(time.Hour)
			l.apply(w, Settle(w, l.facts))
			if l.cancelled && len(l.facts.Waiting) > 0 {
				t.Fatalf("after a cancellation %d wait", len(l.facts.Waiting))
			}
		}
	})
}
