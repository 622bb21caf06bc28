package scheduler

import (
	"bufio"
	"cmp"
	"context"
	"database/sql"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/lists"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// writeList writes n rows of a phone and three more columns.
func writeList(tb testing.TB, path string, n int) {
	tb.Helper()
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	fmt.Fprintln(w, "phone,first_name,last_item,link")
	for i := range n {
		fmt.Fprintf(w, "+4479%08d,Name %d,\"Shoes, blue, size %d\",https://shop.example/p/%d\n", i*7%100_000_000, i%5000, i%50, i)
	}
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		tb.Fatal(err)
	}
}

func benchJob(tb testing.TB, o lists.Origin) *Compiled {
	tb.Helper()
	all, problems := Compile([]Job{{
		Name: "bench", Source: o, Country: "GB", Campaign: &Campaign{TemplateID: 1},
		Columns: yamlpos.Ordered[string]{{Key: "phone", Value: "phone"}, {Key: "var_1", Value: "first_name"}, {Key: "var_2", Value: "last_item"}, {Key: "var_3", Value: "link"}},
	}}, Env{})
	if len(problems) > 0 {
		tb.Fatal(problems)
	}
	return all[0]
}

// copyCSV is the yardstick: the same rows through encoding/csv and nothing else.
func copyCSV(tb testing.TB, from, to string) time.Duration {
	tb.Helper()
	begin := time.Now()
	in, err := os.Open(from)
	if err != nil {
		tb.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		tb.Fatal(err)
	}
	r, w := csv.NewReader(bufio.NewReaderSize(in, 64<<10)), csv.NewWriter(bufio.NewWriterSize(out, 64<<10))
	r.ReuseRecord = true
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			tb.Fatal(err)
		}
		if err := w.Write(row); err != nil {
			tb.Fatal(err)
		}
	}
	w.Flush()
	if err := errors.Join(w.Error(), out.Sync(), out.Close()); err != nil {
		tb.Fatal(err)
	}
	return time.Since(begin)
}

// A drain is a service that takes every file and keeps none: the memory that is measured is ours.
type drain struct{}

func (drain) CreateCampaign(_ context.Context, _ string, _ int64, _ string, file io.Reader, _ int64) (apiclient.Answer, error) {
	_, err := io.Copy(io.Discard, file)
	return apiclient.Answer{HTTPStatus: http.StatusOK, CampaignID: "1", Raw: "{}"}, err
}

// buildInto reads a list into a database, and cuts it.
func buildInto(tb testing.TB, job *Compiled, to string) (messaging.Tally, time.Duration) {
	tb.Helper()
	begin := time.Now()
	st, err := store.Open(tb.Context(), store.Options{DSN: "sqlite:" + filepath.Join(to, "nudgewire.db"), Settle: triggers.Settle})
	if err != nil {
		tb.Fatal(err)
	}
	defer func() {
		if err := errors.Join(st.Close(), os.RemoveAll(to)); err != nil {
			tb.Fatal(err)
		}
	}()
	s := New(Options{Store: st, Owner: "bench", Line: func(string) Line { return Line{Uploader: drain{}} }, Facts: NewHistory(st)})
	s.Use([]*Compiled{job})
	id, err := s.RunNow(tb.Context(), job, begin, HandOrder{})
	for err == nil {
		var runs sync.WaitGroup
		if err = s.start(tb.Context(), &runs); err != nil {
			break
		}
		runs.Wait()
		var r messaging.Run
		if r, err = st.Run(tb.Context(), id); r.State.Final() {
			return r.Tally, time.Since(begin)
		}
	}
	tb.Fatal(err)
	return messaging.Tally{}, 0
}

// BenchmarkPartsFromCSV reports how fast a million rows become parts, as a ratio to a bare
// copy of the same rows in the same run.
func BenchmarkPartsFromCSV(b *testing.B) {
	const rows = 1_000_000
	dir := b.TempDir()
	list := filepath.Join(dir, "list.csv")
	writeList(b, list, rows)
	job := benchJob(b, lists.Origin{CSV: list})
	copyCSV(b, list, filepath.Join(dir, "warm.csv"))
	for b.Loop() {
		plain := copyCSV(b, list, filepath.Join(dir, "copy.csv"))
		tally, took := buildInto(b, job, filepath.Join(dir, "run"))
		if tally.Kept != rows {
			b.Fatalf("%d rows kept: %+v", tally.Kept, tally)
		}
		b.ReportMetric(plain.Seconds()/took.Seconds(), "ratio")
		b.ReportMetric(rows/took.Seconds(), "rows/s")
		b.ReportMetric(float64(tally.Parts), "parts")
	}
}

