package main

import (
	"context"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// lookEvery is how often a run is looked at while somebody watches.
const lookEvery = 200 * time.Millisecond

// follow stays with a run until it rests: a bar on a terminal, a line of JSON for each change
// with --json, and the run itself at the end. A run that ends badly ends the command badly.
func (c *cli) follow(ctx context.Context, ask *server.Client, r server.RunView) error {
	bar := redraws(c.err) && !c.json && !c.quiet
	wipe := func() {
		if bar {
			c.warn("\r\x1b[K")
		}
	}
	shown, halted, drawn := "", "", false
	for !r.State.Final() && r.State != messaging.RunAwaiting && r.State != messaging.RunPaused {
		switch now := progressBar(string(r.State), r.Progress, r.Halted != "", columns(c.err)); {
		case bar:
			c.warn("\r%s\x1b[K", now)
			drawn = drawn || r.Progress != nil
		case c.json && now != shown:
			if err := c.print(r); err != nil {
				return err
			}
			shown = now
		}
		if !bar && r.Halted != halted {
			if halted = r.Halted; halted != "" {
				c.note("run %d waits, halted: %s", r.ID, halted)
			}
		}
		select {
		case <-ctx.Done():
			wipe()
			c.note("the run goes on; look at it with: nudgewire jobs show %d", r.ID)
			return nil
		case <-time.After(lookEvery):
		}
		next, err := ask.Run(ctx, r.ID)
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
		c.warn("\r%s\x1b[K\n", wholeBarOf(r, columns(c.err)))
	} else {
		wipe()
	}
	if err := c.ran(r); err != nil {
		return err
	}
	switch r.State {
	case messaging.RunAwaiting:
		return fail(exitTryLater, fmt.Sprintf("nudgewire jobs approve %d", r.ID), "run %d waits for a person", r.ID)
	case messaging.RunPaused:
		return fail(exitTryLater, fmt.Sprintf("nudgewire jobs resume %d", r.ID), "run %d is paused", r.ID)
	case messaging.RunFailed, messaging.RunPartial:
		return errSilent(exitFailed)
	default:
		return nil
	}
}

// wholeBarOf is the bar of a run that is done. A run ends between two looks at it, and without this
// the last that a person sees before "done" would be some 82%.
func wholeBarOf(r server.RunView, width int) string {
	return progressBar(string(messaging.RunUploading), &server.ProgressView{Rows: r.Tally.Kept, Of: r.Tally.Kept, Parts: r.Tally.Parts, OfParts: r.Tally.Parts}, false, width)
}
