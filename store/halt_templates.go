package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire"
)

// The service may not send a template for a while: its network pauses it, or it was disabled. Then nothing with
// that template goes, and everything else does. Networks pause for three hours and then for six, and so does
// this; afterwards one message goes as a probe. All of it is stored, so a restart changes nothing. The claim
// asks (see unhalted), and the look just before a call (Halted).

const (
	firstTemplatePause = 3 * time.Hour
	maxTemplatePause   = 24 * time.Hour

	// rememberPause is how long after a pause was lifted the next one is still longer than it was.
	rememberPause = 24 * time.Hour

	// probeTells is how long the status of a probe may take to tell, before another one goes.
	probeTells = 10 * time.Minute

	// forgetPause is how long after its end a pause is lifted for which there was no message to probe with.
	forgetPause = 24 * time.Hour
)

// templatePauses are the pauses that hold, as halts of HaltService.
func (s *Store) templatePauses(ctx context.Context) ([]Halt, error) {
	return list(ctx, s, `SELECT of_account, template, words, since, ends_at, probe, told_by_status FROM template_pauses
		WHERE lifted_at = 0 ORDER BY since, of_account, template`, nil, func(r *row) (Halt, error) {
		return Halt{
			Scope: HaltService, Account: r.text(), Name: r.text(), Reason: r.text(), At: r.time(), Until: r.time(),
			Probe: nudgewire.DispatchID(r.int()), ByStatus: r.int() == 1,
		}, nil
	})
}

