package suite

import (
	"slices"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// claimFor claims what is due of an account.
func (l *ledger) claimFor(name string, at time.Time) (ids []messaging.MessageID, got []messaging.Message) {
	l.t.Helper()
	got, err := l.Account(name, 0).Claim(l.ctx, messaging.ClaimRequest{Owner: owner, Now: at, Lease: time.Minute, Authentication: 9, Utility: 9, Marketing: 9})
	if err != nil {
		l.t.Fatalf("claim: %v", err)
	}
	for i := range got {
		if ids = append(ids, got[i].ID); got[i].Account != name {
			l.t.Errorf("message %d of account %q was claimed for %q", got[i].ID, got[i].Account, name)
		}
	}
	return ids, got
}

// pollsOf claims the messages of an account that are to be asked about.
func (l *ledger) pollsOf(name string, at time.Time) (ids []messaging.MessageID) {
	l.t.Helper()
	got, err := l.Account(name, 0).ClaimPolls(l.ctx, at, time.Minute, 9)
	l.must(err)
	for i := range got {
		if ids = append(ids, got[i].ID); got[i].Account != name {
			l.t.Errorf("message %d of account %q is asked about at %q", got[i].ID, got[i].Account, name)
		}
	}
	return ids
}

// acceptedAt ends a claim with a message of the same id that every account gives.
func (l *ledger) acceptedAt(d messaging.Message) {
	l.t.Helper()
	a := attempt(d, messaging.StateAccepted)
	a.Message.Account = d.Account
	l.must(l.Finish(l.ctx, a))
}

// accounts are worked on side by side and never meet.
func (s suite) accounts(t *testing.T) {
	t.Run("a claim takes what waits for its account alone", s.aClaimTakesWhatItsAccountHas)
	t.Run("what one account's claims passed does not hide another's rows", s.aClaimOfOneAccountHidesNothingOfAnother)
	t.Run("those who wait are woken by account", s.sendersAreWokenByAccount)
	t.Run("a message is asked about at its own account, whatever its id", s.aMessageIsAskedAboutAtItsAccount)
	t.Run("sent again, it is sent by the same account", s.aMessageThatGoesAgainKeepsItsAccount)
	t.Run("what the service could not pay for goes again by the same account", s.whatWantedPointsGoesAgainByItsAccount)
	t.Run("a run and all that comes of it are of its account", s.aRunIsOfItsAccount)
	t.Run("a restart leaves each row to its account", s.aRestartLeavesEachRowToItsAccount)
	t.Run("what waits for an account that is gone is paused, and says so", s.whatWaitsForAnAccountThatIsGoneIsPaused)
}

func (s suite) aClaimTakesWhatItsAccountHas(t *testing.T) {
	dueAt := noon.Add(time.Hour)
	l := s.open(t)
	a, b := l.enqueue("1"), l.enqueue("2", account("brand-b"))
	later := l.enqueue("3", account("brand-b"), due(dueAt.Add(time.Minute)))
	urgent := l.enqueue("4", account("brand-b"), category(messaging.Utility))
	got, _ := l.claimFor("brand-b", dueAt)
	same(t, "of brand-b", []messaging.MessageID{urgent, b}, got)
	got, _ = l.claimFor("", dueAt)
	same(t, "of api", []messaging.MessageID{a}, got)
	if at, ok, err := l.Account("", 0).NextDue(l.ctx); ok || err != nil {
		t.Errorf("api waits for %v (%v)", at, err)
	}
	for what, next := range map[string]func() (time.Time, bool, error){
		"brand-b": func() (time.Time, bool, error) { return l.Account("brand-b", 0).NextDue(l.ctx) },
		"all":     func() (time.Time, bool, error) { return l.NextDue(l.ctx) },
	} {
		if at, ok, err := next(); !ok || err != nil || !at.Equal(dueAt.Add(time.Minute)) {
			t.Errorf("NextDue of %s = %v, %v, %v", what, at, ok, err)
		}
	}
	got, _ = l.claimFor("brand-b", dueAt.Add(time.Minute))
	same(t, "later", []messaging.MessageID{later}, got)
}

func (s suite) aClaimOfOneAccountHidesNothingOfAnother(t *testing.T) {
	dueAt := noon.Add(time.Hour)
	l := s.open(t)
	l.mustHalt(messaging.Hold{Scope: messaging.ScopeTrigger, Kind: messaging.HoldHalt, Name: "remind", Reason: "a test"})
	a, b := l.enqueue("1"), l.enqueue("2", account("brand-b"))
	for _, name := range []string{"", "brand-b"} {
		if got, _ := l.claimFor(name, dueAt); len(got) > 0 {
			t.Fatalf("claimed %v", got)
		}
	}
	l.must(l.EndHold(l.ctx, messaging.Hold{Scope: messaging.ScopeTrigger, Name: "remind", Kind: messaging.HoldHalt}))
	got, _ := l.claimFor("brand-b", dueAt)
	same(t, "of brand-b", []messaging.MessageID{b}, got)
	got, _ = l.claimFor("", dueAt)
	same(t, "of api", []messaging.MessageID{a}, got)
}

func (s suite) sendersAreWokenByAccount(t *testing.T) {
	dueAt := noon.Add(time.Hour)
	l := s.open(t)
	l.enqueue("1", account("brand-b"))
	_, got := l.claimFor("brand-b", dueAt)
	l.acceptedAt(got[0])
	l.enqueue("2")
	l.mu.Lock()
	defer l.mu.Unlock()
	// A node may hear its own notice, which is for all accounts.
	woken := slices.DeleteFunc(l.dueOf, func(name string) bool { return name == messaging.EveryAccount })
	same(t, "woken for a send", []string{"brand-b", ""}, woken)
	same(t, "woken for a look", []string{"brand-b"}, l.pollOf)
}

func (s suite) aMessageIsAskedAboutAtItsAccount(t *testing.T) {
	dueAt := noon.Add(time.Hour)
	l := s.open(t)
	l.enqueue("1")
	l.enqueue("2", account("brand-b"))
	for _, name := range []string{"", "brand-b"} {
		_, got := l.claimFor(name, dueAt)
		l.acceptedAt(got[0]) // both with the same id
	}
	at := dueAt.Add(time.Minute)
	for name, want := range map[string]messaging.MessageID{"": 1, "brand-b": 2} {
		next, ok, err := l.Account(name, 0).NextPoll(l.ctx)
		if !ok || err != nil || !next.Equal(dueAt.Add(6*time.Second)) {
			t.Errorf("NextPoll of %q = %v, %v, %v", name, next, ok, err)
		}
		same(t, "asked at "+name, []messaging.MessageID{want}, l.pollsOf(name, at))
	}
	same(t, "of an account that sent nothing", []messaging.MessageID(nil), l.pollsOf("brand-c", at.Add(time.Hour)))
	for id := range messaging.MessageID(2) {
		l.must(l.FinishPoll(l.ctx, messaging.Poll{MessageID: id + 1, At: at, NextPollAt: at}))
	}
	late, err := l.OverduePolls(l.ctx, at.Add(time.Hour), at.Add(time.Hour), 9)
	if err != nil || len(late) != 2 {
		t.Errorf("%d messages ran out of time, %v: want those of every account", len(late), err)
	}
}

func (s suite) aMessageThatGoesAgainKeepsItsAccount(t *testing.T) {
	dueAt := noon.Add(time.Hour)
	l := s.open(t)
	for _, key := range []string{"1", "2", "3"} {
		l.enqueue(key, account("brand-b"))
	}
	_, got := l.claimFor("brand-b", dueAt)
	l.mustFinish(got[0], messaging.StateInDoubt)
	l.mustFinish(got[1], messaging.StateRejected)
	l.mustFinish(got[2], messaging.StateInDoubt)
	l.must(l.Resolve(l.ctx, got[0].ID, messaging.ResolveResend, ""))
	l.must(l.Resolve(l.ctx, got[2].ID, messaging.ResolveAccepted, ""))
	if m, err := l.Message(l.ctx, got[2].ID); err != nil || m.Account != "brand-b" {
		t.Errorf("%+v, %v", m, err)
	}
	if _, _, err := l.Retry(l.ctx, store.Retry{Filter: store.MessageFilter{State: messaging.StateRejected}, Now: dueAt}); err != nil {
		t.Fatal(err)
	}
	if ids, _ := l.claimFor("", dueAt.Add(time.Hour)); len(ids) > 0 {
		t.Errorf("api sends %v", ids)
	}
	ids, _ := l.claimFor("brand-b", dueAt.Add(time.Minute))
	same(t, "sent again", []messaging.MessageID{got[0].ID, 4}, ids)
}

func (s suite) whatWantedPointsGoesAgainByItsAccount(t *testing.T) {
	dueAt := noon.Add(time.Hour)
	l := s.open(t)
	l.enqueue("1", account("brand-b"))
	_, got := l.claimFor("brand-b", dueAt)
	l.acceptedAt(got[0])
	l.failed(got[0].ID, dueAt.Add(time.Minute), messaging.ErrorNoPoints)
	ids, _ := l.claimFor("brand-b", dueAt.Add(time.Hour))
	same(t, "sent again", []messaging.MessageID{2}, ids)
}

func (s suite) aRunIsOfItsAccount(t *testing.T) {
	l := s.open(t)
	one := aRun("winback", "1")
	one.Account = "brand-b"
	r := l.mustSet(l.mustStart(one), messaging.RunBuilding)
	if r.State = messaging.RunUploading; l.SaveParts(l.ctx, "", r, parts(r.ID, 1)) != nil {
		t.Fatal("save parts")
	}
	if got := l.run(r.ID); got.Account != "brand-b" {
		t.Errorf("the run is of account %q", got.Account)
	}
	l.accept(r, 1, numbers(1, 2), nil)
	same(t, "asked at api", []messaging.MessageID(nil), l.pollsOf("", noon.Add(time.Hour)))
	same(t, "asked at brand-b", []messaging.MessageID{1, 2}, l.pollsOf("brand-b", noon.Add(time.Hour)))
}

func (s suite) aRestartLeavesEachRowToItsAccount(t *testing.T) {
	dueAt := noon.Add(time.Hour)
	l := s.open(t)
	l.enqueue("1")
	l.enqueue("2", account("brand-b"))
	l.claimFor("", dueAt)
	l.claimFor("brand-b", dueAt)
	l = reopenAfter(t, l)
	if _, err := l.RescueClaims(l.ctx, dueAt, "node:2:def"); err != nil {
		t.Fatal(err)
	}
	for name, id := range map[string]messaging.MessageID{"": 1, "brand-b": 2} {
		if d := l.message(id); d.Account != name || d.State != messaging.StateInDoubt {
			t.Errorf("message %d is %s of account %q", id, d.State, d.Account)
		}
		l.must(l.Resolve(l.ctx, id, messaging.ResolveResend, ""))
		got, _ := l.claimFor(name, l.message(id).DueAt)
		same(t, "sent again by "+name, []messaging.MessageID{id}, got)
	}
}

func (s suite) whatWaitsForAnAccountThatIsGoneIsPaused(t *testing.T) {
	l := s.open(t)
	if halts, err := l.Holds(l.ctx); err != nil || len(halts) > 0 {
		t.Errorf("%+v, %v", halts, err)
	}
	l.enqueue("1", account("gone"))
	halts, err := l.Holds(l.ctx)
	l.must(err)
	same(t, "halts", []messaging.Hold{{Scope: messaging.ScopeAccount, Kind: messaging.HoldGone, Name: "gone", Reason: "is gone from the config"}}, halts)
	same(t, "why", `account "gone" is gone from the config`, halts[0].Why())
	if at, ok, err := l.NextDue(l.ctx); ok || err != nil {
		t.Errorf("NextDue = %v, %v", at, err)
	}
}
