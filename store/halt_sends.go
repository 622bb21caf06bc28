package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/backoff"
)

// The service may not take some of what is sent: its network pauses a template, or it refuses one message after the other of a
// template or campaign, from one trigger or run, while it takes others. Then that waits alone, and everything else goes. Afterwards one message goes as a
// probe. All of it is stored, so a restart changes nothing. The claim asks (see unhalted), and the look just before a call (Halted).

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

// sendPauses are the pauses that hold, as halts of HaltService.
func (s *Store) sendPauses(ctx context.Context) ([]Halt, error) {
	return list(ctx, s, `SELECT of_account, kind, content, origin, words, since, ends_at, refused, probe, told_by_status FROM send_pauses
		WHERE lifted_at = 0 ORDER BY since, of_account, kind, content, origin`, nil, func(r *row) (Halt, error) {
		return Halt{
			Scope: HaltService, Account: r.text(), Kind: r.text(), Name: r.text(), Origin: r.text(), Reason: r.text(), At: r.time(), Until: r.time(),
			Refused: r.int() == 1, Probe: nudgewire.DispatchID(r.int()), ByStatus: r.int() == 1,
		}, nil
	})
}

// SendPauses are the pauses that hold at present, as halts of HaltService.
func (s *Store) SendPauses() []Halt {
	return slices.DeleteFunc(slices.Clone(s.haltsNow()), func(h Halt) bool { return h.Scope != HaltService })
}

// Probes reports whether a dispatch shows whether the service takes again what it did not.
func (s *Store) Probes(id nudgewire.DispatchID) bool {
	_, is := s.pauseProbedBy(id)
	return is
}

// pauseProbedBy is the pause that a dispatch is the probe of. It costs next to nothing while nothing is halted.
func (s *Store) pauseProbedBy(id nudgewire.DispatchID) (Halt, bool) {
	for _, h := range s.haltsNow() {
		if h.Scope == HaltService && h.Probe == id {
			return h, true
		}
	}
	return Halt{}, false
}

// finishAndPause is the commit of an attempt that may pause what is sent like it, or lift such a pause; probed is the
// pause that the dispatch was the probe of, zero for none.
func (s *Store) finishAndPause(ctx context.Context, a *nudgewire.Attempt, probed Halt, change op) error {
	lifts := a.State == nudgewire.StateAccepted && probed.Probe == a.DispatchID && (!probed.ByStatus || a.Message == nil || !a.Message.Tracked())
	return s.changeHalts(ctx, endsIf(lifts, probed), func(t *tx) error {
		if err := change(t); err != nil {
			return err
		}
		switch {
		case lifts:
			return t.liftPause(&probed)
		case a.Class == nudgewire.ErrorTemplate, a.Refused != "":
			return t.pauseSend(a, &probed)
		}
		return nil
	})
}

// pollAndPause is finishAndPause for a look at a message's status.
func (s *Store) pollAndPause(ctx context.Context, p *nudgewire.Poll, probed Halt, change op) error {
	lifts := false
	switch p.Status {
	case nudgewire.StatusSent, nudgewire.StatusDelivered, nudgewire.StatusRead:
		lifts = probed.Probe == p.DispatchID
	case nudgewire.StatusFailed: // for another reason, so its template was none
		lifts = probed.Probe == p.DispatchID && p.Class != nudgewire.ErrorTemplate && p.Class != nudgewire.ErrorNoPoints
	}
	return s.changeHalts(ctx, endsIf(lifts, probed), func(t *tx) error {
		if err := change(t); err != nil || !lifts {
			return err
		}
		return t.liftPause(&probed)
	})
}

// endsIf says to changeHalts that a halt ends.
func endsIf(ends bool, h Halt) func(Halt) bool {
	if !ends {
		return nil
	}
	return h.same
}

// pauseSend pauses what is sent like a dispatch that the service did not take, or does so for longer when it was the probe of that.
func (t *tx) pauseSend(a *nudgewire.Attempt, probed *Halt) error {
	d, err := t.sent(a.DispatchID)
	if err != nil {
		return err
	}
	words := cmp.Or(a.Words, a.Reason)
	origin := ""
	switch {
	case probed.Probe == a.DispatchID:
		origin = probed.Origin
	case a.Refused == nudgewire.RefusedOrigin:
		origin = d.Origin()
	}
	return t.pauseLike(&d, origin, words, time.Time{}, a.At, false, a.Refused != "")
}

// pauseTemplateOf pauses the template of a message that the service took and failed for it.
func (t *tx) pauseTemplateOf(id nudgewire.DispatchID, words string, accepted, at time.Time) error {
	d, err := t.sent(id)
	if err != nil {
		return err
	}
	return t.pauseLike(&d, "", words, accepted, at, true, false)
}

