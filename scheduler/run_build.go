package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nudgewire/nudgewire/internal/lists"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/phones"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
	"github.com/nudgewire/nudgewire/internal/units"
)

// batchRows is how many rows travel together: one question to Facts, one hand-over to
// the writer.
const batchRows = 512

// A batch is rows of one file on their way from the source to a part.
type batch struct {
	phones []messaging.Phone
	sent   []string // the digits that are sent to
	raw    []string // as they stand in the source
	rows   []int64  // their numbers
	file   position // Row is of no meaning
	vars   []string // width for each row
	width  int
	left   []messaging.ListRow // those that do not go
}

func newBatch(width int) *batch {
	return &batch{
		phones: make([]messaging.Phone, 0, batchRows), sent: make([]string, 0, batchRows), raw: make([]string, 0, batchRows), rows: make([]int64, 0, batchRows),
		vars: make([]string, 0, batchRows*width), width: width,
	}
}

func (b *batch) reset() {
	b.phones, b.sent, b.raw, b.rows, b.vars, b.left = b.phones[:0], b.sent[:0], b.raw[:0], b.rows[:0], b.vars[:0], b.left[:0]
}

// row is the i-th one as it is stored, with that number.
func (b *batch) row(i int, number int64) messaging.ListRow {
	row := messaging.ListRow{Number: number, Position: b.position(i).Position, Phone: b.phones[i], Cells: b.vars[i*b.width : (i+1)*b.width]}
	if b.sent[i] != string(row.Phone) {
		row.Given = b.sent[i]
	}
	return row
}

// position is where the i-th row stands.
func (b *batch) position(i int) position { return b.file.at(b.rows[i]) }

// A position is where a row stands in the source.
type position struct {
	messaging.Position
	nth int // of the files
}

func (s position) at(row int64) position {
	s.Row = row
	return s
}

// before is the order in which rows are read.
func (s position) before(other position) bool {
	return s.nth < other.nth || s.nth == other.nth && s.Row < other.Row
}

// A Preview is one of the first rows as it will be sent.
type Preview struct {
	Phone     messaging.Phone
	SentAs    string // as in messaging.Message
	Variables []string
	Reads     string // what the phone shows, where the template's text is known
}

// maxPreviews is how many first rows a forecast shows.
const maxPreviews = 10

// A building is one reading of a source.
type building struct {
	job     *Compiled
	now     time.Time
	columns []string                                      // what a row has beside its phone, as its run names it
	store   func(rows []messaging.ListRow) error          // keeps rows, at most store.PerRows at a time; nil keeps none
	people  func(ctx context.Context) (lists.Rows, error) // begins to read an audience; nil for another source
	mayGo   func(ctx context.Context, phones []messaging.Phone, of func(i int) messaging.Category) ([]answer, error)
	later   *laterRows                   // of a forecast: rows that wait for another time; nil where only what is said of the contact is asked
	prices  Prices                       // nil for none
	tick    func(rows, kept int64) error // after each batch; an error ends the building

	reasons   excludedReasons
	unknown   excludedReasons // rows that go although no plan knows their phone, by plan
	abroad    excludedReasons // rows that go to a number of another country because the job's can have none like it
	errors    excludedReasons // rows that go with a default for what a spreadsheet could not compute
	countries map[string]int  // how many phones that go are of each country
	seen      phoneSet
	turns     *turns                 // of its rows
	out       map[time.Time]*measure // of the files of each turn
	head      int64                  // bytes of the header of a file
	kept      int64                  // rows that may go
	numbered  int64                  // rows that may not, below 0
	pending   []messaging.ListRow    // that are not stored yet
	first     []Preview
	tally     messaging.Tally
	list      digest
	rows      int64
	file      position // of the row at hand; nth counts the files that rows came from
}

// people begins to read the audience of a job; nil where its source reads itself, or where nobody is known.
func (s *Scheduler) people(job *Compiled) func(ctx context.Context) (lists.Rows, error) {
	if job.audience == nil || s.Contacts == nil {
		return nil
	}
	return func(ctx context.Context) (lists.Rows, error) { return s.Contacts(ctx, job.audience, s.Now(), job.zone) }
}

