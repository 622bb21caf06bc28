package server

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/units"
)

// maxListRows is how many rows of lists with one phone are reported.
const maxListRows = 50

// whyNoPhone answers for a text that is no phone: a run may have excluded it for that.
func (a admin) whyNoPhone(ctx context.Context, in ListQuery, no *refusal.Error) ([]StoryView, error) {
	text := strings.TrimSpace(in.Phone)
	in.Phone = ""
	list, _, err := a.listOf(in)
	if err != nil {
		return nil, err
	}
	left, note, err := a.listRows(ctx, "", text, nil)
	if err != nil {
		return nil, err
	}
	if len(left) == 0 {
		return nil, refusal.Newf(no.Status, joined(no.Hint, note), "%s; no run whose rows are kept excluded it", mask.Own(no.Words))
	}
	return noted(newestStories(left, list.Limit), note), nil
}

// listRows are the rows of lists with a phone, or with a text that is none, but for those whose message tells of itself. note says
// what is not known any more.
func (a admin) listRows(ctx context.Context, phone messaging.Phone, text string, messages []store.RowStory) (out []StoryView, note string, err error) {
	rows, err := a.Store.ListRowsOf(ctx, phone, text, maxListRows)
	if err != nil {
		return nil, "", err
	}
	type place struct {
		run  messaging.RunID
		part int
	}
	known, handed := map[place]bool{}, map[messaging.RunID]int64{}
	for i := range messages {
		known[place{messages[i].Run.ID, messages[i].Part}] = true
	}
	for i := range rows {
		row := &rows[i]
		if row.Of.Deliver == messaging.DeliverPerMessage && row.Number > 0 {
			last, asked := handed[row.Run]
			if !asked {
				if last, err = a.Store.HandedOver(ctx, row.Run); err != nil {
					return nil, "", err
				}
				handed[row.Run] = last
			}
			if row.Number <= last {
				continue
			}
		}
		if row.Part.Number == 0 || !known[place{row.Of.ID, row.Part.Number}] {
			v := listRowView(row)
			if at := a.turn(row); at.After(v.Row.WaitUntil) {
				v.Row.Waits, v.Row.WaitUntil = messaging.WaitAt, at
			}
			out = append(out, v)
		}
	}
	blanked, err := a.Store.BlankedRuns(ctx)
	if err == nil && len(blanked) > 0 {
		note = fmt.Sprintf("which rows %s excluded is not known any more (retention.lists)", runsOf(blanked))
	}
	return out, note, err
}

// turn is when a row may go that waits for a time of day where its contact is; zero for one that does not.
func (a admin) turn(row *store.ListRowStory) time.Time {
	if a.Jobs == nil || row.Of.State != messaging.RunUploading || row.Part.State != messaging.PartWaiting || row.Number < 0 || row.Reason != "" || row.Phone == "" {
		return time.Time{}
	}
	return a.Jobs.RowTurn(&row.Of, row.Phone)
}

// joined are two notes in one.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// runsOf names a run, or says how many from which to which. They are the newest first.
func runsOf(runs []messaging.Run) string {
	newest, oldest := runs[0].ID, runs[len(runs)-1].ID
	if newest == oldest {
		return fmt.Sprintf("run %d of %s", newest, runs[0].Job)
	}
	return units.Count(len(runs), "run") + " (" + strconv.FormatInt(int64(oldest), 10) + " to " + strconv.FormatInt(int64(newest), 10) + ")"
}

func listRowView(row *store.ListRowStory) StoryView {
	r, p := &row.Of, &row.Part
	v := &RunRowView{Job: r.Job, Run: r.ID, Slot: r.Slot, Row: row.Row, File: row.File, Source: r.Source, At: r.StartedAt.UTC()}
	switch {
	case row.Number < 0, row.Reason != "" && !p.State.MayHaveArrived():
		v.Excluded = row.Reason
	case p.Number == 0: // its run has not come to it, or ended before it did
		v.Number, v.PartState, v.PartReason = row.Number, messaging.PartWaiting, r.Reason
		if r.State.Final() {
			v.PartState = messaging.PartCancelled
		}
	default:
		v.Number, v.Part, v.At, v.PartState, v.PartReason, v.CampaignID = row.Number, p.Number, p.UpdatedAt.UTC(), p.State, p.Reason, p.CampaignID
		if p.State == messaging.PartWaiting {
			waits, until := r.Waits, r.WaitUntil
			if r.Waits != "" {
				v.PartReason = r.Reason
			}
			if row.WaitUntil.After(until) {
				waits, until = messaging.WaitLimits, row.WaitUntil
			}
			v.Waits, v.WaitUntil = waits, until.UTC()
		}
	}
	return StoryView{Row: v, Messages: []MessageView{}}
}

// rowState is the state of a row of a list, why it is in it and since when.
func rowState(r *messaging.Run, row *messaging.ListRow, p *messaging.Part) (state, reason string, at time.Time) {
	switch {
	case p != nil:
		return string(p.State), p.Reason, p.UpdatedAt
	case row.Reason != "" || row.Number < 0:
		return StateExcluded, row.Reason, at
	case r.State.Final():
		return string(messaging.PartCancelled), r.Reason, r.EndedAt
	}
	return string(messaging.PartWaiting), "", at
}
