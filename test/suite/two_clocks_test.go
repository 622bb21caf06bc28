package suite

import (
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// nodeClocks are two nodes, of which one has a machine whose clock is an hour ahead, and the other one whose clock is an hour behind: both go by
// the database's.
func (p pair) nodeClocks(t *testing.T) {
	off := func(by time.Duration) func(*store.Options) {
		return func(o *store.Options) {
			o.Now, o.Machine = nil, func() time.Time { return time.Now().Add(by) }
		}
	}
	ahead := openWith(t, p.fresh(t), off(time.Hour))
	address, _, _ := strings.Cut(ahead.dsn, "#")
	behind := openWith(t, address+"#"+t.TempDir(), off(-time.Hour))
	names := map[*ledger]string{ahead: "a:1:x", behind: "b:1:y"}
	const near = time.Minute
	for l, name := range names {
		if by := time.Until(l.Now()); by.Abs() > near {
			t.Fatalf("before the first heartbeat %s is %s off", name, by)
		}
		_, err := l.RescueClaims(l.ctx, l.Now(), name)
		l.must(err)
	}
	for l, other := range map[*ledger]*ledger{ahead: behind, behind: ahead} {
		key := names[l]
		claim := func(of *ledger) []messaging.Message {
			t.Helper()
			got, err := of.Claim(of.ctx, messaging.ClaimRequest{Owner: names[of], Now: of.Now(), Lease: time.Minute, Utility: 9, Marketing: 9})
			of.must(err)
			return got
		}
		stored := l.message(l.enqueue(key, due(l.Now().Add(30*time.Minute)), expires(l.Now().Add(time.Hour))))
		if by := time.Until(stored.CreatedAt); by.Abs() > near {
			t.Errorf("%s dates what it stores %s from now", key, by)
		}
		if got := claim(other); len(got) != 0 {
			t.Errorf("%d messages of %s were claimed before their time", len(got), key)
		}
		l.enqueue(key+" at once", due(l.Now()), expires(l.Now().Add(time.Hour)))
		got := claim(l)
		if len(got) != 1 {
			t.Fatalf("%d messages are due at %s", len(got), key)
		}
		if by := time.Until(got[0].LeaseEnds); by < 0 || by > 2*near {
			t.Errorf("the claim of %s ends %s from now", key, by)
		}
		for _, one := range []*ledger{other, l} {
			n, err := one.RescueClaims(one.ctx, one.Now(), names[one])
			if one.must(err); n != (messaging.Rescued{}) {
				t.Errorf("%+v claims of %s were ended by %s", n, key, names[one])
			}
		}

		l.mustAccept(later(key + " is looked up"))
		if got := l.claimLookups(l.Now(), 9); len(got) != 1 {
			t.Fatalf("%d look-ups are due at %s", len(got), key)
		}
		if got := other.claimLookups(other.Now(), 9); len(got) != 0 {
			t.Errorf("%d look-ups were taken from %s", len(got), key)
		}
	}
}
