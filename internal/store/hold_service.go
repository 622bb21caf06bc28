package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/backoff"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

// The service may not take some of what is sent: its network pauses a template, or it refuses one message after the other of a
// template or campaign, from one trigger or run, while it takes others. Then that waits alone, and everything else goes. Afterwards one message goes as a
// probe. All of it is stored, so a restart changes nothing. The claim asks (see unheld), and the look just before a call (Held).

// A rest is how long such a pause lasts, at first and at most.
type rest struct{ first, most time.Duration }

var (
	pausedRest  = rest{3 * time.Hour, 24 * time.Hour} // as networks do
	refusedRest = rest{5 * time.Second, 15 * time.Minute}
)

const (
	// rememberPause is how long after a pause of the network's was lifted the next one is still longer than it was.
	rememberPause = 24 * time.Hour

	// probeTells is how long the status of a probe may take to tell, before another one goes.
	probeTells = 10 * time.Minute

	// forgetPause is how long after its end a pause is lifted for which there was no message to probe with.
	forgetPause = 24 * time.Hour
)

// ofSends reports whether a hold is of what the service does not take.
func ofSends(h messaging.Hold) bool {
	return h.Kind == messaging.HoldService && h.Scope != messaging.ScopeAccount
}

// SendHolds are the holds of what the service does not take at present.
func (s *Store) SendHolds() []messaging.Hold { return s.HoldsOf(ofSends) }

// Probes reports whether a message shows whether the service takes again what it did not.
func (s *Store) Probes(id messaging.MessageID) bool {
	_, is := s.holdProbedBy(id)
	return is
}

// holdProbedBy is the hold that a message is the probe of. It costs next to nothing while nothing is held.
func (s *Store) holdProbedBy(id messaging.MessageID) (messaging.Hold, bool) {
	all := s.holdsNow()
	i := slices.IndexFunc(all, func(h messaging.Hold) bool { return ofSends(h) && h.Probe == id })
	if i < 0 {
		return messaging.Hold{}, false
	}
	return all[i], true
}

// finishAndPause is the commit of an attempt that may pause what is sent like it, or lift such a pause; probed is the
// pause that the message was the probe of, zero for none.
func (s *Store) finishAndPause(ctx context.Context, a *messaging.Attempt, probed messaging.Hold, change func(*Tx) error) error {
	lifts := a.State == messaging.StateAccepted && probed.Probe == a.MessageID && (!probed.ByStatus || a.Message == nil || !a.Message.Tracked())
	return s.changeHolds(ctx, endsIf(lifts, probed), func(t *Tx) error {
		if err := change(t); err != nil {
			return err
		}
		switch {
		case lifts:
			_, err := t.endHold(probed)
			return err
		case a.Class == messaging.ErrorTemplate, a.Refused != "":
			return t.pauseSend(a, &probed)
		}
		return nil
	})
}

// pollAndPause is finishAndPause for a look at a message's status.
func (s *Store) pollAndPause(ctx context.Context, p *messaging.Poll, probed messaging.Hold, change func(*Tx) error) error {
	lifts := false
	switch p.Status {
	case messaging.StatusSent, messaging.StatusDelivered, messaging.StatusRead:
		lifts = probed.Probe == p.MessageID
	case messaging.StatusFailed: // for another reason, so its template was none
		lifts = probed.Probe == p.MessageID && p.Class != messaging.ErrorTemplate && p.Class != messaging.ErrorNoPoints
	}
	return s.changeHolds(ctx, endsIf(lifts, probed), func(t *Tx) error {
		if err := change(t); err != nil || !lifts {
			return err
		}
		_, err := t.endHold(probed)
		return err
	})
}

// endsIf says to changeHolds that a hold ends.
func endsIf(ends bool, h messaging.Hold) func(messaging.Hold) bool {
	if !ends {
		return nil
	}
	return h.Same
}

// pauseSend pauses what is sent like a message that the service did not take, or does so for longer when it was the probe of that.
func (t *Tx) pauseSend(a *messaging.Attempt, probed *messaging.Hold) error {
	d, err := t.sent(a.MessageID)
	if err != nil {
		return err
	}
	h := messaging.Hold{Reason: cmp.Or(a.Words, a.Reason), At: a.At, Cause: messaging.CausePaused}
	if a.Refused != "" {
		h.Cause = messaging.CauseRefused
	}
	switch {
	case probed.Probe == a.MessageID:
		h.Part = probed.Part
	case a.Refused == messaging.RefusedOrigin:
		h.Part = d.Origin()
	}
	return t.pauseLike(&d, h, time.Time{})
}

