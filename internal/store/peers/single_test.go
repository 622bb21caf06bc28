package peers

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/numbers"
	"github.com/nudgewire/nudgewire/internal/store/schema"
	"github.com/nudgewire/nudgewire/internal/store/tally"
)

// data is a file with one connection that writes, coordinated by a Single.
type data struct {
	*Single
	on    *engine.SQLite
	reads engine.Pool
	tx    *engine.Tx
}

func openData(t *testing.T) *data {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nudgewire.db")
	c, err := engine.NewConnector(path)
	if err == nil {
		err = engine.CreateFile(path)
	}
	if err == nil {
		err = c.Prepare(t.Context(), path, schema.Steps)
	}
	d := &data{}
	if err == nil {
		d.on, err = engine.OpenSQLite(c)
	}
	if err != nil {
		t.Fatal(err)
	}
	d.reads, d.tx = c.ReadPool(nil), engine.NewTx(d.on)
	t.Cleanup(func() { _ = errors.Join(d.reads.Close(), d.on.Close()) })
	d.start(t)
	return d
}

// start is what a process does first: what it finds is what the one before left on the disk.
func (d *data) start(t *testing.T, rows ...Keyed) {
	t.Helper()
	d.Single = &Single{On: d.on, Reads: d.reads, Write: d.write, Small: true}
	if err := d.Open(t.Context(), rows...); err != nil {
		t.Fatal(err)
	}
	<-d.Filled()
}

func (d *data) write(run func(*engine.Tx) error) error {
	err := d.Begin()
	if err == nil {
		err = d.Settle(d.tx, run(d.tx))
	}
	return err
}

var errUndone = errors.New("undone")

// Whatever was undone leaves neither a number nor a key, and what was committed is found, also by the next process.
func TestWhatWasUndoneLeavesNothing(t *testing.T) {
	d := openData(t)
	rapid.Check(t, func(rt *rapid.T) {
		if err := errors.Join(d.on.Run(`DELETE FROM keys`), d.on.Run(`DELETE FROM counts`)); err != nil {
			rt.Fatal(err)
		}
		d.start(t)
		d.Keys.Limit = 4
		var newest int64
		known := map[Key]bool{}
		hash := rapid.Int64Range(1, 20)
		rt.Repeat(map[string]func(*rapid.T){
			"write": func(rt *rapid.T) {
				undone, n := rapid.Bool().Draw(rt, "undone"), rapid.Int64Range(1, 5).Draw(rt, "n")
				added := map[Key]bool{}
				err := d.write(func(tx *engine.Tx) error {
					first, err := d.Allocate(tx, numbers.Events, n)
					if err != nil || first != newest+1 {
						rt.Fatalf("the first number is %d (%v) after %d", first, err, newest)
					}
					for id := first; id < first+n; id++ {
						k := Key{Part: Correlations, Hash: hash.Draw(rt, "hash") << 55, ID: id}
						if err := d.Remember(tx, k, rapid.Bool().Draw(rt, "fresh")); err != nil {
							return err
						}
						added[k] = true
					}
					if undone {
						return errUndone
					}
					return nil
				})
				if undone != errors.Is(err, errUndone) || !undone && err != nil {
					rt.Fatal(err)
				}
				if !undone {
					newest += n
					for k := range added {
						known[k] = true
					}
				}
			},
			"": func(rt *rapid.T) {
				err := d.write(func(tx *engine.Tx) error {
					for h := int64(1); h <= 20; h++ {
						var want []int64
						for k := range known {
							if k.Hash == h<<55 {
								want = append(want, k.ID)
							}
						}
						slices.Sort(want)
						got, err := d.Find(tx, Correlations, Correlations, h<<55, nil)
						if err != nil {
							return err
						}
						if !slices.Equal(got, want) {
							rt.Fatalf("under %d there is %v, want %v", h, got, want)
						}
					}
					return nil
				})
				if err != nil {
					rt.Fatal(err)
				}
			},
			"the process ends, and another begins": func(rt *rapid.T) {
				d.Single.Close()
				d.start(t)
				d.Keys.Limit = 4
				d.ids[numbers.Events] = newest // there are no rows that would say it
			},
		})
	})
}

// After a crash the keys of rows above the mark are read from the rows.
func TestRowsGiveTheirKeysBackAfterACrash(t *testing.T) {
	rows := Keyed{
		Of: numbers.Events, Query: `SELECT id FROM (SELECT 1 AS id UNION ALL SELECT 2 UNION ALL SELECT 3) AS events WHERE id > ?1 AND id <= ?2`,
		Keys: func(r *engine.Row, remember func(Key)) error {
			id := r.Int()
			remember(Key{Part: FirstDay, Hash: 100 + id, ID: id})
			return r.Err
		},
	}
	d := openData(t)
	err := d.write(func(tx *engine.Tx) error {
		err := tx.Put(tally.SetCountSQL, "events", int64(3)) // so many were stored
		if err == nil {
			err = tx.Put(tally.SetCountSQL, numbers.EventsKeyed, int64(1))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	d.start(t, rows) // nobody closed the one before
	for id, want := range map[int64]string{1: "[]", 2: "[2]", 3: "[3]"} {
		var got []int64
		err := d.write(func(tx *engine.Tx) (err error) {
			got, err = d.Find(tx, FirstDay, FirstDay+9, 100+id, nil)
			return err
		})
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("event %d: %v (%v), want %s", id, got, err, want)
		}
	}
}

// A sweep is due by what the counters say, takes what leads nowhere, and says of the rest that it stays.
func TestASweepTakesTheKeysThatLeadNowhere(t *testing.T) {
	d := openData(t)
	count := func(name string, n int64) {
		t.Helper()
		if err := d.write(func(tx *engine.Tx) error { return tx.Put(tally.SetCountSQL, name, n) }); err != nil {
			t.Fatal(err)
		}
	}
	for _, one := range []struct{ dead, events, want int64 }{{sweepLeast - 1, 0, 0}, {sweepLeast, 0, sweepLeast}, {sweepLeast, 8 * sweepLeast, sweepLeast}, {sweepLeast, 8*sweepLeast + 1, 0}} {
		count(DeadKeys, one.dead)
		count(tally.CountEvents.String(), one.events)
		if got, err := DeadKeysToSweep(t.Context(), d.Reads); err != nil || got != one.want {
			t.Errorf("%d of %d keys are dead: %d are worth a sweep (%v), want %d", one.dead, one.events, got, err, one.want)
		}
	}
	if err := d.write(func(tx *engine.Tx) error {
		for id := range int64(500) {
			if err := Keep(tx, Key{Part: FirstDay + id, Hash: id, ID: id + 1}); err != nil {
				return err
			}
		}
		return Keep(tx, Key{Part: Tombstones, Hash: TombstoneHash(7), ID: 0})
	}); err != nil {
		t.Fatal(err)
	}
	const tombstone = `INSERT INTO tombstones (correlation, trigger_name, correlation_key, phone, event_id, ref, event_at, expires_at) VALUES (7, 't', 'k', '', 1, '', 1, 2)`
	if err := d.on.Run(tombstone); err != nil {
		t.Fatal(err)
	}
	var kept []int64
	if err := Sweep(t.Context(), d.Reads, func(hash int64) { kept = append(kept, hash) }, d.write); err != nil {
		t.Fatal(err)
	}
	left := 0
	if err := d.Reads.Scan(t.Context(), `SELECT count(*) FROM keys`, nil, &left); err != nil || left != 1 || !slices.Equal(kept, []int64{TombstoneHash(7)}) {
		t.Errorf("%d keys are left, kept are %v (%v)", left, kept, err)
	}
}
