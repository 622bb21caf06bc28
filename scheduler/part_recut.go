package scheduler

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/files"
	"github.com/nudgewire/nudgewire/internal/units"
)

// fit cuts those of the parts anew that are larger than max_size is by now, and gives all parts: the
// service may take less than it says, and whoever learns that lowers the key and resumes the run.
func (w *working) fit(ctx context.Context, parts []nudgewire.Part) ([]nudgewire.Part, error) {
	if w.run.Deliver != nudgewire.DeliverCSV {
		return parts, nil
	}
	for i := range parts {
		if p := &parts[i]; p.State == nudgewire.PartBuilt && p.Bytes > w.brakes().MaxSize.Bytes() {
			if why, err := w.intact(ctx, p); err != nil {
				return nil, err
			} else if why != "" {
				continue
			}
			into, err := w.recut(ctx, *p, len(parts), 0, fmt.Sprintf("larger than max_size, %s", w.brakes().MaxSize))
			if err != nil {
				return nil, fmt.Errorf("cut part %d anew: %w", p.Number, err)
			}
			p.State = nudgewire.PartRecut
			parts = append(parts, into...)
		}
	}
	return parts, nil
}

// recut cuts one part into smaller ones, whose numbers follow after: the first of them has that many rows,
// where it is not 0. What a crash leaves of that is files that nobody asks for.
func (w *working) recut(ctx context.Context, p nudgewire.Part, after int, first int64, why string) (_ []nudgewire.Part, err error) {
	in := w.files()
	before, err := in.List(ctx, w.run.Folder)
	if err != nil {
		return nil, err
	}
	newest := 0 // of the files in the folder: a retry has its own in it
	for _, path := range before {
		number := 0
		_, name := files.Split(path)
		if _, err := fmt.Sscanf(name, "part-%d", &number); err == nil {
			newest = max(newest, number)
		}
	}
	ending := fmt.Sprintf(".recut-%d-of-run-%d-part-%d.csv", newest+1, w.run.ID, p.Number)
	f, err := in.Open(ctx, files.Join(w.run.Folder, p.File))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	rows := csv.NewReader(bufio.NewReaderSize(f, 1<<16))
	header, err := rows.Read()
	if err != nil {
		return nil, err
	}
	to := makerIn(ctx, in, w.run.Folder)
	kept := &positions{make: to, name: ofRetry(positionsFile, partName(1)[:len("part-0001")]+ending)}
	from := positionsReader{in: in, folder: w.run.Folder}
	defer func() { err = errors.Join(err, from.close()) }()
	number, large := int64(0), int64(0)
	most := w.brakes().MaxSize
	out, err := newPartWriter(to, most.Bytes(), header, func(int) { large++ }, func(one *nudgewire.Part, _ int) error {
		at, _ := from.of(ctx, p.File, number) // where that is not known any more, the row goes all the same
		if at == (nudgewire.Position{}) {
			return nil
		}
		return kept.add(one.File, one.Rows, at)
	})
	if err != nil {
		return nil, err
	}
	out.first = first
	out.name = func(number int) string { return strings.TrimSuffix(partName(newest+number), ".csv") + ending }
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if number++; err == nil {
			err = out.Write(row)
		}
		if err != nil {
			return nil, errors.Join(err, out.abandon(), kept.abandon())
		}
	}
	if err := errors.Join(out.finish(), kept.close()); err != nil {
		return nil, err
	}
	now := w.Now().UTC()
	r := w.run
	r.Tally.Parts += len(out.parts)
	r.Tally.Bytes -= p.Bytes
	if r.Tally.Kept -= large; large > 0 {
		r.Tally.Excluded = addLate(append([]nudgewire.Excluded(nil), r.Tally.Excluded...),
			nudgewire.Excluded{Kind: KindSize, Reason: fmt.Sprintf("the row alone is larger than a part of %s may be (max_size)", most), Count: large})
	}
	for i := range out.parts {
		one := &out.parts[i]
		one.RunID, one.Number, one.First, one.UpdatedAt = r.ID, after+i+1, one.First+p.First-1, now
		r.Tally.Bytes += one.Bytes
	}
	p.State, p.UpdatedAt = nudgewire.PartRecut, now
	p.Reason = fmt.Sprintf("%s: cut into %s", why, units.Count(len(out.parts), "part"))
	if err := w.Store.ReplacePart(ctx, w.Owner, r, p, out.parts...); err != nil {
		return nil, err
	}
	w.run = r
	return out.parts, nil
}
