package scheduler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/phones"
)

// An Excluder knows who must not be sent to.
type Excluder interface {
	// Excluded says for each phone why it is left out, as a sentence's end ("was messaged
	// 2 days ago", "is blocked"); "" for one that is not. within is Skip.MessagedWithin, 0
	// for none. It is asked for up to 512 phones at a time.
	Excluded(ctx context.Context, phones []nudgewire.Phone, within time.Duration, now time.Time) ([]string, error)
}

// batchRows is how many rows travel together: one question to the Excluder, one hand-over to
// the writer.
const batchRows = 512

// A batch is rows on their way from the source to a part.
type batch struct {
	phones []string // digits
	raw    []string // as they stand in the source
	lines  []int64
	vars   []string // width for each row
	width  int
	digits []byte
	ends   []int
}

func newBatch(width int) *batch {
	return &batch{
		phones: make([]string, 0, batchRows), raw: make([]string, 0, batchRows), lines: make([]int64, 0, batchRows),
		vars: make([]string, 0, batchRows*width), width: width,
		digits: make([]byte, 0, batchRows*16), ends: make([]int, 0, batchRows),
	}
}

func (b *batch) reset() {
	b.phones, b.raw, b.lines, b.vars = b.phones[:0], b.raw[:0], b.lines[:0], b.vars[:0]
	b.digits, b.ends = b.digits[:0], b.ends[:0]
}

// A Preview is one of the first rows as it will be sent.
type Preview struct {
	Phone     nudgewire.Phone
	Variables []string
}

// mostPreviews is how many first rows a forecast shows.
const mostPreviews = 10

// A building is one reading of a source into parts.
type building struct {
	job      *Compiled
	now      time.Time
	folder   folder
	excluder Excluder                                                // nil for none
	points   func(category nudgewire.Category, phone string) float64 // nil for no prices
	tick     func(rows, kept int64) error                            // after each batch; an error ends the building

	left    exclusions
	rejects rejects
	seen    phoneSet
	out     *partWriter
	first   []Preview
	tally   nudgewire.Tally
	rows    int64
}

