//go:build unix

package store

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/peers"
	"github.com/nudgewire/nudgewire/internal/store/tally"
	"github.com/nudgewire/nudgewire/test/testserver"
)

// openForSets opens a store in a server of its own, and gives the engine of its first writer, which nobody else uses.
func openForSets(t *testing.T) (*Store, *engine.Postgres) {
	t.Helper()
	dsn, err := testserver.ForTest(t, "fsync=off").NewDatabase(t.Context())
	failIf(t, err)
	s, err := Open(t.Context(), Options{DSN: dsn + "#" + t.TempDir(), Settle: planAll})
	failIf(t, err)
	t.Cleanup(func() { failIf(t, s.Close()) })
	return s, s.writer.engine.(*engine.Postgres)
}

func TestTheServerTakesEverySet(t *testing.T) {
	_, e := openForSets(t)
	failIf(t, e.Begin())
	sets := map[*engine.Statement]bool{}
	for _, s := range engine.Statements() {
		one := s.OnServer()
		if slices.Contains([]string{"{{begin}}", "COMMIT", "ROLLBACK"}, s.String()) {
			continue
		}
		about, err := e.Conn().Prepare(t.Context(), one, one)
		failIf(t, err)
		form := s.AsSet(valuesOf(about.ParamOIDs)...)
		if form == "" || strings.Contains(one, "FOR UPDATE SKIP LOCKED") {
			continue
		}
		sets[s] = true
		if _, err := e.Conn().Prepare(t.Context(), form, form); err != nil {
			t.Errorf("%s\nas a set: %s\n%v", one, form, err)
		}
	}
	for name, s := range map[string]*engine.Statement{"counters": tally.CountSQL, "last events": tally.LastSeenSQL, "consents": saveConsentSQL, "opt-outs": proposalSQL, "keys": peers.InsertKeySQL} {
		if !sets[s] {
			t.Errorf("%s have no set", name)
		}
	}
}

// valuesOf are values of these types.
func valuesOf(types []uint32) (out []any) {
	for _, oid := range types {
		switch oid {
		case pgtype.Int8OID, pgtype.Int4OID:
			out = append(out, int64(0))
		case pgtype.TextOID:
			out = append(out, "")
		case pgtype.ByteaOID:
			out = append(out, []byte{})
		default:
			out = append(out, nil)
		}
	}
	return out
}

// What is said about contacts means as a set what it means said one after the other, however often a contact is in it.
func TestASetOfUpsertsIsThoseOneAfterTheOther(t *testing.T) {
	s, _ := openForSets(t)
	from := time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)
	draw := rand.New(rand.NewPCG(1, 2))
	var together, apart []messaging.ConsentRecord
	for range 200 {
		contact := draw.IntN(5)
		c := messaging.ConsentRecord{
			Channel: []messaging.Channel{messaging.ChannelPhone, messaging.ChannelEmail}[draw.IntN(2)],
			Consent: []messaging.Consent{messaging.ConsentGiven, messaging.ConsentWithdrawn}[draw.IntN(2)],
			At:      from.Add(time.Duration(draw.IntN(6)) * time.Minute), Source: fmt.Sprint("source ", draw.IntN(9)),
			Proof: []string{"", "form 7", "form 8"}[draw.IntN(3)], Event: messaging.EventID(draw.IntN(3)),
		}
		c.Phone = messaging.Phone(fmt.Sprintf("4477009001%02d", contact))
		together = append(together, c)
		c.Phone = messaging.Phone(fmt.Sprintf("4477009002%02d", contact))
		apart = append(apart, c)
	}
	failIf(t, s.SaveConsents(t.Context(), together))
	for _, c := range apart {
		failIf(t, s.SaveConsents(t.Context(), []messaging.ConsentRecord{c}))
	}
	all, err := s.Consents(t.Context(), "", "", 1000)
	failIf(t, err)
	if len(all) != 20 {
		t.Fatalf("%d consents, want those of 10 contacts by 2 ways", len(all))
	}
	for i, got := range all[:10] {
		want := all[10+i]
		if want.Phone = messaging.Phone(strings.Replace(string(want.Phone), "009002", "009001", 1)); got != want {
			t.Errorf("together %+v\napart    %+v", got, want)
		}
	}
}

