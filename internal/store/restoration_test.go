package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/place"
)

// A ledger that is copied, and gone on with elsewhere.
type copying struct {
	*testing.T
	*Store
	folder string
	now    time.Time
	onSave messaging.OnDoubt
	tells  func(about, word string) []string
	events int
}

func openCopying(t *testing.T) *copying {
	t.Helper()
	c := &copying{T: t, folder: t.TempDir(), now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	t.Cleanup(func() { _ = c.Store.Close() }) // closing twice is harmless
	c.open()
	return c
}

func (c *copying) path() string { return filepath.Join(c.folder, "nudgewire.db") }

// open opens what is in the folder.
func (c *copying) open() {
	c.Helper()
	var err error
	c.Store, err = Open(c.Context(), Options{
		DSN: "sqlite:" + c.path(), Now: func() time.Time { return c.now }, OnDoubt: func(*messaging.Message) messaging.OnDoubt { return c.onSave },
		Tells: c.tells,
		Settle: func(p messaging.Proposal, f messaging.Facts) messaging.Settlement {
			s := messaging.Settlement{Outcome: p.Decision.Outcome, Insert: p.Decision.Outcome == messaging.Planned}
			for _, w := range f.Waiting {
				s.Cancel = append(s.Cancel, w.ID)
			}
			if f.Last != nil {
				s.Outcome, s.Insert, s.Reason = messaging.Skipped, false, "sent at "+f.Last.At.String()
			}
			return s
		},
	})
	c.must(err)
}

func (c *copying) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// queue stores a message that is due in a while.
func (c *copying) queue(key string, due time.Duration, category messaging.Category) messaging.MessageID {
	c.Helper()
	p := testPlan(key)
	c.events++
	p.Event.ReceivedAt, p.Event.OccurredAt, p.Event.DedupeKey = c.now, c.now, fmt.Sprint(c.events)
	p.Proposals[0].Message.DueAt, p.Proposals[0].Message.Category = c.now.Add(due), category
	got, err := c.Accept(c.Context(), []messaging.Plan{p})
	c.must(err)
	return got[0].Decisions[0].MessageID
}

func (c *copying) claims() []messaging.Message {
	c.Helper()
	got, err := c.Claim(c.Context(), messaging.ClaimRequest{Owner: "me", Now: c.now, Lease: time.Minute, Authentication: 100, Utility: 100, Marketing: 100})
	c.must(err)
	return got
}

func (c *copying) state(id messaging.MessageID) string {
	c.Helper()
	d, err := c.MessageStory(c.Context(), id)
	c.must(err)
	return string(d.State)
}

// restart closes the ledger and opens it again.
func (c *copying) restart() {
	c.Helper()
	c.must(c.Store.Close())
	c.open()
}

// restore puts a copy as it is now, an hour later, in the place of the data, and starts over it as the daemon does.
func (c *copying) restore() Restoration {
	c.Helper()
	path := filepath.Join(c.TempDir(), "copy.db")
	c.must(CopyTo(c.Context(), "sqlite:"+c.path(), path))
	at := c.now
	c.must(c.Store.Close())
	c.now = c.now.Add(time.Hour)
	c.folder = c.TempDir()
	c.must(os.Rename(path, c.path()))
	c.must(place.WriteRestoredNote("sqlite:"+c.path(), place.RestoredNote{From: path, At: at}))
	c.open()
	return c.begin()
}

// begin is what the daemon does first.
func (c *copying) begin() Restoration {
	c.Helper()
	_, err := c.MarkRestoredInDoubt(c.Context(), c.now, false)
	c.must(err)
	_, err = c.RescueClaims(c.Context(), c.now, "me")
	c.must(err)
	c.must(c.PrepareReview(c.Context(), c.now, false))
	r, _ := c.InReview()
	return r
}

// What was due until the start over the copy is in doubt, and stays so whatever happens; nothing is sent before the review ends.
func TestTheReviewOfRestoredData(t *testing.T) {
	c := openCopying(t)
	c.onSave = messaging.DoubtResend
	_, err := c.RescueClaims(c.Context(), c.now, "lost")
	c.must(err)
	claimed := c.queue("claimed", 0, messaging.Authentication)
	if got, err := c.Claim(c.Context(), messaging.ClaimRequest{Owner: "lost", Now: c.now, Lease: time.Minute, Authentication: 9, Utility: 9, Marketing: 9}); err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	c.must(c.BeginCall(0, claimed, 1))
	soon := c.queue("soon", 30*time.Minute, messaging.Marketing)
	code := c.queue("code", time.Minute, messaging.Authentication)
	later := c.queue("later", 2*time.Hour, messaging.Marketing)
	cancelled := c.queue("cancelled", 2*time.Hour, messaging.Marketing)
	c.must(c.Store.Hold(c.Context(), messaging.Hold{Scope: messaging.ScopeTemplate, Kind: messaging.HoldHalt, Name: "t"}))
	r := c.restore()
	if r.Claimed != 1 || r.Doubted != 2 || !r.Until.Equal(c.now) || r.CopiedAt.IsZero() {
		t.Errorf("the restoration: %+v", r)
	}
	is := func(when string) {
		t.Helper()
		for id, want := range map[messaging.MessageID]string{claimed: "in_doubt", soon: "in_doubt", code: "in_doubt", later: "waiting"} {
			if got := c.state(id); got != want {
				t.Errorf("%s: message %d is %s, want %s", when, id, got, want)
			}
		}
	}
	is("at first")
	// Its own reason, and its attempt.
	d, err := c.MessageStory(c.Context(), soon)
	if c.must(err); !strings.Contains(d.Reason, "was due at 2026-11-20 12:30:00 UTC; it may have been sent") || len(d.Attempts) != 1 || d.Attempts[0].Number != 1 {
		t.Errorf("%+v %+v", d.Reason, d.Attempts)
	}
	// Webhooks: a cooldown begins when it was due; what cancels, cancels.
	if got := c.queue("soon", 0, messaging.Marketing); got != 0 {
		t.Errorf("the same matter again is queued as %d", got)
	}
	c.now = c.now.Add(time.Second)
	fresh := c.queue("new", 0, messaging.Authentication)
	c.must(c.CancelMessage(c.Context(), cancelled, ""))
	for round := range 3 {
		c.now = c.now.Add(3 * time.Hour)
		if got := c.claims(); len(got) != 0 {
			t.Errorf("round %d: %d are claimed in review", round, len(got))
		}
		if _, halted, err := c.RunHeld(c.Context(), &messaging.Run{Job: "any"}); err != nil || !halted {
			t.Errorf("round %d: uploads go on (%v)", round, err)
		}
		if at, ok, err := c.NextDue(c.Context()); err != nil || ok {
			t.Errorf("round %d: something is due at %s (%v)", round, at, err)
		}
		c.must(c.Store.Hold(c.Context(), messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldHalt}))
		c.must(c.EndHold(c.Context(), messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldHalt}))
		c.restart()
		if again := c.begin(); again.ID != r.ID || again.Doubted != r.Doubted || !again.Until.Equal(r.Until) {
			t.Errorf("round %d: %+v", round, again)
		}
		is(fmt.Sprint("round ", round))
	}
	halts, err := c.Holds(c.Context())
	if c.must(err); len(halts) != 2 || halts[0].Kind != messaging.HoldRestored || halts[1].Scope != messaging.ScopeTemplate {
		t.Errorf("halts: %+v", halts)
	}
	if err := c.EndHold(c.Context(), messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldRestored}); err == nil {
		t.Error("resume ends the review")
	}
	done, err := c.EndReview(c.Context(), time.Time{})
	if c.must(err); done != (Reviewed{Doubted: 3}) {
		t.Errorf("the end: %+v", done)
	}
	is("after the review")
	got := c.claims()
	if len(got) != 2 || got[0].ID != fresh || got[1].ID != later {
		t.Errorf("after the review %+v are claimed", got)
	}
	if _, err := c.EndReview(c.Context(), time.Time{}); !errors.Is(err, messaging.ErrNotFound) {
		t.Errorf("a second end: %v", err)
	}
	c.restart()
	if _, review := c.InReview(); review {
		t.Error("the review did not end for good")
	}
}

