package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/server"
)

// lookEvery is how often a run is looked at while somebody watches.
const lookEvery = 200 * time.Millisecond

// follow stays with a run until it rests: a bar on a terminal, a line of JSON for each change
// with --json, and the run itself at the end. A run that ends badly ends the command badly.
func (c *cli) follow(ctx context.Context, ask *server.Client, r server.RunView) error {
	bar := isTerminal(c.err) && !c.json && !c.quiet
	told := ""
	for !r.State.Final() && r.State != nudgewire.RunHeld && r.State != nudgewire.RunPaused {
		switch now := barOf(string(r.State), r.Progress); {
		case bar:
			fmt.Fprintf(c.err, "\r\x1b[K%s", now)
		case c.json && now != told:
			if err := c.print(r); err != nil {
				return err
			}
			told = now
		}
		select {
		case <-ctx.Done():
			if bar {
				fmt.Fprintln(c.err)
			}
			c.note("the run goes on; look at it with: nudgewire jobs show %d", r.ID)
			return nil
		case <-time.After(lookEvery):
		}
		next, err := ask.Run(ctx, r.ID)
		if err != nil {
			if ctx.Err() != nil {
				continue
			}
			return err
		}
		r = next
	}
	if bar {
		fmt.Fprint(c.err, "\r\x1b[K")
	}
	if err := c.ran(r); err != nil {
		return err
	}
	switch r.State {
	case nudgewire.RunHeld:
		return fail(exitTryLater, fmt.Sprintf("nudgewire jobs approve %d", r.ID), "run %d waits for a person", r.ID)
	case nudgewire.RunPaused:
		return fail(exitTryLater, fmt.Sprintf("nudgewire jobs resume %d", r.ID), "run %d is paused", r.ID)
	case nudgewire.RunFailed, nudgewire.RunPartial:
		return errSilent(exitFailed)
	default:
		return nil
	}
}

// barWidth is how many signs a whole bar has.
const barWidth = 24

// barOf is how far a run has come, in one line.
func barOf(state string, p *server.ProgressView) string {
	if p == nil {
		return state
	}
	line := fmt.Sprintf("%-9s ", state)
	if p.Of > 0 {
		done := min(int(p.Rows*barWidth/p.Of), barWidth)
		line += fmt.Sprintf("[%s%s] %3d%% ", strings.Repeat("=", done), strings.Repeat(" ", barWidth-done), min(p.Rows*100/p.Of, 100))
	}
	line += grouped(p.Rows) + " rows"
	if p.OfParts > 0 {
		line += fmt.Sprintf(", part %d of %d", p.Parts, p.OfParts)
	}
	if p.PerSecond >= 1 {
		line += fmt.Sprintf(", %s/s", grouped(int64(p.PerSecond)))
	}
	if p.Left >= 1 {
		line += ", " + roughly(p.Left) + " left"
	}
	return line
}