// TemplatePauses are the pauses that hold at present, as halts of HaltService.
func (s *Store) TemplatePauses() []Halt {
	return slices.DeleteFunc(slices.Clone(s.haltsNow()), func(h Halt) bool { return h.Scope != HaltService })
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

// finishAndPause is the commit of an attempt that may pause its template, or lift its pause; probed is the
// pause that the dispatch was the probe of, zero for none.
func (s *Store) finishAndPause(ctx context.Context, a *nudgewire.Attempt, probed Halt, change op) error {
	lifts := a.State == nudgewire.StateAccepted && probed.Probe == a.DispatchID && (!probed.ByStatus || a.Message == nil || !a.Message.Tracked())
	return s.changeHalts(ctx, endsIf(lifts, probed), func(t *tx) error {
		if err := change(t); err != nil {
			return err
		}
		if a.Class == nudgewire.ErrorTemplate {
			return t.pauseTemplateOf(a.DispatchID, a.Words, time.Time{}, a.At, false)
		}
		if lifts {
			return t.liftTemplate(probed.Account, probed.Name)
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
		return t.liftTemplate(probed.Account, probed.Name)
	})
}

// endsIf says to changeHalts that a halt ends.
func endsIf(ends bool, h Halt) func(Halt) bool {
	if !ends {
		return nil
	}
	return h.same
}

// pauseTemplateOf pauses the template of a dispatch, or does so for longer when it was the probe. What was on
// its way when the pause began, or was accepted before it was lifted, changes nothing.
func (t *tx) pauseTemplateOf(id nudgewire.DispatchID, words string, accepted, at time.Time, byStatus bool) error {
	var d nudgewire.Dispatch
	err := t.query(stDispatch, func(r *row) error {
		var send string
		d, send = scanDispatch(r)
		return decodeSend(&d, send)
	}, int64(id))
	if err != nil || d.Send.Template == "" {
		return err
	}
	var since, ends, pauses, told, probe, lifted int64
	err = t.query(stTemplatePause, func(r *row) error {
		since, ends, pauses, told, probe, lifted = r.int(), r.int(), r.int(), r.int(), r.int(), r.int()
		return nil
	}, d.Account, d.Send.Template)
	now := micro(at)
	switch {
	case err != nil:
		return err
	case pauses > 0 && lifted == 0 && probe != int64(id):
		return nil
	case lifted > 0 && !accepted.IsZero() && micro(accepted) <= lifted:
		return nil
	case lifted > 0 && now-lifted > int64(rememberPause/time.Microsecond):
		pauses = 0
	}
	if pauses == 0 || lifted > 0 {
		since = now
	}
	pause := firstTemplatePause
	for range pauses {
		pause = min(2*pause, maxTemplatePause)
	}
	ends, pauses = micro(at.Add(pause)), pauses+1
	if byStatus {
		told = 1
	}
	if err := t.put(stPauseTemplate, d.Account, d.Send.Template, templateMark(d.Send.Template), cut(words, maxAnswer), since, ends, pauses, told); err != nil {
		return fmt.Errorf("pause template: %w", err)
	}
	return nil
}

// liftTemplate makes what the pause held due at once.
func (t *tx) liftTemplate(account, template string) error {
	n, err := t.exec(stLiftTemplate, account, template, t.at)
	if n > 0 {
		t.peers.lowWater().lower(account, 0)
		t.leavesDue(account, t.at)
	}
	return err
}

// LiftTemplate ends the service's pause of a template by a person's word; ErrNotFound when there is none.
func (s *Store) LiftTemplate(ctx context.Context, template string) error {
	is := func(h Halt) bool { return h.Scope == HaltService && h.Name == template }
	paused := slices.DeleteFunc(slices.Clone(s.haltsNow()), func(h Halt) bool { return !is(h) })
	if len(paused) == 0 {
		return fmt.Errorf("lift the pause of template %q: %w", template, nudgewire.ErrNotFound)
	}
	err := s.changeHalts(ctx, is, func(t *tx) error {
		for _, h := range paused {
			if err := t.liftTemplate(h.Account, h.Name); err != nil {
				return err
			}
		}
		return nil
	})
	return wrap(err, "lift the pause of template %q", template)
}

// ProbeTemplates lets one message of each template go whose pause has ended, and says which: they tell whether
// the service sends it again. Call it now and then.
func (s *Store) ProbeTemplates(ctx context.Context, now time.Time) (probes []Halt, err error) {
	for _, h := range s.haltsNow() {
		if h.Scope != HaltService || h.Until.After(now) {
			continue
		}
		needs, err := s.needsProbe(ctx, &h, now)
		if err != nil {
			return probes, err
		}
		if !needs {
			continue
		}
		err = s.changeHalts(ctx, h.same, func(t *tx) error {
			h.Probe = 0
			for _, lane := range []int64{laneUrgent, laneMarketing} {
				if h.Probe != 0 {
					break
				}
				err := t.query(stFindProbe, func(r *row) error { h.Probe = nudgewire.DispatchID(r.int()); return nil },
					h.Account, lane, micro(now), templateMark(h.Name))
				if err != nil {
					return err
				}
			}
			if h.Probe == 0 && now.Sub(h.Until) > forgetPause {
				return t.liftTemplate(h.Account, h.Name)
			}
			if err := t.put(stProbeTemplate, h.Account, h.Name, int64(h.Probe)); err != nil || h.Probe == 0 {
				return err
			}
			t.peers.lowWater().lower(h.Account, 0)
			t.leavesDue(h.Account, t.at)
			return nil
		})
		if err != nil {
			return probes, fmt.Errorf("probe template %q: %w", h.Name, err)
		}
		if h.Probe != 0 {
			probes = append(probes, h)
		}
	}
	return probes, nil
}

// needsProbe reports whether a pause has no probe that may still tell.
func (s *Store) needsProbe(ctx context.Context, h *Halt, now time.Time) (bool, error) {
	if h.Probe == 0 {
		return true, nil
	}
	var state nudgewire.State
	var due, updated time.Time
	err := s.rows(ctx, `SELECT state, due_at, updated_at FROM dispatches WHERE id = ?1`, []any{int64(h.Probe)}, func(r *row) error {
		state, due, updated = nudgewire.State(r.text()), r.time(), r.time()
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("look at the probe of template %q: %w", h.Name, err)
	}
	switch state {
	case nudgewire.StateWaiting:
		return due.After(now), nil
	case nudgewire.StateSending:
		return false, nil
	case nudgewire.StateAccepted:
		return now.Sub(updated) > probeTells, nil
	default:
		return true, nil
	}
}