// When whoever had the data was lost is known: what was due later waits again, but for what was cancelled or blocked meanwhile.
func TestWhatWasDueAfterTheLossWaitsAgain(t *testing.T) {
	c := openCopying(t)
	before := c.queue("before", 10*time.Minute, messaging.Marketing)
	after := c.queue("after", 40*time.Minute, messaging.Marketing)
	off := c.queue("off", 40*time.Minute, messaging.Marketing)
	cancelled := c.queue("cancelled", 40*time.Minute, messaging.Marketing)
	copied := c.now
	r := c.restore()
	c.must(c.Write(c.Context(), commit.LaneWork, func(t *Tx) error { return t.requestCancel(off, "an order came") }))
	for _, wrong := range []time.Time{copied.Add(-time.Minute), c.now.Add(time.Minute)} {
		var at *LostAtError
		if _, err := c.EndReview(c.Context(), wrong); !errors.As(err, &at) {
			t.Errorf("lost at %s: %v", wrong, err)
		}
	}
	c.now = c.now.Add(time.Minute)
	done, err := c.EndReview(c.Context(), copied.Add(30*time.Minute))
	if c.must(err); done != (Reviewed{Doubted: 1, Back: 2}) {
		t.Errorf("%+v", done)
	}
	if c.state(before) != "in_doubt" || c.state(after) != "waiting" || c.state(off) != "cancelled" {
		t.Errorf("%s %s %s", c.state(before), c.state(after), c.state(off))
	}
	// What surely was not sent keeps nothing else from being sent.
	for key, id := range map[string]messaging.MessageID{"off": off, "cancelled": cancelled} {
		if id == cancelled {
			c.must(c.CancelMessage(c.Context(), id, ""))
		}
		claimed := int64(-1)
		c.must(c.Rows(t.Context(), `SELECT claimed_at FROM messages WHERE id = ?1`, []any{int64(id)}, func(r *engine.Row) error { claimed = r.Int(); return r.Err }))
		if d, err := c.MessageStory(c.Context(), id); err != nil || d.State != messaging.StateCancelled || len(d.Attempts) != 0 || claimed != 0 {
			t.Errorf("%s: %s, %+v, claimed at %d (%v)", key, d.State, d.Attempts, claimed, err)
		}
		if c.queue(key, 9*time.Hour, messaging.Marketing) == 0 {
			t.Errorf("%s: the same matter again is not queued", key)
		}
	}
	if got := c.claims(); len(got) != 1 || got[0].ID != after || !got[0].DueAt.Equal(copied.Add(40*time.Minute)) {
		t.Errorf("claimed: %+v", got)
	}
	if at := c.MaybeGone(); !at.Equal(copied.Add(30*time.Minute)) || r.ID != 1 {
		t.Errorf("what may have gone on ends at %s", at)
	}
}

