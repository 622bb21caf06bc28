package scheduler

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/lists"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/pace"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// book is a Store in memory. It holds every change against the law of states.
type book struct {
	others
	t        testing.TB
	mu       sync.Mutex
	runs     []messaging.Run
	parts    map[messaging.RunID][]messaging.Part
	since    map[string]time.Time
	queued   map[messaging.RunID]map[int64]messaging.Message
	again    map[int64]bool   // rows that may go again
	words    map[int64]string // what the service said of rows
	ended    int64
	failed   int64
	read     int64
	window   time.Time // of the rate
	used     int64
	named    int64  // messages that the answers to uploads named
	wait     int64  // messages that were handed over and have not left
	looked   int    // for what came back of cancelled runs
	crashAt  string // the name of the call after which the store is gone
	crashed  bool
	rows     map[messaging.RunID][]messaging.ListRow // of lists
	changes  int                                     // claims before which something changes
	finishes int
	reached  map[messaging.Phone]time.Time // by the account
	beside   int64                         // what messages spent, in thousandths of points
	full     int                           // claims that a message took the last place before
	rooms    int                           // questions for room
}

// others are the methods of a Store that the tests with a book do not call.
type others interface{ Store }

var errCrash = errors.New("the process was killed")

func newBook(t testing.TB) *book {
	return &book{t: t, parts: map[messaging.RunID][]messaging.Part{}, since: map[string]time.Time{}, rows: map[messaging.RunID][]messaging.ListRow{}, queued: map[messaging.RunID]map[int64]messaging.Message{}}
}

// after ends a call: a crash comes behind the commit.
func (b *book) after(call string) error {
	if b.crashed || b.crashAt == call {
		b.crashed = true
		return errCrash
	}
	return nil
}

func (b *book) StartRun(_ context.Context, r messaging.Run) (messaging.RunID, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.runs {
		if one.Job == r.Job && one.Slot == r.Slot {
			return one.ID, false, nil
		}
	}
	r.ID = messaging.RunID(len(b.runs) + 1)
	b.runs = append(b.runs, r)
	return r.ID, true, nil
}

func (b *book) Run(_ context.Context, id messaging.RunID) (messaging.Run, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if id < 1 || int(id) > len(b.runs) {
		return messaging.Run{}, messaging.ErrNotFound
	}
	return b.runs[id-1], nil
}

func (b *book) OpenRuns(_ context.Context, job string) (open []messaging.Run, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.runs {
		if !r.State.Final() && (job == "" || r.Job == job) {
			open = append(open, r)
		}
	}
	return open, nil
}

func (b *book) LastSent(_ context.Context, job string) (messaging.Run, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range slices.Backward(b.runs) {
		sent := r.State == messaging.RunDone || r.State == messaging.RunPartial || r.State == messaging.RunCancelled && (len(b.queued[r.ID]) > 0 ||
			slices.ContainsFunc(b.parts[r.ID], func(p messaging.Part) bool {
				return p.State == messaging.PartAccepted || p.State == messaging.PartUploading || p.State == messaging.PartInDoubt
			}))
		if r.Job == job && sent && r.Tally.Kept > 0 {
			return r, true, nil
		}
	}
	return messaging.Run{}, false, nil
}

func (b *book) LastScheduled(_ context.Context, job, line string, now time.Time) (time.Time, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := job + "\x00" + line
	if b.since[key].IsZero() {
		b.since[key] = now
	}
	last := b.since[key]
	for _, r := range b.runs {
		if r.Job == job && r.Cause != messaging.CauseHand && r.DueAt.After(last) {
			last = r.DueAt
		}
	}
	return last, nil
}

func (b *book) set(by string, r messaging.Run, from []messaging.RunState) error {
	old := b.runs[r.ID-1]
	if !slices.Contains(from, old.State) || (by != "" && old.Owner != by) {
		return messaging.ErrMoved
	}
	if old.State != r.State && !old.State.May(r.State) {
		b.t.Errorf("run %d went from %s to %s", r.ID, old.State, r.State)
	}
	if stops := r.State == messaging.RunPaused || r.State == messaging.RunCancelled; stops && (r.Stopped == "" || r.Reason == "") {
		b.t.Errorf("run %d is %s, and nothing says what stopped it", r.ID, r.State)
	}
	if !r.Waits.In(r.State) {
		r.Waits, r.WaitUntil = "", time.Time{}
	}
	b.runs[r.ID-1] = r
	if r.State == messaging.RunCancelled {
		for i := range b.parts[r.ID] {
			if b.parts[r.ID][i].State == messaging.PartWaiting {
				b.parts[r.ID][i].State = messaging.PartCancelled
			}
		}
	}
	return nil
}

