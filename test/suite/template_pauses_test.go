package suite

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// templateIsPaused is what the service says of it.
const templateIsPaused = "template reminder is paused"

// servicePauses are the pauses that the service's words began, with how long after at they end.
func (l *ledger) servicePauses(at time.Time) (out []string) {
	l.t.Helper()
	all, err := l.Holds(l.ctx)
	l.must(err)
	for _, h := range all {
		if h.Kind == messaging.HoldService {
			out = append(out, fmt.Sprintf("%s for %s, probe %d", h.Name, h.Until.Sub(at), h.Probe))
		}
	}
	return out
}

// newProbes are the messages that begin to probe at a time.
func (l *ledger) newProbes(at time.Time) (ids []messaging.MessageID) {
	l.t.Helper()
	l.at(at)
	got, err := l.ProbeHolds(l.ctx, at)
	l.must(err)
	for _, h := range got {
		ids = append(ids, h.Probe)
	}
	return ids
}

func idsOf(all []messaging.Message) (out []messaging.MessageID) {
	for i := range all {
		out = append(out, all[i].ID)
	}
	return out
}

// templatePaused has five messages of a template wait, and a sixth of another. Two of the five are claimed two hours after noon, and by
// the end of the first the template is paused.
func (s suite) templatePaused(t *testing.T) (l *ledger, second messaging.Message) {
	t.Helper()
	at := noon.Add(2 * time.Hour)
	l = s.open(t)
	l.at(at)
	for i := range 5 {
		l.enqueue(fmt.Sprint(i))
	}
	l.enqueue("other", template("other"), due(noon.Add(61*time.Minute)))
	got := l.mustClaim(at, 2)
	l.refused(got[0], messaging.StateWaiting, messaging.ErrorTemplate, templateIsPaused, at)
	return l, got[1]
}

// templatePauses is what a template does that the service does not send now.
func (s suite) templatePauses(t *testing.T) {
	t.Run("the template alone waits, three hours and then six, and one message probes", s.theTemplateAloneWaitsAndOneMessageProbes)
	t.Run("a probe that ends in another way gives place to the next", s.aProbeThatEndsInAnotherWayGivesPlace)
	t.Run("a halt by a person holds the probe, too", s.aHaltByAPersonHoldsTheProbeToo)
	t.Run("a person lifts it", s.aPersonLiftsAPauseOfATemplate)
	t.Run("told by a status, a status lifts it, and older messages change nothing", s.aStatusBeginsAndLiftsAPauseOfATemplate)
}

func (s suite) theTemplateAloneWaitsAndOneMessageProbes(t *testing.T) {
	at := noon.Add(2 * time.Hour)
	l, second := s.templatePaused(t)
	same(t, "paused", []string{"reminder for 3h0m0s, probe 0"}, l.servicePauses(at))
	if h, is := l.Held(&second); !is || h.Kind != messaging.HoldService {
		t.Errorf("who was claimed before may go: %+v", h)
	}
	// What was on its way when the pause began makes it no longer.
	l.refused(second, messaging.StateWaiting, messaging.ErrorTemplate, templateIsPaused, at)
	same(t, "paused still", []string{"reminder for 3h0m0s, probe 0"}, l.servicePauses(at))
	same(t, "others go", []messaging.MessageID{6}, idsOf(l.mustClaim(at, 9)))
	same(t, "no probe before its time", []messaging.MessageID{}, l.newProbes(at.Add(3*time.Hour-time.Second)))

	late := at.Add(3 * time.Hour)
	same(t, "probe", []messaging.MessageID{1}, l.newProbes(late))
	same(t, "one probe at a time", []messaging.MessageID{}, l.newProbes(late.Add(time.Minute)))
	got := l.mustClaim(late, 9)
	same(t, "the probe alone goes", []messaging.MessageID{1}, idsOf(got))
	if _, is := l.Held(&got[0]); is {
		t.Error("the probe is halted at the last look")
	}
	l.refused(got[0], messaging.StateWaiting, messaging.ErrorTemplate, templateIsPaused, late)
	same(t, "twice as long", []string{"reminder for 9h0m0s, probe 0"}, l.servicePauses(at))
	same(t, "nothing goes", []messaging.MessageID{}, idsOf(l.mustClaim(late, 9)))

	late = at.Add(9 * time.Hour)
	same(t, "probe again", []messaging.MessageID{1}, l.newProbes(late))
	got = l.mustClaim(late, 9)
	l.refused(got[0], messaging.StateAccepted, "", "", late)
	same(t, "lifted", []string{}, l.servicePauses(at))
	got = l.mustClaim(late, 9)
	same(t, "the rest goes", []messaging.MessageID{2, 3, 4, 5}, idsOf(got))

	// Soon after, it is taken for the same trouble.
	l.refused(got[0], messaging.StateWaiting, messaging.ErrorTemplate, templateIsPaused, late.Add(time.Hour))
	same(t, "longer still", []string{"reminder for 22h0m0s, probe 0"}, l.servicePauses(at)) // 9h + 1h + 12h
}