// Whoever asks a sender to post again what it posted since the copy gets nothing sent a second time by it: what happened before the copy
// was found, and is due when it comes, may have been sent by whoever took it then.
func TestWhatIsPostedAgainInAReviewIsDoubted(t *testing.T) {
	for _, lost := range []bool{false, true} {
		c := openCopying(t)
		copied := c.now
		c.restore() // an hour later
		found := c.now
		c.now = c.now.Add(10 * time.Minute)
		post := func(key string, happened time.Time, wait time.Duration, later bool) messaging.MessageID {
			p := testPlan(key)
			p.Event.ReceivedAt, p.Event.OccurredAt, p.Event.DedupeKey = c.now, happened, key
			p.Proposals[0].Message.DueAt, p.Proposals[0].Message.Category = happened.Add(wait), messaging.Utility
			if p.Proposals[0].Message.DueAt.Before(c.now) {
				p.Proposals[0].Message.DueAt = c.now
			}
			due := p.Proposals
			if later {
				p.Proposals, p.Later = nil, true
			}
			got, err := c.Accept(c.Context(), []messaging.Plan{p})
			if c.must(err); !later {
				return got[0].Decisions[0].MessageID
			}
			c.now = c.now.Add(time.Second)
			_, err = c.EndReview(c.Context(), time.Time{})
			c.must(err)
			looks, err := c.ClaimLookups(c.Context(), c.now, time.Minute, 9)
			if c.must(err); len(looks) != 1 {
				t.Fatalf("%d look-ups", len(looks))
			}
			p.Event.ID, p.Later, p.Proposals = looks[0].EventID, false, due
			receipt, err := c.Complete(c.Context(), looks[0], p)
			c.must(err)
			return receipt.Decisions[0].MessageID
		}
		ids := map[string]messaging.MessageID{
			"before the loss":   post("before the loss", copied.Add(10*time.Minute), 0, false),
			"after the loss":    post("after the loss", copied.Add(40*time.Minute), 0, false),
			"due later":         post("due later", copied.Add(10*time.Minute), 2*time.Hour, false),
			"after the finding": post("after the finding", found.Add(time.Second), 0, false),
		}
		want := map[string]string{"before the loss": "in_doubt", "after the loss": "in_doubt", "due later": "waiting", "after the finding": "waiting"}
		is := func(when string) {
			for key, id := range ids {
				if got := c.state(id); got != want[key] {
					t.Errorf("%s, %s: %s, want %s", when, key, got, want[key])
				}
			}
		}
		is("in review")
		c.restart()
		c.begin()
		is("after a restart")
		r, _ := c.InReview()
		if doubted, err := List(c.Context(), c.Store, `SELECT id FROM messages WHERE state = 'in_doubt' AND owner = ?1`, []any{r.DoubtedOwner()}, engine.Number[int64]); err != nil || len(doubted) == 0 {
			t.Errorf("the review does not tell of it: %v, %v", doubted, err)
		}
		end, done := time.Time{}, Reviewed{Doubted: 2}
		if lost {
			end, done, want["after the loss"] = copied.Add(30*time.Minute), Reviewed{Doubted: 1, Back: 1}, "waiting"
			delete(ids, "due later")
		} else {
			ids["looked up later"], want["looked up later"] = post("looked up later", copied.Add(20*time.Minute), 0, true), "in_doubt"
		}
		if lost {
			got, err := c.EndReview(c.Context(), end)
			if c.must(err); got != done {
				t.Errorf("the end: %+v", got)
			}
		}
		is("after the review")
		ids["posted after it"], want["posted after it"] = post("posted after it", copied.Add(10*time.Minute), 0, false), "waiting"
		is("later")
		if lost {
			for _, d := range c.claims() {
				if d.ID == ids["before the loss"] {
					t.Error("what was sent before the loss goes again")
				}
			}
		}
	}
}

