package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// lookEvery is how often a run is looked at while somebody watches.
const lookEvery = 200 * time.Millisecond

// follow stays with a run until it rests: a bar on a terminal, a line of JSON for each change
// with --json, and the run itself at the end. A run that ends badly ends the command badly.
func (c commands) follow(ctx context.Context, ask *server.Client, r server.RunView) error {
	bar := terminal.Redraws(c.Err) && !c.JSON && !c.Quiet
	wipe := func() {
		if bar {
			c.Warn("\r\x1b[K")
		}
	}
	shown, halted, drawn := "", "", false
	for !r.State.Final() && r.State != messaging.RunAwaiting && r.State != messaging.RunPaused {
		switch now := terminal.ProgressBar(string(r.State), r.Progress, r.Halted != "", terminal.Columns(c.Err)); {
		case bar:
			c.Warn("\r%s\x1b[K", now)
			drawn = drawn || r.Progress != nil
		case c.JSON && now != shown:
			if err := c.Print(r); err != nil {
				return err
			}
			shown = now
		}
		if !bar && r.Halted != halted {
			if halted = r.Halted; halted != "" {
				c.Note("run %d waits, halted: %s", r.ID, halted)
			}
		}
		select {
		case <-ctx.Done():
			wipe()
			c.Note("the run goes on; look at it with: nudgewire jobs show %d", r.ID)
			return nil
		case <-time.After(lookEvery):
		}
		next, err := server.ShowRun.Call(ctx, ask, r.ID)
		if err != nil {
			if ctx.Err() != nil {
				continue
			}
			wipe()
			return err
		}
		r = next
	}
	if drawn && r.State == messaging.RunDone {
		c.Warn("\r%s\x1b[K\n", wholeBarOf(r, terminal.Columns(c.Err)))
	} else {
		wipe()
	}
	if err := c.ran(r); err != nil {
		return err
	}
	switch r.State {
	case messaging.RunAwaiting:
		return exit.Fail(exit.TryLater, fmt.Sprintf("nudgewire jobs approve %d", r.ID), "run %d waits for a person", r.ID)
	case messaging.RunPaused:
		return exit.Fail(exit.TryLater, fmt.Sprintf("nudgewire jobs resume %d", r.ID), "run %d is paused", r.ID)
	case messaging.RunFailed, messaging.RunPartial:
		return exit.Silent(exit.Failed)
	default:
		return nil
	}
}

// wholeBarOf is the bar of a run that is done. A run ends between two looks at it, and without this
// the last that a person sees before "done" would be some 82%.
func wholeBarOf(r server.RunView, width int) string {
	return terminal.ProgressBar(string(messaging.RunUploading), &server.ProgressView{Rows: r.Tally.Kept, Of: r.Tally.Kept, Parts: r.Tally.Parts, OfParts: r.Tally.Parts}, false, width)
}
