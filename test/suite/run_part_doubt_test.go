package suite

import (
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

func (s suite) resolvePart(t *testing.T) {
	l := s.open(t)
	// doubtful is a run whose first of two parts is accepted and the second in doubt.
	doubtful := func(slot string) (messaging.Run, messaging.Part) {
		r := l.uploading(slot, 2)
		if _, err := l.ClaimRuns(l.ctx, owner, noon, noon.Add(time.Minute), nil); err != nil {
			t.Fatal(err)
		}
		var p messaging.Part
		for n, state := range []messaging.PartState{messaging.PartAccepted, messaging.PartInDoubt} {
			var err error
			if p, err = l.claim(r.ID, n+1, noon); err != nil {
				t.Fatal(err)
			}
			p.State, p.Reason = state, "the answer was lost"
			l.must(l.FinishPart(l.ctx, p))
		}
		return l.run(r.ID), p
	}
	word := func(p messaging.Part, to messaging.PartState) messaging.Part {
		p.State, p.Reason, p.Resolved = to, "by Ann", "by Ann"
		return p
	}

	r, p := doubtful("1")
	r = l.mustSet(r, messaging.RunPartial)
	next := r
	next.State, next.Reason = messaging.RunUploading, "part 2 goes out again"
	stale := word(p, messaging.PartWaiting)
	stale.Attempt++
	moved(t, "a part of another attempt", l.ResolvePart(l.ctx, messaging.RunPartial, next, stale))
	moved(t, "a run that stands elsewhere", l.ResolvePart(l.ctx, messaging.RunPaused, next, word(p, messaging.PartWaiting)))
	l.must(l.ResolvePart(l.ctx, messaging.RunPartial, next, word(p, messaging.PartWaiting)))
	got := l.run(r.ID)
	if got.State != messaging.RunUploading || !got.EndedAt.IsZero() || got.Reason != "part 2 goes out again" {
		t.Errorf("the run is %s since %s: %s", got.State, got.EndedAt, got.Reason)
	}
	same(t, "part", word(p, messaging.PartWaiting), l.part(r.ID, 2))
	moved(t, "a second word", l.ResolvePart(l.ctx, messaging.RunUploading, got, word(p, messaging.PartAccepted)))
	late := p
	late.State, late.Reason = messaging.PartAccepted, ""
	moved(t, "the late answer of the attempt that was in doubt", l.FinishPart(l.ctx, late))
	mine, err := l.ClaimRuns(l.ctx, owner, noon, noon.Add(time.Minute), nil)
	if err != nil || len(mine) != 1 || mine[0].ID != r.ID {
		t.Fatalf("adopted %+v, %v", mine, err)
	}
	claimed, err := l.claim(r.ID, 2, noon)
	if err != nil || claimed.Attempt != 2 || claimed.Resolved != "by Ann" {
		t.Errorf("claimed %+v, %v", claimed, err)
	}

	r, p = doubtful("2")
	r = l.mustSet(r, messaging.RunPartial)
	next = r
	next.State, next.Reason = messaging.RunDone, "all there after all"
	l.must(l.ResolvePart(l.ctx, messaging.RunPartial, next, word(p, messaging.PartAccepted)))
	if got := l.run(r.ID); got.State != messaging.RunDone || !got.EndedAt.Equal(r.EndedAt) || l.part(r.ID, 2).State != messaging.PartAccepted {
		t.Errorf("the run is %s since %s, its part %s", got.State, got.EndedAt, l.part(r.ID, 2).State)
	}

	r, p = doubtful("3")
	r = l.mustSet(r, messaging.RunCancelled)
	next = r
	next.State = messaging.RunUploading
	moved(t, "a cancelled run", l.ResolvePart(l.ctx, messaging.RunCancelled, next, word(p, messaging.PartWaiting)))
	if err := l.ResolvePart(l.ctx, messaging.RunCancelled, r, word(p, messaging.PartAccepted)); err != nil {
		t.Errorf("a part of a cancelled run: %v", err)
	}

	family, err := l.PartsOfList(l.ctx, r.ID)
	if err != nil || len(family) != 2 {
		t.Errorf("%d parts of its list, %v", len(family), err)
	}
}