// run reads the whole source. Only when it returns without an error are the rows, the tally
// and the previews to be used: a source that fails in its middle fails all of it.
func (b *building) run(ctx context.Context) (err error) {
	var rows lists.Rows
	open := b.job.source.Open
	if b.people != nil {
		open = b.people
	}
	err = contained(func() (err error) { rows, err = open(ctx); return err })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	m, err := b.bind(rows)
	if err != nil {
		return err
	}
	b.columns = b.job.columns.header()[1:]
	err = b.pass(ctx, func(working context.Context, free <-chan *batch, full chan<- *batch) error {
		return contained(func() error { return b.read(working, rows, m, free, full) })
	})
	if err != nil {
		return err
	}
	files := b.finish()
	b.tally.ReadAs, b.tally.Notes = lists.ReadAs(rows), lists.Notes(rows)
	for _, x := range files.short(b.abroad.list()) {
		b.note(units.Count(x.Count, "row") + " read as numbers of other countries, first in " + firstRow(x))
	}
	for _, x := range files.short(b.unknown.list()) {
		b.note(fmt.Sprintf("%s: not valid in %s, sent as written (first in %s)", units.Count(x.Count, "row"), x.Reason, firstRow(x)))
	}
	for _, x := range files.short(b.errors.list()) {
		b.note(fmt.Sprintf("%s: a cell is an error of a spreadsheet, such as #N/A, and a default took its place (first in %s)", units.Count(x.Count, "row"), firstRow(x)))
	}
	if words := b.ofCountries(); words != "" {
		b.note(words)
	}
	return nil
}

// finish adds up what was read.
func (b *building) finish() fileNames {
	files := fileNames{several: b.file.nth > 1} // else the source says which file it is
	b.tally.Rows, b.tally.Kept, b.tally.Parts, b.tally.Bytes = b.rows, b.kept, 0, 0
	for _, files := range b.out {
		b.tally.Parts, b.tally.Bytes = b.tally.Parts+files.parts, b.tally.Bytes+files.bytes
	}
	b.tally.Excluded, b.tally.SHA256 = files.short(b.reasons.list()), b.list.String()
	return files
}

// pass has rows measured and stored that read puts into batches.
func (b *building) pass(ctx context.Context, read func(ctx context.Context, free <-chan *batch, full chan<- *batch) error) error {
	b.countries = map[string]int{}

	// One goroutine reads, normalises and removes duplicates, the other measures and
	// stores. Two batches go back and forth between them.
	const batches = 3
	width := len(b.columns)
	free, full := make(chan *batch, batches), make(chan *batch, batches)
	for range batches {
		free <- newBatch(width)
	}
	g, working := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(full)
		return read(working, free, full)
	})
	g.Go(func() error { return b.write(width, full, free) })
	return g.Wait()
}

// ofCountries says which countries the phones are of, the most first; "" where all are of the job's own.
func (b *building) ofCountries() string {
	names := slices.SortedFunc(maps.Keys(b.countries), func(x, y string) int { return cmp.Or(b.countries[y]-b.countries[x], strings.Compare(x, y)) })
	if len(names) == 0 || len(names) == 1 && names[0] == b.job.home.Country {
		return ""
	}
	const most = 6
	var words []string
	for i, name := range names {
		if i == most {
			words = append(words, units.Count(int64(len(names)-most), "more country"))
			break
		}
		words = append(words, cmp.Or(name, "none")+" "+units.Number(int64(b.countries[name])))
	}
	return "phones by country: " + strings.Join(words, ", ")
}