func (s suite) aProbeThatEndsInAnotherWayGivesPlace(t *testing.T) {
	at := noon.Add(2 * time.Hour)
	l, second := s.templatePaused(t)
	l.refused(second, messaging.StateWaiting, messaging.ErrorTemplate, templateIsPaused, at)
	late := at.Add(3 * time.Hour)
	same(t, "probe", []messaging.MessageID{1}, l.newProbes(late))
	l.must(l.CancelMessage(l.ctx, 1, ""))
	same(t, "next probe", []messaging.MessageID{2}, l.newProbes(late))
	got := l.mustClaim(late, 9)
	l.refused(got[0], messaging.StateRejected, messaging.ErrorPermanent, "invalid phone", late)
	same(t, "the one after", []messaging.MessageID{3}, l.newProbes(late))
}

func (s suite) aHaltByAPersonHoldsTheProbeToo(t *testing.T) {
	at := noon.Add(2 * time.Hour)
	l, second := s.templatePaused(t)
	l.refused(second, messaging.StateWaiting, messaging.ErrorTemplate, templateIsPaused, at)
	l.mustHalt(messaging.Hold{Scope: messaging.ScopeTemplate, Kind: messaging.HoldHalt, Name: "reminder"})
	late := at.Add(3 * time.Hour)
	same(t, "no probe", []messaging.MessageID{}, l.newProbes(late))
	l.must(l.EndHold(l.ctx, messaging.Hold{Scope: messaging.ScopeTemplate, Name: "reminder", Kind: messaging.HoldHalt}))
	same(t, "the pause stays", []string{"reminder for 3h0m0s, probe 0"}, l.servicePauses(at))
	same(t, "probe", []messaging.MessageID{1}, l.newProbes(late))
}

func (s suite) aPersonLiftsAPauseOfATemplate(t *testing.T) {
	at := noon.Add(2 * time.Hour)
	l, second := s.templatePaused(t)
	l.refused(second, messaging.StateWaiting, messaging.ErrorTemplate, templateIsPaused, at)
	l.must(l.EndSendHolds(l.ctx, "reminder"))
	same(t, "lifted", []string{}, l.servicePauses(at))
	if n := len(l.mustClaim(at, 9)); n != 6 {
		t.Errorf("%d go", n)
	}
	if err := l.EndSendHolds(l.ctx, "reminder"); !errors.Is(err, messaging.ErrNotFound) {
		t.Errorf("twice: %v", err)
	}
}

