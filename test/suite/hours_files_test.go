package suite

import (
	"errors"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/report"
)

// uploaded is how many rows of files are counted.
func (l *ledger) uploaded() (n int64) {
	l.t.Helper()
	all, err := l.report().Hours(l.ctx, report.HourQuery{From: noon.Add(-day), Until: noon.Add(day), About: "job", Name: "winback", What: []string{"uploaded"}})
	l.must(err)
	for _, c := range all {
		n += c.N
	}
	return n
}

// saysOfPart is a person's word on a part in doubt.
func (l *ledger) saysOfPart(p messaging.Part, state messaging.PartState) {
	l.t.Helper()
	p.State, p.Reason, p.Resolved = state, "by Ann", "by Ann"
	r := l.run(p.RunID)
	l.must(l.ResolvePart(l.ctx, r.State, r, p))
}

func endsAs(state messaging.PartState) func(*ledger, messaging.Run, messaging.Part) {
	return func(l *ledger, _ messaging.Run, p messaging.Part) { l.endPart(p, state) }
}

// naming is an answer that names the first n messages.
func naming(n int) func(*ledger, messaging.Run, messaging.Part) {
	return func(l *ledger, _ messaging.Run, p messaging.Part) {
		p.MessageIDs = numbers(100, n)
		l.endPart(p, messaging.PartAccepted)
	}
}

// rowsOfPart are in each part of l.uploading.
const rowsOfPart = 10

