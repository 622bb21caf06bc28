package suite

import (
	"errors"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

func (s suite) blocks(t *testing.T) {
	l := s.open(t)
	block := func(phones ...messaging.Phone) int {
		var all []store.Block
		for _, p := range phones {
			all = append(all, store.Block{Phone: p, Reason: "asked for it", Source: "by hand", At: noon})
		}
		n, err := l.Block(l.ctx, all)
		l.must(err)
		return n
	}
	if n := block(ana, ben, ana); n != 2 {
		t.Errorf("%d were new, want 2", n)
	}
	if n := block(ana); n != 0 {
		t.Errorf("%d were new, want 0", n)
	}
	found, err := l.Blocked(l.ctx, []messaging.Phone{ana, "447700900199"})
	l.must(err)
	same(t, "blocked", map[messaging.Phone]string{ana: "the contact is blocked: asked for it"}, found)
	if err := l.Allow(l.ctx, ana); err != nil {
		t.Error(err)
	}
	if err := l.Allow(l.ctx, ana); !errors.Is(err, messaging.ErrNotFound) {
		t.Errorf("a second time: %v", err)
	}
	list, err := l.Blocks(l.ctx, 0)
	l.must(err)
	same(t, "blocks", []store.Block{{Phone: ben, Reason: "asked for it", Source: "by hand", At: noon}}, list)
}

// blocksHold is what a block does to messages that are queued already.
func (s suite) blocksHold(t *testing.T) {
	dsn := s.fresh(t)
	l := reopen(t, dsn)
	blocked := l.enqueue("a", due(noon), phone(ana))
	code := l.enqueue("b", due(noon), phone(ana), category(messaging.Authentication))
	other := l.enqueue("c", due(noon))
	if _, err := l.Block(l.ctx, []store.Block{{Phone: ana, Reason: "asked for it", Source: "by hand"}}); err != nil {
		t.Fatal(err)
	}
	l.close()
	l = reopen(t, dsn)
	var got []messaging.MessageID
	for _, d := range l.mustClaim(noon.Add(time.Minute), 9) {
		got = append(got, d.ID)
	}
	same(t, "claimed", []messaging.MessageID{code, other}, got)
	d := l.message(blocked)
	same(t, "state", messaging.StateDropped, d.State)
	same(t, "reason", "the contact is blocked: asked for it", d.Reason)

	// Who is blocked after the claim is found by the sender's last look.
	late := l.enqueue("d", due(noon), phone("447700900102"))
	claims := l.mustClaim(noon.Add(time.Minute), 9)
	if len(claims) != 1 || claims[0].ID != late {
		t.Fatalf("claimed %+v", claims)
	}
	for _, want := range []string{"", "the contact is blocked"} {
		same(t, "blocked", want, l.factsOf(&claims[0]).Blocked)
		if _, err := l.Block(l.ctx, []store.Block{{Phone: "447700900102", Source: "by hand"}}); err != nil {
			t.Fatal(err)
		}
	}
	l.totals(map[string]int64{"messages_dropped": 1})
}

// person is a person's block.
func (l *ledger) person(phone messaging.Phone) {
	l.t.Helper()
	if _, err := l.Block(l.ctx, []store.Block{{Phone: phone, Source: "by hand", At: noon}}); err != nil {
		l.t.Fatal(err)
	}
}