func (b *book) SetRun(_ context.Context, by string, r messaging.Run, from ...messaging.RunState) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.crashed {
		return errCrash
	}
	if err := b.set(by, r, from); err != nil {
		return err
	}
	return b.after("SetRun " + string(r.State))
}

func (b *book) ApproveRun(_ context.Context, id messaging.RunID, approve func(*messaging.Run) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.crashed {
		return errCrash
	}
	r := b.runs[id-1]
	was := r.State
	if err := approve(&r); err != nil {
		return err
	}
	if err := b.set("", r, []messaging.RunState{was}); err != nil {
		return err
	}
	return b.after("SetRun " + string(r.State))
}

// by is the approval of a person.
func by(who string) messaging.Approval { return messaging.Approval{Who: who, Person: who} }

func (b *book) SaveParts(_ context.Context, by string, r messaging.Run, parts []messaging.Part) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.crashed {
		return errCrash
	}
	if err := b.set(by, r, []messaging.RunState{messaging.RunBuilding}); err != nil {
		return err
	}
	b.parts[r.ID] = slices.Clone(parts)
	return b.after("SaveParts")
}

func (b *book) Parts(_ context.Context, id messaging.RunID) ([]messaging.Part, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.parts[id]), nil
}

func (b *book) ReplacePart(_ context.Context, owner string, r messaging.Run, p messaging.Part) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.crashed {
		return errCrash
	}
	old := &b.parts[r.ID][p.Number-1]
	if old.State != messaging.PartWaiting || p.State != messaging.PartWaiting && !old.State.May(p.State) {
		return messaging.ErrMoved
	}
	if err := b.set(owner, r, []messaging.RunState{messaging.RunUploading}); err != nil {
		return err
	}
	*old = p
	return b.after("ReplacePart " + fmt.Sprint(p.Number))
}

func (b *book) AddRows(_ context.Context, owner string, id messaging.RunID, rows []messaging.ListRow) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.crashed {
		return errCrash
	}
	if r := b.runs[id-1]; r.State != messaging.RunBuilding || r.Owner != owner {
		return messaging.ErrMoved
	}
	for _, row := range rows {
		row.Run, row.Cells = id, slices.Clone(row.Cells)
		b.rows[id] = append(b.rows[id], row)
	}
	return b.after("AddRows")
}

func (b *book) DropRows(_ context.Context, owner string, id messaging.RunID, excluded bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.crashed {
		return errCrash
	}
	if r := b.runs[id-1]; r.Owner == "" || r.Owner == owner {
		b.rows[id] = slices.DeleteFunc(b.rows[id], func(row messaging.ListRow) bool { return row.Number > 0 || excluded })
	}
	return nil
}

