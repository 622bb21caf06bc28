//go:build unix

package store

import (
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/nodes"
	"github.com/nudgewire/nudgewire/test/testserver"
)

// A node that is killed again and again is followed by its own starts: no other ends its claims before one of them came so far,
// although the lease of the dead process has ended meanwhile. So what had not begun to be called for is in doubt nowhere.
func TestTheNextStartHasTheFirstWordOnWhatAKilledNodeHeld(t *testing.T) {
	k := newKills(t)
	folder := t.TempDir()
	a, b := k.open(folder), k.open(t.TempDir())
	k.rescues(a, "a:1:x", messaging.Rescued{})
	k.rescues(b, "b:1:y", messaging.Rescued{})
	got := k.claim(a, "a:1:x", 3)
	failIf(t, a.BeginCall(0, got[0].ID, got[0].Attempt))
	now := time.Now()
	run := messaging.Run{Job: "winback", Slot: "1", DueAt: now, Cause: messaging.CauseHand, State: messaging.RunBuilding, Deliver: messaging.DeliverPerMessage, CreatedAt: now}
	_, _, err := a.StartRun(t.Context(), run)
	failIf(t, err)
	mine, err := a.ClaimRuns(t.Context(), "a:1:x", now, now.Add(time.Hour), nil)
	if err != nil || len(mine) != 1 {
		t.Fatalf("%d runs, %v", len(mine), err)
	}
	k.kill(a)
	k.livesLongEnough(b)
	for range 3 {
		k.endLeases("a:1:x")
		a = k.open(folder) // and is killed before it has looked at its claims
		k.rescues(b, "b:1:y", messaging.Rescued{})
		k.kill(a)
	}
	a = k.open(folder)
	failIf(t, a.FreeRuns(t.Context(), "a:9:z"))
	if mine, err = b.ClaimRuns(t.Context(), "b:1:y", now, now.Add(time.Hour), nil); err != nil || len(mine) != 1 {
		t.Errorf("its run is not free for the other: %d, %v", len(mine), err)
	}
	k.rescues(a, "a:9:z", messaging.Rescued{Doubtful: 1, Unsent: 2})
	nodes, err := a.Nodes(t.Context())
	failIf(t, err)
	if len(nodes) != 2 || nodes[0].Name != "a:9" || nodes[1].Name != "b:1" {
		t.Errorf("the nodes are %+v", nodes)
	}
}

// Whose folder stays away is dead when its lease has ended. But an outage of the database ends all leases, so afterwards
// a node waits for a lease before it takes others for dead.
func TestAnOutageBuriesNobody(t *testing.T) {
	k := newKills(t)
	a, b := k.open(t.TempDir()), k.open(t.TempDir())
	k.rescues(a, "a:1:x", messaging.Rescued{})
	k.rescues(b, "b:1:y", messaging.Rescued{})
	k.claim(a, "a:1:x", 1)
	k.kill(a)
	k.rescues(b, "b:1:y", messaging.Rescued{})
	k.endLeases("a:1:x")
	k.rescues(b, "b:1:y", messaging.Rescued{}) // it lives for less than a lease

	k.stopBeat(b)
	k.livesLongEnough(b)
	b.beat.History(time.Time{}, time.Now().Add(-nodes.Gap-time.Second))
	k.rescues(b, "b:1:y", messaging.Rescued{}) // the database was away, and has answered this question first
	failIf(t, b.beat.Beat(t.Context(), "b:1:y"))
	k.rescues(b, "b:1:y", messaging.Rescued{}) // it is back
	if b.beat.MayBury() {
		t.Error("it may bury at once")
	}
	k.livesLongEnough(b)
	failIf(t, b.beat.Beat(t.Context(), "b:1:y"))
	k.rescues(b, "b:1:y", messaging.Rescued{Doubtful: 1})
}