func TestARestorationOfARestoration(t *testing.T) {
	c := openCopying(t)
	first := c.queue("first", time.Minute, messaging.Marketing)
	later := c.queue("later", 90*time.Minute, messaging.Marketing)
	c.restore()
	r := c.restore() // a backup that was made in review
	if r.ID != 2 || r.Doubted != 1 || c.state(first) != "in_doubt" || c.state(later) != "in_doubt" {
		t.Errorf("%+v: %s, %s", r, c.state(first), c.state(later))
	}
	if _, err := c.EndReview(c.Context(), time.Time{}); err != nil {
		t.Error(err)
	}
	if got := c.claims(); len(got) != 0 {
		t.Errorf("claimed: %+v", got)
	}
}

// A look-up that was under way in the copy was surely ended by whoever had the data.
func TestALookUpOfACopyIsDoubted(t *testing.T) {
	c := openCopying(t)
	p := testPlan("looked up")
	due := p.Proposals[0]
	p.Event.ReceivedAt, p.Proposals, p.Later = c.now, nil, true
	_, err := c.Accept(c.Context(), []messaging.Plan{p})
	c.must(err)
	c.restore()
	look := func() []messaging.PendingLookup {
		got, err := c.ClaimLookups(c.Context(), c.now, time.Minute, 9)
		c.must(err)
		return got
	}
	if _, ok, err := c.NextLookup(c.Context()); ok || err != nil || len(look()) != 0 {
		t.Errorf("look-ups go on in review (%v)", err)
	}
	_, err = c.EndReview(c.Context(), time.Time{})
	c.must(err)
	got := look()
	if len(got) != 1 {
		t.Fatalf("%d look-ups", len(got))
	}
	for _, wait := range []time.Duration{0, 30 * time.Minute, 3 * time.Hour} { // counted from now
		one := due
		one.Correlation.Key = fmt.Sprint(wait)
		one.Message.DueAt = c.now.Add(wait)
		p.Proposals = append(p.Proposals, one)
	}
	p.Event.ID, p.Later = got[0].EventID, false
	receipt, err := c.Complete(c.Context(), got[0], p)
	c.must(err)
	for i, want := range []string{"in_doubt", "in_doubt", "waiting"} {
		if is := c.state(receipt.Decisions[i].MessageID); is != want {
			t.Errorf("due in %s: %s, want %s", p.Proposals[i].Correlation.Key, is, want)
		}
	}
}