// proposed is what to do about a list without a column of phones, by its first rows: to name the column whose cells are phones most often, or to
// take out a title that stands above the column names; "" where the rows tell neither.
func (b *building) proposed(rows lists.Rows) string {
	const looked = 200
	columns := rows.Header()
	valid, counts, of := make([]int, len(columns)), make([]int, len(columns)), make([]int, len(columns))
	names, read, wider := filled(columns), 0, 0
	for range looked {
		row, _, err := rows.Next()
		if _, bad := errors.AsType[*lists.RowError](err); err != nil && !bad {
			break
		}
		if read++; filled(row) > names {
			wider++
		}
		for i, cell := range row[:min(len(row), len(columns))] {
			if cell = strings.TrimSpace(cell); cell == "" {
				continue
			}
			of[i]++
			if n, err := phones.Read(cell, b.job.home); err == nil {
				counts[i]++
				if phones.Valid(n.Digits) {
					valid[i]++
				}
			}
		}
	}
	if 2*wider > read {
		return fmt.Sprintf("the first row has %s, and the rows below it have more: if it is a title, take it out, so that the column names come first", units.Count(int64(names), "cell"))
	}
	best := 0
	for i := range counts { // order numbers may look like phones; numbers that a plan knows are
		if cmp.Or(valid[i]-valid[best], counts[i]-counts[best]) > 0 {
			best = i
		}
	}
	if len(counts) == 0 || counts[best] == 0 {
		return ""
	}
	return fmt.Sprintf("write columns: {phone: %s}; %d of the first %d of its cells are phones", straight.Replace(mask.Quote(columns[best])), counts[best], of[best])
}

// filled is how many cells of a row hold something.
func filled(row []string) (n int) {
	for _, cell := range row {
		if strings.TrimSpace(cell) != "" {
			n++
		}
	}
	return n
}

// straight makes quotes of YAML of those of sentences.
var straight = strings.NewReplacer("“", `"`, "”", `"`)

// bind looks up the columns that the job uses. A list of objects that has none of them has no names either, and nobody to send to.
func (b *building) bind(rows lists.Rows) (*mapper, error) {
	if len(rows.Header()) == 0 {
		_, _, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return &mapper{}, nil
		}
		if _, row := errors.AsType[*lists.RowError](err); err != nil && !row {
			return nil, err
		}
	}
	m, err := b.job.columns.bind(rows.Header(), factsOf(b.job.Name, b.now, b.job.zone))
	if err != nil && b.job.columns.unsaid {
		if hint := b.proposed(rows); hint != "" {
			msg, _ := clockErrorWords(err)
			err = &wordError{msg, hint}
		}
	}
	return m, err
}

// note adds what is worth a look although the row goes.
func (b *building) note(text string) {
	if len(b.tally.Notes) < lists.MaxNotes {
		b.tally.Notes = append(b.tally.Notes, text)
	}
}

func firstRow(x messaging.Excluded) string {
	if x.File != "" {
		return "row " + units.Number(x.First) + " of " + x.File
	}
	return "row " + units.Number(x.First)
}

// contained makes an error of a panic: the readers of other people's formats meet files that
// nobody has thought of, and such a file must end its own run only.
func contained(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the source cannot be read: its reader broke: %v", p)
		}
	}()
	return f()
}

