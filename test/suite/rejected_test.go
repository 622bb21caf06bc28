package suite

import (
	"fmt"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/report"
)

func (s suite) rejected(t *testing.T) {
	l := s.open(t)
	end := func(key, reason string) {
		t.Helper()
		a := attempt(l.claimed(key), messaging.StateRejected)
		a.Reason = reason
		l.must(l.Finish(l.ctx, a))
	}
	want := func(now time.Time, counts ...report.RejectedCount) {
		t.Helper()
		got, err := report.Records{Store: l.Store}.Rejected(l.ctx, now)
		l.must(err)
		same(t, "rejected at "+now.String(), counts, got)
	}
	end("a", "refused by the service (402): insufficient points")
	end("b", "refused by the service (402): insufficient points")
	end("c", "number 447700900123 is bad")
	end("d", "number 447700900124 is bad\x1b[2J")
	d := l.claimed("e")
	l.mustFinish(d, messaging.StateAccepted)
	for range 2 { // told twice, it failed once
		l.must(l.FinishPoll(l.ctx, messaging.Poll{MessageID: d.ID, Status: messaging.StatusFailed, Error: "insufficient points", Final: true, At: noon}))
	}
	first := []report.RejectedCount{
		{State: "rejected", Reason: "refused by the service (402): insufficient points", N: 2},
		{State: "rejected", Reason: "number # is bad", N: 1},
		{State: "rejected", Reason: "number # is bad [2J", N: 1},
		{State: "failed", Reason: "insufficient points", N: 1},
	}
	want(noon, first...)
	want(noon.Add(23*time.Hour), first...)
	want(noon.Add(24 * time.Hour))
	// A day later only what came since counts, and reasons without end are one.
	l.at(noon.Add(30 * time.Hour))
	for i := range 60 {
		end(fmt.Sprint("many ", i), fmt.Sprintf("reason %c%c", 'a'+i%26, 'a'+i/26))
	}
	got, err := report.Records{Store: l.Store}.Rejected(l.ctx, noon.Add(30*time.Hour))
	if err != nil || len(got) != 51 || got[0] != (report.RejectedCount{State: "rejected", Reason: "other reasons", N: 10}) {
		t.Errorf("%d reasons, the first %+v (%v)", len(got), got[0], err)
	}
	want(noon.Add(24*time.Hour), got...) // what is old was cleared away
}