// What a dead node had under way goes on once it may be buried, and not by the clock of another: one that is ahead takes nothing from who lives.
func TestWhatADeadNodeHadUnderWayGoesOn(t *testing.T) {
	k := newKills(t)
	a, b := k.open(t.TempDir()), k.open(t.TempDir())
	k.rescues(a, "a:1:x", messaging.Rescued{})
	k.rescues(b, "b:1:y", messaging.Rescued{})
	now := time.Now()
	run := messaging.Run{Job: "winback", Slot: "1", DueAt: now, Cause: messaging.CauseHand, State: messaging.RunBuilding, Deliver: messaging.DeliverPerMessage, CreatedAt: now}
	_, _, err := a.StartRun(t.Context(), run)
	failIf(t, err)
	lease := 2 * time.Minute
	mine, err := a.ClaimRuns(t.Context(), "a:1:x", now, now.Add(lease), nil)
	if err != nil || len(mine) != 1 {
		t.Fatalf("%d runs, %v", len(mine), err)
	}
	plan := testPlan("looked up")
	plan.Later, plan.Proposals = true, nil
	_, err = a.Accept(t.Context(), []messaging.Plan{plan})
	failIf(t, err)
	if got, err := a.ClaimLookups(t.Context(), now, lease, 1); err != nil || len(got) != 1 {
		t.Fatalf("%d look-ups, %v", len(got), err)
	}
	takes := func(what string, at time.Time, runs, lookups int) {
		t.Helper()
		k.rescues(b, "b:1:y", messaging.Rescued{})
		got, err := b.ClaimRuns(t.Context(), "b:1:y", at, at.Add(lease), nil)
		failIf(t, err)
		looked, err := b.ClaimLookups(t.Context(), time.Now(), lease, 1)
		failIf(t, err)
		if len(got) != runs || len(looked) != lookups {
			t.Errorf("%s: %d runs and %d look-ups, want %d and %d", what, len(got), len(looked), runs, lookups)
		}
	}
	// However long this machine stands still, the one lives and the other may bury.
	k.stopBeat(a)
	k.stopBeat(b)
	failIf(t, k.exec(`UPDATE nodes SET lease_ends = `+nodes.Now+` + 3600000000`))
	b.beat.History(time.Time{}, time.Now().Add(time.Hour))
	k.livesLongEnough(b)
	takes("it lives", now, 0, 0)
	takes("it lives, and the other's clock is an hour ahead", now.Add(time.Hour), 0, 0)
	k.kill(a)
	takes("it may live", now, 0, 0)
	k.endLeases("a:1:x")
	takes("it is dead", now, 1, 1)
}

// Of a copy nobody knows what was called for after it was made, whatever the notes of the folder say.
func TestAReviewDoubtsAllThatAKilledNodeHeld(t *testing.T) {
	k := newKills(t)
	folder := t.TempDir()
	a := k.open(folder)
	k.rescues(a, "a:1:x", messaging.Rescued{})
	k.claim(a, "a:1:x", 2)
	k.kill(a)
	failIf(t, k.exec(`UPDATE place SET base = 'a copy'`))
	a = k.open(folder)
	if _, review := a.InReview(); !review {
		t.Fatal("it is in no review")
	}
	if n, err := a.MarkRestoredInDoubt(t.Context(), time.Now(), false); err != nil || n != 2 {
		t.Errorf("%d are in doubt, %v", n, err)
	}
	k.rescues(a, "a:9:z", messaging.Rescued{})
}

// kills are nodes over one database that end without a goodbye.
type kills struct {
	*testing.T
	dsn string
}

func newKills(t *testing.T) kills {
	t.Helper()
	dsn, err := testserver.ForTest(t, "fsync=off").NewDatabase(t.Context())
	failIf(t, err)
	return kills{t, dsn}
}

func (k kills) open(folder string) *Store {
	k.Helper()
	s, err := Open(k.Context(), Options{DSN: k.dsn + "#" + folder, Settle: planAll})
	failIf(k.T, err)
	k.Cleanup(func() { _ = s.Close() }) // it may have been killed
	return s
}

// kill ends a node without a word to others.
func (k kills) kill(s *Store) {
	k.Helper()
	k.stopBeat(s)
	failIf(k.T, s.Close())
}

func (k kills) stopBeat(s *Store) { s.beat.Kill() }

func (k kills) endLeases(owner string) {
	k.Helper()
	failIf(k.T, k.exec(`UPDATE nodes SET lease_ends = `+nodes.Now+` - 1 WHERE owner = $1`, owner))
}

func (k kills) exec(sql string, args ...any) error {
	s := k.open(k.TempDir())
	defer s.Close()
	_, err := s.reads.ExecContext(k.Context(), sql, args...)
	return err
}

// livesLongEnough has the database been there for as long as a lease, so far as s knows.
func (k kills) livesLongEnough(s *Store) {
	s.beat.History(time.Now().Add(-nodes.Lease), time.Time{})
}

func (k kills) rescues(s *Store, owner string, want messaging.Rescued) {
	k.Helper()
	n, err := s.RescueClaims(k.Context(), time.Now(), owner)
	if err != nil || n != want {
		k.Errorf("%s ended %+v (%v), want %+v", owner, n, err, want)
	}
}

func (k kills) claim(s *Store, owner string, n int) []messaging.Message {
	k.Helper()
	for i := range n {
		_, err := s.Accept(k.Context(), []messaging.Plan{testPlan(string(rune('a' + i)))})
		failIf(k.T, err)
	}
	got, err := s.Claim(k.Context(), messaging.ClaimRequest{Owner: owner, Now: time.Now().AddDate(1, 0, 0), Lease: 2 * 365 * 24 * time.Hour, Marketing: n, Authentication: n, Utility: n})
	if err != nil || len(got) != n {
		k.Fatalf("claimed %d, %v", len(got), err)
	}
	return got
}
