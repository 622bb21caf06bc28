package suite

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/store"
)

func (s suite) listRows(t *testing.T) {
	t.Run("are stored while their run is built, by whoever builds it", func(t *testing.T) { s.rowsStored(t) })
	t.Run("a part goes only as it was cut", func(t *testing.T) { s.cutAnew(t) })
	t.Run("what finds no place is a part of its own", func(t *testing.T) { s.leftOfPart(t) })
	t.Run("are found by their phone", func(t *testing.T) { s.rowsFound(t) })
	t.Run("have the state of their newest part", func(t *testing.T) { s.rowStates(t) })
	t.Run("go with age", func(t *testing.T) { s.rowsAge(t) })
	t.Run("are forgotten", func(t *testing.T) { s.rowsForgotten(t) })
}

// numbersOf are the numbers of the rows of a list in some ranges.
func (l *ledger) numbersOf(id messaging.RunID, in ...messaging.RowRange) (out []int64) {
	l.t.Helper()
	err := l.ListRows(l.ctx, id, in, func(row *messaging.ListRow) error { out = append(out, row.Number); return nil })
	l.must(err)
	return out
}

func (s suite) rowsStored(t *testing.T) {
	l := s.open(t)
	r := l.mustStart(aRun("winback", "1"))
	rows := []messaging.ListRow{
		{Number: 1, Position: messaging.Position{Row: 2, File: "a.csv"}, Phone: "447700900101", Given: "07700900101", Cells: []string{"", `say "hi" <b>`, "Zoë\u2028"}},
		{Number: -1, Position: messaging.Position{Row: 3, File: "a.csv"}, Given: "12", Reason: "the phone is too short for GB"},
	}
	moved(t, "before it is built", l.AddRows(l.ctx, owner, r.ID, rows))
	r.State, r.Owner, r.LeaseEnd = messaging.RunBuilding, owner, noon.Add(time.Hour)
	l.must(l.SetRun(l.ctx, "", r, messaging.RunPlanned))
	moved(t, "another's", l.AddRows(l.ctx, "other", r.ID, rows))
	l.must(l.AddRows(l.ctx, owner, r.ID, rows))
	var got []messaging.ListRow
	keep := func(row *messaging.ListRow) error { got = append(got, *row); return nil }
	l.must(l.ListRows(l.ctx, r.ID, messaging.RowRanges{{First: 1, Last: 9}}, keep))
	l.must(l.ExcludedRows(l.ctx, r.ID, keep))
	rows[0].Run, rows[1].Run = r.ID, r.ID
	same(t, "rows", rows, got)
	if err := l.DropRows(l.ctx, "other", r.ID, true); err != nil || len(l.numbersOf(r.ID, messaging.RowRange{First: 1, Last: 9})) != 1 {
		t.Errorf("another removes them: %v", err)
	}
	l.must(l.DropRows(l.ctx, owner, r.ID, false))
	got = nil
	if err := l.ExcludedRows(l.ctx, r.ID, keep); err != nil || len(got) != 1 || len(l.numbersOf(r.ID, messaging.RowRange{First: 1, Last: 9})) != 0 {
		t.Errorf("excluded are left %v, %v", got, err)
	}
	built := l.listed("2", []messaging.Phone{"447700900101"})
	if err := l.DropRows(l.ctx, owner, built.ID, true); err != nil || len(l.numbersOf(built.ID, messaging.RowRange{First: 1, Last: 9})) != 1 {
		t.Errorf("those of a run that was built are gone: %v", err)
	}
}

// A meeting is what happens between the cut of a part and its claim.
type meeting struct {
	meets   func(l *ledger) error
	claimed bool // all the same
}

const onPart, onNone = messaging.Phone("447700900101"), messaging.Phone("447700900999")

// says has a contact say something of messages of marketing.
func says(phone messaging.Phone, word messaging.Consent) func(*ledger) error {
	return func(l *ledger) error {
		return l.SaveConsents(l.ctx, []messaging.ConsentRecord{{Phone: phone, Consent: word}})
	}
}

func blocks(phone messaging.Phone) func(*ledger) error {
	return func(l *ledger) error {
		_, err := l.Block(l.ctx, []store.Block{{Phone: phone, Source: "by hand"}})
		return err
	}
}

