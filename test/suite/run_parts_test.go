package suite

import (
	"slices"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

func parts(run messaging.RunID, n int) (out []messaging.Part) {
	for i := range n {
		out = append(out, messaging.Part{
			RunID: run, Number: i + 1, List: run, Ranges: messaging.RowRanges{{First: int64(10*i + 1), Last: int64(10*i + 10)}}, Rows: 10, State: messaging.PartWaiting, UpdatedAt: noon,
		})
	}
	return out
}

// listed is a run whose list has rows with these phones, each group of them a part that goes out. It is owner's.
func (l *ledger) listed(slot string, groups ...[]messaging.Phone) messaging.Run {
	l.t.Helper()
	return l.listedOf(aRun("winback", slot), groups...)
}

func (l *ledger) listedOf(r messaging.Run, groups ...[]messaging.Phone) messaging.Run {
	l.t.Helper()
	r = l.mustStart(r)
	r.Owner, r.LeaseEnd, r.State = owner, noon.Add(time.Hour), messaging.RunBuilding
	l.must(l.SetRun(l.ctx, "", r, messaging.RunPlanned))
	var rows []messaging.ListRow
	var parts []messaging.Part
	n := int64(0)
	for i, phones := range groups {
		first := n + 1
		for _, phone := range phones {
			n++
			rows = append(rows, messaging.ListRow{Number: n, Position: messaging.Position{Row: n + 1, File: "list.csv"}, Phone: phone, Cells: []string{"x"}})
		}
		parts = append(parts, messaging.Part{Number: i + 1, Ranges: messaging.RowRanges{{First: first, Last: n}}, Rows: n - first + 1, State: messaging.PartWaiting, UpdatedAt: noon})
	}
	for some := range slices.Chunk(rows, store.PerRows) {
		l.must(l.AddRows(l.ctx, owner, r.ID, some))
	}
	r.State, r.Tally = messaging.RunUploading, messaging.Tally{Rows: n, Kept: n, Parts: len(parts)}
	l.must(l.SaveParts(l.ctx, owner, r, parts))
	return r
}

// cut is the claim of a part with all of its rows, as of now.
func (l *ledger) cut(id messaging.RunID, number int, at time.Time) messaging.PartClaim {
	l.t.Helper()
	point, err := l.Point(l.ctx, id)
	l.must(err)
	p := l.part(id, number)
	p.Bytes, p.SHA256 = 400, "abc"
	c := messaging.PartClaim{Owner: owner, At: at, Point: point, Part: p, Tally: l.run(id).Tally}
	l.must(l.ListRows(l.ctx, p.List, p.Ranges, func(row *messaging.ListRow) error { c.Phones = append(c.Phones, row.Phone); return nil }))
	return c
}

// claim claims a part with all of its rows.
func (l *ledger) claim(id messaging.RunID, number int, at time.Time) (messaging.Part, error) {
	l.t.Helper()
	p, claimed, err := l.ClaimPart(l.ctx, l.cut(id, number, at))
	if err == nil && !claimed {
		l.t.Errorf("part %d of run %d was not claimed", number, id)
	}
	return p, err
}

func (l *ledger) part(id messaging.RunID, number int) messaging.Part {
	l.t.Helper()
	ps, err := l.Parts(l.ctx, id)
	if err != nil || len(ps) < number {
		l.t.Fatalf("%d parts, %v", len(ps), err)
	}
	return ps[number-1]
}

func (s suite) aPartIsClaimedOnce(t *testing.T) {
	l := s.open(t)
	r := l.uploading("1", 3)
	_, err := l.claim(r.ID, 1, noon)
	moved(t, "a run that is nobody's", err)
	if _, err := l.ClaimRuns(l.ctx, owner, noon, noon.Add(time.Minute), nil); err != nil {
		t.Fatal(err)
	}
	p, err := l.claim(r.ID, 1, noon)
	if err != nil || p.State != messaging.PartUploading || p.Attempt != 1 {
		t.Fatalf("claimed %+v, %v", p, err)
	}
	same(t, "part", p, l.part(r.ID, 1))
	_, err = l.claim(r.ID, 1, noon)
	moved(t, "a second claim", err)
	p.State, p.CampaignID, p.MessageIDs, p.Answer, p.HTTPStatus = messaging.PartAccepted, "417", []string{"9007199254740993"}, `{"ok":true}`, 200
	late := p
	late.Attempt = 2
	moved(t, "another attempt's", l.FinishPart(l.ctx, late))
	l.must(l.FinishPart(l.ctx, p))
	p.MessageIDs, p.Followed = nil, 1 // it is a message now
	same(t, "part", p, l.part(r.ID, 1))
	moved(t, "an accepted part", l.FinishPart(l.ctx, p))

	p, err = l.claim(r.ID, 2, noon)
	l.must(err)
	p.State, p.Reason = messaging.PartInDoubt, "the answer was lost"
	l.must(l.FinishPart(l.ctx, p))
	_, err = l.claim(r.ID, 2, noon)
	moved(t, "a part in doubt", err)
	p.State, p.Reason = messaging.PartAccepted, "" // the late answer of the same attempt
	if err := l.FinishPart(l.ctx, p); err != nil {
		t.Error(err)
	}
}

func (s suite) aCancelledRunTakesItsPartsAlong(t *testing.T) {
	l := s.open(t)
	r := l.uploading("1", 3)
	if _, err := l.ClaimRuns(l.ctx, owner, noon, noon.Add(time.Minute), nil); err != nil {
		t.Fatal(err)
	}
	onWay, err := l.claim(r.ID, 1, noon)
	l.must(err)
	l.mustSet(l.mustSet(r, messaging.RunPaused), messaging.RunCancelled)
	if a, b := l.part(r.ID, 1).State, l.part(r.ID, 2).State; a != messaging.PartUploading || b != messaging.PartCancelled {
		t.Errorf("parts are %s and %s", a, b)
	}
	onWay.State, onWay.Reason = messaging.PartWaiting, "surely not taken"
	l.must(l.FinishPart(l.ctx, onWay))
	if p := l.part(r.ID, 1); p.State != messaging.PartCancelled || p.Reason != "as the test says" {
		t.Errorf("the part that came back is %s %q", p.State, p.Reason)
	}
}

func (s suite) whoseFilesWentOutIsKnownByTheirParts(t *testing.T) {
	l := s.open(t)
	r := l.listed("1", []messaging.Phone{"447700900101", "447700900102"}, []messaging.Phone{"447700900103"})
	if _, err := l.claim(r.ID, 2, noon); err != nil {
		t.Fatal(err)
	}
	got, err := l.FilesTo(l.ctx, []messaging.Phone{"447700900101", "447700900103"}, noon.Add(-time.Hour))
	l.must(err)
	same(t, "on files", []messaging.Contacted{{Phone: "447700900103", Trigger: "winback", Run: r.ID, Category: r.Category, At: noon}}, got)
	if got, err := l.FilesTo(l.ctx, []messaging.Phone{"447700900103"}, noon.Add(time.Minute)); err != nil || len(got) != 0 {
		t.Errorf("later: %v, %v", got, err)
	}
}
