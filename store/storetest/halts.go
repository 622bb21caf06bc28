package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/store"
)

func template(name string) change {
	return func(p *nudgewire.Plan) { p.Wishes[0].Owe.Send.Template = name }
}

func (s suite) halts(t *testing.T) {
	t.Run("everything waits with its due time, over a restart, until it is resumed", func(t *testing.T) {
		dsn := s.fresh(t)
		l := reopen(t, dsn)
		id := l.owe("a", due(noon))
		if err := l.Halt(l.ctx, store.Halt{Scope: store.HaltAll, Reason: "wrong price", At: noon}); err != nil {
			t.Fatal(err)
		}
		l.close()
		l = reopen(t, dsn)
		if got := l.mustClaim(noon.Add(time.Minute), 9); len(got) != 0 {
			t.Fatalf("claimed %d while everything is halted", len(got))
		}
		if _, ok, err := l.NextDue(l.ctx); ok || err != nil {
			t.Errorf("next due: %v, %v; want nothing", ok, err)
		}
		if !l.JobHalted("winback") {
			t.Error("a job is not halted with everything")
		}
		list, err := l.Halts(l.ctx)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "halts", []store.Halt{{Scope: store.HaltAll, Reason: "wrong price", At: noon}}, list)
		l.at(noon.Add(2 * time.Minute))
		if err := l.Resume(l.ctx, store.HaltAll, ""); err != nil {
			t.Fatal(err)
		}
		same(t, "the sender is woken for", noon.Add(2*time.Minute), l.lastCall(&l.due))
		got := l.mustClaim(noon.Add(2*time.Minute), 9)
		if len(got) != 1 || got[0].ID != id || !got[0].DueAt.Equal(noon) {
			t.Errorf("claimed after resume: %+v", got)
		}
		if err := l.Resume(l.ctx, store.HaltAll, ""); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a second resume: %v", err)
		}
	})
	for _, c := range []struct {
		name string
		halt store.Halt
		want string // key of what is still claimed
	}{
		{"a trigger alone", store.Halt{Scope: store.HaltTrigger, Name: "remind"}, ""},
		{"another trigger stops nothing", store.Halt{Scope: store.HaltTrigger, Name: "remin"}, "ab"},
		{"a template alone, by its whole name", store.Halt{Scope: store.HaltTemplate, Name: "offer"}, "b"},
		{"a job of the trigger's name stops no trigger", store.Halt{Scope: store.HaltJob, Name: "remind"}, "ab"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := s.open(t)
			l.owe("a", due(noon), template("offer"))
			l.owe("b", due(noon), template("offer2"))
			if err := l.Halt(l.ctx, c.halt); err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, d := range l.mustClaim(noon.Add(time.Minute), 9) {
				got += d.Key
				if h, halted := l.Halted(&d); halted {
					t.Errorf("%s was claimed, and %s is halted", d.Key, h.What())
				}
			}
			same(t, "claimed", c.want, got)
		})
	}
	t.Run("what expires while it is halted is dropped", func(t *testing.T) {
		l := s.open(t)
		id := l.owe("a", due(noon), expires(noon.Add(time.Minute)))
		if err := l.Halt(l.ctx, store.Halt{Scope: store.HaltTrigger, Name: "remind"}); err != nil {
			t.Fatal(err)
		}
		l.mustClaim(noon.Add(time.Hour), 9)
		same(t, "state", nudgewire.StateDropped, l.dispatch(id).State)
	})
	t.Run("a scope without a name is refused", func(t *testing.T) {
		l := s.open(t)
		wantErr(t, l.Halt(l.ctx, store.Halt{Scope: store.HaltJob}), `halt: "job" "" is nothing that can be halted`)
	})
}

// blocksHold is what a block does to messages that are owed already.
func (s suite) blocksHold(t *testing.T) {
	const ana = "447700900101"
	dsn := s.fresh(t)
	l := reopen(t, dsn)
	blocked := l.owe("a", due(noon), phone(ana))
	code := l.owe("b", due(noon), phone(ana), category(nudgewire.Authentication))
	other := l.owe("c", due(noon))
	if _, err := l.Block(l.ctx, []store.Block{{Phone: ana, Reason: "asked for it", Source: "by hand"}}); err != nil {
		t.Fatal(err)
	}
	l.close()
	l = reopen(t, dsn)
	var got []nudgewire.DispatchID
	for _, d := range l.mustClaim(noon.Add(time.Minute), 9) {
		got = append(got, d.ID)
	}
	same(t, "claimed", []nudgewire.DispatchID{code, other}, got)
	d := l.dispatch(blocked)
	same(t, "state", nudgewire.StateDropped, d.State)
	same(t, "reason", "the contact is blocked: asked for it", d.Reason)
	l.totals(map[string]int64{"dispatches_dropped": 1})
}
