package console

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire/internal/server"
)

// Lanes are the runs of the last days as a picture: a line for each job, a dot for each run.
type runTimeline struct {
	Height int
	Days   []timelineDay
	Jobs   []timelineJob
}

type timelineDay struct {
	X     int
	Label string
}

type timelineJob struct {
	Job  string
	Y    int
	Dots []dot
}

type dot struct {
	X, Y, R int
	Run     server.RunView
	Tone    string // "", "warn" or "bad"
}

// Sizes of the picture, in its own units.
const (
	laneDays   = 14
	laneLeft   = 12
	laneWidth  = 1000
	laneTop    = 26
	laneHeight = 44
	mostLanes  = 12
	mostDots   = 500
)

// timelineOfRuns are of the newest runs, and at most so many jobs of them.
func (c *Console) timelineOfRuns(ctx context.Context) (v runTimeline, err error) {
	now := c.Now().In(c.Zone())
	from := daysBack(laneDays)(now)
	until := from.AddDate(0, 0, laneDays)
	x := func(at time.Time) int {
		return laneLeft + int(float64(laneWidth-2*laneLeft)*at.Sub(from).Seconds()/until.Sub(from).Seconds())
	}
	for i := range laneDays {
		day := from.AddDate(0, 0, i)
		v.Days = append(v.Days, timelineDay{x(day), day.Format("2 Jan")})
	}
	runs, err := server.ListRuns.Call(ctx, c.Ask, server.ListQuery{Since: from, Limit: mostDots})
	if err != nil {
		return v, err
	}
	place := map[string]int{}
	for i := range runs {
		run := &runs[i]
		if run.CreatedAt.Before(from) {
			continue
		}
		at, known := place[run.Job]
		if !known {
			if len(v.Jobs) == mostLanes {
				continue
			}
			at = len(v.Jobs)
			place[run.Job] = at
			v.Jobs = append(v.Jobs, timelineJob{Job: run.Job, Y: laneTop + at*laneHeight + laneHeight - 14})
		}
		d := dot{X: min(x(run.CreatedAt), laneWidth-laneLeft), Y: v.Jobs[at].Y, R: 6, Run: *run}
		if t := tone(run.State); t == "warn" || t == "bad" {
			d.Tone = t
		}
		for kept := run.Tally.Kept; kept >= 100 && d.R < 12; kept /= 10 {
			d.R += 2
		}
		v.Jobs[at].Dots = append(v.Jobs[at].Dots, d)
	}
	v.Height = laneTop + len(v.Jobs)*laneHeight + 6
	return v, nil
}
