package scheduler

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire"
)

func TestAPhoneIsFoundAmongTheRowsLeftOut(t *testing.T) {
	dir := t.TempDir()
	r := &excludedList{make: makerIn(t.Context(), onDisk, dir)}
	at := func(row int64) nudgewire.Position { return nudgewire.Position{Row: row, File: "list.csv"} }
	twice := ExcludedRow{at(7), "an earlier row has the same phone", "07700 900101", "447700900101"}
	short := ExcludedRow{at(9), `the phone "12" is too short`, `12`, ""}
	odd := ExcludedRow{at(10), "the phone has letters", `call "me", Ben`, ""}
	last := ExcludedRow{at(1_000_000), "the contact is blocked", "+44 7700 900199", "447700900199"}
	for _, x := range []ExcludedRow{twice, short, odd} {
		r.add(x)
	}
	for i := range 60_000 { // so that the file is searched in several blocks
		r.add(ExcludedRow{at(int64(i) + 20), "the contact is blocked", fmt.Sprintf("+4479%08d", i), fmt.Sprintf("4479%08d", i)})
	}
	r.add(last)
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, excludedFile)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		digits, text string
		most         int64
		want         []ExcludedRow
		whole        bool
	}{
		"by its digits":                {"447700900101", "", 1 << 30, []ExcludedRow{twice}, true},
		"the last of them":             {"447700900199", "", 1 << 30, []ExcludedRow{last}, true},
		"nobody":                       {"447700900000", "", 1 << 30, nil, true},
		"part of one":                  {"44770090010", "", 1 << 30, nil, true},
		"no phone":                     {"", "12", 1 << 30, []ExcludedRow{short}, true},
		"no phone at all":              {"", `call "me", Ben`, 1 << 30, []ExcludedRow{odd}, true},
		"nothing asked":                {"", "", 1 << 30, nil, true},
		"within what is searched":      {"447700900101", "", 1000, []ExcludedRow{twice}, false},
		"behind what is searched":      {"447700900199", "", info.Size() - 20, nil, false},
		"just within what is searched": {"447700900199", "", info.Size(), []ExcludedRow{last}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []ExcludedRow
			read, whole, err := SearchExcluded(t.Context(), onDisk, path, tt.digits, tt.text, tt.most, func(x ExcludedRow) error { got = append(got, x); return nil })
			if err != nil || whole != tt.whole || read != min(tt.most, info.Size()) {
				t.Errorf("read %d of %d, whole: %v, %v", read, info.Size(), whole, err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, _, err := SearchExcluded(t.Context(), onDisk, filepath.Join(dir, "gone", excludedFile), "1", "", 10, nil); err == nil || err.Error() != "excluded.csv is gone from "+filepath.Join(dir, "gone") {
		t.Errorf("a list that is gone: %v", err)
	}
}

// A phone is found wherever the blocks in which a file is searched meet.
func TestNoBorderHidesAPhone(t *testing.T) {
	const phone = "447700900101"
	for cut := range len(phone) + 2 {
		text := strings.Repeat("x", 1<<20-cut) + phone + strings.Repeat("y", 1<<20)
		if read, found, err := holds(strings.NewReader(text), phone); !found || err != nil || read != int64(len(text)) {
			t.Errorf("%d before the border: %v after %d bytes, %v", cut, found, read, err)
		}
	}
}