// uploads are what may become of a part that is being uploaded, and how many of its rows are counted then.
var uploads = map[string]struct {
	then func(*ledger, messaging.Run, messaging.Part)
	want int64
}{
	"accepted":                        {endsAs(messaging.PartAccepted), rowsOfPart},
	"rejected":                        {endsAs(messaging.PartRejected), 0},
	"in doubt":                        {endsAs(messaging.PartInDoubt), 0},
	"waiting again":                   {endsAs(messaging.PartWaiting), 0},
	"the answer names some":           {naming(4), rowsOfPart - 4},
	"the answer names all":            {naming(rowsOfPart), 0},
	"the answer names more than went": {naming(rowsOfPart + 2), 0},
	"told twice": {func(l *ledger, _ messaging.Run, p messaging.Part) {
		moved(l.t, "the second time", l.FinishPart(l.ctx, l.endPart(p, messaging.PartAccepted)))
	}, rowsOfPart},
	"in doubt, then its late answer": {func(l *ledger, _ messaging.Run, p messaging.Part) {
		l.endPart(l.endPart(p, messaging.PartInDoubt), messaging.PartAccepted)
	}, rowsOfPart},
	"in doubt, then a person's word, then its late answer": {func(l *ledger, _ messaging.Run, p messaging.Part) {
		p = l.endPart(p, messaging.PartInDoubt)
		l.saysOfPart(p, messaging.PartAccepted)
		p.State = messaging.PartAccepted
		moved(l.t, "the late answer", l.FinishPart(l.ctx, p))
	}, rowsOfPart},
	"in doubt, then a person's word and its late answer at once": {func(l *ledger, r messaging.Run, p messaging.Part) {
		p = l.endPart(p, messaging.PartInDoubt)
		p.State, p.Resolved = messaging.PartAccepted, "by Ann"
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
	"in doubt, sent again by a person's word, and accepted": {func(l *ledger, r messaging.Run, p messaging.Part) {
		l.saysOfPart(l.endPart(p, messaging.PartInDoubt), messaging.PartWaiting)
		p, err := l.claim(r.ID, 1, noon)
		l.must(err)
		l.endPart(p, messaging.PartAccepted)
	}, rowsOfPart},
	"accepted after its run was cancelled": {func(l *ledger, r messaging.Run, p messaging.Part) {
		l.mustSet(l.run(r.ID), messaging.RunCancelled)
		l.endPart(p, messaging.PartAccepted)
	}, rowsOfPart},
	"killed between its upload and the commit, in doubt by the next start, then a person's word": {func(l *ledger, r messaging.Run, _ messaging.Part) {
		*l = *reopenAfter(l.t, l)
		l.at(noon)
		same(l.t, "after the kill", int64(0), l.uploaded())
		p := l.endPart(l.part(r.ID, 1), messaging.PartInDoubt)
		same(l.t, "in doubt", int64(0), l.uploaded())
		l.saysOfPart(p, messaging.PartAccepted)
	}, rowsOfPart},
	"accepted, then somebody on it is forgotten": {func(l *ledger, _ messaging.Run, p messaging.Part) {
		more, err := l.claim(l.listed("2", []messaging.Phone{"447700900101"}).ID, 1, noon)
		l.must(err)
		l.endPart(p, messaging.PartAccepted)
		l.endPart(more, messaging.PartAccepted)
		l.must(l.Forget(l.ctx, []messaging.Phone{"447700900101"}, "by hand"))
		orders, err := l.privacy().Erasures(l.ctx)
		l.must(err)
		if waits, err := l.privacy().Erase(l.ctx, orders); err != nil || waits != "" {
			l.t.Fatalf("it waits for %q, %v", waits, err)
		}
	}, rowsOfPart + 1},
	"accepted, then its run goes by its age": {func(l *ledger, r messaging.Run, p messaging.Part) {
		l.endPart(p, messaging.PartAccepted)
		l.mustSet(l.run(r.ID), messaging.RunCancelled)
		l.ended("2", messaging.PartAccepted) // the newest stays
		l.at(noon.Add(200 * day))
		_, err := l.privacy().Retain(l.ctx, privacy.Retention{Lists: 30 * day, Runs: 110 * day, Phones: 105 * day}, noon.Add(200*day))
		l.must(err)
		if _, err := l.Run(l.ctx, r.ID); !errors.Is(err, messaging.ErrNotFound) {
			l.t.Errorf("the run is there: %v", err)
		}
	}, 2 * rowsOfPart},
	"in doubt, its run cancelled, then a person's word": {func(l *ledger, r messaging.Run, p messaging.Part) {
		p = l.endPart(p, messaging.PartInDoubt)
		l.mustSet(l.run(r.ID), messaging.RunCancelled)
		l.saysOfPart(p, messaging.PartAccepted)
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

// uploadsByCountry is a file whose rows go to two countries: of a part whose answer names no message each is counted there, and always what it costs.
func (s suite) uploadsByCountry(t *testing.T) {
	goes := []messaging.PartShare{{Country: "BR", Rows: 4, Points: 0.4}, {Country: "GB", Rows: 6, Points: 1.2345}}
	points := []string{"job uploaded_points winback/template 0/BR/ 400", "job uploaded_points winback/template 0/GB/ 1235"}
	for name, one := range map[string]struct {
		named int
		want  []string
	}{
		"no message is named": {0, append([]string{"job uploaded winback/template 0/BR/ 4", "job uploaded winback/template 0/GB/ 6"}, points...)},
		"some are named":      {3, append([]string{"job uploaded winback/template 0// 7"}, points...)},
	} {
		t.Run(name, func(t *testing.T) {
			l := s.open(t)
			r := l.uploading("1", 1)
			_, err := l.ClaimRuns(l.ctx, owner, noon, noon.Add(time.Minute), nil)
			l.must(err)
			c := l.cut(r.ID, 1, noon)
			c.Part.Goes = goes
			p, claimed, err := l.ClaimPart(l.ctx, c)
			if err != nil || !claimed {
				t.Fatal(claimed, err)
			}
			same(t, "the part", goes, l.part(r.ID, 1).Goes)
			p.MessageIDs = numbers(100, one.named)
			l.endPart(p, messaging.PartAccepted)
			same(t, "counts", one.want, l.counted(report.HourQuery{
				From: noon.Add(-day), Until: noon.Add(day), What: []string{"uploaded", "uploaded_points"}, Names: true, Details: true, Countries: true,
			}))
		})
	}
}

// nodesCountUploads has two nodes upload parts of one list, of which one is answered after the other node took its uploader for dead.
func (p pair) nodesCountUploads(t *testing.T) {
	a, b := p.two(t)
	r := a.uploading("1", 3)
	_, err := a.ClaimRuns(a.ctx, owner, noon, noon.Add(time.Minute), nil)
	a.must(err)
	var parts []messaging.Part
	for i, l := range []*ledger{a, b, a} {
		one, err := l.claim(r.ID, i+1, noon)
		l.must(err)
		parts = append(parts, one)
	}
	a.endPart(parts[0], messaging.PartAccepted)
	b.endPart(parts[1], messaging.PartAccepted)
	b.endPart(parts[2], messaging.PartInDoubt)
	a.endPart(parts[2], messaging.PartAccepted)
	moved(t, "the other's word that comes late", b.FinishPart(b.ctx, parts[2]))
	for _, l := range []*ledger{a, b} {
		same(t, "rows that were uploaded", int64(3*rowsOfPart), l.uploaded())
	}
}