// A message that fails for want of points goes again by itself; one that may have done so elsewhere does not.
func TestWhatFailedBeforeTheLossDoesNotGoAgain(t *testing.T) {
	for _, restored := range []bool{false, true} {
		c := openCopying(t)
		id := c.queue("failed", 0, messaging.Utility)
		got := c.claims()
		if len(got) != 1 {
			t.Fatal(got)
		}
		c.must(c.Finish(c.Context(), messaging.Attempt{
			MessageID: id, Owner: "me", Number: 1, State: messaging.StateAccepted, At: c.now,
			Message: &messaging.Message{ID: id, ServiceID: "m1", Status: messaging.StatusAccepted, AcceptedAt: c.now, NextPollAt: c.now},
		}))
		if restored {
			c.restore()
			_, err := c.EndReview(c.Context(), time.Time{})
			c.must(err)
		}
		c.now = c.now.Add(time.Second)
		polls, err := c.ClaimPolls(c.Context(), c.now, time.Minute, 9)
		if c.must(err); len(polls) != 1 {
			t.Fatalf("%d polls", len(polls))
		}
		c.must(c.FinishPoll(c.Context(), messaging.Poll{MessageID: id, Status: messaging.StatusFailed, Error: "insufficient points", Class: messaging.ErrorNoPoints, Final: true, At: c.now}))
		n, err := c.WaitingFor(c.Context(), "")
		if c.must(err); (n == 0) != restored {
			t.Errorf("restored %v: %d wait", restored, n)
		}
	}
}

func TestRunsOfACopyArePaused(t *testing.T) {
	c := openCopying(t)
	states := []messaging.RunState{messaging.RunPlanned, messaging.RunBuilding, messaging.RunUploading}
	for i, state := range states {
		_, won, err := c.StartRun(c.Context(), messaging.Run{
			Job: fmt.Sprint("job ", i), Slot: "s", DueAt: c.now, Cause: messaging.CauseCron, State: state, Category: messaging.Marketing, Deliver: messaging.DeliverCSV, CreatedAt: c.now,
		})
		if c.must(err); !won {
			t.Fatal(i)
		}
	}
	// The config paused one, which would let it go on by itself, and a person another, who knows of it.
	for i, stop := range []messaging.RunStop{messaging.StopConfig, messaging.StopPerson} {
		r := messaging.Run{
			Job: fmt.Sprint("paused ", i), Slot: "s", DueAt: c.now, Cause: messaging.CauseCron, State: messaging.RunUploading, Category: messaging.Marketing, Deliver: messaging.DeliverCSV, CreatedAt: c.now,
		}
		var err error
		r.ID, _, err = c.StartRun(c.Context(), r)
		c.must(err)
		r.State, r.Before, r.Stopped, r.Reason = messaging.RunPaused, messaging.RunUploading, stop, "as it was"
		if stop == messaging.StopConfig {
			r.Held = "is off"
		}
		c.must(c.SetRun(c.Context(), "", r, messaging.RunUploading))
	}
	c.restore()
	for i, state := range append(states, messaging.RunUploading) {
		r, err := c.Store.Run(c.Context(), messaging.RunID(i+1))
		if c.must(err); r.State != messaging.RunPaused || r.Before != state || r.Stopped != messaging.StopRestored || r.Held != "" || !strings.Contains(r.Reason, "the data was restored") {
			t.Errorf("run %d: %s before %s by %s: %s", r.ID, r.State, r.Before, r.Stopped, r.Reason)
		}
	}
	if r, err := c.Store.Run(c.Context(), messaging.RunID(len(states)+2)); err != nil || r.Stopped != messaging.StopPerson || r.Reason != "as it was" {
		t.Errorf("a person's pause is %s: %s (%v)", r.Stopped, r.Reason, err)
	}
	if mine, err := c.ClaimRuns(c.Context(), "me", c.now, c.now.Add(time.Minute), nil); err != nil || len(mine) != 0 {
		t.Errorf("%d runs are claimed (%v)", len(mine), err)
	}
}