// read fills batches until the source ends.
func (b *building) read(ctx context.Context, rows lists.Rows, m *mapper, free <-chan *batch, full chan<- *batch) error {
	vars := make([]string, len(m.vars)+len(m.fields))
	files, _ := rows.(lists.InFiles)
	next := func() (row lists.Row, number int64, err error) {
		row, number, err = rows.Next()
		if files != nil && files.File() != b.file.File {
			b.file = position{messaging.Position{File: files.File()}, b.file.nth + 1}
		}
		return row, number, err
	}
	row, number, err := next()
	for ended := false; !ended; {
		var one *batch
		select {
		case one = <-free:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		one.reset()
		one.file = b.file
		for len(one.raw) < batchRows && len(one.left) < batchRows && one.file == b.file {
			if errors.Is(err, io.EOF) {
				ended = true
				break
			}
			bad, broken := errors.AsType[*lists.RowError](err)
			if err != nil && !broken {
				return err
			}
			b.rows++
			if broken && !(bad.Short && m.last < len(row)) {
				raw, _ := m.phone.Fill(row) // as far as it can be read
				read, _ := phones.Read(raw, b.job.home)
				phone, _ := messaging.PhoneOf(read.Digits)
				b.refuse(one, KindRow, one.file.at(number), bad.Reason, raw, phone)
			} else {
				b.takeRow(one, row, number, m, vars)
			}
			row, number, err = next()
		}
		b.list.add(one)
		if err := b.exclude(ctx, one); err != nil {
			return err
		}
		b.look(one)
		if b.tick != nil {
			if err := b.tick(b.rows, b.rows-b.reasons.count()); err != nil {
				return err
			}
		}
		select {
		case full <- one:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// write measures and stores batches until no more come.
func (b *building) write(width int, full <-chan *batch, free chan<- *batch) error {
	var one *batch
	e := newEncoder(width, func(i int, row []byte) error {
		if b.files(one.phones[i]).fits(int64(len(row))) {
			b.kept++
			return b.keep(one.row(i, b.kept))
		}
		b.refuse(one, KindSize, one.position(i), fmt.Sprintf("the row alone is larger than a part of %s may be (max_size): shorten its cells in the list", b.job.MaxSize), one.raw[i], one.phones[i])
		return nil
	})
	head, err := e.head(b.columns)
	if err != nil {
		return err
	}
	b.head, b.out = int64(len(head)), map[time.Time]*measure{}
	for one = range full {
		err := e.write(len(one.sent), func(i int) contactRow { return contactRow{one.sent[i], one.vars[i*width : (i+1)*width]} })
		for i := 0; err == nil && i < len(one.left); i++ {
			b.numbered--
			one.left[i].Number = b.numbered
			err = b.keep(one.left[i])
		}
		if err == nil {
			err = b.flush() // before the batch is used again
		}
		if err != nil {
			return err
		}
		select {
		case free <- one:
		default:
		}
	}
	return nil
}

// files are those that a contact's row is on.
func (b *building) files(phone messaging.Phone) *measure {
	at := b.now
	if b.job.Deliver == messaging.DeliverCSV {
		at = b.turns.due(phone, at)
	}
	one := b.out[at]
	if one == nil {
		one = &measure{most: b.job.MaxSize.Bytes(), head: b.head}
		b.out[at] = one
	}
	return one
}

// keep stores a row with others.
func (b *building) keep(row messaging.ListRow) error {
	if b.store == nil {
		return nil
	}
	if b.pending = append(b.pending, row); len(b.pending) < batchRows {
		return nil
	}
	return b.flush()
}

func (b *building) flush() error {
	if len(b.pending) == 0 {
		return nil
	}
	err := b.store(b.pending)
	b.pending = b.pending[:0]
	return diskFull(err)
}

// takeRow puts one row into the batch, or excludes it.
func (b *building) takeRow(to *batch, row lists.Row, number int64, m *mapper, vars []string) {
	raw, bad := m.fill(row, vars)
	read, err := phones.Read(raw, b.job.home)
	if err != nil {
		group := "the phone " + err.Error()
		if _, ok := errors.AsType[*phones.ShortenedError](err); ok {
			group = "shortened"
		}
		b.refuseAs(to, KindPhone, group, to.file.at(number), "the phone "+err.Error(), raw, "")
		return
	}
	phone, _ := messaging.PhoneOf(read.Digits)
	if bad.reason != "" {
		b.refuseAs(to, bad.kind, cmp.Or(bad.group, bad.reason), to.file.at(number), bad.reason, raw, phone)
		return
	}
	if b.job.Unique != UniqueOff && !b.seen.add(string(phone)) {
		b.refuse(to, KindDuplicate, to.file.at(number), "an earlier row has the same phone", raw, phone)
		return
	}
	if m.uncomputed {
		b.errors.add("", "", to.file.at(number))
	}
	to.phones, to.sent = append(to.phones, phone), append(to.sent, read.Digits)
	to.raw = append(to.raw, raw)
	to.rows = append(to.rows, number)
	to.vars = append(to.vars, vars...)
}

// exclude takes those away who may not be sent to whenever their turn comes. Limits and quiet hours are asked about then, and by a forecast.
func (b *building) exclude(ctx context.Context, one *batch) error {
	if len(one.phones) == 0 {
		return nil
	}
	var own func(i int) messaging.Category // nil asks about the job's alone
	if slices.Contains(b.columns, fieldCategory) {
		own = func(i int) messaging.Category { return b.category(one, i) }
	}
	answers, err := b.mayGo(ctx, one.phones, own)
	if err != nil {
		return err
	}
	to := 0
	for i := range answers {
		v := &answers[i]
		if b.later != nil && v.Action == messaging.DeferSend {
			b.later.count(&v.Verdict, 1)
		}
		if v.always() || b.later != nil && v.never() {
			b.reasons.add(KindContact, v.Counted(), one.position(i))
			left := messaging.ListRow{Position: one.position(i).Position, Reason: v.Reason, Given: one.raw[i], Phone: one.phones[i]}
			if v.forgotten {
				left.Given, left.Phone = "", ""
			}
			one.left = append(one.left, left)
			continue
		}
		if to != i {
			one.phones[to], one.sent[to], one.raw[to], one.rows[to] = one.phones[i], one.sent[i], one.raw[i], one.rows[i]
			copy(one.vars[to*one.width:(to+1)*one.width], one.vars[i*one.width:(i+1)*one.width])
		}
		to++
	}
	one.phones, one.sent, one.raw, one.rows, one.vars = one.phones[:to], one.sent[:to], one.raw[:to], one.rows[:to], one.vars[:to*one.width]
	return nil
}

// look keeps the first rows and adds up the points.
func (b *building) look(one *batch) {
	for i := 0; i < len(one.phones) && len(b.first) < maxPreviews; i++ {
		p := Preview{}
		p.Phone, p.SentAs = messaging.PhoneOf(strings.Clone(one.sent[i]))
		p.Variables = append(p.Variables, one.vars[i*one.width:(i+1)*one.width]...)
		p.Reads = b.job.reads(p.Variables)
		b.first = append(b.first, p)
	}
	for i, p := range one.phones {
		if read, _ := phones.Read(one.raw[i], b.job.home); read.Abroad != "" { // it is remembered
			b.abroad.add("", "", one.position(i))
		}
		b.countries[phones.TariffCountry(string(p))]++
		if digits := string(p); !phones.Valid(digits) {
			b.unknown.add("", phones.PlanOf(digits), one.position(i))
		}
	}
	b.cost(one)
}

// cost adds up the points.
func (b *building) cost(one *batch) {
	if b.prices == nil {
		return
	}
	for i, p := range one.phones {
		b.tally.Points = decimal(b.tally.Points + b.prices.Of(b.category(one, i), string(p)))
	}
}

// category is that of a row.
func (b *building) category(one *batch, i int) messaging.Category {
	if own := slices.Index(b.columns, fieldCategory); own >= 0 {
		return messaging.Category(one.vars[i*one.width+own])
	}
	return b.job.category
}

// decimal takes away what a sum of binary fractions has beside its decimals: 0.1 three times is 0.3.
// A price has no more than six of them.
func decimal(points float64) float64 { return math.Round(points*1e6) / 1e6 }

// refuse excludes a row. raw is the phone as it stands in the source, phone whose it is; "" where it is none.
func (b *building) refuse(to *batch, kind string, at position, reason, raw string, phone messaging.Phone) {
	b.refuseAs(to, kind, reason, at, reason, raw, phone)
}

// refuseAs counts the row together with others of its group, whose reasons quote other cells.
func (b *building) refuseAs(to *batch, kind, group string, at position, reason, raw string, phone messaging.Phone) {
	b.reasons.addAs(kind, group, reason, at)
	to.left = append(to.left, messaging.ListRow{Position: at.Position, Reason: clean(reason), Given: lists.Shorten(clean(strings.TrimSpace(raw))), Phone: phone})
}

// ErrDiskFull ends a run whose rows do not fit. Nothing of it was uploaded.
var ErrDiskFull = errors.New("the disk is full: free some space, then run the job again; nothing was uploaded")

// diskFull puts our words to a full disk.
func diskFull(err error) error {
	if sqlite.DiskFull(err) {
		return fmt.Errorf("%w (%w)", ErrDiskFull, err)
	}
	return err
}