// partFacts has, for each field of messaging.DueFacts, what changes it of a contact on a part. One without meetings is no fact of a row of a
// file, or does not change while a part is cut: duerules.MayGo and scheduler.History say so.
var partFacts = map[string]map[string]meeting{
	"CalledOff": nil, "Claimed": nil, "File": nil, "Begun": nil, "OwnClock": nil, "Service": nil, "Step": nil, "Within": nil, "Window": nil, "FirstDue": nil,
	"Contacts": nil, "New": nil, "Spent": nil, // the claim asks for room, and what may still be spent
	"Held": {
		"a hold begins": {func(l *ledger) error {
			return l.Hold(l.ctx, messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldHalt, Reason: "a test"})
		}, false},
	},
	"Blocked": {
		"somebody on it is blocked":   {blocks(onPart), false},
		"somebody on it opts out":     {func(l *ledger) error { l.optOut(onPart, "1"); return nil }, false},
		"somebody else is blocked":    {blocks(onNone), true},
		"somebody on it is allowed":   {func(l *ledger) error { return errors.Join(blocks(onNone)(l), l.Allow(l.ctx, onNone)) }, true},
		"somebody on it is forgotten": {func(l *ledger) error { return l.Forget(l.ctx, []messaging.Phone{onPart}, "by hand") }, false},
	},
	"Forgetting": {
		"all that came by a connector is to be forgotten": {func(l *ledger) error { l.redact("shop", "r1", noon); return nil }, false},
	},
	"Consent": {
		"somebody on it withdraws its consent": {says(onPart, messaging.ConsentWithdrawn), false},
		"an event withdraws it": {func(l *ledger) error {
			l.mustAccept(cart("1", phone(onPart), consentFlag(false)))
			return nil
		}, false},
		"somebody else withdraws it": {says(onNone, messaging.ConsentWithdrawn), true},
		"somebody on it agrees":      {says(onPart, messaging.ConsentGiven), true},
	},
	"Sends": {
		"somebody on it is sent a message":     {func(l *ledger) error { l.claimed("1", phone(onPart)); return nil }, false},
		"somebody else is sent a message":      {func(l *ledger) error { l.claimed("1", phone(onNone)); return nil }, true},
		"a message to somebody on it waits":    {func(l *ledger) error { l.enqueue("1", phone(onPart)); return nil }, true},
		"another run's file leaves":            {func(l *ledger) error { return l.fileTo("2", onPart) }, false},
		"another run's file to others, either": {func(l *ledger) error { return l.fileTo("2", onNone) }, false},
	},
	"Messaged": {
		"a row of another run to somebody on it is handed over": {func(l *ledger) error { return l.rowTo("2", onPart) }, false},
		"a row of another run to somebody else is handed over":  {func(l *ledger) error { return l.rowTo("2", onNone) }, true},
	},
}

// fileTo has a file of another run leave.
func (l *ledger) fileTo(slot string, phone messaging.Phone) error {
	_, err := l.claim(l.listed(slot, []messaging.Phone{phone}).ID, 1, time.Now())
	return err
}

// rowTo has a run hand over a row as a message.
func (l *ledger) rowTo(slot string, phone messaging.Phone) error {
	r := l.mustSet(l.mustSet(l.mustStart(aRun("news", slot)), messaging.RunBuilding), messaging.RunUploading)
	row := rowsOf(r.ID, 1, 1)
	row[0].Phone = phone
	return l.Enqueue(l.ctx, r.ID, 1, row)
}

func (l *ledger) optOut(phone messaging.Phone, key string) {
	l.t.Helper()
	l.mustAccept(messaging.Plan{
		Event: messaging.Event{Connector: "shop", Kind: "contact.opted_out", DedupeKey: "out " + key, ReceivedAt: noon, Contact: messaging.Contact{Phone: phone}},
		Proposals: []messaging.Proposal{{
			Decision: messaging.Decision{Trigger: messaging.OptOut, Outcome: messaging.Blocked, Config: "v1", At: noon}, EventAt: noon,
			Correlation: messaging.Correlation{Trigger: messaging.OptOut, Phone: phone},
		}},
	})
}