// pauseTemplateOf pauses the template of a message that the service took and failed for it.
func (t *Tx) pauseTemplateOf(id messaging.MessageID, words string, accepted, at time.Time) error {
	d, err := t.sent(id)
	if err != nil {
		return err
	}
	return t.pauseLike(&d, messaging.Hold{Reason: words, At: at, Cause: messaging.CausePaused, ByStatus: true}, accepted)
}

// sent is a message with what it asks for.
func (t *Tx) sent(id messaging.MessageID) (d messaging.Message, err error) {
	err = t.Query(MessageSQL, func(r *engine.Row) error {
		var send string
		d, send = stored.ScanMessage(r)
		return stored.DecodeSend(&d, send)
	}, int64(id))
	return d, err
}

var endPartsSQL = engine.SQL(`UPDATE holds SET ended_at = ?4, probe = 0 WHERE scope = ?1 AND name = ?2 AND kind = 'service' AND of_account = ?3 AND part <> '' AND ended_at = 0`)

// pauseLike holds what is sent as d is, from h.Part or, where that is "", from all. What was on
// its way when the hold began, or was accepted before it ended, changes nothing. Two of them never hold the same message, or
// each would wait for the other's probe.
func (t *Tx) pauseLike(d *messaging.Message, h messaging.Hold, accepted time.Time) error {
	kind, content := d.Send.Content()
	h.Scope, h.Name, h.Kind, h.Account = messaging.HoldScope(kind), content, messaging.HoldService, d.Account
	refused := h.Cause == messaging.CauseRefused
	if !refused && h.Scope != messaging.ScopeTemplate {
		return nil
	}
	if h.Part != "" {
		of := h
		of.Part = ""
		if all, err := t.holdNow(&of); err != nil || all.holds() {
			return err
		}
	} else if err := t.Put(endPartsSQL, kind, content, d.Account, t.At); err != nil {
		return err
	}
	was, err := t.holdNow(&h)
	switch {
	case err != nil:
		return err
	case was.holds() && was.Probe != d.ID && (refused || was.Cause == messaging.CausePaused):
		return nil
	case was.ended > 0 && !accepted.IsZero() && engine.Micro(accepted) <= was.ended:
		return nil
	case was.Cause != h.Cause, was.ended > 0 && (refused || engine.Micro(h.At)-was.ended > rememberPause.Microseconds()):
		was.Strikes = 0
	}
	rest := pausedRest
	if refused {
		rest = refusedRest
	}
	h.Strikes = was.Strikes + 1
	h.Until = h.At.Add(backoff.Next(h.Strikes, rest.first, rest.most, 0))
	if was.holds() && was.Strikes > 0 {
		h.At = was.At
	}
	return Wrap(t.hold(h), "pause what is sent")
}

// A storedHold is the row of a hold; zero is none.
type storedHold struct {
	messaging.Hold
	ended int64
}

func (h *storedHold) holds() bool { return h.Kind != "" && h.ended == 0 }

var storedHoldSQL = engine.SQL(`SELECT at, cause, strikes, probe, ended_at FROM holds WHERE scope = ?1 AND name = ?2 AND kind = ?3 AND of_account = ?4 AND part = ?5 AND way = ?6`)

// holdNow is the row of a hold as it stands, also after its end.
func (t *Tx) holdNow(of *messaging.Hold) (h storedHold, err error) {
	err = t.Query(storedHoldSQL, func(r *engine.Row) error {
		h.Hold = *of
		h.At, h.Cause, h.Strikes, h.Probe, h.ended = r.Time(), r.Text(), int(r.Int()), messaging.MessageID(r.Int()), r.Int()
		return r.Err
	}, string(of.Scope), of.Name, string(of.Kind), of.Account, of.Part, of.Way)
	return h, err
}

// EndSendHolds ends what holds back a template or campaign, or "texts", because the service does not take it, by a person's word; ErrNotFound
// when there is nothing.
func (s *Store) EndSendHolds(ctx context.Context, content string) error {
	is := func(h messaging.Hold) bool { return ofSends(h) && h.Content() == content }
	held := s.HoldsOf(is)
	if len(held) == 0 {
		return fmt.Errorf("lift the pause of %q: %w", content, messaging.ErrNotFound)
	}
	err := s.changeHolds(ctx, is, func(t *Tx) error {
		for _, h := range held {
			if _, err := t.endHold(h); err != nil {
				return err
			}
		}
		return nil
	})
	return Wrap(err, "lift the pause of %q", content)
}

