//go:build unix

package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/nodes"
	"github.com/nudgewire/nudgewire/test/testserver"
)

// wired gives the DSN of a fresh database behind a wire, for a folder of its own.
func wired(t *testing.T) (w *testserver.Wire, dsn string) {
	t.Helper()
	address, folder, _ := strings.Cut(newDatabase(t), "#")
	w, by := testserver.NewWire(t, address)
	return w, by + "#" + folder
}

// What is done when the answer to a COMMIT is lost, or the COMMIT: it happens once, and whoever asked for it hears so; where
// nobody can know, it is said, and asking again brings nothing twice.
func TestLostCommits(t *testing.T) {
	now := time.Now()
	type scene struct {
		*store.Store
		t *testing.T
		d messaging.Message // claimed, for finish
	}
	count := func(s *scene, what string) int64 {
		s.t.Helper()
		c, err := report.Records{Store: s.Store}.Totals(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		return c[what]
	}
	ctx := context.Background()
	accept := func(s *scene) error {
		_, err := s.Accept(ctx, []messaging.Plan{benchPlan(1, now)})
		return err
	}
	claim := func(s *scene) error {
		got, err := s.Claim(ctx, messaging.ClaimRequest{Owner: "a:1:x", Now: now.Add(time.Minute), Lease: time.Minute, Marketing: 5})
		if err == nil && len(got) == 1 {
			s.d = got[0]
		}
		return err
	}
	finish := func(s *scene) error {
		return s.Finish(ctx, messaging.Attempt{
			MessageID: s.d.ID, Owner: "a:1:x", Number: 1, State: messaging.StateAccepted, At: now,
			Message: &messaging.Message{ServiceID: "m", Status: messaging.StatusQueued, AcceptedAt: now, NextPollAt: now},
		})
	}
	poll := func(s *scene) error {
		return s.FinishPoll(ctx, messaging.Poll{MessageID: s.d.ID, Status: messaging.StatusDelivered, Final: true, ToldAt: now, At: now})
	}
	tally := func(s *scene) error {
		return s.CountRejectedRequests(ctx, 1) // all that it does goes to the server with its COMMIT
	}
	tests := map[string]struct {
		before []func(*scene) error
		do     func(*scene) error
		count  string // that is one afterwards
		again  error  // of doing it once more; nil for none
	}{
		"accept": {nil, accept, "events", nil},
		"claim":  {[]func(*scene) error{accept}, claim, "attempts", nil},
		"finish": {[]func(*scene) error{accept, claim}, finish, "messages_accepted", messaging.ErrClaimLost},
		"poll":   {[]func(*scene) error{accept, claim, finish}, poll, "polls", nil},
		"count":  {nil, tally, "requests_rejected", nil},
	}
	for name, tt := range tests {
		for how, lose := range map[string]testserver.Loss{"the answer is lost": testserver.AnswerLost, "it never arrives": testserver.NeverArrives} {
			t.Run(name+", "+how, func(t *testing.T) {
				w, dsn := wired(t)
				s := &scene{Store: beside(t, dsn, store.Options{}), t: t}
				for _, before := range tt.before {
					if err := before(s); err != nil {
						t.Fatal(err)
					}
				}
				w.Lose(lose, false)
				if err := tt.do(s); err != nil {
					t.Fatalf("it says %v", err)
				}
				if w.TakeLoss() != testserver.NothingLost {
					t.Fatal("nothing was lost")
				}
				if n := count(s, tt.count); n != 1 {
					t.Errorf("%s: %d", tt.count, n)
				}
			})
		}
		t.Run(name+", the answer is lost and the server cannot be asked", func(t *testing.T) {
			t.Parallel() // each waits as long as a store asks
			w, dsn := wired(t)
			s := &scene{Store: beside(t, dsn, store.Options{}), t: t}
			for _, before := range tt.before {
				if err := before(s); err != nil {
					t.Fatal(err)
				}
			}
			w.Lose(testserver.AnswerLost, true)
			if err := tt.do(s); !errors.As(err, new(*engine.UnknownError)) {
				t.Errorf("it says %v", err)
			}
			w.Lose(testserver.NothingLost, false)
			if name == "count" { // nobody asks for it again
				soon(t, "the server is back", func() bool { return count(s, tt.count) == 1 })
				return
			}
			soon(t, "the server is back", func() bool {
				err := tt.do(s)
				return err == nil && tt.again == nil || tt.again != nil && errors.Is(err, tt.again)
			})
			if name != "poll" { // to ask for a status once more is no harm
				if n := count(s, tt.count); n != 1 {
					t.Errorf("%s: %d", tt.count, n)
				}
			}
			if name != "claim" {
				return
			}
			// Nobody knows of the claim: whoever ends it cannot know either whether its call was made.
			s.d = messaging.Message{}
			if n, err := s.RescueClaims(t.Context(), now.Add(time.Minute), "b:2:y"); err != nil || n.Doubtful+n.Unsent != 1 {
				t.Errorf("%+v were ended, %v", n, err)
			}
		})
	}
}

// A node whose way to the database lets nothing through begins no call any more before others take over what it had claimed, and is
// well by itself when the way is there again.
func TestANodeThatIsCutOff(t *testing.T) {
	w, dsn := wired(t)
	a := beside(t, dsn, store.Options{})
	b := beside(t, w.Around(dsn), store.Options{})
	rescue := func(s *store.Store, owner string) int64 {
		t.Helper()
		n, err := s.RescueClaims(t.Context(), time.Now(), owner)
		if err != nil {
			t.Fatal(err)
		}
		return int64(n.Doubtful + n.Unsent)
	}
	rescue(a, "a:1:x")
	rescue(b, "b:2:y")
	now := time.Now()
	claim := func(s *store.Store, owner string, n int64) messaging.Message {
		t.Helper()
		if _, err := b.Accept(t.Context(), []messaging.Plan{benchPlan(n, now)}); err != nil {
			t.Fatal(err)
		}
		got, err := s.Claim(t.Context(), messaging.ClaimRequest{Owner: owner, Now: time.Now(), Lease: time.Hour, Marketing: 1})
		if err != nil || len(got) != 1 {
			t.Fatalf("claimed %d, %v", len(got), err)
		}
		return got[0]
	}
	d := claim(a, "a:1:x", 1)
	if err := a.BeginCall(0, d.ID, d.Attempt); err != nil {
		t.Fatal(err)
	}
	w.Hang(true)
	stopped := func() bool { return errors.As(a.BeginCall(1, d.ID, d.Attempt), new(*nodes.CutOffError)) }
	soon(t, "it has stopped, and the other has ended its claim", func() bool {
		before := stopped()
		taken := rescue(b, "b:2:y") > 0
		if taken && !before {
			t.Error("the other ended its claim while it began calls")
		}
		return taken
	})
	if got, err := b.MessageStory(t.Context(), d.ID); err != nil || got.State != messaging.StateInDoubt {
		t.Errorf("its claim is %s, %v", got.State, err)
	}
	other := claim(b, "b:2:y", 2)
	if err := b.BeginCall(0, other.ID, other.Attempt); err != nil {
		t.Errorf("the other begins no call: %v", err)
	}
	w.Hang(false)
	soon(t, "it begins calls again", func() bool { return !stopped() })
	// It knows what became of its call, and that settles the doubt.
	err := a.Finish(t.Context(), messaging.Attempt{
		MessageID: d.ID, Owner: "a:1:x", Number: d.Attempt, State: messaging.StateAccepted, At: now,
		Message: &messaging.Message{ServiceID: "m", Status: messaging.StatusQueued, AcceptedAt: now, NextPollAt: now},
	})
	if err != nil {
		t.Error(err)
	}
	if got, err := b.MessageStory(t.Context(), d.ID); err != nil || got.State != messaging.StateAccepted {
		t.Errorf("what it knew came to %s, %v", got.State, err)
	}
}