// A file that was leaving when the copy was made is counted by the word that ends its doubt, and what the copy had counted stays counted.
func TestRowsUploadedAroundACopyAreCountedOnce(t *testing.T) {
	c := openCopying(t)
	run := messaging.Run{Job: "j", Slot: "s", DueAt: c.now, Cause: messaging.CauseCron, State: messaging.RunUploading, Category: messaging.Marketing, Deliver: messaging.DeliverCSV, CreatedAt: c.now, Owner: "me", LeaseEnd: c.now.Add(time.Minute)}
	var parts []messaging.Part
	for i := range int64(2) {
		parts = append(parts, messaging.Part{Number: int(i) + 1, Ranges: messaging.RowRanges{{First: 5*i + 1, Last: 5*i + 5}}, Rows: 5, State: messaging.PartWaiting, UpdatedAt: c.now})
	}
	var err error
	run.ID, _, err = c.StartRunOf(c.Context(), run, parts)
	c.must(err)
	for i := range parts {
		point, err := c.Point(c.Context(), 1)
		c.must(err)
		one := parts[i]
		one.RunID, one.List, one.Bytes, one.SHA256 = run.ID, run.ID, 1, "x"
		var claimed bool
		if parts[i], claimed, err = c.ClaimPart(c.Context(), messaging.PartClaim{Owner: "me", At: c.now, Point: point, Part: one}); err != nil || !claimed {
			t.Fatal(claimed, err)
		}
	}
	end := func(p messaging.Part, state messaging.PartState) {
		p.State, p.Reason = state, "as the test says"
		c.must(c.FinishPart(c.Context(), p))
	}
	counted := func() (n int64) {
		c.must(c.Rows(c.Context(), `SELECT value FROM hourly_counts WHERE what = 'uploaded'`, nil, func(r *engine.Row) error { n += r.Int(); return r.Err }))
		return n
	}
	end(parts[0], messaging.PartAccepted)
	c.restore()
	if n := counted(); n != 5 {
		t.Errorf("the copy counts %d rows", n)
	}
	_, err = c.EndReview(c.Context(), time.Time{})
	c.must(err)
	r, err := c.Store.Run(c.Context(), run.ID)
	c.must(err)
	parts[1].State, parts[1].Resolved = messaging.PartAccepted, "by Ann"
	c.must(c.ResolvePart(c.Context(), r.State, r, parts[1]))
	if n := counted(); n != 10 {
		t.Errorf("after the word %d rows are counted", n)
	}
}

// What rules put off in the copy may have been let go by other rules.
func TestWhatRulesPutOffIsDoubtedUnderOtherRules(t *testing.T) {
	for _, other := range []bool{false, true} {
		c := openCopying(t)
		id := c.queue("night", 0, messaging.Marketing)
		c.must(c.Write(c.Context(), commit.LaneWork, func(t *Tx) error {
			return t.engine.(*engine.SQLite).Run(fmt.Sprintf("UPDATE messages SET first_due_at = due_at, due_at = %d WHERE id = %d", engine.Micro(c.now.Add(9*time.Hour)), id))
		}))
		path := filepath.Join(c.TempDir(), "copy.db")
		c.must(CopyTo(c.Context(), "sqlite:"+c.path(), path))
		c.must(c.Store.Close())
		c.folder = c.TempDir()
		c.must(os.Rename(path, c.path()))
		c.now = c.now.Add(time.Hour)
		c.open()
		c.must(c.PrepareReview(c.Context(), c.now, other))
		if want := map[bool]string{false: "waiting", true: "in_doubt"}[other]; c.state(id) != want {
			t.Errorf("other rules %v: %s", other, c.state(id))
		}
	}
}

