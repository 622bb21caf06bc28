package scheduler

import (
	"errors"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire"
)

// ErrNoJob is a job that is not in the config.
var ErrNoJob = errors.New("there is no such job")

// Again makes a run of those parts of an ended one that were not accepted, over the same
// files. Parts in doubt are left out unless doubtful says that a person has looked: whoever is
// on them may have the message already.
func Again(r nudgewire.Run, parts []nudgewire.Part, who string, doubtful bool, now time.Time) (nudgewire.Run, []nudgewire.Part, error) {
	if !r.State.Final() {
		return r, nil, &wordError{fmt.Sprintf("run %d is still %s", r.ID, r.State), "wait until it has ended, or resume it"}
	}
	if r.Deliver == nudgewire.DeliverPerMessage {
		return r, nil, &wordError{fmt.Sprintf("run %d was delivered message by message", r.ID), fmt.Sprintf("its failed messages are listed by: nudgewire messages list --trigger %s --state failed", r.Job)}
	}
	again := nudgewire.Run{
		Job: r.Job, Slot: now.UTC().Format(time.DateTime) + fmt.Sprintf(" retry of run %d", r.ID), DueAt: now.UTC(), Cause: nudgewire.CauseHand,
		Source: r.Source, Config: r.Config, State: nudgewire.RunUploading, Reason: fmt.Sprintf("what was left of run %d, again for %s", r.ID, who),
		Deliver: r.Deliver, CampaignName: r.CampaignName, TemplateID: r.TemplateID, Category: r.Category, Folder: r.Folder,
		Approved: who, CreatedAt: now.UTC(), StartedAt: now.UTC(),
	}
	var left []nudgewire.Part
	doubts := 0
	for _, p := range parts {
		switch p.State {
		case nudgewire.PartRejected, nudgewire.PartCancelled:
		case nudgewire.PartInDoubt:
			doubts++
			if !doubtful {
				continue
			}
		default:
			continue
		}
		left = append(left, nudgewire.Part{
			Number: len(left) + 1, File: p.File, Rows: p.Rows, First: again.Tally.Kept + 1, Bytes: p.Bytes, SHA256: p.SHA256,
			State: nudgewire.PartBuilt, UpdatedAt: now.UTC(),
		})
		again.Tally.Kept += p.Rows
		again.Tally.Bytes += p.Bytes
	}
	if len(left) == 0 {
		hint := ""
		if doubts > 0 {
			hint = fmt.Sprintf("%s in doubt; --only in_doubt sends what is in doubt again, and who got it gets it twice", are(doubts))
		}
		return r, nil, &wordError{fmt.Sprintf("run %d has nothing that can be sent again", r.ID), hint}
	}
	again.Tally.Rows, again.Tally.Parts = again.Tally.Kept, len(left)
	return again, left, nil
}

func are(parts int) string {
	if parts == 1 {
		return "1 part is"
	}
	return fmt.Sprintf("%d parts are", parts)
}