// A part is claimed only if no fact has changed that its rows were asked by: each field of DueFacts is here.
func (s suite) cutAnew(t *testing.T) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[messaging.DueFacts]()) {
		meetings, known := partFacts[f.Name]
		if !known {
			t.Errorf("a part is not asked again about DueFacts.%s: note its changes (internal/store/run_cuts.go) and have it change here", f.Name)
		}
		for name, one := range meetings {
			t.Run(f.Name+"/"+name, func(t *testing.T) { s.meetsCut(t, one) })
		}
	}
	t.Run("the account has room for nobody", func(t *testing.T) {
		s.claimsCut(t, func(_ *ledger, c *messaging.PartClaim) {
			c.Room = &messaging.QuotaQuestion{Now: noon, Per: time.Hour, Most: 1, Least: 1, Phones: c.Phones}
		}, false)
	})
	t.Run("its caller wants it no more", func(t *testing.T) {
		s.claimsCut(t, func(_ *ledger, c *messaging.PartClaim) { c.Still = func() bool { return false } }, false)
	})
	t.Run("another cut of its run began since", func(t *testing.T) {
		s.claimsCut(t, func(l *ledger, c *messaging.PartClaim) { l.at(noon.Add(time.Second)); l.cut(c.Part.RunID, 1, noon) }, false)
	})
	t.Run("it was cut for too long", func(t *testing.T) {
		s.claimsCut(t, func(l *ledger, _ *messaging.PartClaim) { l.at(noon.Add(11 * time.Minute)) }, false)
	})
	t.Run("a block before its point, and one of a code", s.blocksThatDoNotMeet)
}

// meetsCut asks also once the change is known: it is not told again, and what is cut then goes.
func (s suite) meetsCut(t *testing.T, one meeting) {
	c, l := s.claimsCut(t, func(l *ledger, _ *messaging.PartClaim) { l.must(one.meets(l)) }, one.claimed)
	if one.claimed {
		return
	}
	changed, same, err := l.ChangedContacts(l.ctx, c.Part.RunID, c.Point, c.Phones)
	l.must(err)
	if same && !slices.Equal(changed, []messaging.Phone{onPart}) {
		t.Errorf("changed %q", changed)
	}
	if !same {
		c = l.cut(c.Part.RunID, 1, noon)
	}
	if _, claimed, err := l.ClaimPart(l.ctx, c); err != nil || !claimed {
		t.Errorf("asked once more: claimed %v, %v", claimed, err)
	}
}

// claimsCut cuts a part of two rows, has something happen, and claims it.
func (s suite) claimsCut(t *testing.T, happens func(*ledger, *messaging.PartClaim), want bool) (messaging.PartClaim, *ledger) {
	t.Helper()
	l := s.open(t)
	l.at(noon)
	r := l.listed("1", []messaging.Phone{onPart, "447700900102"})
	c := l.cut(r.ID, 1, noon)
	happens(l, &c)
	p, claimed, err := l.ClaimPart(l.ctx, c)
	if err != nil || claimed != want || claimed != (p.State == messaging.PartUploading) {
		t.Fatalf("claimed %v: %+v, %v", claimed, p, err)
	}
	p.Ranges = c.Part.Ranges // of one that was not claimed they are as they were
	same(t, "part", p, l.part(r.ID, 1))
	return c, l
}

// What was known at the point is no change, however new it is; and a block keeps no code back.
func (s suite) blocksThatDoNotMeet(t *testing.T) {
	l := s.open(t)
	r := l.listed("1", []messaging.Phone{onPart}, []messaging.Phone{onPart})
	l.must(blocks(onPart)(l))
	if _, err := l.claim(r.ID, 1, noon); err != nil {
		t.Error(err)
	}
	codes := aRun("codes", "1")
	codes.Category = messaging.Authentication
	r = l.listedOf(codes, []messaging.Phone{"447700900102"})
	c := l.cut(r.ID, 1, noon)
	l.must(blocks("447700900102")(l))
	if _, claimed, err := l.ClaimPart(l.ctx, c); err != nil || !claimed {
		t.Errorf("a file of codes: claimed %v, %v", claimed, err)
	}
}

