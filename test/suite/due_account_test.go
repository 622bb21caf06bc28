package suite

import (
	"fmt"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// unique are rules by which an account reaches at most so many contacts in a window.
type unique struct {
	most   int
	within time.Duration
	asked  *[]messaging.DueFacts
}

func (u unique) Needs(d *messaging.Message) (n messaging.DueNeeds) {
	if d.Category == messaging.Marketing {
		n.Account = u.within
	}
	return n
}

func (u unique) Decide(d *messaging.Message, f *messaging.DueFacts, now time.Time) (v messaging.Verdict) {
	if d.Category != messaging.Marketing {
		return v
	}
	if u.asked != nil {
		*u.asked = append(*u.asked, *f)
	}
	if f.New && f.Contacts >= u.most {
		return messaging.Verdict{Action: messaging.DeferSend, Rule: "limits", Reason: fmt.Sprint(f.Contacts, " contacts"), Until: now.Add(10 * time.Minute)}
	}
	return v
}

func (s suite) accountContacts(t *testing.T) {
	t.Run("those of one claim, of messages and of files count once each, and a limit that is new knows them all", s.contactsOfAnAccountCountOnceEach)
	t.Run("the window rolls, and the same is told after a restart", s.theWindowOfContactsRolls)
	t.Run("a file is claimed while all on it have room", s.aFileIsClaimedWhileAllOnItHaveRoom)
}

func (s suite) contactsOfAnAccountCountOnceEach(t *testing.T) {
	at := noon.Add(time.Hour)
	l := s.open(t)
	// Before anybody asks: one accepted, one rejected, one in doubt, one urgent on its way, a file.
	for i, state := range []messaging.State{messaging.StateAccepted, messaging.StateRejected, messaging.StateInDoubt} {
		l.mustFinish(l.claimed(fmt.Sprint(i), contact(i), due(noon.Add(time.Hour))), state)
	}
	l.enqueue("urgent", contact(3), category(messaging.Utility))
	same(t, "urgent", 1, len(l.ids(at)))
	r := l.listed("1", []messaging.Phone{"447700900000", "447700900004", "447700900005"})
	p, err := l.claim(r.ID, 1, noon)
	l.must(err)
	other := l.enqueue("of another account", contact(9), account("other"))
	l.ruleBy(unique{most: 7, within: 24 * time.Hour})
	var fresh []messaging.MessageID // on PostgreSQL not one number after the other, where the machine is slow
	for i := range 10 {
		fresh = append(fresh, l.enqueue(fmt.Sprint("new ", i), contact(i)))
	}
	// Reached are 0, 2, 3, 4, 5; so 1 and 6 are new and have room, and 7 has none.
	got := l.ids(at.Add(time.Minute))
	same(t, "claimed", fresh[:7], got)
	if d := l.story(fresh[7]); len(d.Verdicts) != 1 || d.Verdicts[0].Reason != "7 contacts" {
		t.Errorf("the eighth: %+v", d)
	}
	ids, _ := l.claimFor("other", at.Add(time.Minute))
	same(t, "of the other account", []messaging.MessageID{other}, ids)
	// The file was not taken: two contacts have room, and 4 and 5 were sent to meanwhile.
	l.endPart(p, messaging.PartRejected)
	same(t, "after the file was rejected", 0, len(l.ids(at.Add(11*time.Minute))))
	for _, id := range got {
		l.mustFinish(l.message(id), messaging.StateRejected) // nobody was reached
	}
	same(t, "after seven were rejected", 3, len(l.ids(at.Add(21*time.Minute))))
}

func (s suite) theWindowOfContactsRolls(t *testing.T) {
	at := noon.Add(time.Hour)
	l := s.open(t)
	var asked []messaging.DueFacts
	rules := unique{most: 1, within: time.Hour, asked: &asked}
	l.ruleBy(rules)
	l.mustFinish(l.claimed("1", contact(1)), messaging.StateAccepted)
	l.enqueue("2", contact(2))
	l.enqueue("3", contact(1))
	same(t, "the same contact may be written to again", []messaging.MessageID{3}, l.ids(at.Add(time.Minute)))
	l = reopenAfter(t, l)
	l.ruleBy(rules)
	same(t, "after a restart", 0, len(l.ids(at.Add(30*time.Minute))))
	l.mustFinish(l.message(3), messaging.StateRejected)
	same(t, "after an hour and a minute", []messaging.MessageID{2}, l.ids(at.Add(62*time.Minute)))
	for i, want := range []messaging.DueFacts{{New: true}, {Contacts: 1, New: true}, {Contacts: 1}, {Contacts: 1, New: true}, {New: true}} {
		asked[i].FirstDue = time.Time{}
		same(t, fmt.Sprint("asked ", i), want, asked[i])
	}
}

func (s suite) aFileIsClaimedWhileAllOnItHaveRoom(t *testing.T) {
	at := noon.Add(time.Hour)
	l := s.open(t)
	phones := func(from, to int) (out []messaging.Phone) {
		for i := from; i < to; i++ {
			out = append(out, messaging.Phone(fmt.Sprintf("4477009%05d", i)))
		}
		return out
	}
	r := l.listed("1", phones(1, 6), phones(8, 9), phones(8, 11))
	ask := func(at time.Time, most int64, phones []messaging.Phone) messaging.QuotaQuestion {
		return messaging.QuotaQuestion{Account: r.Account, Now: at, Per: 24 * time.Hour, Most: most, Least: 1, Phones: phones}
	}
	room := func(q messaging.QuotaQuestion) messaging.Room {
		t.Helper()
		got, err := l.Room(l.ctx, q)
		l.must(err)
		return got
	}
	claim := func(part int, q messaging.QuotaQuestion) messaging.Part {
		t.Helper()
		c := l.cut(r.ID, part, q.Now)
		c.Room = &q
		p, _, err := l.ClaimPart(l.ctx, c)
		l.must(err)
		return p
	}
	same(t, "nobody yet", messaging.Room{Fits: 5}, room(ask(noon, 5, phones(0, 5))))
	same(t, "one too many", messaging.Room{Fits: 4}, room(ask(noon, 4, phones(0, 5))))
	l.mustFinish(l.claimed("1", contact(1)), messaging.StateAccepted) // an hour after noon
	l.enqueue("urgent", contact(2), category(messaging.Utility))
	same(t, "urgent", 1, len(l.ids(at)))
	same(t, "those that were reached need no room", messaging.Room{Contacts: 2, Fits: 3}, room(ask(at, 3, append(phones(1, 4), phones(1, 2)...)[:3])))
	full := room(ask(at, 2, phones(1, 4)))
	same(t, "who was reached has room beyond it", 2, full.Fits)
	if leaves := at.Add(24 * time.Hour); full.Next.Before(leaves) || full.Next.After(leaves.Add(2*time.Minute)) {
		t.Errorf("the next room is at %s, and the message leaves at %s", full.Next, leaves)
	}
	p := claim(1, ask(at, 4, phones(1, 6)))
	if p.State != messaging.PartWaiting || p.Attempt != 0 {
		t.Fatalf("a part with one too many is %+v", p)
	}
	same(t, "a part that was not claimed counts nobody", int64(2), room(ask(at, 4, nil)).Contacts)
	if p = claim(1, ask(at, 5, phones(1, 6))); p.State != messaging.PartUploading {
		t.Fatalf("a part with room is %+v", p)
	}
	same(t, "counted", messaging.Room{Contacts: 5}, messaging.Room{Contacts: room(ask(at, 5, phones(7, 8))).Contacts})
	// A message and the other file find no room beside it, and do once it was not taken.
	l.ruleBy(unique{most: 5, within: 24 * time.Hour})
	late := l.enqueue("late", contact(9))
	same(t, "a message", 0, len(l.ids(at.Add(time.Minute))))
	same(t, "another file", messaging.PartWaiting, claim(2, ask(at.Add(time.Minute), 5, phones(8, 9))).State)
	l.endPart(p, messaging.PartRejected)
	same(t, "the other file, then", messaging.PartUploading, claim(3, ask(at.Add(2*time.Minute), 5, phones(8, 11))).State)
	same(t, "a message to one on it", []messaging.MessageID{late}, l.ids(at.Add(11*time.Minute)))
}
