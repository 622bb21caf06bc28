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

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/files"
	"github.com/nudgewire/nudgewire/internal/lists"
	"github.com/nudgewire/nudgewire/internal/pace"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// book is a Store in memory. It holds every change against the law of states.
type book struct {
	others
	t        testing.TB
	mu       sync.Mutex
	runs     []nudgewire.Run
	parts    map[nudgewire.RunID][]nudgewire.Part
	since    map[string]time.Time
	queued   map[nudgewire.RunID]map[int64]nudgewire.Dispatch
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
	noted    string // contacts, before a claim
	finishes int
	reached  map[nudgewire.Phone]time.Time // by the account
	full     int                           // claims that a message took the last place before
	rooms    int                           // questions for room
}

// others are the methods of a Store that the tests with a book do not call.
type others interface{ Store }

var errCrash = errors.New("the process was killed")

func newBook(t testing.TB) *book {
	return &book{t: t, parts: map[nudgewire.RunID][]nudgewire.Part{}, since: map[string]time.Time{}, queued: map[nudgewire.RunID]map[int64]nudgewire.Dispatch{}}
}

// after ends a call: a crash comes behind the commit.
func (b *book) after(call string) error {
	if b.crashed || b.crashAt == call {
		b.crashed = true
		return errCrash
	}
	return nil
}

func (b *book) StartRun(_ context.Context, r nudgewire.Run) (nudgewire.RunID, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.runs {
		if one.Job == r.Job && one.Slot == r.Slot {
			return one.ID, false, nil
		}
	}
	r.ID = nudgewire.RunID(len(b.runs) + 1)
	b.runs = append(b.runs, r)
	return r.ID, true, nil
}

func (b *book) Run(_ context.Context, id nudgewire.RunID) (nudgewire.Run, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if id < 1 || int(id) > len(b.runs) {
		return nudgewire.Run{}, nudgewire.ErrNotFound
	}
	return b.runs[id-1], nil
}

func (b *book) OpenRuns(_ context.Context, job string) (open []nudgewire.Run, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.runs {
		if !r.State.Final() && (job == "" || r.Job == job) {
			open = append(open, r)
		}
	}
	return open, nil
}

func (b *book) LastSent(_ context.Context, job string) (nudgewire.Run, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range slices.Backward(b.runs) {
		sent := r.State == nudgewire.RunDone || r.State == nudgewire.RunPartial || r.State == nudgewire.RunCancelled && (len(b.queued[r.ID]) > 0 ||
			slices.ContainsFunc(b.parts[r.ID], func(p nudgewire.Part) bool {
				return p.State == nudgewire.PartAccepted || p.State == nudgewire.PartUploading || p.State == nudgewire.PartInDoubt
			}))
		if r.Job == job && sent && r.Tally.Kept > 0 {
			return r, true, nil
		}
	}
	return nudgewire.Run{}, false, nil
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
		if r.Job == job && r.Cause != nudgewire.CauseHand && r.DueAt.After(last) {
			last = r.DueAt
		}
	}
	return last, nil
}

func (b *book) set(by string, r nudgewire.Run, from []nudgewire.RunState) error {
	old := b.runs[r.ID-1]
	if !slices.Contains(from, old.State) || (by != "" && old.Owner != by) {
		return nudgewire.ErrMoved
	}
	if old.State != r.State && !old.State.May(r.State) {
		b.t.Errorf("run %d went from %s to %s", r.ID, old.State, r.State)
	}
	if stops := r.State == nudgewire.RunPaused || r.State == nudgewire.RunCancelled; stops && (r.Stopped == "" || r.Reason == "") {
		b.t.Errorf("run %d is %s, and nothing says what stopped it", r.ID, r.State)
	}
	if !r.Waits.In(r.State) {
		r.Waits, r.WaitUntil = "", time.Time{}
	}
	b.runs[r.ID-1] = r
	if r.State == nudgewire.RunCancelled {
		for i := range b.parts[r.ID] {
			if b.parts[r.ID][i].State == nudgewire.PartBuilt {
				b.parts[r.ID][i].State = nudgewire.PartCancelled
			}
		}
	}
	return nil
}

func (b *book) SetRun(_ context.Context, by string, r nudgewire.Run, from ...nudgewire.RunState) error {
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

func (b *book) ApproveRun(_ context.Context, id nudgewire.RunID, approve func(*nudgewire.Run) error) error {
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
	if err := b.set("", r, []nudgewire.RunState{was}); err != nil {
		return err
	}
	return b.after("SetRun " + string(r.State))
}

func (b *book) PartRewritten(_ context.Context, folder, file string, bytes int64, sha256 string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, parts := range b.parts {
		for i := range parts {
			if b.runs[id-1].Folder == folder && parts[i].File == file {
				parts[i].Bytes, parts[i].SHA256 = bytes, sha256
			}
		}
	}
	return nil
}

// by is the approval of a person.
func by(who string) nudgewire.Approval { return nudgewire.Approval{Who: who, Person: who} }

func (b *book) SaveParts(_ context.Context, by string, r nudgewire.Run, parts []nudgewire.Part) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.crashed {
		return errCrash
	}
	if err := b.set(by, r, []nudgewire.RunState{nudgewire.RunBuilding}); err != nil {
		return err
	}
	b.parts[r.ID] = slices.Clone(parts)
	return b.after("SaveParts")
}