// Each way in which a copy comes in the place of the data is known, and what is no copy raises no alarm.
func TestACopyIsKnown(t *testing.T) {
	read := func(path string) []byte {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	tests := map[string]struct {
		do   func(c *copying)
		want string // in how; "" for no copy
	}{
		"a restart":         {func(*copying) {}, ""},
		"two restarts":      {func(c *copying) { c.open(); c.must(c.Store.Close()) }, ""},
		"no file beside it": {func(c *copying) { c.must(os.Remove(place.InstanceFile(c.path()))) }, "nudgewire.db.instance is not beside it"},
		"a damaged file":    {func(c *copying) { c.must(os.WriteFile(place.InstanceFile(c.path()), []byte("x"), 0o600)) }, "it is older than nudgewire.db.instance"},
		"a moved folder":    {func(c *copying) { c.must(os.Rename(c.folder, c.folder+"-moved")); c.folder += "-moved" }, ""},
		"a new, empty one":  {func(c *copying) { c.must(os.Remove(c.path())) }, ""},
		"a copied folder":   {func(c *copying) { to := c.TempDir(); c.must(os.CopyFS(to, os.DirFS(c.folder))); c.folder = to }, "its file is not the one that the daemon had open"},
		"one of before": {func(c *copying) {
			old := read(c.path())
			c.open()
			c.must(c.Store.Close())
			c.must(os.WriteFile(c.path(), old, 0o600))
		}, "it is older than"},
		"restored": {func(c *copying) {
			c.must(place.WriteRestoredNote("sqlite:"+c.path(), place.RestoredNote{From: "/b/x.tar.zst"}))
		}, "it was restored from x.tar.zst"},
		"an older nudgewire":                  {func(c *copying) { c.unsigned(); c.must(os.Remove(place.InstanceFile(c.path()))) }, ""},
		"one of an older nudgewire, put back": {func(c *copying) { c.unsigned() }, "it is older than"},
		"put back after a message": {func(c *copying) {
			c.open()
			_, err := c.RescueClaims(c.Context(), c.now, "me")
			c.must(err)
			old := filepath.Join(c.TempDir(), "old")
			c.must(CopyTo(c.Context(), "sqlite:"+c.path(), old))
			c.queue("sent later", 0, messaging.Utility)
			for i, d := range c.claims() {
				c.must(c.BeginCall(i, d.ID, d.Attempt))
			}
			c.must(c.Store.Close())
			c.must(os.WriteFile(c.path(), read(old), 0o600))
		}, "messages were sent that it does not know of"},
		"put back after an upload": {func(c *copying) {
			c.open()
			_, err := c.RescueClaims(c.Context(), c.now, "me")
			c.must(err)
			run := messaging.Run{Job: "j", Slot: "s", DueAt: c.now, Cause: messaging.CauseCron, State: messaging.RunUploading, Category: messaging.Marketing, Deliver: messaging.DeliverCSV, CreatedAt: c.now, Owner: "me", LeaseEnd: c.now.Add(time.Minute)}
			_, _, err = c.StartRunOf(c.Context(), run, []messaging.Part{{Number: 1, Ranges: messaging.RowRanges{{First: 1, Last: 1}}, Rows: 1, State: messaging.PartWaiting, UpdatedAt: c.now}})
			c.must(err)
			old := filepath.Join(c.TempDir(), "old")
			c.must(CopyTo(c.Context(), "sqlite:"+c.path(), old))
			point, err := c.Point(c.Context(), 1)
			c.must(err)
			part := messaging.Part{RunID: 1, Number: 1, List: 1, Ranges: messaging.RowRanges{{First: 1, Last: 1}}, Bytes: 1, SHA256: "x"}
			_, _, err = c.ClaimPart(c.Context(), messaging.PartClaim{Owner: "me", At: c.now, Point: point, Part: part})
			c.must(err)
			c.must(c.Store.Close())
			c.must(os.WriteFile(c.path(), read(old), 0o600))
		}, "messages were sent that it does not know of"},
		"closed after a message": {func(c *copying) {
			c.open()
			_, err := c.RescueClaims(c.Context(), c.now, "me")
			c.must(err)
			c.queue("sent", 0, messaging.Utility)
			for i, d := range c.claims() {
				c.must(c.BeginCall(i, d.ID, d.Attempt))
			}
			c.must(c.Store.Close())
		}, ""},
		"closed after a message, and all old ones cleared away": {func(c *copying) {
			c.open()
			_, err := c.RescueClaims(c.Context(), c.now, "me")
			c.must(err)
			c.queue("sent", 0, messaging.Utility)
			claims := c.claims()
			for i, d := range claims {
				c.must(c.BeginCall(i, d.ID, d.Attempt))
				c.must(c.Finish(c.Context(), messaging.Attempt{MessageID: d.ID, Owner: "me", Number: 1, State: messaging.StateDropped, Reason: "x", At: c.now}))
			}
			c.must(c.Write(c.Context(), commit.LaneWork, func(t *Tx) error {
				return errors.Join(t.engine.(*engine.SQLite).Run("DELETE FROM attempts"), t.engine.(*engine.SQLite).Run(fmt.Sprintf("DELETE FROM messages WHERE id >= %d", claims[0].ID)))
			}))
			c.must(c.Store.Close())
		}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := openCopying(t)
			c.queue("one", time.Hour, messaging.Marketing)
			c.must(c.Store.Close())
			tt.do(c)
			// Who only reads sees it, too, and changes nothing.
			r, err := Open(t.Context(), Options{DSN: "sqlite:" + c.path(), ReadOnly: true})
			if name != "a new, empty one" {
				c.must(err)
				halts, err := r.Holds(t.Context())
				if c.must(err); (len(halts) == 1 && halts[0].Kind == messaging.HoldRestored) != (tt.want != "") {
					t.Errorf("a reader sees %+v", halts)
				}
				c.must(r.Close())
			}
			for round := range 2 {
				c.open()
				if got, review := c.InReview(); review != (tt.want != "") || !strings.Contains(got.How, tt.want) || review && got.ID != 1 {
					t.Errorf("start %d: %+v, want %q", round, got, tt.want)
				}
				if at := c.RestoredAt(); at.IsZero() != (tt.want == "") {
					t.Errorf("start %d: it is taken for restored at %s", round, at)
				}
				c.must(c.Store.Close())
			}
		})
	}
}

