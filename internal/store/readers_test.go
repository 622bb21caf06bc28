package store

import (
	"bufio"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/readers"
)

// A program that keeps a transaction open is named once what waits for it has waited for long; reads that end, and nothing that happens,
// are none.
func TestAReaderThatStaysOpenIsTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nudgewire.db")
	s := openAt(t, path)
	began := time.Now()
	n := 0
	look := func(after time.Duration) *readers.Reader {
		t.Helper()
		n++
		if _, err := s.Accept(t.Context(), []messaging.Plan{testPlan(fmt.Sprint(n))}); err != nil {
			t.Fatal(err)
		}
		if err := s.Readers.Look(t.Context(), began.Add(after)); err != nil {
			t.Fatal(err)
		}
		return s.Readers.Longest()
	}
	for _, after := range []time.Duration{0, readers.Long, 2 * readers.Long} {
		if r := look(after); r != nil {
			t.Errorf("nobody reads, and after %s there is %+v", after, r)
		}
	}
	cmd := another(path, "BEGIN", "SELECT count(*) FROM events", untilTold)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != untilTold; {
	}
	opened := 3 * readers.Long
	if r := look(opened); r != nil {
		t.Errorf("at its begin there is %+v", r)
	}
	look(opened + time.Second)
	if r := look(opened + readers.Long - time.Second); r != nil {
		t.Errorf("before its time there is %+v", r)
	}
	r := look(opened + 2*readers.Long)
	if r == nil || runtime.GOOS != "windows" && r.PID != cmd.Process.Pid || r.Log <= 0 || r.Since.Before(began.Add(opened)) || r.Since.After(began.Add(opened+time.Second)) {
		t.Errorf("process %d reads, and there is %+v", cmd.Process.Pid, r)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if r := look(opened + 3*readers.Long); r != nil {
		t.Errorf("it has ended, and there is %+v", r)
	}
}

// A read of the process itself has an end of its own, and a backup needs its time.
func TestAReadOfTheDaemonIsNoReader(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "nudgewire.db"))
	began := time.Now()
	read, err := s.reads.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = read.Rollback() }()
	var n int
	if err := read.QueryRowContext(t.Context(), `SELECT count(*) FROM events`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		if _, err := s.Accept(t.Context(), []messaging.Plan{testPlan(fmt.Sprint(i))}); err != nil {
			t.Fatal(err)
		}
		if err := s.Readers.Look(t.Context(), began.Add(time.Duration(i)*readers.Long)); err != nil || s.Readers.Longest() != nil {
			t.Errorf("there is %+v (%v)", s.Readers.Longest(), err)
		}
	}
}
