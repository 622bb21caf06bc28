package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/scheduler"
	"github.com/nudgewire/nudgewire/store"
)

// sentRows are the rows with a phone on the files that runs upload, but for those whose message told
// of itself already. note says what could not be searched. It reads no more than excluded does.
func (a admin) sentRows(ctx context.Context, phone nudgewire.Phone, told []store.RowStory) (out []StoryView, note string, err error) {
	runs, err := a.Store.Runs(ctx, store.RunFilter{Limit: maxRunsSearched})
	if err != nil {
		return nil, "", err
	}
	type place struct {
		run  nudgewire.RunID
		part int
	}
	known := map[place]bool{}
	for i := range told {
		known[place{told[i].Run.ID, told[i].Part}] = true
	}
	var removed, unread, unsearched []*nudgewire.Run
	places := scheduler.PositionFinder{Files: a.Files, Store: a.Store}
	defer func() { err = errors.Join(err, places.Close()) }()
	left := int64(maxBytesSearched)
	for i := range runs {
		r := &runs[i]
		switch {
		case r.Deliver != nudgewire.DeliverCSV || r.Tally.Kept == 0:
			continue
		case !r.FilesRemovedAt.IsZero():
			removed = append(removed, r)
			continue
		case left <= 0 || len(out) >= maxExcluded:
			unsearched = append(unsearched, r)
			continue
		}
		parts, err := a.Store.Parts(ctx, r.ID)
		if err != nil {
			return nil, "", err
		}
		all := true
		for j := range parts {
			p := &parts[j]
			if p.Rows == 0 || p.State == nudgewire.PartRecut || known[place{r.ID, p.Number}] {
				continue
			}
			if ctx.Err() != nil {
				return nil, "", ctx.Err()
			}
			var numbers []int64
			read, whole, failed := scheduler.SearchPart(ctx, a.Files, r.Folder, p, phone, left, func(n int64) { numbers = append(numbers, n) })
			left, all = left-read, all && whole
			for _, n := range numbers {
				at, _ := places.Of(ctx, r.ID, n) // it is told without it, too
				out = append(out, sentRowView(r, p, n, at))
			}
			if failed != nil {
				unread = append(unread, r)
				break
			}
		}
		if !all {
			unsearched = append(unsearched, r)
		}
	}
	for _, of := range []struct {
		runs  []*nudgewire.Run
		words string
	}{
		{removed, "whom %s sent to is not known any more: the files were removed (retention.lists)"},
		{unread, "the files that %s uploads cannot be read whole"},
		{unsearched, "not all rows that %s uploads were searched"},
	} {
		if len(of.runs) > 0 {
			note = joined(note, fmt.Sprintf(of.words, runsOf(of.runs)))
		}
	}
	return out, note, nil
}

// joined are two notes in one.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

func sentRowView(r *nudgewire.Run, p *nudgewire.Part, number int64, at nudgewire.Position) StoryView {
	reason, waits, until := p.Reason, nudgewire.RunWait(""), time.Time{}
	if p.State == nudgewire.PartBuilt && r.Waits != "" {
		reason, waits, until = r.Reason, r.Waits, r.WaitUntil
	}
	return StoryView{
		Row: &RunRowView{
			Job: r.Job, Run: r.ID, Slot: r.Slot, Row: at.Row, File: at.File, Number: number, Part: p.Number, Source: r.Source, At: p.UpdatedAt.UTC(),
			PartState: p.State, PartReason: reason, CampaignID: p.CampaignID, Waits: waits, WaitUntil: optional(until),
		},
		Messages: []MessageView{},
	}
}