func (b *book) ListRows(_ context.Context, id messaging.RunID, in messaging.RowRanges, each func(*messaging.ListRow) error) error {
	b.mu.Lock()
	rows := slices.Clone(b.rows[id])
	b.mu.Unlock()
	for i := range rows {
		if in.Has(rows[i].Number) {
			if err := each(&rows[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *book) NoteRows(_ context.Context, id messaging.RunID, notes []messaging.RowNote) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.crashed {
		return errCrash
	}
	for _, n := range notes {
		for i := range b.rows[id] {
			if row := &b.rows[id][i]; row.Number == n.Number {
				row.Reason, row.WaitUntil = n.Reason, n.Until
			}
		}
	}
	return b.after("NoteRows")
}

// reasons are why rows of a run do not go, those that were excluded when its list was read first.
func (b *book) reasons(id messaging.RunID) (why []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, late := range []bool{false, true} {
		for _, row := range b.rows[id] {
			if row.Reason != "" && late == (row.Number > 0) {
				why = append(why, row.Reason)
			}
		}
	}
	return why
}

func (b *book) Backlog(context.Context, messaging.RunID) (int64, error) { return 0, nil }

func (b *book) FollowRest(context.Context) error { return nil }

func (b *book) HandedOver(_ context.Context, id messaging.RunID) (last int64, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for n := range b.queued[id] {
		last = max(last, n)
	}
	return last, nil
}

func (b *book) PartsOfList(_ context.Context, list messaging.RunID) (out []messaging.Part, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.runs {
		for _, p := range b.parts[r.ID] {
			if p.List == list {
				out = append(out, p)
			}
		}
	}
	return out, nil
}

func (b *book) Point(context.Context, messaging.RunID) (p messaging.Point, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.crashed {
		return p, errCrash
	}
	return p, b.after("Point")
}

// ChangedContacts knows of no contact: each change is of something else.
func (b *book) ChangedContacts(context.Context, messaging.RunID, messaging.Point, []messaging.Phone) ([]messaging.Phone, bool, error) {
	return nil, false, nil
}

func (b *book) ClaimPart(_ context.Context, c messaging.PartClaim) (messaging.Part, bool, error) {
	still := c.Still == nil || c.Still() // it may look at the book
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.crashed {
		return messaging.Part{}, false, errCrash
	}
	id, number := c.Part.RunID, c.Part.Number
	r, p := &b.runs[id-1], &b.parts[id][number-1]
	if r.State != messaging.RunUploading || r.Owner != c.Owner || p.State != messaging.PartWaiting || p.Attempt != c.Part.Attempt {
		return messaging.Part{}, false, messaging.ErrMoved
	}
	if !still {
		return *p, false, nil
	}
	if b.changes > 0 {
		b.changes--
		return *p, false, nil
	}
	if q := c.Room; q != nil {
		if b.full > 0 || b.room(*q).Fits < len(q.Phones) {
			b.full--
			return *p, false, nil
		}
		if b.reached == nil {
			b.reached = map[messaging.Phone]time.Time{}
		}
		for _, phone := range q.Phones {
			b.reached[phone] = c.At
		}
	}
	if c.Budget != nil && !c.Pays(b.spent(c.Budget, c.At)) {
		return *p, false, nil
	}
	p.Goes = c.Part.Goes
	rest := p.Ranges.Without(c.Part.Ranges)
	for _, row := range b.rows[p.List] {
		if rest.Has(row.Number) && !c.Left.Has(row.Number) && row.Reason == "" {
			b.t.Errorf("row %d of run %d is in no part any more, and nothing says why", row.Number, id)
		}
	}
	p.Ranges, p.Rows, p.Bytes, p.SHA256 = c.Part.Ranges, c.Part.Ranges.Count(), c.Part.Bytes, c.Part.SHA256
	p.State, p.UpdatedAt, p.RetryAt = messaging.PartUploading, c.At, time.Time{}
	p.Attempt++
	claimed := *p
	r.Tally = c.Tally
	if len(c.Left) > 0 {
		b.parts[id] = append(b.parts[id], messaging.Part{
			RunID: id, Number: len(b.parts[id]) + 1, List: p.List, Ranges: c.Left, Rows: c.Left.Count(), State: messaging.PartWaiting, UpdatedAt: c.At,
		})
	}
	return claimed, true, b.after("ClaimPart " + fmt.Sprint(number))
}

func (b *book) Spent(_ context.Context, of messaging.Calendar, at time.Time) (messaging.Spent, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spent(of, at), nil
}

// spent is what files cost that left, and may have left, with what messages spent.
func (b *book) spent(of messaging.Calendar, at time.Time) messaging.Spent {
	s := messaging.Spent{Day: b.beside, Month: b.beside}
	day, month := of.Begins(at)
	for _, parts := range b.parts {
		for i := range parts {
			p := &parts[i]
			if p.State == messaging.PartWaiting || p.State == messaging.PartRejected || p.UpdatedAt.Before(month) {
				continue
			}
			if s.Month += costOf(p.Goes); !p.UpdatedAt.Before(day) {
				s.Day += costOf(p.Goes)
			}
		}
	}
	return s
}

func (b *book) Room(_ context.Context, q messaging.QuotaQuestion) (room messaging.Room, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rooms++
	if b.crashed {
		return room, errCrash
	}
	return b.room(q), nil
}

func (b *book) room(q messaging.QuotaQuestion) (room messaging.Room) {
	known := map[messaging.Phone]bool{}
	var leave []time.Time
	for phone, at := range b.reached {
		if at.After(q.Now.Add(-q.Per)) {
			known[phone] = true
			leave = append(leave, at.Add(q.Per))
		}
	}
	room.Contacts = int64(len(known))
	for _, phone := range q.Phones {
		if known[phone] = true; int64(len(known)) <= max(q.Most, room.Contacts) {
			room.Fits++
		}
	}
	slices.SortFunc(leave, time.Time.Compare)
	least := min(int64(len(known))-room.Contacts, q.Least)
	if n := room.Contacts + least - q.Most; room.Fits < len(q.Phones) && n > 0 && n <= int64(len(leave)) {
		room.Next = leave[n-1]
	}
	return room
}

func (b *book) FinishPart(_ context.Context, p messaging.Part) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.crashed {
		return errCrash
	}
	old := &b.parts[p.RunID][p.Number-1]
	if (old.State != messaging.PartUploading && old.State != messaging.PartInDoubt) || old.Attempt != p.Attempt {
		return messaging.ErrMoved
	}
	if !old.State.May(p.State) {
		b.t.Errorf("part %d went from %s to %s", p.Number, old.State, p.State)
	}
	*old = p
	b.finishes++
	return b.after("FinishPart " + fmt.Sprint(p.Number))
}

func (b *book) ClaimRuns(_ context.Context, owner string, now, until time.Time, may func(*messaging.Run) bool) (mine []messaging.Run, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	open := map[string]bool{}
	for i := range b.runs {
		r := &b.runs[i]
		if r.State.Final() {
			continue
		}
		older := open[r.Job]
		open[r.Job] = true
		switch r.State {
		case messaging.RunPlanned:
			if older {
				continue
			}
		case messaging.RunBuilding, messaging.RunUploading:
		default:
			continue
		}
		if (r.Owner == "" || r.Owner == owner || r.LeaseEnd.Before(now)) && may(r) {
			r.Owner, r.LeaseEnd = owner, until
			mine = append(mine, *r)
		}
	}
	return mine, nil
}

func (b *book) Renew(_ context.Context, id messaging.RunID, owner string, until time.Time) (messaging.Run, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.crashed {
		return messaging.Run{}, errCrash
	}
	r := &b.runs[id-1]
	if r.Owner != owner {
		return messaging.Run{}, messaging.ErrMoved
	}
	r.LeaseEnd = until
	return *r, nil
}

func (b *book) Enqueue(_ context.Context, id messaging.RunID, first int64, rows []messaging.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.queued[id] == nil {
		b.queued[id] = map[int64]messaging.Message{}
	}
	for i, d := range rows {
		if _, known := b.queued[id][first+int64(i)]; !known {
			b.queued[id][first+int64(i)] = d
		}
	}
	return b.after("Enqueue")
}

// EnqueueAtRate keeps the window as the store does.
func (b *book) EnqueueAtRate(ctx context.Context, id messaging.RunID, first int64, rows []messaging.Message, w messaging.RateWindow) (int, time.Time, error) {
	b.mu.Lock()
	known := b.queued[id]
	done, need := 0, 0
	for ; done < len(rows); done++ {
		if _, has := known[first+int64(done)]; has {
			continue
		}
		if b.roll(w); b.used+int64(need) >= w.Most {
			break
		}
		need++
	}
	b.used += int64(need)
	since := b.window
	b.mu.Unlock()
	return done, since, b.Enqueue(ctx, id, first, rows[:done])
}

func (b *book) UseRate(_ context.Context, w messaging.RateWindow, rows int) (int, time.Time, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.roll(w)
	granted := min(int64(rows), w.Most-b.used)
	b.used += granted
	return int(granted), b.window, nil
}

func (b *book) roll(w messaging.RateWindow) {
	if b.window.Before(w.From) {
		b.window, b.used = w.Now, w.Waiting
	}
}

// RowsToGoAgain are those in b.again, two at a time. The message of a row has its number.
func (b *book) RowsToGoAgain(_ context.Context, id messaging.RunID, after int64, _ int, meant func(*messaging.RunRow) bool) (rows []messaging.RunRow, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for n := after + 1; n <= b.runs[id-1].Tally.Kept && len(rows) < 2; n++ {
		if b.again[n] {
			d := b.queued[id][n]
			d.ID, d.Phone = messaging.MessageID(n), cmp.Or(d.Phone, "447911100000")
			if row := (messaging.RunRow{Run: id, Number: n, Message: d, Words: b.words[n]}); meant(&row) {
				rows = append(rows, row)
			}
		}
	}
	return rows, nil
}

func (b *book) EnqueueRetries(_ context.Context, id messaging.RunID, of []messaging.MessageID, _ func(messaging.Phone, time.Time) time.Time, _ time.Time) (total int64, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.queued[id] == nil {
		b.queued[id] = map[int64]messaging.Message{}
	}
	for _, one := range of {
		if n := int64(one); b.again[n] {
			delete(b.again, n)
			b.queued[id][int64(len(b.queued[id])+1)] = b.queued[b.runs[id-1].RetryOf][n]
		}
	}
	return int64(len(b.queued[id])), b.after("EnqueueRetries")
}

func (b *book) CancelRows(context.Context, messaging.RunID, string) (int64, error) { return 0, nil }

func (b *book) EndCancelled(context.Context) (int64, bool, error) {
	b.looked++
	return 0, b.wait > 0, nil
}

// PauseSent takes it that b.wait messages of every ended run wait.
func (b *book) PauseSent(_ context.Context, id messaging.RunID, who, held, reason string) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := &b.runs[id-1]
	if b.wait == 0 || r.State == messaging.RunCancelled {
		return false, nil
	}
	r.State, r.Before, r.Reason, r.EndedAt = messaging.RunPaused, messaging.RunUploading, reason, time.Time{}
	r.Stopped, r.StoppedBy = messaging.StopPerson, who
	if r.Held = held; held != "" {
		r.Stopped = messaging.StopConfig
	}
	return true, nil
}

func (b *book) ReleaseRun(_ context.Context, id messaging.RunID, who string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.runs[id-1].Released = who
	return nil
}

func (b *book) RunsUnsent(_ context.Context, of func(string) bool) (out []messaging.Run, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.runs {
		if b.wait > 0 && of(r.Job) {
			out = append(out, r)
		}
	}
	return out, nil
}

func (b *book) CountRunMessages(context.Context, messaging.RunID) (messaging.RunCounts, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return messaging.RunCounts{Messages: b.named, Ended: b.ended, Failed: b.failed, Arrived: b.ended - b.failed, Read: b.read}, nil
}

// revive is what a new process finds.
func (b *book) revive() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.crashed, b.crashAt = false, ""
	for i := range b.runs {
		b.runs[i].LeaseEnd = time.Time{}
	}
}