func (s suite) leftOfPart(t *testing.T) {
	l := s.open(t)
	r := l.listed("1", []messaging.Phone{"447700900101", "447700900102", "447700900103", "447700900104", "447700900105"})
	c := l.cut(r.ID, 1, noon)
	c.Part.Ranges, c.Left = messaging.RowRanges{{First: 1, Last: 1}, {First: 3, Last: 4}}, messaging.RowRanges{{First: 5, Last: 5}}
	c.Tally.Kept = 4
	l.must(l.NoteRows(l.ctx, r.ID, []messaging.RowNote{{Number: 2, Reason: "the contact is blocked"}, {Number: 5, Until: noon.Add(time.Hour)}}))
	p, claimed, err := l.ClaimPart(l.ctx, c)
	if err != nil || !claimed || p.Rows != 3 || p.Attempt != 1 || p.SHA256 != "abc" || l.run(r.ID).Tally.Kept != 4 {
		t.Fatalf("claimed %v: %+v, %v", claimed, p, err)
	}
	rest := l.part(r.ID, 2)
	same(t, "rest", messaging.Part{RunID: r.ID, Number: 2, List: r.ID, Ranges: c.Left, Rows: 1, State: messaging.PartWaiting, UpdatedAt: noon}, rest)
	var left []int64
	l.must(l.LeftOutRows(l.ctx, r.ID, func(row *messaging.ListRow) error { left = append(left, row.Number); return nil }))
	same(t, "left out", []int64{2}, left)
	// Nobody on the rest may go now, then nobody ever.
	rest.RetryAt, rest.Reason, rest.UpdatedAt = noon.Add(time.Hour), "over its limit", noon
	l.must(l.ReplacePart(l.ctx, owner, l.run(r.ID), rest))
	same(t, "put off", rest, l.part(r.ID, 2))
	rest.State, rest.RetryAt, rest.Reason, rest.Ranges, rest.Rows = messaging.PartExcluded, time.Time{}, "nobody is left", nil, 0
	l.must(l.ReplacePart(l.ctx, owner, l.run(r.ID), rest))
	same(t, "excluded", rest, l.part(r.ID, 2))
	moved(t, "once more", l.ReplacePart(l.ctx, owner, l.run(r.ID), rest))
	again, err := l.PartsOfList(l.ctx, r.ID)
	if err != nil || len(again) != 2 {
		t.Errorf("%d parts, %v", len(again), err)
	}
}

func (s suite) rowsFound(t *testing.T) {
	l := s.open(t)
	r := l.listed("1", []messaging.Phone{"447700900101", "447700900102"}, []messaging.Phone{"447700900101"})
	if _, err := l.claim(r.ID, 2, noon); err != nil {
		t.Fatal(err)
	}
	found, err := l.ListRowsOf(l.ctx, "447700900101", "", 50)
	if err != nil || len(found) != 2 {
		t.Fatalf("%+v, %v", found, err)
	}
	if a, b := found[1], found[0]; a.Number != 1 || a.Part.Number != 1 || a.Part.State != messaging.PartWaiting || b.Number != 3 || b.Part.State != messaging.PartUploading || b.Of.ID != r.ID {
		t.Errorf("%+v", found)
	}
	if at, err := l.RowPlace(l.ctx, r.ID, 2); err != nil || at != (messaging.Position{Row: 3, File: "list.csv"}) {
		t.Errorf("row 2 stands in %+v, %v", at, err)
	}
}