var probeSQL = engine.SQL(`UPDATE holds SET probe = ?6 WHERE scope = ?1 AND name = ?2 AND kind = ?3 AND of_account = ?4 AND part = ?5 AND ended_at = 0`)

// ProbeHolds lets one message go of each hold whose time has come, and says which: they tell whether
// the service takes it again. Call it now and then.
func (s *Store) ProbeHolds(ctx context.Context, now time.Time) (probes []messaging.Hold, err error) {
	for _, h := range s.HoldsOf(func(h messaging.Hold) bool { return ofSends(h) && !h.Until.After(now) }) {
		needs, last, err := s.needsProbe(ctx, &h, now)
		if err != nil {
			return probes, err
		}
		if !needs {
			continue
		}
		err = s.changeHolds(ctx, h.Same, func(t *Tx) error {
			h.Probe = 0
			if err := t.findProbe(&h, last, now); err != nil {
				return err
			}
			if h.Probe == 0 && now.Sub(h.Until) > forgetPause {
				_, err := t.endHold(h)
				return err
			}
			err := t.Put(probeSQL, string(h.Scope), h.Name, string(h.Kind), h.Account, h.Part, int64(h.Probe))
			if err != nil || h.Probe == 0 {
				return err
			}
			t.goesOn(&h)
			return nil
		})
		if err != nil {
			return probes, fmt.Errorf("probe %s: %w", h.What(), err)
		}
		if h.Probe != 0 {
			probes = append(probes, h)
		}
	}
	return probes, nil
}

// probeOf is a message that the hold ?4 keeps back, and nothing else does.
var probeOf = `SELECT id FROM messages WHERE state = 'waiting' AND account = ?1 AND category = ?2 AND due_at <= ?3 AND (expires_at = 0 OR expires_at > ?3)
	AND replace(send, ?4, '') <> send AND (?5 = '' OR event_id <> 0 AND 'trigger ' || trigger_name = ?5
		OR event_id = 0 AND substr(correlation_key, 1, length(?5) + 5) = ?5 || ' row ')
	AND tries <= ?6 AND phone <> ?7 AND ` + unheldByPeople

var (
	findProbeSQL       = engine.SQL(probeOf + ` ORDER BY due_at, id LIMIT 1`)
	findNewestProbeSQL = engine.SQL(probeOf + ` ORDER BY due_at DESC, id DESC LIMIT 1`)
)

// findProbe looks for a message of what h holds: one that was tried seldom comes first, for another phone than the last
// one, the most urgent lane before the others. Of what is refused it is the newest, because what came first may be what is at fault.
func (t *Tx) findProbe(h *messaging.Hold, last messaging.Phone, now time.Time) error {
	find := findProbeSQL
	if h.Cause == messaging.CauseRefused {
		find = findNewestProbeSQL
	}
	for _, pass := range []struct {
		tries int64
		not   messaging.Phone
	}{{0, last}, {1, last}, {3, last}, {1 << 32, last}, {1 << 32, ""}} {
		for _, lane := range messaging.Lanes {
			err := t.Query(find, func(r *engine.Row) error { h.Probe = messaging.MessageID(r.Int()); return nil },
				h.Account, string(lane), engine.Micro(now), contentOf(h), h.Part, pass.tries, string(pass.not))
			if err != nil || h.Probe != 0 {
				return err
			}
		}
	}
	return nil
}

// needsProbe reports whether a pause has no probe that may still tell, and whose phone the last one was for.
func (s *Store) needsProbe(ctx context.Context, h *messaging.Hold, now time.Time) (needs bool, last messaging.Phone, err error) {
	if h.Probe == 0 {
		return true, "", nil
	}
	var state messaging.State
	var due, updated time.Time
	err = s.Rows(ctx, `SELECT state, due_at, updated_at, phone FROM messages WHERE id = ?1`, []any{int64(h.Probe)}, func(r *engine.Row) error {
		state, due, updated, last = messaging.State(r.Text()), r.Time(), r.Time(), r.Phone()
		return nil
	})
	if err != nil {
		return false, "", fmt.Errorf("look at the probe of %s: %w", h.What(), err)
	}
	switch state {
	case messaging.StateWaiting:
		return due.After(now), last, nil
	case messaging.StateSending:
		return false, last, nil
	case messaging.StateAccepted:
		return now.Sub(updated) > probeTells, last, nil
	default:
		return true, last, nil
	}
}