// run reads the whole source. Only when it returns without an error are the parts, the tally
// and the previews to be used: a source that fails in its middle fails all of it.
func (b *building) run(ctx context.Context) (parts []nudgewire.Part, err error) {
	var rows Rows
	err = contained(func() (err error) { rows, err = b.job.source.Open(ctx); return err })
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	m, err := b.job.columns.bind(rows.Header(), factsOf(b.job.Name, b.now, b.job.zone))
	if err != nil {
		return nil, err
	}
	b.rejects.folder = b.folder
	var current *batch
	b.out, err = newPartWriter(b.folder, b.job.MaxSize.Bytes(), b.job.columns.variables(), func(i int) {
		b.refuse(KindSize, current.lines[i], fmt.Sprintf("the row alone is larger than a part of %s may be", b.job.MaxSize), current.raw[i])
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.out.abandon(), b.rejects.close())
		}
	}()

	// One goroutine reads, normalises and removes duplicates, the other encodes, hashes and
	// writes. Two batches go back and forth between them.
	const batches = 3
	width := b.job.columns.variables()
	free, full := make(chan *batch, batches), make(chan *batch, batches)
	for range batches {
		free <- newBatch(width)
	}
	g, working := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(full)
		return contained(func() error { return b.read(working, rows, m, free, full) })
	})
	g.Go(func() error {
		e := newEncoder(width, b.out)
		for one := range full {
			current = one
			if err := e.write(one); err != nil {
				return err
			}
			select {
			case free <- one:
			default:
			}
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if err := errors.Join(b.out.finish(), b.rejects.close()); err != nil {
		return nil, err
	}
	if err := b.folder.settle(); err != nil {
		return nil, fmt.Errorf("keep the folder of the run: %w", diskFull(err))
	}
	b.tally.Rows, b.tally.Kept, b.tally.Parts = b.rows, b.out.kept, len(b.out.parts)
	b.tally.Exclusions = b.left.list()
	for _, p := range b.out.parts {
		b.tally.Bytes += p.Bytes
	}
	return b.out.parts, nil
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
func (b *building) read(ctx context.Context, rows Rows, m *mapper, free <-chan *batch, full chan<- *batch) error {
	vars := make([]string, len(m.vars))
	for ended := false; !ended; {
		var one *batch
		select {
		case one = <-free:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		one.reset()
		for len(one.raw) < batchRows {
			row, line, err := rows.Next()
			if errors.Is(err, io.EOF) {
				ended = true
				break
			}
			if err != nil {
				bad, ok := errors.AsType[*RowError](err)
				if !ok {
					return err
				}
				b.rows++
				b.refuse(KindRow, line, bad.Reason, "")
				continue
			}
			b.rows++
			b.take(one, row, line, m, vars)
		}
		one.name()
		if err := b.exclude(ctx, one); err != nil {
			return err
		}
		b.look(one)
		if err := b.rejects.failed(); err != nil {
			return fmt.Errorf("write %s: %w", rejectsFile, err)
		}
		if b.tick != nil {
			if err := b.tick(b.rows, b.rows-b.left.count()); err != nil {
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

// take puts one row into the batch, or leaves it out.
func (b *building) take(to *batch, row Row, line int64, m *mapper, vars []string) {
	raw, trouble := m.fill(row, vars)
	begin := len(to.digits)
	digits, ok := phones.AppendFast(to.digits, raw, b.job.country)
	if !ok {
		text, err := phones.Normalize(raw, b.job.country)
		if err != nil {
			b.refuse(KindPhone, line, "the phone "+err.Error(), raw)
			return
		}
		digits = append(digits, text...) // AppendFast gave it back as it was
	}
	if trouble != "" {
		b.refuse(KindVariable, line, trouble, raw)
		return
	}
	if b.job.Unique != UniqueOff && !b.seen.add(digits[begin:]) {
		b.refuse(KindDuplicate, line, "an earlier row has the same phone", raw)
		return
	}
	to.digits = digits
	to.ends = append(to.ends, len(digits))
	to.raw = append(to.raw, raw)
	to.lines = append(to.lines, line)
	to.vars = append(to.vars, vars...)
}

// name makes texts of the digits that were gathered: one for all of them.
func (b *batch) name() {
	all, from := string(b.digits), 0
	for _, end := range b.ends {
		b.phones = append(b.phones, all[from:end])
		from = end
	}
}

// exclude leaves out who must not be sent to.
func (b *building) exclude(ctx context.Context, one *batch) error {
	if b.excluder == nil || len(one.phones) == 0 {
		return nil
	}
	asked := make([]nudgewire.Phone, len(one.phones))
	for i, p := range one.phones {
		asked[i] = nudgewire.Phone(p)
	}
	reasons, err := b.excluder.Excluded(ctx, asked, b.job.Skip.MessagedWithin.D(), b.now)
	if err != nil {
		return fmt.Errorf("ask who must not be sent to: %w", err)
	}
	if len(reasons) != len(asked) {
		return fmt.Errorf("ask who must not be sent to: %d answers for %d phones", len(reasons), len(asked))
	}
	to := 0
	for i, reason := range reasons {
		if reason != "" {
			b.refuse(KindSkipped, one.lines[i], "the contact "+reason, one.raw[i])
			continue
		}
		if to != i {
			one.phones[to], one.raw[to], one.lines[to] = one.phones[i], one.raw[i], one.lines[i]
			copy(one.vars[to*one.width:(to+1)*one.width], one.vars[i*one.width:(i+1)*one.width])
		}
		to++
	}
	one.phones, one.raw, one.lines, one.vars = one.phones[:to], one.raw[:to], one.lines[:to], one.vars[:to*one.width]
	return nil
}

// look keeps the first rows and adds up the points.
func (b *building) look(one *batch) {
	for i := 0; i < len(one.phones) && len(b.first) < mostPreviews; i++ {
		p := Preview{Phone: nudgewire.Phone(strings.Clone(one.phones[i]))}
		p.Variables = append(p.Variables, one.vars[i*one.width:(i+1)*one.width]...)
		b.first = append(b.first, p)
	}
	if b.points == nil {
		return
	}
	for _, p := range one.phones {
		b.tally.Points += b.points(b.job.category, p)
	}
}

func (b *building) refuse(kind string, line int64, reason, raw string) {
	b.left.add(kind, reason, line)
	b.rejects.add(line, reason, raw)
}