func (b *book) Parts(_ context.Context, id nudgewire.RunID) ([]nudgewire.Part, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.parts[id]), nil
}

func (b *book) ReplacePart(_ context.Context, owner string, r nudgewire.Run, p nudgewire.Part, into ...nudgewire.Part) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.crashed {
		return errCrash
	}
	old := &b.parts[r.ID][p.Number-1]
	if old.State != nudgewire.PartBuilt || p.State != nudgewire.PartBuilt && !old.State.May(p.State) {
		return nudgewire.ErrMoved
	}
	if err := b.set(owner, r, []nudgewire.RunState{nudgewire.RunUploading}); err != nil {
		return err
	}
	*old = p
	b.parts[r.ID] = append(b.parts[r.ID], into...)
	return b.after("ReplacePart " + fmt.Sprint(p.Number))
}

func (b *book) Backlog(context.Context, nudgewire.RunID) (int64, error) { return 0, nil }

func (b *book) FollowRest(context.Context) error { return nil }

func (b *book) NoteContacts(_ context.Context, id nudgewire.RunID, number int, at time.Time, _ []nudgewire.Phone) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.crashed {
		return errCrash
	}
	b.noted = fmt.Sprintf("part %d of run %d at %s", number, id, at)
	return nil
}

func (b *book) ClaimPart(_ context.Context, id nudgewire.RunID, number int, owner string, now time.Time) (nudgewire.Part, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.crashed {
		return nudgewire.Part{}, errCrash
	}
	r, p := b.runs[id-1], &b.parts[id][number-1]
	if r.State != nudgewire.RunUploading || r.Owner != owner || p.State != nudgewire.PartBuilt {
		return nudgewire.Part{}, nudgewire.ErrMoved
	}
	if want := fmt.Sprintf("part %d of run %d at %s", number, id, now); r.Deliver == nudgewire.DeliverCSV && b.noted != want {
		b.t.Errorf("claimed is a part with contacts noted as %q, not %q", b.noted, want)
	}
	p.State, p.UpdatedAt = nudgewire.PartUploading, now
	p.Attempt++
	return *p, b.after("ClaimPart " + fmt.Sprint(number))
}

func (b *book) Room(_ context.Context, q nudgewire.RoomQuestion) (room nudgewire.Room, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rooms++
	if b.crashed {
		return room, errCrash
	}
	return b.room(q), nil
}

func (b *book) room(q nudgewire.RoomQuestion) (room nudgewire.Room) {
	known := map[nudgewire.Phone]bool{}
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

func (b *book) ClaimPartInRoom(ctx context.Context, id nudgewire.RunID, number int, owner string, now time.Time, q nudgewire.RoomQuestion) (nudgewire.Part, error) {
	b.mu.Lock()
	if b.full > 0 || b.room(q).Fits < len(q.Phones) {
		defer b.mu.Unlock()
		b.full--
		return b.parts[id][number-1], nil
	}
	if b.reached == nil {
		b.reached = map[nudgewire.Phone]time.Time{}
	}
	for _, phone := range q.Phones {
		b.reached[phone] = now
	}
	b.mu.Unlock()
	return b.ClaimPart(ctx, id, number, owner, now)
}

func (b *book) FinishPart(_ context.Context, p nudgewire.Part) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.crashed {
		return errCrash
	}
	old := &b.parts[p.RunID][p.Number-1]
	if (old.State != nudgewire.PartUploading && old.State != nudgewire.PartInDoubt) || old.Attempt != p.Attempt {
		return nudgewire.ErrMoved
	}
	if !old.State.May(p.State) {
		b.t.Errorf("part %d went from %s to %s", p.Number, old.State, p.State)
	}
	*old = p
	b.finishes++
	return b.after("FinishPart " + fmt.Sprint(p.Number))
}

func (b *book) ClaimRuns(_ context.Context, owner string, now, until time.Time, may func(*nudgewire.Run) bool) (mine []nudgewire.Run, _ error) {
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
		case nudgewire.RunPlanned:
			if older {
				continue
			}
		case nudgewire.RunBuilding, nudgewire.RunUploading:
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

func (b *book) Renew(_ context.Context, id nudgewire.RunID, owner string, until time.Time) (nudgewire.Run, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.crashed {
		return nudgewire.Run{}, errCrash
	}
	r := &b.runs[id-1]
	if r.Owner != owner {
		return nudgewire.Run{}, nudgewire.ErrMoved
	}
	r.LeaseEnd = until
	return *r, nil
}

func (b *book) Enqueue(_ context.Context, id nudgewire.RunID, first int64, rows []nudgewire.Dispatch) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.queued[id] == nil {
		b.queued[id] = map[int64]nudgewire.Dispatch{}
	}
	for i, d := range rows {
		if _, known := b.queued[id][first+int64(i)]; !known {
			b.queued[id][first+int64(i)] = d
		}
	}
	return b.after("Enqueue")
}