// rowStates asks v_rows, as an analyst does.
func (s suite) rowStates(t *testing.T) {
	l := s.open(t)
	db := l.rawSQL()
	r := l.listed("1", []messaging.Phone{"447700900101"}, []messaging.Phone{"447700900102", "447700900103", "447700900104"})
	states := func(what, want string) {
		t.Helper()
		same(t, what, "run | number | state | part_run | part | message\n"+want, table(t, db, `select run, number, state, part_run, part, message from v_rows order by run, number`))
	}
	states("before", "1 | 1 | waiting | 1 | 1 |\n1 | 2 | waiting | 1 | 2 |\n1 | 3 | waiting | 1 | 2 |\n1 | 4 | waiting | 1 | 2 |\n")

	first, err := l.claim(r.ID, 1, noon)
	l.must(err)
	l.must(l.NoteRows(l.ctx, r.ID, []messaging.RowNote{{Number: 3, Reason: "the contact is blocked"}}))
	c := l.cut(r.ID, 2, noon)
	c.Part.Ranges, c.Left = messaging.RowRanges{{First: 2, Last: 2}}, messaging.RowRanges{{First: 4, Last: 4}}
	second, claimed, err := l.ClaimPart(l.ctx, c)
	if err != nil || !claimed {
		t.Fatalf("claimed %v, %v", claimed, err)
	}
	states("while they leave", "1 | 1 | uploading | 1 | 1 |\n1 | 2 | uploading | 1 | 2 |\n1 | 3 | excluded |  |  |\n1 | 4 | waiting | 1 | 3 |\n")

	// A rename of the job while they leave: the rows stay those of their run, which has the new name.
	l.must(l.Rename(l.ctx, []store.Rename{{About: store.RenamedJob, Was: "winback", Name: "weekly"}}))
	states("of a job that was renamed", "1 | 1 | uploading | 1 | 1 |\n1 | 2 | uploading | 1 | 2 |\n1 | 3 | excluded |  |  |\n1 | 4 | waiting | 1 | 3 |\n")
	same(t, "its name", "job | n\nweekly | 4\n", table(t, db, `select r.job, count(*) as n from v_rows w join v_runs r on r.id = w.run group by 1`))

	l.endPart(first, messaging.PartAccepted)
	l.endPart(second, messaging.PartRejected)
	l.mustSet(l.run(r.ID), messaging.RunCancelled)
	again := aRun("winback", "retry 1 of run 1")
	again.State, again.RetryOf, again.Owner, again.LeaseEnd = messaging.RunUploading, r.ID, owner, noon.Add(time.Hour)
	id, _, err := l.StartRunOf(l.ctx, again, []messaging.Part{{Number: 1, List: r.ID, Ranges: second.Ranges, Rows: 1, State: messaging.PartWaiting, UpdatedAt: noon}})
	l.must(err)
	states("of a retry", "1 | 1 | accepted | 1 | 1 |\n1 | 2 | waiting | 2 | 1 |\n1 | 3 | excluded |  |  |\n1 | 4 | cancelled | 1 | 3 |\n")
	if _, err := l.claim(id, 1, noon); err != nil {
		t.Fatal(err)
	}
	states("of a retry that leaves", "1 | 1 | accepted | 1 | 1 |\n1 | 2 | uploading | 2 | 1 |\n1 | 3 | excluded |  |  |\n1 | 4 | cancelled | 1 | 3 |\n")

	if found, err := l.ListRowsOf(l.ctx, "447700900102", "", 50); err != nil || len(found) != 1 || found[0].Run != r.ID || found[0].Of.ID != id || found[0].Part.State != messaging.PartUploading {
		t.Errorf("a row of both: %+v, %v", found, err)
	}

	t.Run("with the message that the answer named with their phone", func(t *testing.T) {
		l := s.open(t)
		const ana, ben, cyd, dee = "447700900101", "447700900102", "447700900103", "447700900104"
		r := l.listed("1", []messaging.Phone{ana, ben, dee}, []messaging.Phone{ana, cyd, cyd})
		l.accept(r, 1, numbers(100, 4), []string{ben, ana, "", ""})
		l.accept(r, 2, numbers(200, 4), []string{cyd, ana, cyd, "447700900105"})
		rows := func(what, want string) {
			t.Helper()
			same(t, what, "number | state | message_id\n"+want, table(t, l.rawSQL(),
				`select w.number, w.state, m.message_id from v_rows w left join messages m on m.id = w.message order by w.number`))
		}
		rows("each", "1 | accepted | 101\n2 | accepted | 100\n3 | accepted |\n4 | accepted | 201\n5 | accepted |\n6 | accepted |\n")
		same(t, "found by their message", "number | status\n2 | accepted\n", table(t, l.rawSQL(),
			`select w.number, m.status from v_rows w join v_messages m on m.id = w.message where m.id = 1`))
	})

	t.Run("or of their message", func(t *testing.T) {
		l := s.open(t)
		r := l.mustStart(aRun("winback", "1"))
		r.Owner, r.LeaseEnd, r.State = owner, noon.Add(time.Hour), messaging.RunBuilding
		l.must(l.SetRun(l.ctx, "", r, messaging.RunPlanned))
		l.must(l.AddRows(l.ctx, owner, r.ID, []messaging.ListRow{
			{Number: 1, Phone: "447911100001"}, {Number: 2, Phone: "447911100002"}, {Number: 3, Phone: "447911100003"}, {Number: -1, Given: "12", Reason: "too short"},
		}))
		r = l.mustSet(r, messaging.RunUploading)
		l.must(l.Enqueue(l.ctx, r.ID, 1, rowsOf(r.ID, 1, 2)))
		l.mustFinish(l.mustClaim(noon, 1)[0], messaging.StateRejected)
		l.mustSet(r, messaging.RunCancelled)
		same(t, "rows", "number | state | message\n-1 | excluded |\n1 | rejected | 1\n2 | waiting | 2\n3 | cancelled |\n",
			table(t, l.rawSQL(), `select number, state, message from v_rows order by number`))
	})
}

