package scheduler

import (
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/phones"
	"github.com/nudgewire/nudgewire/internal/units"
)

// everybody may go.
func everybody(_ context.Context, phones []messaging.Phone, _ func(int) messaging.Category) ([]answer, error) {
	return make([]answer, len(phones)), nil
}

// built reads the list of a job.
func built(t interface{ Fatal(args ...any) }, job *Compiled, facts Facts) (*shelf, *building) {
	s := &shelf{}
	asked := New(Options{Facts: facts, Now: func() time.Time { return monday }}).asked(messaging.Run{Deliver: job.Deliver, Category: job.category}, job, whileRead)
	b := &building{job: job, now: monday, mayGo: asked, store: func(rows []messaging.ListRow) error {
		for _, row := range rows {
			row.Cells = slices.Clone(row.Cells)
			s.rows = append(s.rows, row)
		}
		return nil
	}}
	if err := b.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s, b
}

func TestPartsTogetherAreExactlyTheValidUniqueRows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := listSource{header: []string{"phone", "a", "b"}}
		cell := rapid.SampledFrom([]string{"x", "Zoë, Jo", `say "hi"`, "two\nlines", "cr\r\nlf", " space", "=1+1", `\.`, "€uro", strings.Repeat("long ", 30)})
		phone := rapid.SampledFrom([]string{"+4479111%05d", "079111%05d", "4479111%05d", "12%d", "4.47E+%d"})
		rows := rapid.IntRange(0, 400).Draw(rt, "rows")
		for range rows {
			l.rows = append(l.rows, []string{fmt.Sprintf(phone.Draw(rt, "phone"), rapid.IntRange(0, 300).Draw(rt, "n")), cell.Draw(rt, "a"), cell.Draw(rt, "b")})
		}
		limit := rapid.Int64Range(60, 5000).Draw(rt, "limit")
		job := jobOf(t, l, Job{Columns: columns("phone", "phone", "var_1", "a", "var_2", "b")})
		job.MaxSize = units.Size(limit)
		// The yardstick: one row after the other, without batches.
		header := "phone,var_1,var_2\n"
		seen := map[string]bool{}
		var want [][]string
		for _, row := range l.rows {
			phone, err := phones.Read(row[0], phones.Home{Country: "GB"})
			digits := phone.Digits
			if err != nil || seen[digits] {
				continue
			}
			seen[digits] = true
			one := []string{digits, strings.Join(strings.Fields(row[1]), " "), strings.Join(strings.Fields(row[2]), " ")}
			if int64(len(header)+len(line(one))) <= limit {
				want = append(want, one)
			}
		}
		list, b := built(rt, job, nil)
		var got [][]string
		var size int64
		parts := list.files(rt, []string{"var_1", "var_2"}, job.MaxSize)
		for i, p := range parts {
			text := p.file.String()
			sum := sha256.Sum256([]byte(text))
			if int64(len(text)) > limit || hex.EncodeToString(sum[:]) != p.sha256() {
				rt.Fatalf("part %d has %d bytes with hash %s, limit %d", i+1, len(text), p.sha256(), limit)
			}
			rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
			if err != nil || line(rows[0]) != header || int64(len(rows)-1) != p.taken.Count() || p.taken[0].First != int64(len(got))+1 {
				rt.Fatalf("part %v has %d rows: %v", p.taken, len(rows), err)
			}
			// As few parts as possible: what begins this one did not fit into the one before.
			if i > 0 && int64(parts[i-1].file.Len())+int64(len(line(want[len(got)]))) <= limit {
				rt.Fatalf("the first row of part %d fits into the part before", i+1)
			}
			got = append(got, rows[1:]...)
			size += int64(len(text))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("rows (-want +got):\n%s", diff)
		}
		t := b.tally
		var left int64
		for _, x := range t.Excluded {
			left += x.Count
		}
		if t.Rows != int64(rows) || t.Kept != int64(len(want)) || t.ExcludedRows() != left || t.Bytes != size || t.Parts != len(parts) {
			rt.Fatalf("tally %+v of %d rows, %d kept, %d bytes", t, rows, len(want), size)
		}
	})
}

func line(cells []string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write(cells)
	w.Flush()
	return b.String()
}

// facts are of the phones it names.
type facts map[messaging.Phone]messaging.DueFacts