// BenchmarkPartsWithExpressions is the same where each column is an expression, as a trigger
// would write it.
func BenchmarkPartsWithExpressions(b *testing.B) {
	const rows = 1_000_000
	dir := b.TempDir()
	list := filepath.Join(dir, "list.csv")
	writeList(b, list, rows)
	all, problems := Compile([]Job{{
		Name: "bench", Source: lists.Origin{CSV: list}, Country: "GB", Campaign: &Campaign{TemplateID: 1},
		Columns: yamlpos.Ordered[string]{
			{Key: "phone", Value: "phone"},
			{Key: "var_1", Value: `{{ first_name | default: "there" }}`},
			{Key: "var_2", Value: "Your {{ last_item }}"},
			{Key: "var_3", Value: `{{ upper(link) }}`},
		},
	}}, Env{})
	if len(problems) > 0 {
		b.Fatal(problems)
	}
	copyCSV(b, list, filepath.Join(dir, "warm.csv"))
	for b.Loop() {
		plain := copyCSV(b, list, filepath.Join(dir, "copy.csv"))
		tally, took := buildInto(b, all[0], filepath.Join(dir, "run"))
		if tally.Kept != rows {
			b.Fatalf("%d rows kept: %+v", tally.Kept, tally)
		}
		b.ReportMetric(plain.Seconds()/took.Seconds(), "ratio")
		b.ReportMetric(rows/took.Seconds(), "rows/s")
	}
}

// BenchmarkPartsFromSQLite is the same from a table.
func BenchmarkPartsFromSQLite(b *testing.B) {
	const rows = 1_000_000
	dir := b.TempDir()
	list, path := filepath.Join(dir, "list.csv"), filepath.Join(dir, "crm.db")
	writeList(b, list, rows)
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		b.Fatal(err)
	}
	tx, err := db.BeginTx(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := tx.ExecContext(b.Context(), "create table customers (phone text, first_name text, last_item text, link text)"); err != nil {
		b.Fatal(err)
	}
	put, err := tx.PrepareContext(b.Context(), "insert into customers values (?, ?, ?, ?)")
	if err != nil {
		b.Fatal(err)
	}
	f, err := os.Open(list)
	if err != nil {
		b.Fatal(err)
	}
	all, err := csv.NewReader(f).ReadAll()
	if err != nil {
		b.Fatal(err)
	}
	for _, row := range all[1:] {
		if _, err := put.ExecContext(b.Context(), row[0], row[1], row[2], row[3]); err != nil {
			b.Fatal(err)
		}
	}
	if err := errors.Join(put.Close(), tx.Commit(), db.Close(), f.Close()); err != nil {
		b.Fatal(err)
	}
	job := benchJob(b, lists.Origin{SQLite: path, Query: "select * from customers"})
	copyCSV(b, list, filepath.Join(dir, "warm.csv"))
	for b.Loop() {
		plain := copyCSV(b, list, filepath.Join(dir, "copy.csv"))
		tally, took := buildInto(b, job, filepath.Join(dir, "run"))
		if tally.Kept != rows {
			b.Fatalf("%d rows kept: %+v", tally.Kept, tally)
		}
		b.ReportMetric(plain.Seconds()/took.Seconds(), "ratio")
		b.ReportMetric(rows/took.Seconds(), "rows/s")
	}
}

// BenchmarkMemory reports the most memory that the process ever held after building parts of
// a list: NUDGEWIRE_ROWS rows, 100,000 unless set. Run it in a process of its own.
func BenchmarkMemory(b *testing.B) {
	rows, err := strconv.Atoi(cmp.Or(os.Getenv("NUDGEWIRE_ROWS"), "100000"))
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	list := filepath.Join(dir, "list.csv")
	writeList(b, list, rows)
	job := benchJob(b, lists.Origin{CSV: list})
	for b.Loop() {
		if tally, _ := buildInto(b, job, filepath.Join(dir, "run")); tally.Kept != int64(rows) {
			b.Fatalf("%d rows kept", tally.Kept)
		}
	}
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip("this system does not tell")
	}
	for line := range strings.Lines(string(text)) {
		if kb, found := strings.CutPrefix(line, "VmHWM:"); found {
			n, err := strconv.ParseFloat(strings.Fields(kb)[0], 64)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(n/1000, "MB")
		}
	}
}
