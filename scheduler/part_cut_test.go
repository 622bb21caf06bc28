package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/units"
)

// sieve leaves out the phones that end so.
func sieve(ends ...string) Ask {
	return func(_ context.Context, phones []messaging.Phone) ([]answer, error) {
		out := make([]answer, len(phones))
		for i, p := range phones {
			if slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(string(p), end) }) {
				out[i].Verdict = messaging.Verdict{Action: messaging.DropSend, Reason: "the contact is blocked"}
			}
		}
		return out, nil
	}
}

func TestEveryCellOfARowIsWritten(t *testing.T) {
	for name, tt := range map[string]struct {
		columns []string
		rows    []contactRow
		want    string
	}{
		"phones alone":     {nil, []contactRow{{"447700900123", nil}, {"447700900124", nil}}, "phone\n447700900123\n447700900124\n"},
		"an empty one":     {[]string{"var_1", "var_2"}, []contactRow{{"447700900123", []string{"", "x"}}, {"447700900124", []string{"y", ""}}}, "phone,var_1,var_2\n447700900123,,x\n447700900124,y,\n"},
		"signs of the CSV": {[]string{"var_1"}, []contactRow{{"447700900123", []string{"a, \"b\"\nc"}}}, "phone,var_1\n447700900123,\"a, \"\"b\"\"\nc\"\n"},
		"JSON stays text":  {[]string{"var_1"}, []contactRow{{"447700900123", []string{`["a"]`}}}, "phone,var_1\n447700900123,\"[\"\"a\"\"]\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			e := newEncoder(len(tt.columns), func(_ int, row []byte) error { got.Write(row); return nil })
			head, err := e.head(tt.columns)
			if err != nil {
				t.Fatal(err)
			}
			if err := e.write(len(tt.rows), func(i int) contactRow { return tt.rows[i] }); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(head)+got.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A shelf is a ListStore in memory.
type shelf struct {
	others
	rows []messaging.ListRow
}

func (s *shelf) ListRows(_ context.Context, _ messaging.RunID, in messaging.RowRanges, each func(*messaging.ListRow) error) error {
	for i := range s.rows {
		if in.Has(s.rows[i].Number) {
			if err := each(&s.rows[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// files cuts all rows of a list that may go.
func (s *shelf) files(t interface{ Fatal(args ...any) }, columns []string, most units.Size) (all []*cutting) {
	p := messaging.Part{Number: 1, Ranges: messaging.RowRanges{{First: 1, Last: int64(len(s.rows))}}}
	for len(p.Ranges) > 0 {
		c := &cutting{ask: sieve(), columns: columns, most: most}
		if err := c.cut(context.Background(), s, &p); err != nil {
			t.Fatal(err)
		}
		if len(c.taken) > 0 {
			all = append(all, c)
		}
		p.Ranges = c.left
	}
	return all
}

// A part takes the rows that may go. Who may go later waits for another one, with the rows that found no room, and who may never go is noted.
func TestAPartTakesTheRowsThatMayGo(t *testing.T) {
	s := &shelf{}
	for i := range int64(2000) {
		s.rows = append(s.rows, messaging.ListRow{Number: i + 1, Phone: messaging.Phone(fmt.Sprintf("44791110%04d", i+1)), Cells: []string{"x"}})
	}
	s.rows[699].Phone = "" // it was forgotten
	until := monday.Add(time.Hour)
	ask := func(_ context.Context, phones []messaging.Phone) ([]answer, error) {
		out := make([]answer, len(phones))
		for i, p := range phones {
			switch {
			case strings.HasSuffix(string(p), "00"):
				out[i].Verdict = messaging.Verdict{Action: messaging.DeferSend, Reason: "2 of 2 were sent", Common: "the contact is over its limit", Until: until}
			case p == "", strings.HasSuffix(string(p), "99"):
				out[i].Verdict = messaging.Verdict{Action: messaging.DropSend, Reason: "the contact is blocked"}
			}
		}
		return out, nil
	}
	c := &cutting{ask: ask, columns: []string{"var_1"}, most: 1 << 20, first: 1200}
	p := messaging.Part{Number: 1, Ranges: messaging.RowRanges{{First: 1, Last: 2000}}}
	if err := c.cut(t.Context(), s, &p); err != nil {
		t.Fatal(err)
	}
	if c.taken.Count() != 1200 || len(c.phones) != 1200 || strings.Count(c.file.String(), "\n") != 1201 {
		t.Errorf("%d rows on it", c.taken.Count())
	}
	var gone, late []int64
	for _, l := range c.gone {
		gone = append(gone, l.Number)
	}
	for _, l := range c.late {
		late = append(late, l.Number)
	}
	if !slices.Equal(gone, []int64{99, 199, 299, 399, 499, 599, 699, 700, 799, 899, 999, 1099, 1199}) || !slices.Equal(late, []int64{100, 200, 300, 400, 500, 600, 800, 900, 1000, 1100, 1200}) {
		t.Errorf("gone %v, late %v", gone, late)
	}
	// Each row is on the file, left for another, or gone.
	if all := c.taken.And(c.left); all.Count() != c.taken.Count()+c.left.Count() || all.Count()+int64(len(gone)) != 2000 {
		t.Errorf("%d on it, %d left, %d gone", c.taken.Count(), c.left.Count(), len(gone))
	}
	if at, why := c.free(); !at.Equal(until) || why != "2 of 2 were sent" {
		t.Errorf("it goes at %s: %q", at, why)
	}
	for _, n := range c.notes() {
		if (n.Reason == "") == n.Until.IsZero() {
			t.Errorf("noted: %+v", n)
		}
	}
}

// Of the rows that a retry sends, those are left out whose people are excluded by now, in the forecast as in the run.
func TestARetryOfFilesIsRechecked(t *testing.T) {
	job := jobOf(t, people(60), Job{MaxSize: 500})
	d := begin(t, job)
	d.service.answer = func(int) error {
		return &apiclient.CallError{Call: "create-with-csv", Outcome: apiclient.Rejected, HTTPStatus: 400}
	}
	id, err := d.RunNow(t.Context(), job, monday, HandOrder{})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 { // it stops after each refusal
		d.settle(t)
		if d.the(t).State.Final() {
			break
		}
		if err := d.Resume(t.Context(), id, "Ann"); err != nil {
			t.Fatal(err)
		}
	}
	parts := d.parts[id]
	last := parts[len(parts)-1]
	var gone []string
	if err := d.ListRows(t.Context(), id, messaging.RowRanges{{First: 2, Last: 2}, {First: 4, Last: 4}}.And(last.Ranges), func(row *messaging.ListRow) error {
		gone = append(gone, string(row.Phone))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	who := withRegister(d)
	for _, p := range gone {
		who.block(messaging.Phone(p))
	}
	counted, err := d.ForecastRetry(t.Context(), id, "Ann", RetryOrder{})
	if err != nil {
		t.Fatal(err)
	}
	if why := d.reasons(id); len(why) != 0 {
		t.Errorf("counting noted %q", why)
	}
	d.service.answer = nil
	before := len(d.service.uploads())
	again, err := d.Retry(t.Context(), id, "Ann", RetryOrder{})
	if err != nil {
		t.Fatal(err)
	}
	d.settle(t)
	want := []messaging.Excluded{{Kind: KindContact, Reason: "the contact is blocked", Count: int64(len(gone)), First: 3}}
	r := d.runs[again-1]
	if diff := cmp.Diff(want, r.Tally.Excluded); diff != "" || r.State != messaging.RunDone || r.Tally.Kept != 60-int64(len(gone)) || r.Tally.Kept != counted.Run.Tally.Kept || len(d.reasons(id)) != len(gone) {
		t.Errorf("%s %q, %+v, noted %d\n%s", r.State, r.Reason, r.Tally, len(d.reasons(id)), diff)
	}
	sent := map[string]int{}
	for _, u := range d.service.uploads()[before:] {
		for line := range strings.SplitSeq(u.body, "\n") {
			sent[line[:min(12, len(line))]]++
		}
	}
	for _, row := range d.rows[id] {
		if want := 1; slices.Contains(gone, string(row.Phone)) == (sent[string(row.Phone)] == want) {
			t.Errorf("%s got it %d times", row.Phone, sent[string(row.Phone)])
		}
	}
}

func TestAForecastSaysWhatItsTimeIsReckonedFrom(t *testing.T) {
	for rate, want := range map[float64]string{
		10: "10 a second", 0.5: "30 a minute", 100.0 / 60: "100 a minute", 7.0 / 3600: "7 an hour", 3.0 / 86400: "3 a day", 0.123456789: "0.12 a second", 2000: "2,000 a second",
	} {
		if got := rateWords(rate); got != want {
			t.Errorf("%v is %q, want %q", rate, got, want)
		}
	}
	s := &Scheduler{Options: Options{Rate: func(string) float64 { return 10 }}}
	single := &Compiled{Job: Job{Deliver: messaging.DeliverPerMessage}}
	if took, basis := s.takes(single, messaging.Tally{Kept: 560, Parts: 1}); took.Seconds() != 56 || basis != "560 messages at 10 a second (api.rate)" {
		t.Errorf("%s: %s", took, basis)
	}
	if took, basis := s.takes(&Compiled{}, messaging.Tally{Kept: 1, Parts: 1, Bytes: 2_000_000}); took.Seconds() != 2.1 || basis != "1 upload at 10 a second (api.rate), and 2,000,000 bytes at a guess of 1 MB a second" {
		t.Errorf("%s: %s", took, basis)
	}
}

func TestAGuardCountsOneRowAsOne(t *testing.T) {
	got := Guard{MaxChange: 3}.stops(messaging.Tally{Kept: 1}, &messaging.Tally{Kept: 10})
	got = append(got, Guard{ApproveOver: 1, MaxRows: 1}.stops(messaging.Tally{Kept: 2}, nil)...)
	want := []string{
		"1 row is only 10% of the last run's 10, and guard.max_change is 300%",
		"2 rows are more than guard.max_rows, 1", "2 rows are more than guard.approve_over, 1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

type flatPrice float64

func (f flatPrice) Of(messaging.Category, string) float64 { return float64(f) }

func TestAFileSaysWhereItGoes(t *testing.T) {
	file := []messaging.Phone{"447700900101", "5511987654321", "447700900102", "447700900103"}
	want := []messaging.PartShare{{Country: "BR", Rows: 1, Points: 0.1}, {Country: "GB", Rows: 3, Points: 0.3}}
	if diff := cmp.Diff(want, shares(file, messaging.Marketing, flatPrice(0.1))); diff != "" {
		t.Errorf("shares (-want +got):\n%s", diff)
	}
	if got := shares(file[:1], messaging.Marketing, nil); len(got) != 1 || got[0].Points != 0 {
		t.Errorf("without prices %+v", got)
	}
}

// madeAgain are the bytes of a part, made of the rows that are stored for it and of nothing else.
func madeAgain(t *testing.T, st *store.Store, id messaging.RunID, number int) (*cutting, messaging.Part) {
	t.Helper()
	r, err := st.Run(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := st.Parts(t.Context(), id)
	if err != nil || len(parts) < number {
		t.Fatal(len(parts), err)
	}
	c := &cutting{ask: sieve(), columns: r.Columns, most: 1 << 40}
	if err := c.cut(t.Context(), st, &parts[number-1]); err != nil {
		t.Fatal(err)
	}
	return c, parts[number-1]
}

// Until it is known what became of a file the same bytes can be made again: while it leaves, in doubt, with another config, after what the next
// cut would leave out, and after a crash.
func TestAFileCanBeMadeAgain(t *testing.T) {
	list := listSource{header: []string{"phone", "name"}}
	for i, name := range []string{`say "hi"`, "", "two\nlines", "Zoë\u2028, 'x'", " spaces ", "=1+1", `\N`, "日本"} {
		list.rows = append(list.rows, []string{[]string{"07911 10000", "+44791110000", "+44 (0)7911 10000"}[i%3] + fmt.Sprint(i+1), name})
	}
	m := meeting(t, nil)
	uploads := &service{}
	s := New(Options{
		Store: m.store, Owner: "test", Facts: NewHistory(m.store), Now: func() time.Time { return m.at },
		Line:  func(string) Line { return Line{Uploader: uploads} },
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	})
	job := jobOf(t, list, Job{MaxSize: 100})
	s.Use([]*Compiled{job})
	id, err := s.RunNow(t.Context(), job, m.at, HandOrder{})
	m.must(err)
	equal := func(when string, state messaging.PartState, number int) {
		t.Helper()
		c, p := madeAgain(t, m.store, id, number)
		if sent := uploads.uploads()[number-1].body; p.State != state || c.sha256() != p.SHA256 || c.file.String() != sent || int64(len(sent)) != p.Bytes {
			t.Errorf("%s: part %d, which is %s, is made again as\n%s\nand was\n%s", when, number, p.State, c.file.String(), sent)
		}
	}
	uploads.answer = func(n int) error {
		equal("while it leaves", messaging.PartUploading, n)
		if n == 1 {
			_, err := m.store.Block(t.Context(), []store.Block{{Phone: "447911100001"}})
			m.must(err)
			s.Use([]*Compiled{jobOf(t, list, Job{MaxSize: 90, Columns: columns("phone", "phone", "var_1", "phone", "var_2", "name")})})
		}
		return &apiclient.CallError{Call: "create-with-csv", Outcome: apiclient.InDoubt, Err: errors.New("connection reset")}
	}
	var runs sync.WaitGroup
	m.must(s.start(t.Context(), &runs))
	runs.Wait()
	sent := len(uploads.uploads())
	if sent != maxDoubts {
		t.Fatalf("%d files", sent)
	}
	for n := range sent {
		equal("in doubt, after a reload", messaging.PartInDoubt, n+1)
	}
	m.must(m.store.Close())
	m.store, err = store.Open(t.Context(), store.Options{DSN: m.dsn, Settle: triggers.Settle})
	m.must(err)
	for n := range sent {
		equal("after a restart", messaging.PartInDoubt, n+1)
	}
}