func (f facts) About(_ context.Context, phones []messaging.Phone, q Question) ([]Known, error) {
	if len(phones) > 512 || q.Within != 7*24*time.Hour {
		return nil, fmt.Errorf("asked for %d phones within %s", len(phones), q.Within)
	}
	known := make([]Known, len(phones))
	for i, p := range phones {
		known[i].DueFacts = f[p]
	}
	return known, nil
}

func TestWhoMustNotBeSentToIsLeftOut(t *testing.T) {
	job := jobOf(t, people(2000), Job{Exclude: Exclude{MessagedWithin: units.Duration(7 * 24 * time.Hour)}})
	_, b := built(t, job, facts{
		"447911100000": {Blocked: messaging.BlockedWords("asked by phone")}, "447911101999": {Blocked: messaging.BlockedWords("opted out")},
		"447911100511": {Messaged: &messaging.Contacted{Trigger: "cart", At: monday}},
	})
	want := []messaging.Excluded{
		{Kind: KindContact, Reason: "the contact is blocked", Count: 2, First: 2},
		{Kind: KindContact, Reason: "the contact was messaged within 7d", Count: 1, First: 513},
	}
	if diff := cmp.Diff(want, b.tally.Excluded); diff != "" || b.tally.Kept != 1997 {
		t.Errorf("%d kept (-want +got):\n%s", b.tally.Kept, diff)
	}
	if b.first[0].Phone != "447911100001" || b.first[0].Variables[0] != "Name 1" {
		t.Errorf("the first row is %+v", b.first[0])
	}
}

func TestARowThatNoPartCanHold(t *testing.T) {
	l := people(3)
	l.rows[1][1] = strings.Repeat("x", 900)
	job := jobOf(t, l, Job{})
	job.MaxSize = 500
	list, b := built(t, job, nil)
	want := []messaging.Excluded{{Kind: KindSize, Reason: "the row alone is larger than a part of 500B may be (max_size): shorten its cells in the list", Count: 1, First: 3}}
	if diff := cmp.Diff(want, b.tally.Excluded); diff != "" || b.tally.Kept != 2 {
		t.Errorf("%d kept (-want +got):\n%s", b.tally.Kept, diff)
	}
	i := slices.IndexFunc(list.rows, func(row messaging.ListRow) bool { return row.Number < 0 })
	if x := list.rows[i]; x.Row != 3 || x.Given != "+447911100001" || x.Phone != "447911100001" || x.Reason != want[0].Reason {
		t.Errorf("excluded is %+v", x)
	}
}

func TestVariablesTooLongOrOddAreHandled(t *testing.T) {
	l := people(4)
	l.rows[0][1] = strings.Repeat("é", 1024)
	l.rows[1][1] = strings.Repeat("é", 1025)
	l.rows[2][1] = "a\x00b\xffc"
	l.rows[3][1] = strings.Repeat("x", 1<<20)
	list, b := built(t, jobOf(t, l, Job{}), nil)
	want := []messaging.Excluded{{Kind: KindVariable, Reason: "var_1 is too long: at most 1024 characters are sent; shorten it in the list", Count: 2, First: 3}}
	if diff := cmp.Diff(want, b.tally.Excluded); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text := list.files(t, []string{"var_1"}, 1e6)[0].file.String(); !strings.HasSuffix(text, "447911100002,abc\n") {
		t.Errorf("part %.80q", text[max(0, len(text)-80):])
	}
}

func TestPhoneSetForgetsNothingAndMixesNothingUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s phoneSet
		seen := map[string]bool{}
		for _, p := range rapid.SliceOf(rapid.StringMatching(`[1-9][0-9]{5,14}`)).Draw(t, "phones") {
			if fresh := s.add(p); fresh == seen[p] {
				t.Fatalf("%s is new: %v", p, fresh)
			}
			seen[p] = true
		}
	})
	var s phoneSet
	for i := range 300_000 {
		if !s.add(fmt.Sprintf("4479%08d", i)) {
			t.Fatalf("%d passes for an earlier one", i)
		}
	}
	for i := range 300_000 {
		if s.add(fmt.Sprintf("4479%08d", i)) {
			t.Fatalf("%d was forgotten", i)
		}
	}
}

func TestExclusionsAreBounded(t *testing.T) {
	var x excludedReasons
	for i := range 1000 {
		x.add(KindPhone, fmt.Sprintf("reason %d", i), position{Position: messaging.Position{Row: int64(i)}})
	}
	all := x.list()
	if len(all) != maxReasons+1 || all[0].Reason != "other reasons" || all[0].Count != 900 || x.count() != 1000 {
		t.Errorf("%d reasons, the first %+v", len(all), all[0])
	}
}