// sent is a dispatch with what it asks for.
func (t *tx) sent(id nudgewire.DispatchID) (d nudgewire.Dispatch, err error) {
	err = t.query(dispatchSQL, func(r *row) error {
		var send string
		d, send = scanDispatch(r)
		return decodeSend(&d, send)
	}, int64(id))
	return d, err
}

var (
	pauseSendSQL = statementOf(`INSERT INTO send_pauses (of_account, kind, content, origin, of_trigger, run_mark, mark, words, since, ends_at, pauses, refused, told_by_status, probe, lifted_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, 0, 0)
		ON CONFLICT (of_account, kind, content, origin) DO UPDATE SET words = excluded.words, since = excluded.since, ends_at = excluded.ends_at,
			pauses = excluded.pauses, refused = excluded.refused, told_by_status = excluded.told_by_status, probe = 0, lifted_at = 0`)
	liftOriginsSQL = statementOf(`UPDATE send_pauses SET lifted_at = ?4, probe = 0 WHERE of_account = ?1 AND kind = ?2 AND content = ?3 AND origin <> '' AND lifted_at = 0`)
)

// pauseLike pauses what is sent as d is, from that origin or, where it is "", from all. What was on
// its way when the pause began, or was accepted before it was lifted, changes nothing. Two pauses never hold the same message, or
// each would wait for the other's probe.
func (t *tx) pauseLike(d *nudgewire.Dispatch, origin, words string, accepted, at time.Time, byStatus, refused bool) error {
	kind, content := d.Send.Content()
	if !refused && kind != "template" {
		return nil
	}
	if origin != "" {
		if all, err := t.sendPause(d.Account, kind, content, ""); err != nil || all.holds() {
			return err
		}
	} else if err := t.put(liftOriginsSQL, d.Account, kind, content, t.at); err != nil {
		return err
	}
	was, err := t.sendPause(d.Account, kind, content, origin)
	now := micro(at)
	switch {
	case err != nil:
		return err
	case was.holds() && was.probe != int64(d.ID) && (refused || !was.refused):
		return nil
	case was.lifted > 0 && !accepted.IsZero() && micro(accepted) <= was.lifted:
		return nil
	case was.refused != refused, was.lifted > 0 && (refused || now-was.lifted > int64(rememberPause/time.Microsecond)):
		was.pauses = 0
	}
	since := was.since
	if was.pauses == 0 || was.lifted > 0 {
		since = now
	}
	rest := pausedRest
	if refused {
		rest = refusedRest
	}
	pause := backoff.Next(int(was.pauses)+1, rest.first, rest.most, 0)
	trigger, run := "", ""
	if origin != "" {
		if id, ok := nudgewire.RunOfKey(d.Key); ok && d.EventID == 0 {
			run = nudgewire.RowKeys(id)
		} else {
			trigger = d.Trigger
		}
	}
	err = t.put(pauseSendSQL, d.Account, kind, content, origin, trigger, run, contentMark(d.Send), cut(words, maxAnswer), since, micro(at.Add(pause)), was.pauses+1, flag(refused), flag(byStatus))
	return wrap(err, "pause what is sent")
}

// A sendPause is a row of send_pauses; zero is none.
type sendPause struct {
	since, pauses, probe, lifted int64
	refused                      bool
}

func (p *sendPause) holds() bool { return p.pauses > 0 && p.lifted == 0 }

var sendPauseSQL = statementOf(`SELECT since, pauses, refused, probe, lifted_at FROM send_pauses WHERE of_account = ?1 AND kind = ?2 AND content = ?3 AND origin = ?4`)

func (t *tx) sendPause(account, kind, content, origin string) (p sendPause, err error) {
	err = t.query(sendPauseSQL, func(r *row) error {
		p = sendPause{since: r.int(), pauses: r.int(), refused: r.int() == 1, probe: r.int(), lifted: r.int()}
		return nil
	}, account, kind, content, origin)
	return p, err
}

var liftPauseSQL = statementOf(`UPDATE send_pauses SET lifted_at = ?5, probe = 0 WHERE of_account = ?1 AND kind = ?2 AND content = ?3 AND origin = ?4 AND lifted_at = 0`)

// liftPause makes what the pause held due at once.
func (t *tx) liftPause(h *Halt) error {
	n, err := t.exec(liftPauseSQL, h.Account, h.Kind, h.Name, h.Origin, t.at)
	if n > 0 {
		t.peers.lowWater().lower(h.Account, 0)
		t.leavesDue(h.Account, t.at)
	}
	return err
}