func (s suite) aStatusBeginsAndLiftsAPauseOfATemplate(t *testing.T) {
	at := noon.Add(2 * time.Hour)
	l := s.open(t)
	l.at(at)
	for i := range 5 {
		l.enqueue(fmt.Sprint(i))
	}
	got := l.mustClaim(at, 3)
	for _, d := range got {
		l.refused(d, messaging.StateAccepted, "", "", at)
	}
	l.says(1, messaging.StatusFailed, messaging.ErrorTemplate, templateIsPaused, at)
	l.says(2, messaging.StatusFailed, messaging.ErrorTemplate, templateIsPaused, at.Add(time.Minute))
	same(t, "paused", []string{"reminder for 3h0m0s, probe 0"}, l.servicePauses(at))
	if m, err := l.Message(l.ctx, 1); err != nil || m.ErrorClass != messaging.ErrorTemplate {
		t.Errorf("what failed: %+v, %v", m, err)
	}
	if again := l.message(6); again.Key != "0" || again.State != messaging.StateWaiting {
		t.Errorf("what goes again: %+v", again)
	}
	late := at.Add(3 * time.Hour)
	same(t, "probe", []messaging.MessageID{4}, l.newProbes(late))
	got = l.mustClaim(late, 9)
	l.refused(got[0], messaging.StateAccepted, "", "", late)
	same(t, "an acceptance does not tell", 1, len(l.servicePauses(at)))
	l.says(4, messaging.StatusSent, "", "", late.Add(time.Second))
	same(t, "lifted", []string{}, l.servicePauses(at))
	l.says(3, messaging.StatusFailed, messaging.ErrorTemplate, templateIsPaused, late.Add(time.Minute))
	same(t, "of a message from before", []string{}, l.servicePauses(at))
}

// templatePausesLast: a pause of a template is stored, its length, its words and its probe.
func (s suite) templatePausesLast(t *testing.T) {
	l := s.open(t)
	at := noon.Add(2 * time.Hour)
	l.at(at)
	first, second := l.enqueue("1"), l.enqueue("2")
	l.refused(l.mustClaim(at, 1)[0], isWaiting, messaging.ErrorTemplate, "paused", at)
	held := l.SendHolds()
	restart := func(now time.Time) {
		l = reopenAfter(t, l)
		l.at(now)
	}
	restart(at.Add(time.Minute))
	same(t, "after a restart", held, l.SendHolds())
	same(t, "nothing goes", 0, len(l.ids(at.Add(time.Minute))))

	late := at.Add(3 * time.Hour)
	l.at(late)
	probes, err := l.ProbeHolds(l.ctx, late)
	if err != nil || len(probes) != 1 || probes[0].Probe != first {
		t.Fatalf("probes %+v (%v)", probes, err)
	}
	restart(late)
	if probes, err = l.ProbeHolds(l.ctx, late); err != nil || len(probes) != 0 {
		t.Errorf("another probe after a restart: %+v (%v)", probes, err)
	}
	got := l.mustClaim(late, 9)
	if len(got) != 1 || got[0].ID != first {
		t.Fatalf("claimed %+v", got)
	}
	// A crash while the probe is on its way: it tells nothing, so the next one probes.
	restart(late)
	if _, err := l.RescueClaims(l.ctx, late, "after the crash"); err != nil {
		t.Fatal(err)
	}
	same(t, "the pause holds", 1, len(l.SendHolds()))
	if probes, err = l.ProbeHolds(l.ctx, late); err != nil || len(probes) != 1 || probes[0].Probe != second {
		t.Fatalf("the next probe: %+v (%v)", probes, err)
	}
	l.refused(l.mustClaim(late, 9)[0], isWaiting, messaging.ErrorTemplate, "paused", late)
	restart(late)
	if held = l.SendHolds(); len(held) != 1 || !held[0].Until.Equal(late.Add(6*time.Hour)) {
		t.Errorf("the second pause: %+v", held)
	}
	l.must(l.EndSendHolds(l.ctx, "reminder"))
	restart(late)
	same(t, "lifted for good", 0, len(l.SendHolds()))
	same(t, "it goes", []messaging.MessageID{second}, l.ids(late.Add(time.Hour)))
}
