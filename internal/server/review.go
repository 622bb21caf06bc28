package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/store"
)

// A ReviewView is what somebody has to look at before restored data may send.
type ReviewView struct {
	How      string    `json:"how" kind:"ours"`    // why the data is known for a copy
	CopiedAt time.Time `json:"copied_at,omitzero"` // when the copy was made, where that is known
	NewestAt time.Time `json:"newest_at,omitzero"` // when the newest thing happened that it knows of
	FoundAt  time.Time `json:"found_at,omitzero"`  // zero: the next start of the daemon finds it
	Until    time.Time `json:"until,omitzero"`     // what was due until then may have been sent
	LostAt   time.Time `json:"lost_at,omitzero"`   // as it was asked

	Claimed int64         `json:"claimed"`           // messages that were being sent when the copy was made; in doubt
	Doubted []ReviewGroup `json:"doubted,omitempty"` // messages that waited and were due; in doubt
	Waiting []ReviewGroup `json:"waiting,omitempty"` // what is sent after the review
	Runs    []RunView     `json:"runs,omitempty"`    // that were open in the copy; paused
	Missed  []MissedView  `json:"missed,omitempty"`  // times of jobs that passed; held for approval
}

// A ReviewGroup is the messages of one trigger or job and category.
type ReviewGroup struct {
	Trigger   string             `json:"trigger" kind:"ours"`
	Category  messaging.Category `json:"category"`
	Count     int64              `json:"count"`
	New       int64              `json:"new,omitempty"` // that came after the copy was found
	Past      int64              `json:"past_due"`      // due by now; of those in doubt: due by lost_at
	FirstDue  time.Time          `json:"first_due"`
	LatestDue time.Time          `json:"latest_due"`
}

// A MissedView is a time at which a job should have run.
type MissedView struct {
	Job  string    `json:"job" kind:"ours"`
	Slot string    `json:"slot" kind:"ours"` // local time
	At   time.Time `json:"at"`
}

func reviewGroup(g report.ReviewGroup) ReviewGroup {
	return ReviewGroup{g.Trigger, g.Category, g.N, g.New, g.Past, g.FirstDue.UTC(), g.LatestDue.UTC()}
}

func (a admin) review(ctx context.Context, lost time.Time) (ReviewView, error) {
	was, ok, err := a.Store.Restoration(ctx)
	if err != nil {
		return ReviewView{}, err
	}
	if !ok || !was.ReviewedAt.IsZero() {
		return ReviewView{}, refusal.Newf(http.StatusNotFound, "", "nothing is to be reviewed")
	}
	v := ReviewView{How: was.How, CopiedAt: was.CopiedAt.UTC(), NewestAt: was.NewestAt.UTC(), FoundAt: was.FoundAt.UTC(), Until: was.Until.UTC(), LostAt: lost, Claimed: was.Claimed}
	by := lost
	if lost.IsZero() {
		by = was.Until
	}
	records := report.Records{Store: a.Store}
	doubted, err := records.ReviewDoubts(ctx, &was, by)
	if err != nil {
		return ReviewView{}, err
	}
	for _, g := range doubted {
		v.Doubted = append(v.Doubted, reviewGroup(g))
	}
	waiting, err := records.ReviewWaiting(ctx, &was, a.Now())
	if err != nil {
		return ReviewView{}, err
	}
	for _, g := range waiting {
		v.Waiting = append(v.Waiting, reviewGroup(g))
	}
	if err := a.reviewRuns(ctx, &was, &v); err != nil {
		return ReviewView{}, err
	}
	return v, nil
}

func (a admin) reviewRuns(ctx context.Context, was *store.Restoration, v *ReviewView) error {
	open, err := a.Store.OpenRuns(ctx, "")
	if err != nil {
		return err
	}
	for i := range open {
		if was.ID != 0 && open[i].ID > was.LastRun {
			continue
		}
		parts, err := a.Store.Parts(ctx, open[i].ID)
		if err != nil {
			return err
		}
		v.Runs = append(v.Runs, runView(&open[i], parts))
	}
	if a.Jobs == nil {
		return nil
	}
	missed, err := a.Jobs.Missed(ctx, a.Now())
	for _, m := range missed {
		v.Missed = append(v.Missed, MissedView{m.Job, m.Slot, m.At.UTC()})
	}
	if errors.Is(err, store.ErrReadOnly) {
		err = nil // a job that no daemon has seen has missed nothing
	}
	return err
}

// reviewed ends the review of restored data, and the hold after damage.
func (a admin) reviewed(ctx context.Context, in HaltRequest) error {
	done, err := a.Store.EndReview(ctx, in.LostAt)
	restored := !errors.Is(err, messaging.ErrNotFound)
	if at, wrong := errors.AsType[*store.LostAtError](err); wrong {
		return refusal.Fieldf("lost_at", "give the time at which the machine that had the data ended, or leave --lost-at out", "%v", at)
	}
	if err != nil && restored {
		return err
	}
	if restored {
		a.Log.Warn("the restored data was reviewed by a person, and is sent from again", zap.String("who", access.NameOf(ctx)), zap.Time("lost_at", in.LostAt),
			zap.Int64("stay_in_doubt", done.Doubted), zap.Int64("wait_again", done.Back))
	} else if !in.LostAt.IsZero() {
		return refusal.Newf(http.StatusNotFound, "", "no restored data is to be reviewed")
	}
	err = a.Store.EndHold(ctx, messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldDamage})
	if errors.Is(err, messaging.ErrNotFound) && restored {
		return nil
	}
	return err
}
