package suite

import (
	"testing"
	"time"

	"github.com/nudgewire/nudgewire"
)

func (s suite) resolvePart(t *testing.T) {
	l := s.open(t)
	// doubtful is a run whose first of two parts is accepted and the second in doubt.
	doubtful := func(slot string) (nudgewire.Run, nudgewire.Part) {
		r := l.uploading(slot, 2)
		if _, err := l.ClaimRuns(l.ctx, owner, noon, noon.Add(time.Minute), nil); err != nil {
			t.Fatal(err)
		}
		var p nudgewire.Part
		for n, state := range []nudgewire.PartState{nudgewire.PartAccepted, nudgewire.PartInDoubt} {
			var err error
			if p, err = l.claim(r.ID, n+1, noon); err != nil {
				t.Fatal(err)
			}
			p.State, p.Reason = state, "the answer was lost"
			l.must(l.FinishPart(l.ctx, p))
		}
		return l.run(r.ID), p
	}
	word := func(p nudgewire.Part, to nudgewire.PartState) nudgewire.Part {
		p.State, p.Reason, p.Resolved = to, "by Ann", "by Ann"
		return p
	}

	r, p := doubtful("1")
	r = l.mustSet(r, nudgewire.RunPartial)
	next := r
	next.State, next.Reason = nudgewire.RunUploading, "part 2 goes out again"
	stale := word(p, nudgewire.PartWaiting)
	stale.Attempt++
	moved(t, "a part of another attempt", l.ResolvePart(l.ctx, nudgewire.RunPartial, next, stale))
	moved(t, "a run that stands elsewhere", l.ResolvePart(l.ctx, nudgewire.RunPaused, next, word(p, nudgewire.PartWaiting)))
	l.must(l.ResolvePart(l.ctx, nudgewire.RunPartial, next, word(p, nudgewire.PartWaiting)))
	got := l.run(r.ID)
	if got.State != nudgewire.RunUploading || !got.EndedAt.IsZero() || got.Reason != "part 2 goes out again" {
		t.Errorf("the run is %s since %s: %s", got.State, got.EndedAt, got.Reason)
	}
	same(t, "part", word(p, nudgewire.PartWaiting), l.part(r.ID, 2))
	moved(t, "a second word", l.ResolvePart(l.ctx, nudgewire.RunUploading, got, word(p, nudgewire.PartAccepted)))
	late := p
	late.State, late.Reason = nudgewire.PartAccepted, ""
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
	r = l.mustSet(r, nudgewire.RunPartial)
	next = r
	next.State, next.Reason = nudgewire.RunDone, "all there after all"
	l.must(l.ResolvePart(l.ctx, nudgewire.RunPartial, next, word(p, nudgewire.PartAccepted)))
	if got := l.run(r.ID); got.State != nudgewire.RunDone || !got.EndedAt.Equal(r.EndedAt) || l.part(r.ID, 2).State != nudgewire.PartAccepted {
		t.Errorf("the run is %s since %s, its part %s", got.State, got.EndedAt, l.part(r.ID, 2).State)
	}

	r, p = doubtful("3")
	r = l.mustSet(r, nudgewire.RunCancelled)
	next = r
	next.State = nudgewire.RunUploading
	moved(t, "a cancelled run", l.ResolvePart(l.ctx, nudgewire.RunCancelled, next, word(p, nudgewire.PartWaiting)))
	if err := l.ResolvePart(l.ctx, nudgewire.RunCancelled, r, word(p, nudgewire.PartAccepted)); err != nil {
		t.Errorf("a part of a cancelled run: %v", err)
	}

	family, err := l.PartsOfList(l.ctx, r.ID)
	if err != nil || len(family) != 2 {
		t.Errorf("%d parts of its list, %v", len(family), err)
	}
}
