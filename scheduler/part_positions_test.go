package scheduler

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/lists"
	"github.com/nudgewire/nudgewire/internal/units"
)

// Where each row of each part stands is known afterwards, in any order, also of a retry, whose parts
// are the same files under other numbers.
func TestRowsOfPartsAreFoundInTheirSource(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		defer func() { _ = os.RemoveAll(dir) }()
		var want []nudgewire.Position
		n := 0
		for f := range rapid.IntRange(1, 3).Draw(rt, "files") {
			name := filepath.Join(dir, fmt.Sprintf("%d.csv", f))
			text, row := "phone,name\n", int64(1)
			for range rapid.IntRange(0, 60).Draw(rt, "rows") {
				n++
				row++
				switch rapid.IntRange(0, 9).Draw(rt, "kind") {
				case 0:
					text += "12,too short\n"
				case 1:
					text += "\n"
				case 2:
					text += fmt.Sprintf("+4479111%05d,\"a\nb\"\n", n)
					want = append(want, nudgewire.Position{Row: row, File: name})
				default:
					text += fmt.Sprintf("+4479111%05d,a\n", n)
					want = append(want, nudgewire.Position{Row: row, File: name})
				}
			}
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				rt.Fatal(err)
			}
		}
		job := compile(t, Job{Columns: columns("phone", "phone", "var_1", "name"), Source: lists.Origin{CSV: filepath.Join(dir, "*.csv")}})
		job.MaxSize = units.Size(rapid.Int64Range(60, 600).Draw(rt, "size"))
		folder := filepath.Join(dir, "run")
		parts, _ := built(rt, job, folder, nil)
		store := fakeParts{1: parts}
		// A retry of every other part.
		next := int64(1)
		var again []nudgewire.Position
		for i := 1; i < len(parts); i += 2 {
			p := parts[i]
			again = append(again, want[p.First-1:p.First-1+p.Rows]...)
			p.First = next
			next += p.Rows
			store[2] = append(store[2], p)
		}
		f := PositionFinder{Files: onDisk, Store: folderStore{store, folder}}
		defer f.Close()
		ask := func(run nudgewire.RunID, number int64, want nudgewire.Position) {
			got, err := f.Of(context.Background(), run, number)
			if err != nil {
				rt.Fatal(err)
			}
			if got != want {
				rt.Fatalf("row %d of run %d stands at %+v, want %+v", number, run, got, want)
			}
		}
		for i := range want {
			ask(1, int64(i+1), want[i])
		}
		for i := range again {
			ask(2, int64(i+1), again[i])
		}
		for _, i := range rapid.SliceOf(rapid.IntRange(0, max(0, len(want)-1))).Draw(rt, "asked") {
			if i < len(want) {
				ask(1, int64(i+1), want[i])
			}
		}
		ask(1, int64(len(want)+1), nudgewire.Position{})
		if err := os.RemoveAll(folder); err != nil {
			rt.Fatal(err)
		}
		gone := PositionFinder{Files: onDisk, Store: folderStore{store, folder}}
		if at, err := gone.Of(context.Background(), 1, 1); err != nil || at != (nudgewire.Position{}) {
			rt.Fatalf("once the files are gone: %+v, %v", at, err)
		}
	})
}

type fakeParts map[nudgewire.RunID][]nudgewire.Part

type folderStore struct {
	fakeParts
	folder string
}

func (f folderStore) Run(_ context.Context, id nudgewire.RunID) (nudgewire.Run, error) {
	return nudgewire.Run{ID: id, Folder: f.folder}, nil
}

func (f folderStore) Parts(_ context.Context, id nudgewire.RunID) ([]nudgewire.Part, error) {
	return f.fakeParts[id], nil
}

// A list without gaps needs one line for each part, however long it is.
func TestWhereRowsStandTakesLittleRoom(t *testing.T) {
	dir := t.TempDir()
	job := jobOf(t, people(50_000), Job{})
	parts, _ := built(t, job, dir, nil)
	text, err := os.ReadFile(filepath.Join(dir, positionsFile))
	if want := "part,number,row,file\npart-0001.csv,1,2,\n"; err != nil || len(parts) != 1 || string(text) != want {
		t.Errorf("%d parts, %q, %v", len(parts), text, err)
	}
}

// Where a list is several files, what is left out says in which.
func TestWhatIsLeftOutNamesItsFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.csv": "phone,name\n+447911100001,A\n", "b.csv": "phone,name\n12,\"B\nb\"\n\n+447911100001,C\nx\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := filepath.Join(dir, "b.csv")
	_, all := built(t, compile(t, Job{Columns: columns("phone", "phone", "var_1", "name"), Source: lists.Origin{CSV: filepath.Join(dir, "*.csv")}}), filepath.Join(dir, "run"), nil)
	want := []nudgewire.Excluded{
		{Kind: KindPhone, Reason: "the phone is too short for GB", Count: 1, First: 2, File: b},
		{Kind: KindDuplicate, Reason: "an earlier row has the same phone", Count: 1, First: 4, File: b},
		{Kind: KindRow, Reason: "the row has 1 cell and the header 2: write the empty cells, too", Count: 1, First: 5, File: b},
	}
	if diff := cmp.Diff(want, all.tally.Excluded); diff != "" {
		t.Error(diff)
	}
	var left []ExcludedRow
	if err := ReadExcluded(t.Context(), onDisk, filepath.Join(dir, "run", excludedFile), func(x ExcludedRow) error { left = append(left, x); return nil }); err != nil {
		t.Fatal(err)
	}
	rejects := []ExcludedRow{
		{nudgewire.Position{Row: 2, File: b}, want[0].Reason, "12", ""},
		{nudgewire.Position{Row: 4, File: b}, want[1].Reason, "+447911100001", "447911100001"},
		{nudgewire.Position{Row: 5, File: b}, want[2].Reason, "x", ""},
	}
	if diff := cmp.Diff(rejects, left); diff != "" {
		t.Error(diff)
	}
	_, one := built(t, compile(t, Job{Columns: columns("phone", "phone", "var_1", "name"), Source: lists.Origin{CSV: b}}), filepath.Join(dir, "run"), nil)
	if x := one.tally.Excluded[0]; x.File != "" || x.First != 2 {
		t.Errorf("of one file: %+v", x)
	}
}