// Of a set that changes one row several times each change is made, in order.
func TestASetChangesARowAsOftenAsItIsAsked(t *testing.T) {
	s, e := openForSets(t)
	err := commitOne(s, func(t *Tx) error {
		for i := range int64(9) {
			for _, name := range []string{"a", "b"} {
				if err := t.Put(tally.CountSQL, "sum/"+name, i); err != nil {
					return err
				}
			}
		}
		for _, at := range []int64{5, 9, 7} {
			if err := t.Put(tally.LastSeenSQL, "newest", at); err != nil {
				return err
			}
		}
		for _, value := range []int64{5, 9, 7} {
			if err := t.Put(tally.SetCountSQL, "last", value); err != nil {
				return err
			}
		}
		if n := e.Waiting(); n != 3 {
			return fmt.Errorf("%d statements wait, want 3 sets", n)
		}
		return nil
	})
	failIf(t, err)
	for name, want := range map[string]int64{"sum/a": 36, "sum/b": 36, "newest": 9, "last": 7} {
		var got int64
		failIf(t, s.reads.QueryRowContext(t.Context(), `SELECT value FROM counters WHERE name = $1`, name).Scan(&got))
		if got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
}

// A row that the server refuses costs the operation that brought it, and nobody beside it.
func TestARowThatIsRefusedCostsItsOwnOperation(t *testing.T) {
	s, _ := openForSets(t)
	var batch []*commit.Operation[*Tx]
	consents := &commit.Set[*Tx]{Run: func(t *Tx, members []*commit.Operation[*Tx]) error {
		for i, w := range members {
			err := t.peers.Lock(t.Tx, []int64{int64(i)}, nil)
			if err == nil {
				err = t.saveConsent(w.Member.(*messaging.ConsentRecord))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}}
	for i := range 5 {
		c := messaging.ConsentRecord{Phone: messaging.Phone(fmt.Sprint("44770090030", i)), Consent: messaging.ConsentGiven, At: time.Now(), Source: "form"}
		if i == 2 {
			c.Consent = "perhaps"
		}
		batch = append(batch, &commit.Operation[*Tx]{Set: consents, Member: &c})
	}
	commit.Run(s.writer.runBatch, batch)
	for i, w := range batch {
		if bad := i == 2; (w.Err != nil) != bad {
			t.Errorf("operation %d: %v", i, w.Err)
		}
	}
	all, err := s.Consents(t.Context(), "", "", 0)
	if err != nil || len(all) != 4 {
		t.Errorf("%d consents are stored, want 4; %v", len(all), err)
	}
}

// commitOne runs one operation on the first writer.
func commitOne(s *Store, run func(*Tx) error) error {
	return s.writer.runBatch([]*commit.Operation[*Tx]{{Run: run}})
}

// What several events of one commit cancel is cancelled for those that come after them, and written once for all.
func TestCancellationsOfACommit(t *testing.T) {
	open := map[string]func(*testing.T) *Store{
		"SQLite":     func(t *testing.T) *Store { t.Helper(); return openAt(t, filepath.Join(t.TempDir(), "nudgewire.db")) },
		"PostgreSQL": func(t *testing.T) *Store { t.Helper(); s, _ := openForSets(t); return s },
	}
	for name, open := range open {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			var waits []int // messages that each proposal of the second commit finds
			s.settle = func(w messaging.Proposal, f messaging.Facts) messaging.Settlement {
				waits = append(waits, len(f.Waiting))
				if w.Decision.Outcome != messaging.Cancelling {
					return planAll(w, f)
				}
				done := messaging.Settlement{Outcome: messaging.Cancelled}
				for _, one := range f.Waiting {
					done.Cancel = append(done.Cancel, one.ID)
				}
				return done
			}
			commitPlans := func(all ...messaging.Plan) {
				t.Helper()
				var batch []*commit.Operation[*Tx]
				for i := range all {
					one := &acceptance{make([]encodedPlan, 1), make([]messaging.Receipt, 1)}
					failIf(t, one.ready[0].prepare(&all[i], s.hash))
					batch = append(batch, &commit.Operation[*Tx]{Set: s.accepts, Member: one})
				}
				commit.Run(s.writer.runBatch, batch)
				for _, w := range batch {
					failIf(t, w.Err)
				}
			}
			plan := func(id, cart string, outcome messaging.Outcome) messaging.Plan {
				p := testPlan(cart)
				p.Event.DedupeKey, p.Proposals[0].Decision.Outcome = id, outcome
				return p
			}
			commitPlans(plan("1", "a", messaging.Planned), plan("2", "b", messaging.Planned))
			waits = nil
			commitPlans(plan("3", "a", messaging.Cancelling), plan("4", "a", messaging.Planned), plan("5", "b", messaging.Cancelling), plan("6", "b", messaging.Cancelling))
			if want := []int{1, 0, 1, 0}; !slices.Equal(waits, want) {
				t.Errorf("they found %v messages that wait, want %v", waits, want)
			}
			states, err := List(t.Context(), s, `SELECT state FROM messages ORDER BY id`, nil, engine.Text)
			if want := []string{"cancelled", "cancelled", "waiting"}; err != nil || !slices.Equal(states, want) {
				t.Errorf("the messages are %v, want %v; %v", states, want, err)
			}
		})
	}
}