// service is an Uploader that keeps what it gets.
type service struct {
	mu     sync.Mutex
	got    []upload
	answer func(n int) error // of the n-th upload, from 1; nil accepts
	block  chan struct{}
	begun  chan struct{}
}

type upload struct {
	name, file string
	template   int64
	body       string
}

func (s *service) CreateCampaign(ctx context.Context, name string, templateID int64, fileName string, file io.Reader, size int64) (apiclient.Answer, error) {
	text, err := io.ReadAll(file)
	if err != nil || int64(len(text)) != size {
		return apiclient.Answer{}, fmt.Errorf("read %d of %d: %w", len(text), size, err)
	}
	s.mu.Lock()
	s.got = append(s.got, upload{name, fileName, templateID, string(text)})
	n, block, begun := len(s.got), s.block, s.begun
	s.mu.Unlock()
	if begun != nil {
		begun <- struct{}{}
	}
	if block != nil {
		select {
		case <-block:
		case <-ctx.Done():
			return apiclient.Answer{}, ctx.Err()
		}
	}
	if s.answer != nil {
		if err := s.answer(n); err != nil {
			return apiclient.Answer{}, err
		}
	}
	return apiclient.Answer{HTTPStatus: 200, CampaignID: fmt.Sprint(n), Raw: "{}"}, nil
}

