package suite

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/report"
)

// sentTo is a message of a trigger that the service took at a time.
func (l *ledger) sentTo(key, name string, phone messaging.Phone, at time.Time) {
	l.t.Helper()
	d := l.claimedAt(at, key, trigger(name), due(at), func(p *messaging.Plan) {
		p.Event.Contact.Phone, p.Event.ReceivedAt = phone, at
		w := &p.Proposals[0]
		w.Correlation.Phone, w.Message.Phone, w.Message.Trigger = phone, phone, name
	})
	a := attempt(d, messaging.StateAccepted)
	a.At = at
	a.Message.ServiceID = messaging.ServiceID("m-" + key)
	l.must(l.Finish(l.ctx, a))
}

// Overlaps are counted as somebody would who looks at each two messages.
func (s suite) overlaps(t *testing.T) {
	l := s.open(t)
	random := rand.New(rand.NewPCG(1, 2))
	type sent struct {
		name  string
		phone messaging.Phone
		at    time.Time
	}
	var all []sent
	at := noon
	for i := range 60 {
		at = at.Add(time.Duration(random.IntN(10)) * time.Hour)
		one := sent{fmt.Sprint("t", random.IntN(3)), messaging.Phone(fmt.Sprint("44770090010", random.IntN(4))), at}
		all = append(all, one)
		l.sentTo(fmt.Sprint("k", i), one.name, one.phone, one.at)
	}
	r := l.listed("1", []messaging.Phone{"447700900100", "447700900101", "447700900109"})
	_, err := l.ClaimRuns(l.ctx, owner, at, at.Add(time.Minute), nil)
	l.must(err)
	p, err := l.claim(r.ID, 1, at)
	l.must(err)
	p.State, p.HTTPStatus, p.UpdatedAt = messaging.PartAccepted, 200, at
	l.must(l.FinishPart(l.ctx, p))
	for _, phone := range []messaging.Phone{"447700900100", "447700900101", "447700900109"} {
		all = append(all, sent{"winback", phone, at})
	}

	want := map[[2]string]*report.OverlapView{}
	people := map[string]map[messaging.Phone]bool{}
	both := map[[2]string]map[messaging.Phone]bool{}
	since := noon.Add(24 * time.Hour)
	for i, later := range all {
		if later.at.Before(since) {
			continue
		}
		if people[later.name] == nil {
			people[later.name] = map[messaging.Phone]bool{}
		}
		people[later.name][later.phone] = true
		met := map[string]bool{}
		for j, earlier := range all {
			before := earlier.at.Before(later.at) || earlier.at.Equal(later.at) && (earlier.name < later.name || earlier.name == later.name && j < i)
			if !before || earlier.at.Before(since) || earlier.phone != later.phone || earlier.name == later.name || later.at.Sub(earlier.at) > 24*time.Hour || met[earlier.name] {
				continue
			}
			met[earlier.name] = true
			pair := [2]string{min(earlier.name, later.name), max(earlier.name, later.name)}
			if want[pair] == nil {
				want[pair], both[pair] = &report.OverlapView{A: pair[0], B: pair[1]}, map[messaging.Phone]bool{}
			}
			want[pair].Times++
			both[pair][later.phone] = true
		}
	}
	got, err := report.Reports{Records: l.report(), Now: func() time.Time { return at }}.Overlap(l.ctx, report.OverlapQuery{Since: since})
	l.must(err)
	if len(got) != len(want) || len(want) < 4 {
		t.Errorf("%d pairs, want %d", len(got), len(want))
	}
	for i := range got {
		w := want[[2]string{got[i].A, got[i].B}]
		if w == nil {
			t.Errorf("%+v is none", got[i])
			continue
		}
		w.People = int64(len(both[[2]string{w.A, w.B}]))
		w.Of = min(int64(len(people[w.A])), int64(len(people[w.B])))
		if got[i] != *w {
			t.Errorf("%+v, want %+v", got[i], *w)
		}
		if i > 0 && got[i].People > got[i-1].People {
			t.Errorf("%+v comes after %+v", got[i], got[i-1])
		}
	}
}
