package store

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// inBatches are events with a message each that waits for an hour, planned by config v1.
func inBatches(t *testing.T, s *Store, n int) (now time.Time) {
	t.Helper()
	now = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	plans := make([]messaging.Plan, n)
	for i := range plans {
		plans[i] = testPlan(strconv.Itoa(i))
		d := &plans[i].Proposals[0].Message
		d.DueAt, d.ExpiresAt, d.Config = now.Add(time.Hour), now.Add(25*time.Hour), "v1"
	}
	for len(plans) > 0 {
		some := plans[:min(len(plans), 100)]
		_, err := s.Accept(t.Context(), some)
		failIf(t, err)
		plans = plans[len(some):]
	}
	return now
}

// What stops in the middle is carried on by doing it again, and nothing is done twice.
func TestPlanningAnewGoesOnWhereItStopped(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "nudgewire.db"))
	s.settle = planAll
	now := inBatches(t, s, 450)
	stop := errors.New("stopped")
	asked := 0
	decide := func(most int) func(*messaging.Message, func() (messaging.Event, error)) (Replanned, error) {
		return func(d *messaging.Message, event func() (messaging.Event, error)) (Replanned, error) {
			if asked++; asked > most {
				return Replanned{}, stop
			}
			e, err := event()
			if err != nil || e.ID != d.EventID || e.Kind != "cart.updated" {
				t.Fatalf("the event of message %d: %+v (%v)", d.ID, e, err)
			}
			switch d.ID % 3 {
			case 0:
				return Replanned{}, nil
			case 1:
				return Replanned{Cancel: "the rule changed"}, nil
			}
			return Replanned{Anew: &messaging.Proposal{
				Decision: messaging.Decision{Trigger: d.Trigger, Outcome: messaging.Planned},
				Message: messaging.Message{
					Category: messaging.Utility, Send: messaging.Send{Text: "news"}, Reason: "planned anew", Config: "v2",
					DueAt: now.Add(time.Minute), ExpiresAt: now.Add(2 * time.Hour), Zone: "Europe/London",
				},
			}}, nil
		}
	}
	first, err := s.Replan(t.Context(), "remind", "v1", decide(250))
	if !errors.Is(err, stop) || first != (Replans{Anew: 67, Cancelled: 67, Kept: 66}) {
		t.Fatalf("the first time: %+v (%v)", first, err)
	}
	asked = 0
	second, err := s.Replan(t.Context(), "remind", "v1", decide(1000))
	if err != nil || asked != 450-67-67 || second != (Replans{Anew: 83, Cancelled: 83, Kept: 150}) {
		t.Fatalf("the second time, asked %d times: %+v (%v)", asked, second, err)
	}
	waits, err := s.WaitingByConfig(t.Context())
	want := []PlannedBy{{"remind", "v1", 150, now}, {"remind", "v2", 150, now}}
	failIf(t, err)
	for i := range want {
		if len(waits) != 2 || waits[i].Trigger != want[i].Trigger || waits[i].Config != want[i].Config || waits[i].N != want[i].N || waits[i].Last.IsZero() {
			t.Errorf("waits: %+v", waits)
		}
	}
	all, err := s.Messages(t.Context(), MessageFilter{Limit: 1000})
	failIf(t, err)
	for _, d := range all {
		anew := d.Config == "v2"
		if anew && (d.Send.Text != "news" || d.Category != messaging.Utility || !d.DueAt.Equal(now.Add(time.Minute)) || !d.ExpiresAt.Equal(now.Add(2*time.Hour)) ||
			d.Reason != "planned anew" || d.Zone != "Europe/London" || d.Restarts != 0) ||
			!anew && (d.Send.Text != "hello" || !d.DueAt.Equal(now.Add(time.Hour))) {
			t.Fatalf("message %d is %+v", d.ID, d.Message)
		}
	}
	// They are found at their new time, in their new lane.
	claimed, err := s.Claim(t.Context(), messaging.ClaimRequest{Owner: "o", Now: now.Add(time.Minute), Lease: time.Minute, Authentication: 500, Utility: 500, Marketing: 500})
	if err != nil || len(claimed) != 150 {
		t.Errorf("claimed %d (%v)", len(claimed), err)
	}
}

// What moved on between the look and the commit is left alone: it was claimed, it ended, or it took another event's content.
func TestWhatMovedOnIsNotPlannedAnew(t *testing.T) {
	for name, moves := range map[string]func(ctx context.Context, s *Store, now time.Time) error{
		"claimed": func(ctx context.Context, s *Store, now time.Time) error {
			_, err := s.Claim(ctx, messaging.ClaimRequest{Owner: "o", Now: now.Add(2 * time.Hour), Lease: time.Minute, Marketing: 1})
			return err
		},
		"cancelled": func(ctx context.Context, s *Store, _ time.Time) error { return s.CancelMessage(ctx, 1, "by hand") },
		"restarted": func(ctx context.Context, s *Store, now time.Time) error {
			plan := testPlan("0")
			plan.Event.DedupeKey = "again"
			plan.Proposals[0].Message.Config, plan.Proposals[0].Message.DueAt = "v2", now.Add(3*time.Hour)
			s.settle = func(messaging.Proposal, messaging.Facts) messaging.Settlement {
				return messaging.Settlement{Outcome: messaging.Restarted, Restart: 1}
			}
			_, err := s.Accept(ctx, []messaging.Plan{plan})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := openAt(t, filepath.Join(t.TempDir(), "nudgewire.db"))
			s.settle = planAll
			now := inBatches(t, s, 1)
			n, err := s.Replan(t.Context(), "remind", "v1", func(d *messaging.Message, _ func() (messaging.Event, error)) (Replanned, error) {
				return Replanned{Cancel: "the rule changed"}, moves(t.Context(), s, now)
			})
			if err != nil || n != (Replans{}) {
				t.Errorf("%+v (%v)", n, err)
			}
			d, err := s.Message(t.Context(), 1)
			if failIf(t, err); d.Reason == "the rule changed" {
				t.Errorf("it is %s: %s", d.State, d.Reason)
			}
		})
	}
}
