package scheduler

import (
	"sync"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// Progress is how far a run has come.
type Progress struct {
	Run       messaging.RunID // 0 for a dry run
	Job       string
	State     messaging.RunState
	Rows      int64         // read, or handed over, so far
	Kept      int64         // of those read
	Of        int64         // rows expected; 0 when that is not known
	Parts     int           // accepted, refused or in doubt so far
	OfParts   int           // 0 while the run is built
	PerSecond float64       // rows, since this state began
	Elapsed   time.Duration // since this state began
	Left      time.Duration // 0 when that is not known
}

// between is the shortest time between two reports.
const between = 200 * time.Millisecond

// A meter makes Progress of what is reported to it, and passes it on now and then.
type meter struct {
	mu       sync.Mutex
	at       Progress
	begun    time.Time
	reported time.Time
	report   func(Progress)
	now      func() time.Time
}

func newMeter(r messaging.Run, last *messaging.Tally, report func(Progress), now func() time.Time) *meter {
	m := &meter{at: Progress{Run: r.ID, Job: r.Job, State: r.State}, report: report, now: now}
	m.begun = now()
	if r.State == messaging.RunBuilding && last != nil {
		m.at.Of = last.Rows // the best guess there is
	}
	if r.State == messaging.RunUploading {
		m.at.Of, m.at.OfParts = r.Tally.Kept, r.Tally.Parts
	}
	return m
}

// read reports rows read from the source.
func (m *meter) read(rows, kept int64) {
	m.change(func(p *Progress) { p.Rows, p.Kept = rows, kept })
}

// sent reports rows that are with the service, and of parts that are settled.
func (m *meter) sent(rows int64, parts int) {
	m.change(func(p *Progress) { p.Rows, p.Kept, p.Parts = rows, rows, parts })
}

func (m *meter) change(edit func(*Progress)) {
	if m.report == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	edit(&m.at)
	now := m.now()
	ended := m.at.OfParts > 0 && m.at.Parts == m.at.OfParts
	if now.Sub(m.reported) < between && !ended {
		return
	}
	m.reported = now
	m.at.Elapsed = now.Sub(m.begun)
	if seconds := m.at.Elapsed.Seconds(); seconds > 0 {
		m.at.PerSecond = float64(m.at.Rows) / seconds
	}
	m.at.Left = 0
	if left := m.at.Of - m.at.Rows; left > 0 && m.at.PerSecond > 0 {
		m.at.Left = time.Duration(float64(left) / m.at.PerSecond * float64(time.Second))
	}
	m.report(m.at)
}