// LiftPauses ends the service's pauses of a template or campaign, or of "texts", by a person's word; ErrNotFound when there is none.
func (s *Store) LiftPauses(ctx context.Context, content string) error {
	is := func(h Halt) bool { return h.Scope == HaltService && h.Content() == content }
	paused := slices.DeleteFunc(slices.Clone(s.haltsNow()), func(h Halt) bool { return !is(h) })
	if len(paused) == 0 {
		return fmt.Errorf("lift the pause of %q: %w", content, nudgewire.ErrNotFound)
	}
	err := s.changeHalts(ctx, is, func(t *tx) error {
		for i := range paused {
			if err := t.liftPause(&paused[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return wrap(err, "lift the pause of %q", content)
}

var probePauseSQL = statementOf(`UPDATE send_pauses SET probe = ?5 WHERE of_account = ?1 AND kind = ?2 AND content = ?3 AND origin = ?4 AND lifted_at = 0`)

// ProbePauses lets one message go of each pause that has ended, and says which: they tell whether
// the service takes it again. Call it now and then.
func (s *Store) ProbePauses(ctx context.Context, now time.Time) (probes []Halt, err error) {
	for _, h := range s.haltsNow() {
		if h.Scope != HaltService || h.Until.After(now) {
			continue
		}
		needs, last, err := s.needsProbe(ctx, &h, now)
		if err != nil {
			return probes, err
		}
		if !needs {
			continue
		}
		err = s.changeHalts(ctx, h.same, func(t *tx) error {
			h.Probe = 0
			if err := t.findProbe(&h, last, now); err != nil {
				return err
			}
			if h.Probe == 0 && now.Sub(h.Until) > forgetPause {
				return t.liftPause(&h)
			}
			if err := t.put(probePauseSQL, h.Account, h.Kind, h.Name, h.Origin, int64(h.Probe)); err != nil || h.Probe == 0 {
				return err
			}
			t.peers.lowWater().lower(h.Account, 0)
			t.leavesDue(h.Account, t.at)
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

// findProbe looks for a dispatch that a pause of what is sent holds, and nothing else does.
const findProbe = `SELECT id FROM dispatches WHERE state = 'waiting' AND account = ?1 AND category = ?2 AND due_at <= ?3 AND (expires_at = 0 OR expires_at > ?3)
	AND replace(send, ?4, '') <> send AND (?5 = '' OR event_id <> 0 AND trigger_name = ?5)
	AND (?6 = '' OR event_id = 0 AND substr(correlation_key, 1, length(?6)) = ?6) AND tries <= ?7 AND phone <> ?8
	AND ` + unhaltedByPeople

var (
	findProbeSQL       = statementOf(findProbe + ` ORDER BY due_at, id LIMIT 1`)
	findNewestProbeSQL = statementOf(findProbe + ` ORDER BY due_at DESC, id DESC LIMIT 1`)
)

// findProbe looks for a dispatch of what h holds: one that was tried seldom comes first, for another phone than the last
// one, the most urgent lane before the others. Of what is refused it is the newest, because what came first may be what is at fault.
func (t *tx) findProbe(h *Halt, last nudgewire.Phone, now time.Time) error {
	mark, trigger, run := h.marks()
	find := findProbeSQL
	if h.Refused {
		find = findNewestProbeSQL
	}
	for _, pass := range []struct {
		tries int64
		not   nudgewire.Phone
	}{{0, last}, {1, last}, {3, last}, {1 << 32, last}, {1 << 32, ""}} {
		for _, lane := range nudgewire.Lanes {
			err := t.query(find, func(r *row) error { h.Probe = nudgewire.DispatchID(r.int()); return nil },
				h.Account, string(lane), micro(now), mark, trigger, run, pass.tries, string(pass.not))
			if err != nil || h.Probe != 0 {
				return err
			}
		}
	}
	return nil
}

// needsProbe reports whether a pause has no probe that may still tell, and whose phone the last one was for.
func (s *Store) needsProbe(ctx context.Context, h *Halt, now time.Time) (needs bool, last nudgewire.Phone, err error) {
	if h.Probe == 0 {
		return true, "", nil
	}
	var state nudgewire.State
	var due, updated time.Time
	err = s.rows(ctx, `SELECT state, due_at, updated_at, phone FROM dispatches WHERE id = ?1`, []any{int64(h.Probe)}, func(r *row) error {
		state, due, updated, last = nudgewire.State(r.text()), r.time(), r.time(), r.phone()
		return nil
	})
	if err != nil {
		return false, "", fmt.Errorf("look at the probe of %s: %w", h.What(), err)
	}
	switch state {
	case nudgewire.StateWaiting:
		return due.After(now), last, nil
	case nudgewire.StateSending:
		return false, last, nil
	case nudgewire.StateAccepted:
		return now.Sub(updated) > probeTells, last, nil
	default:
		return true, last, nil
	}
}