func (s suite) rowsAge(t *testing.T) {
	l := s.open(t)
	r := l.listed("1", []messaging.Phone{"447700900101", "447700900102"})
	p, err := l.claim(r.ID, 1, noon)
	l.must(err)
	p = l.endPart(p, messaging.PartInDoubt)
	ended := l.run(r.ID)
	ended.State, ended.Reason, ended.EndedAt, ended.Owner = messaging.RunPartial, "part 1 is in doubt", noon, ""
	l.must(l.SetRun(l.ctx, "", ended, messaging.RunUploading))
	keep := privacy.Retention{Lists: 30 * day, Phones: 180 * day}
	retain := func(days int) (rows, cells int) {
		t.Helper()
		now := noon.Add(time.Duration(days) * day)
		l.at(now)
		if _, err := l.privacy().Retain(l.ctx, keep, now); err != nil {
			t.Fatal(err)
		}
		err := l.ListRows(l.ctx, r.ID, messaging.RowRanges{{First: 1, Last: 9}}, func(row *messaging.ListRow) error {
			rows, cells = rows+1, cells+len(row.Cells)
			return nil
		})
		l.must(err)
		return rows, cells
	}
	if rows, cells := retain(31); rows != 2 || cells != 2 {
		t.Errorf("of a part in doubt are left %d rows with %d cells", rows, cells)
	}
	next := l.run(r.ID)
	next.State, next.Reason = messaging.RunDone, ""
	p.State, p.Reason, p.Resolved = messaging.PartAccepted, "by Ann", "by Ann"
	l.must(l.ResolvePart(l.ctx, messaging.RunPartial, next, p))
	if rows, cells := retain(31); rows != 2 || cells != 0 || l.run(r.ID).BlankedAt.IsZero() || l.part(r.ID, 1).SHA256 != "abc" {
		t.Errorf("after its age are left %d rows with %d cells", rows, cells)
	}
	if got, err := l.FilesTo(l.ctx, []messaging.Phone{"447700900101"}, noon.Add(-time.Hour)); err != nil || len(got) != 1 {
		t.Errorf("who was on the file is forgotten: %v, %v", got, err)
	}
	if rows, _ := retain(99); rows != 2 {
		t.Errorf("%d rows are left while limits look back", rows)
	}
	keep.Rows = 120 * day
	if rows, _ := retain(101); rows != 2 {
		t.Errorf("%d rows are left while a rule looks back", rows)
	}
	keep.Phones = 110 * day
	if rows, _ := retain(111); rows != 0 || l.part(r.ID, 1).Rows != 2 {
		t.Errorf("%d rows are left", rows)
	}
}

func (s suite) rowsForgotten(t *testing.T) {
	const gone = messaging.Phone("447700900101")
	l := s.open(t)
	r := l.listed("1", []messaging.Phone{gone, "447700900102"}, []messaging.Phone{gone})
	p, err := l.claim(r.ID, 1, noon)
	l.must(err)
	l.must(l.Forget(l.ctx, []messaging.Phone{gone}, "by hand"))
	orders, err := l.privacy().Erasures(l.ctx)
	l.must(err)
	waits, err := l.privacy().Erase(l.ctx, orders)
	if want := "a file of run 1 of winback, which is being sent"; err != nil || waits != want {
		t.Fatalf("it waits for %q, %v", waits, err)
	}
	l.endPart(p, messaging.PartAccepted)
	if waits, err := l.privacy().Erase(l.ctx, orders); err != nil || waits != "" {
		t.Fatalf("it waits for %q, %v", waits, err)
	}
	if found, err := l.ListRowsOf(l.ctx, gone, "", 50); err != nil || len(found) != 0 {
		t.Errorf("found %+v, %v", found, err)
	}
	same(t, "rows", []int64{1, 2, 3}, l.numbersOf(r.ID, messaging.RowRange{First: 1, Last: 9}))
	if p := l.part(r.ID, 1); p.SHA256 != "abc" || p.Rows != 2 {
		t.Errorf("the part is %+v", p)
	}
	if room, err := l.Room(l.ctx, messaging.QuotaQuestion{Now: noon.Add(time.Minute), Per: time.Hour, Most: 5, Least: 1}); err != nil || room.Contacts != 2 {
		t.Errorf("the account reached %d, %v", room.Contacts, err)
	}
}
