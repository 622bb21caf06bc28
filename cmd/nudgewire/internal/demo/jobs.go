package demo

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/story"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/scheduler"
)

// demoRows is how long the demo's list is; a part of it is spoilt as real lists are.
const demoRows = 300

// writeDemoList writes the list of the demo's scheduled campaign: invented customers, some of
// them twice, some with a phone that a spreadsheet has shortened.
func writeDemoList(path string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := csv.NewWriter(f)
	rows := [][]string{{"first_name", "mobile"}}
	names := []string{"Ada", "Ben", "Chloe", "Dev", "", "Farid", "Grace", "Hugo"}
	for i := range demoRows {
		phone := fmt.Sprintf("07700 93%04d", 1000+i)
		switch i % 40 {
		case 13:
			phone = "4.47700E+11"
		case 27:
			phone = fmt.Sprintf("+44 7700 93%04d", 1000+i-1)
		}
		rows = append(rows, []string{names[i%len(names)], phone})
	}
	return errors.Join(w.WriteAll(rows), w.Error())
}

// firesAfter is how long into the demo its job fires.
const firesAfter = 4 * time.Second

// tenSoon is a clock that runs ahead so far that it will be ten in the morning soon: the job
// of the demo fires at ten, once, and nobody should have to wait for that.
func tenSoon(now time.Time) func() time.Time {
	begin := now.Add(firesAfter).UTC()
	ten := time.Date(begin.Year(), begin.Month(), begin.Day(), 10, 0, 0, 0, time.UTC)
	if ten.Before(begin) {
		ten = ten.AddDate(0, 0, 1)
	}
	ahead := ten.Sub(begin)
	return func() time.Time { return time.Now().Add(ahead) }
}

// ran tells of each state that a run comes to.
func (n *narrator) ran(r messaging.Run) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.runs[r.ID].State == r.State {
		return
	}
	n.runs[r.ID] = r
	switch r.State {
	case messaging.RunPlanned:
		n.say("clock", "33", "%s is due: %s", r.Job, r.Slot)
	case messaging.RunBuilding:
		n.say("nudgewire", "35", "  %s building: %s", r.Job, r.Source)
	case messaging.RunUploading:
		n.say("nudgewire", "35", "  %s uploading: %s of %s in %s, %s", r.Job, units.Number(r.Tally.Kept), units.Count(r.Tally.Rows, "row"), units.Count(r.Tally.Parts, "part"), units.Count(r.Tally.Bytes, "byte"))
		for _, x := range r.Tally.Excluded {
			n.say("nudgewire", "35", "    excluded %s: %s", units.Number(x.Count), x.Reason)
		}
	default:
		text := fmt.Sprintf("  %s %s", r.Job, r.State.Words())
		n.say("nudgewire", "35", "%s", story.WithReason(text, cmp.Or(r.Reason, scheduler.Untracked(&r, n.parts[r.ID]))))
	}
}

// leastTold is the room of a bar in the demo on a terminal so narrow that its lines break anyway.
const leastTold = 20

// uploaded tells of each part whose upload has ended, with the bar.
func (n *narrator) uploaded(p messaging.Part) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p.State == messaging.PartUploading {
		return
	}
	r := n.runs[p.RunID]
	n.parts[p.RunID] = append(n.parts[p.RunID], p)
	var sent int64
	for _, one := range n.parts[p.RunID] {
		if one.State == messaging.PartAccepted {
			sent += one.Rows
		}
	}
	width := terminal.Columns(n.c.Out)
	if width != terminal.NoColumns {
		width = max(leastTold, width-saysBefore-len("  ")-len(r.Job)-len(" ")-len(" ")-len(p.State))
	}
	bar := terminal.ProgressBar("", &server.ProgressView{Rows: sent, Of: r.Tally.Kept, Parts: p.Number, OfParts: r.Tally.Parts}, false, width)
	n.say("service", "32", "  %s %s %s", r.Job, bar, p.State)
}