// unsigned takes away what an older nudgewire did not write.
func (c *copying) unsigned() {
	c.Helper()
	db, err := engine.OpenFile(c.path())
	c.must(err)
	_, err = db.ExecContext(context.Background(), "DELETE FROM counts WHERE name LIKE 'instance/%'")
	c.must(errors.Join(err, db.Close()))
}

// A start that is killed between the database and the file leaves no copy behind.
func TestACrashAtTheStartIsNoCopy(t *testing.T) {
	c := openCopying(t)
	c.queue("one", time.Hour, messaging.Marketing)
	before, err := os.ReadFile(place.InstanceFile(c.path()))
	c.must(err)
	for round := range 3 {
		c.restart()
		if r, review := c.InReview(); review {
			t.Errorf("start %d: %+v", round, r)
		}
		c.must(c.Store.Close())
		c.must(os.WriteFile(place.InstanceFile(c.path()), before, 0o600)) // the file was not written any more
	}
}

// The same at the first start that gives the data a token, wherever it ends.
func TestACrashAtTheFirstStartIsNoCopy(t *testing.T) {
	for name, end := range map[string]func(c *copying){
		"in the database": func(c *copying) {
			c.must(os.Remove(place.InstanceFile(c.path())))
			change := func(sql string) {
				db, err := engine.OpenFile(c.path())
				c.must(err)
				_, err = db.ExecContext(context.Background(), sql)
				c.must(errors.Join(err, db.Close()))
			}
			change("CREATE TRIGGER cut_off BEFORE INSERT ON counts WHEN new.name = 'instance/token' BEGIN SELECT raise(ABORT, 'cut off'); END")
			if s, err := Open(c.Context(), Options{DSN: "sqlite:" + c.path()}); err == nil {
				c.must(s.Close())
				c.Error("it starts without a token")
			}
			if token, _, err := place.ReadInstance(c.path()); err != nil || token != 0 {
				c.Errorf("the file is not there before the token is: %d, %v", token, err)
			}
			change("DROP TRIGGER cut_off")
		},
		"before the database": func(c *copying) { c.must(place.WriteInstance(c.path(), 0)) },
		"after the database": func(c *copying) {
			c.open()
			c.must(c.Store.Close())
			c.must(place.WriteInstance(c.path(), 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := openCopying(t)
			c.queue("one", time.Hour, messaging.Marketing)
			c.must(c.Store.Close())
			c.unsigned()
			if name == "after the database" {
				c.must(os.Remove(place.InstanceFile(c.path())))
			}
			end(c)
			c.open()
			if r, review := c.InReview(); review {
				t.Errorf("%+v", r)
			}
		})
	}
}

// What is read at the start over a copy is what waits and what is being sent, and not all history.
func TestADoubtReadsNoHistory(t *testing.T) {
	c := openCopying(t)
	var plan []string
	rows, err := c.reads.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+doubtClaimed+doubtDue+doubtDeferred, int64(1))
	c.must(err)
	for rows.Next() {
		var id, parent, unused int
		var detail string
		c.must(rows.Scan(&id, &parent, &unused, &detail))
		if strings.Contains(detail, "messages") {
			plan = append(plan, detail)
		}
	}
	c.must(errors.Join(rows.Err(), rows.Close()))
	for _, step := range plan {
		if !strings.Contains(step, "INDEX messages_") {
			t.Errorf("%s, of %q", step, plan)
		}
	}
	if len(plan) != 3 {
		t.Errorf("%q", plan)
	}
}

// What a restoration puts in doubt is told as every other doubt is.
func TestADoubtOfARestorationIsTold(t *testing.T) {
	c := openCopying(t)
	id := c.queue("one", time.Minute, messaging.Marketing)
	var told []string
	c.tells = func(about, word string) []string { told = append(told, about+"."+word); return []string{"crm"} }
	c.restore()
	waiting := 0
	c.must(c.Rows(t.Context(), `SELECT count(*) FROM webhooks_out WHERE subject = ?1`, []any{int64(id)}, func(r *engine.Row) error { waiting = int(r.Int()); return r.Err }))
	if waiting != 1 || !slices.Contains(told, "message.in_doubt") {
		t.Errorf("%d are told, of %q", waiting, told)
	}
}
