package suite

import (
	"testing"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/store"
)

// uploaded is how many rows of files are counted.
func (l *ledger) uploaded() (n int64) {
	l.t.Helper()
	all, err := l.Hours(l.ctx, store.HourQuery{From: noon.Add(-day), Until: noon.Add(day), About: "job", Name: "winback", What: []string{"uploaded"}})
	l.must(err)
	for _, c := range all {
		n += c.N
	}
	return n
}

// saysOfPart is a person's word on a part in doubt.
func (l *ledger) saysOfPart(p nudgewire.Part, state nudgewire.PartState) {
	l.t.Helper()
	p.State, p.Reason, p.Resolved = state, "by Ann", "by Ann"
	r := l.run(p.RunID)
	l.must(l.ResolvePart(l.ctx, r.State, r, p))
}

func endsAs(state nudgewire.PartState) func(*ledger, nudgewire.Run, nudgewire.Part) {
	return func(l *ledger, _ nudgewire.Run, p nudgewire.Part) { l.endPart(p, state) }
}

// naming is an answer that names the first n messages.
func naming(n int) func(*ledger, nudgewire.Run, nudgewire.Part) {
	return func(l *ledger, _ nudgewire.Run, p nudgewire.Part) {
		p.MessageIDs = numbers(100, n)
		l.endPart(p, nudgewire.PartAccepted)
	}
}

// rowsOfPart are in each part of l.uploading.
const rowsOfPart = 10

// uploads are what may become of a part that is being uploaded, and how many of its rows are counted then.
var uploads = map[string]struct {
	then func(*ledger, nudgewire.Run, nudgewire.Part)
	want int64
}{
	"accepted":                        {endsAs(nudgewire.PartAccepted), rowsOfPart},
	"rejected":                        {endsAs(nudgewire.PartRejected), 0},
	"in doubt":                        {endsAs(nudgewire.PartInDoubt), 0},
	"waiting again":                   {endsAs(nudgewire.PartWaiting), 0},
	"the answer names some":           {naming(4), rowsOfPart - 4},
	"the answer names all":            {naming(rowsOfPart), 0},
	"the answer names more than went": {naming(rowsOfPart + 2), 0},
	"told twice": {func(l *ledger, _ nudgewire.Run, p nudgewire.Part) {
		moved(l.t, "the second time", l.FinishPart(l.ctx, l.endPart(p, nudgewire.PartAccepted)))
	}, rowsOfPart},
	"in doubt, then its late answer": {func(l *ledger, _ nudgewire.Run, p nudgewire.Part) {
		l.endPart(l.endPart(p, nudgewire.PartInDoubt), nudgewire.PartAccepted)
	}, rowsOfPart},
	"in doubt, then a person's word, then its late answer": {func(l *ledger, _ nudgewire.Run, p nudgewire.Part) {
		p = l.endPart(p, nudgewire.PartInDoubt)
		l.saysOfPart(p, nudgewire.PartAccepted)
		p.State = nudgewire.PartAccepted
		moved(l.t, "the late answer", l.FinishPart(l.ctx, p))
	}, rowsOfPart},
	"in doubt, then a person's word and its late answer at once": {func(l *ledger, r nudgewire.Run, p nudgewire.Part) {
		p = l.endPart(p, nudgewire.PartInDoubt)
		p.State, p.Resolved = nudgewire.PartAccepted, "by Ann"
		r = l.run(r.ID)
		var errs [2]error
		together(2, func(i int) {
			if i == 0 {
				errs[i] = l.ResolvePart(l.ctx, r.State, r, p)
				return
			}
			errs[i] = l.FinishPart(l.ctx, p)
		})
		if first := errs[0] == nil; first == (errs[1] == nil) {
			l.t.Errorf("the word: %v; the answer: %v", errs[0], errs[1])
		}
	}, rowsOfPart},
	"in doubt, sent again by a person's word, and accepted": {func(l *ledger, r nudgewire.Run, p nudgewire.Part) {
		l.saysOfPart(l.endPart(p, nudgewire.PartInDoubt), nudgewire.PartWaiting)
		p, err := l.claim(r.ID, 1, noon)
		l.must(err)
		l.endPart(p, nudgewire.PartAccepted)
	}, rowsOfPart},
	"accepted after its run was cancelled": {func(l *ledger, r nudgewire.Run, p nudgewire.Part) {
		l.mustSet(l.run(r.ID), nudgewire.RunCancelled)
		l.endPart(p, nudgewire.PartAccepted)
	}, rowsOfPart},
	"in doubt, its run cancelled, then a person's word": {func(l *ledger, r nudgewire.Run, p nudgewire.Part) {
		p = l.endPart(p, nudgewire.PartInDoubt)
		l.mustSet(l.run(r.ID), nudgewire.RunCancelled)
		l.saysOfPart(p, nudgewire.PartAccepted)
	}, rowsOfPart},
}

func (s suite) hoursOfFiles(t *testing.T) {
	for name, one := range uploads {
		t.Run(name, func(t *testing.T) {
			l := s.open(t)
			r := l.uploading("1", 2)
			if _, err := l.ClaimRuns(l.ctx, owner, noon, noon.Add(time.Minute), nil); err != nil {
				t.Fatal(err)
			}
			p, err := l.claim(r.ID, 1, noon)
			if err != nil || p.Rows != rowsOfPart {
				t.Fatalf("part %+v, %v", p, err)
			}
			one.then(l, r, p)
			same(t, "rows that were uploaded", one.want, l.uploaded())
		})
	}
}