// EnqueueAtRate keeps the window as the store does.
func (b *book) EnqueueAtRate(ctx context.Context, id nudgewire.RunID, first int64, rows []nudgewire.Dispatch, w nudgewire.RateWindow) (int, time.Time, error) {
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

func (b *book) UseRate(_ context.Context, w nudgewire.RateWindow, rows int) (int, time.Time, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.roll(w)
	granted := min(int64(rows), w.Most-b.used)
	b.used += granted
	return int(granted), b.window, nil
}

func (b *book) roll(w nudgewire.RateWindow) {
	if b.window.Before(w.From) {
		b.window, b.used = w.Now, w.Waiting
	}
}

// RowsToGoAgain are those in b.again, two at a time. The dispatch of a row has its number.
func (b *book) RowsToGoAgain(_ context.Context, id nudgewire.RunID, after int64, _ int, meant func(*nudgewire.RunRow) bool) (rows []nudgewire.RunRow, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for n := after + 1; n <= b.runs[id-1].Tally.Kept && len(rows) < 2; n++ {
		if b.again[n] {
			d := b.queued[id][n]
			d.ID = nudgewire.DispatchID(n)
			if row := (nudgewire.RunRow{Run: id, Number: n, Dispatch: d, Words: b.words[n]}); meant(&row) {
				rows = append(rows, row)
			}
		}
	}
	return rows, nil
}

func (b *book) EnqueueRetries(_ context.Context, id nudgewire.RunID, of []nudgewire.DispatchID, _ time.Time) (total int64, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.queued[id] == nil {
		b.queued[id] = map[int64]nudgewire.Dispatch{}
	}
	for _, one := range of {
		if n := int64(one); b.again[n] {
			delete(b.again, n)
			b.queued[id][int64(len(b.queued[id])+1)] = b.queued[b.runs[id-1].RetryOf][n]
		}
	}
	return int64(len(b.queued[id])), b.after("EnqueueRetries")
}

func (b *book) CancelRows(context.Context, nudgewire.RunID, string) (int64, error) { return 0, nil }

func (b *book) EndCancelled(context.Context) (int64, bool, error) {
	b.looked++
	return 0, b.wait > 0, nil
}

// PauseSent takes it that b.wait messages of every ended run wait.
func (b *book) PauseSent(_ context.Context, id nudgewire.RunID, who, held, reason string) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := &b.runs[id-1]
	if b.wait == 0 || r.State == nudgewire.RunCancelled {
		return false, nil
	}
	r.State, r.Before, r.Reason, r.EndedAt = nudgewire.RunPaused, nudgewire.RunUploading, reason, time.Time{}
	r.Stopped, r.StoppedBy = nudgewire.StopPerson, who
	if r.Held = held; held != "" {
		r.Stopped = nudgewire.StopConfig
	}
	return true, nil
}

func (b *book) ReleaseRun(_ context.Context, id nudgewire.RunID, who string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.runs[id-1].Released = who
	return nil
}

func (b *book) RunsUnsent(_ context.Context, of func(string) bool) (out []nudgewire.Run, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.runs {
		if b.wait > 0 && of(r.Job) {
			out = append(out, r)
		}
	}
	return out, nil
}

func (b *book) Standing(context.Context, nudgewire.RunID) (nudgewire.Standing, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return nudgewire.Standing{Messages: b.named, Ended: b.ended, Failed: b.failed, Arrived: b.ended - b.failed, Read: b.read}, nil
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
	kept    files.Store // what a process leaves to the next
	mu      sync.Mutex
	at      time.Time
}

func newDesk(t testing.TB, at time.Time) *desk {
	d := &desk{book: newBook(t), service: &service{}, dir: t.TempDir(), at: at}
	d.kept = newFiles(d.dir)
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
		Store: d.book, Line: func(string) Line { return Line{Uploader: d.service} }, Files: d.kept, Owner: owner,
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
type prices func(c nudgewire.Category, phone string) float64

func (p prices) Of(c nudgewire.Category, phone string) float64 { return p(c, phone) }

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
		if len(open) == 0 || (before == len(d.service.uploads()) && !slices.ContainsFunc(open, func(r nudgewire.Run) bool { return r.State == nudgewire.RunPlanned })) {
			return
		}
	}
}

// the is the newest run.
func (d *desk) the(t testing.TB) nudgewire.Run {
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
	if j.Deliver != nudgewire.DeliverPerMessage && j.Campaign == nil {
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