func (s *service) uploads() []upload {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

// phonesOf are the phones of all uploads, in order.
func (s *service) phones(t testing.TB) (all []string) {
	for _, u := range s.uploads() {
		rows, err := csv.NewReader(strings.NewReader(u.body)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows[1:] {
			all = append(all, row[0])
		}
	}
	return all
}

// A desk is a Scheduler with its fakes and a clock that is set by hand; sleeping moves it on.
type desk struct {
	*Scheduler
	*book
	service *service
	dir     string
	mu      sync.Mutex
	at      time.Time
}

func newDesk(t testing.TB, at time.Time) *desk {
	d := &desk{book: newBook(t), service: &service{}, dir: t.TempDir(), at: at}
	d.open("one")
	return d
}

// open starts another process over the same store.
func (d *desk) open(owner string) {
	var jobs []*Compiled
	if d.Scheduler != nil {
		jobs = d.all()
	}
	d.Scheduler = New(Options{
		Store: d.book, Line: func(string) Line { return Line{Uploader: d.service} }, Owner: owner,
		Now: d.now, Jitter: func() float64 { return 0 },
		Sleep: func(ctx context.Context, by time.Duration) error {
			d.advance(by)
			d.book.mu.Lock()
			defer d.book.mu.Unlock()
			if d.crashed { // nothing sleeps on in a process that is gone
				return errCrash
			}
			return ctx.Err()
		},
	})
	d.Use(jobs)
}

// admit is a Budget that calls it before each upload.
type admit func()

func (a admit) Wait(context.Context, pace.Class, time.Time) error { a(); return nil }
func (admit) Slow(pace.Class, time.Time, time.Duration)           {}
func (admit) Took(pace.Class) bool                                { return true }

// prices are a price table that is asked by a function.
type prices func(c messaging.Category, phone string) float64

func (p prices) Of(c messaging.Category, phone string) float64 { return p(c, phone) }

func (d *desk) now() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at
}

func (d *desk) advance(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = d.at.Add(by)
}

// settle works on whatever is open until nothing moves any more.
func (d *desk) settle(t testing.TB) {
	t.Helper()
	for range 20 {
		var runs sync.WaitGroup
		before := len(d.service.uploads())
		if err := d.start(t.Context(), &runs); err != nil {
			t.Fatal(err)
		}
		runs.Wait()
		open, _ := d.OpenRuns(t.Context(), "")
		if len(open) == 0 || (before == len(d.service.uploads()) && !slices.ContainsFunc(open, func(r messaging.Run) bool { return r.State == messaging.RunPlanned })) {
			return
		}
	}
}

// the is the newest run.
func (d *desk) the(t testing.TB) messaging.Run {
	t.Helper()
	d.book.mu.Lock()
	defer d.book.mu.Unlock()
	if len(d.runs) == 0 {
		t.Fatal("there is no run")
	}
	return d.runs[len(d.runs)-1]
}

func columns(pairs ...string) yamlpos.Ordered[string] {
	var o yamlpos.Ordered[string]
	for i := 0; i < len(pairs); i += 2 {
		o = append(o, yamlpos.Entry[string]{Key: pairs[i], Value: pairs[i+1]})
	}
	return o
}

// compile makes one job ready, with what every job needs.
func compile(t testing.TB, j Job) *Compiled {
	t.Helper()
	j.Name = cmp.Or(j.Name, "winback")
	if j.Deliver != messaging.DeliverPerMessage && j.Campaign == nil {
		j.Campaign = &Campaign{TemplateID: 1042}
	}
	all, problems := Compile([]Job{j}, Env{Country: "GB", Language: "en", Version: "v1", Priced: true, TextAllowed: true, ReadKnown: true})
	for _, p := range problems {
		if !p.Warning {
			t.Fatal(p.Error())
		}
	}
	return all[0]
}

// listSource is rows in memory; fail ends them early.
type listSource struct {
	header []string
	rows   [][]string
	fail   error
}

func (l listSource) String() string                           { return "list" }
func (l listSource) Open(context.Context) (lists.Rows, error) { return &listRows{l, 0}, nil }

type listRows struct {
	listSource
	n int
}

func (l *listRows) Header() []string { return l.header }
func (l *listRows) Close() error     { return nil }
func (l *listRows) Next() (lists.Row, int64, error) {
	if l.n == len(l.rows) {
		if l.fail != nil {
			return nil, int64(l.n), l.fail
		}
		return nil, 0, io.EOF
	}
	l.n++
	return l.rows[l.n-1], int64(l.n + 1), nil
}

// people are n rows with a phone and a name.
func people(n int) listSource {
	l := listSource{header: []string{"phone", "name"}}
	for i := range n {
		l.rows = append(l.rows, []string{fmt.Sprintf("+4479111%05d", i), fmt.Sprintf("Name %d", i)})
	}
	return l
}

// jobOf is a job over a list, in parts of the given size.
func jobOf(t testing.TB, l lists.Source, j Job) *Compiled {
	t.Helper()
	j.Source = lists.Origin{CSV: "unused.csv"}
	if j.Columns == nil {
		j.Columns = columns("phone", "phone", "var_1", "name")
	}
	c := compile(t, j)
	c.source = l
	return c
}

func put(t testing.TB, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// failedOver is a canary's condition.
func failedOver(share Percent) StopIf { return StopIf{Failed: &share} }

func (b *book) RetriesOf(_ context.Context, id messaging.RunID) (n int, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.runs {
		if r.RetryOf == id {
			n++
		}
	}
	return n, nil
}

func (b *book) StartRunOf(ctx context.Context, r messaging.Run, parts []messaging.Part) (messaging.RunID, bool, error) {
	id, won, err := b.StartRun(ctx, r)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range parts {
		p.RunID = id
		b.parts[id] = append(b.parts[id], p)
	}
	return id, won, err
}
