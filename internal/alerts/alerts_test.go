package alerts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A shelf is a store.
type shelf struct {
	mu    sync.Mutex
	state messaging.AlertState
	full  bool
	kept  int // so often
}

func (s *shelf) Alerts(context.Context) (messaging.AlertState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state, nil
}

func (s *shelf) KeepAlerts(_ context.Context, state messaging.AlertState) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full {
		return errors.New("the disk is full")
	}
	s.state = state
	s.kept++
	return nil
}

// A post is what receivers got, and how they are.
type post struct {
	mu   sync.Mutex
	got  []string // "name: text at 1m0s"
	down map[string]error
	hang map[string]bool
	from time.Time
}

func (p *post) send(ctx context.Context, r *Receiver, _ *Mail, m Message) error {
	p.mu.Lock()
	err, hang := p.down[r.Name], p.hang[r.Name]
	p.mu.Unlock()
	if hang {
		<-ctx.Done()
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got = append(p.got, fmt.Sprintf("%s: %s at %v", r.Name, strings.ReplaceAll(m.Text, "\n", "; "), time.Since(p.from)))
	return nil
}

func (p *post) box(name string) (out []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.got {
		if text, ok := strings.CutPrefix(one, name+": "); ok {
			out = append(out, text)
		}
	}
	return out
}

// A trial is Alerts with two receivers, ops and mail, that are told everything.
type trial struct {
	*post
	t      *testing.T
	store  *shelf
	a      *Alerts
	mu     sync.Mutex
	is     []messaging.Trouble
	takes  time.Duration // a look
	urgent atomic.Bool
	bad    error
	end    func()
}

// newTrial is not started, so that its first look sees what a test sets up before.
func newTrial(t *testing.T) *trial {
	return &trial{t: t, post: &post{from: time.Now(), down: map[string]error{}, hang: map[string]bool{}}, store: &shelf{}}
}

var twoReceivers = &Plan{
	Receivers: []Receiver{{ID: "1", Name: "ops"}, {ID: "2", Name: "mail"}},
	Watches:   []Watch{{"1", Condition{Above: -1}}, {"2", Condition{Above: -1}}},
}

func (tr *trial) start() {
	tr.a = New(Options{Store: tr.store, Sender: tr.send, Urgent: tr.urgent.Load, Look: func(context.Context) (Look, error) {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		look := Look{At: time.Now(), Troubles: slices.Clone(tr.is)}
		time.Sleep(tr.takes)
		return look, tr.bad
	}})
	tr.a.Use(twoReceivers)
	ctx, stop := context.WithCancel(context.WithoutCancel(tr.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- tr.a.Run(ctx) }()
	tr.end = func() {
		stop()
		if err := <-ended; err != nil {
			tr.t.Error(err)
		}
	}
}

func (tr *trial) are(all ...messaging.TroubleCode) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.is = nil
	for i, code := range all {
		tr.is = append(tr.is, trouble(code, func(t *messaging.Trouble) { t.Subject = fmt.Sprint(i) }))
	}
}

func (tr *trial) set(change func()) {
	tr.post.mu.Lock()
	defer tr.post.mu.Unlock()
	change()
}

func (tr *trial) wants(name string, want ...string) {
	tr.t.Helper()
	got := tr.box(name)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		tr.t.Errorf("%s got\n  %s\nwant\n  %s", name, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func after(d time.Duration) { time.Sleep(d); synctest.Wait() }

func TestAnAlertComesWithinAMinuteOnceAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(t)
		tr.start()
		after(time.Minute + time.Second)
		tr.are(messaging.TroubleKey)
		after(time.Hour)
		tr.are()
		after(time.Hour)
		tr.end()
		if n := tr.store.kept; n > 10 {
			t.Errorf("stored %d times", n)
		}
		for _, name := range []string{"ops", "mail"} {
			tr.wants(name, "it is key at 1m10s", "over after 1h: it is key at 1h2m10s")
		}
	})
}

// A look that took long, on a busy machine, puts off the next one, and not the word that the data is away.
func TestALongLookPutsOffNothingUrgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(t)
		tr.takes = time.Minute
		tr.start()
		after(time.Minute)
		tr.takes = 0
		tr.are(messaging.TroubleData)
		tr.urgent.Store(true)
		after(time.Minute)
		tr.end()
		for _, name := range []string{"ops", "mail"} {
			if got := tr.box(name); len(got) != 1 {
				t.Errorf("%s got %q within a minute", name, got)
			}
		}
	})
}

func TestARestartTellsNothingAgainAndKeepsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(t)
		tr.down["mail"] = errors.New("no route")
		tr.are(messaging.TroubleKey)
		tr.start()
		after(time.Minute)
		tr.end()
		tr.set(func() { delete(tr.down, "mail") })
		tr.start()
		after(time.Minute)
		tr.wants("ops", "it is key at 0s")
		tr.wants("mail", "it is key at 1m0s")
		// It ends while nothing runs.
		tr.end()
		tr.are()
		after(time.Hour)
		tr.start()
		after(2 * time.Minute)
		tr.end()
		tr.wants("ops", "it is key at 0s", "over after 1h2m: it is key at 1h3m0s")
	})
}

// A receiver that is down for an hour gets all of it afterwards, in order; another one gets it at once.
func TestAReceiverThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(t)
		tr.down["ops"] = errors.New("no route to https://+44 7700 900123")
		tr.start()
		after(time.Second)
		tr.are(messaging.TroubleKey)
		after(10 * time.Minute)
		tr.are()
		after(50 * time.Minute)
		v := tr.a.View()
		if r := v.Receivers[1]; r.Name != "ops" || r.FailingSince.IsZero() || r.Waiting != 2 || r.LastError != "no route to https://+44 77** ****23" || !v.Alerts[0].Waiting {
			t.Errorf("%+v", v)
		}
		tr.wants("mail", "it is key at 10s", "over after 10m: it is key at 11m10s")
		tr.wants("ops")
		tr.set(func() { delete(tr.down, "ops") })
		after(16 * time.Minute)
		if got := tr.box("ops"); len(got) != 2 || !strings.HasPrefix(got[0], "it is key at 1h") || !strings.HasPrefix(got[1], "over after 10m: it is key at 1h") {
			t.Errorf("afterwards it got %q", got)
		}
		if r := tr.a.View().Receivers[1]; !r.FailingSince.IsZero() || r.LastError != "" || r.Waiting != 0 {
			t.Errorf("%+v", r)
		}
		tr.end()
	})
}

func TestWhatNobodyTakesForADayIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(t)
		tr.down["ops"] = errors.New("gone")
		tr.are(messaging.TroubleKey)
		tr.start()
		after(25 * time.Hour)
		if r := tr.a.View().Receivers[1]; r.Waiting != 0 || r.FailingSince.IsZero() {
			t.Errorf("%+v", r)
		}
		tr.end()
	})
}

// One that hangs holds up nobody, and a stop in the middle of it is short and loses nothing.
func TestAStopInTheMiddleOfADelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(t)
		tr.hang["ops"] = true
		tr.are(messaging.TroubleKey)
		tr.start()
		after(time.Second)
		began := time.Now()
		tr.end()
		if took := time.Since(began); took > grace {
			t.Errorf("the stop took %v", took)
		}
		tr.wants("mail", "it is key at 0s")
		if n := tr.store.state.Notices; len(n) != 1 || n[0].Receiver != "1" || n[0].Attempts != 0 {
			t.Errorf("%+v", n)
		}
		tr.set(func() { delete(tr.hang, "ops") })
		tr.start()
		after(time.Minute)
		tr.end()
		tr.wants("ops", "it is key at 6s")
		tr.wants("mail", "it is key at 0s")
	})
}

// What cannot be stored is told all the same.
func TestAFullDiskKeepsNothingFromBeingTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(t)
		tr.store.full = true
		tr.are(messaging.TroubleDisk)
		tr.start()
		after(time.Hour)
		tr.wants("ops", "it is disk at 0s")
		tr.store.mu.Lock()
		tr.store.full = false
		tr.store.mu.Unlock()
		after(time.Minute)
		tr.end()
		tr.start()
		after(time.Hour)
		tr.end()
		tr.wants("ops", "it is disk at 0s")
	})
}

// Many at once come singly, and then as one with their number.
func TestManyAlertsAreNoStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(t)
		tr.are(slices.Repeat([]messaging.TroubleCode{messaging.TroubleSilent}, 20)...)
		tr.start()
		after(9 * time.Minute)
		got := tr.box("ops")
		if len(got) != 6 || got[4] != "it is silent at 0s" || !strings.HasPrefix(got[5], "15 alerts in one, because there were so many:; it is silent; it is") {
			t.Errorf("%d messages: %q", len(got), got)
		}
		tr.are()
		after(5 * time.Minute) // the ends
		got = tr.box("ops")
		if len(got) != 12 || !strings.HasPrefix(got[11], "15 alerts in one") {
			t.Errorf("%d messages: %q", len(got), got)
		}
		tr.end()
	})
}

// A look that fails changes nothing.
func TestALookThatFailsEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(t)
		tr.are(messaging.TroubleKey)
		tr.start()
		after(time.Minute)
		tr.mu.Lock()
		tr.bad = errors.New("no data")
		tr.mu.Unlock()
		after(time.Hour)
		tr.end()
		tr.wants("ops", "it is key at 0s")
	})
}

// What a receiver that is taken out was to be told is dropped, and a test neither counts nor waits.
func TestReloadAndTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(t)
		tr.down["ops"] = errors.New("gone")
		tr.are(messaging.TroubleKey)
		tr.start()
		after(time.Minute)
		got, err := tr.a.Test(t.Context(), "")
		if err != nil || len(got) != 2 || got[0] != (Tested{"ops", "gone"}) || got[1] != (Tested{"mail", ""}) {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := tr.a.Test(t.Context(), "obs"); !errors.Is(err, ErrNoReceiver) {
			t.Errorf("%v", err)
		}
		tr.a.Use(&Plan{Receivers: twoReceivers.Receivers[1:], Watches: twoReceivers.Watches[1:]})
		after(time.Minute)
		if v := tr.a.View(); len(v.Receivers) != 1 || len(v.Alerts) != 1 || v.Receivers[0].Waiting != 0 {
			t.Errorf("%+v", v)
		}
		tr.end()
		if s := tr.store.state; len(s.Receivers) != 1 || len(s.Notices) != 0 || len(s.Alerts) != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// Looks that take long are made less often, so that they take little of the machine.
func TestSlowLooksAreMadeLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		a := New(Options{Store: &shelf{}, Sender: (&post{}).send, Look: func(context.Context) (Look, error) {
			looks++
			time.Sleep(5 * time.Second)
			return Look{At: time.Now()}, nil
		}})
		a.Use(twoReceivers)
		ctx, stop := context.WithTimeout(t.Context(), 1000*time.Second)
		defer stop()
		if err := a.Run(ctx); err != nil {
			t.Error(err)
		}
		if looks < 9 || looks > 11 {
			t.Errorf("%d looks of 5s in 1000s", looks)
		}
	})
}

// A look that waits for data which does not answer is long, too, and does not put the next one off: the outage would be told minutes late.
func TestALookThatWaitsForDataPutsNothingOff(t *testing.T) {
	for name, last := range map[string]func() (Look, error){
		"it fails": func() (Look, error) { return Look{}, errors.New("the database server cannot be reached") },
		"it tells": func() (Look, error) {
			return Look{At: time.Now(), Troubles: []messaging.Trouble{trouble(messaging.TroubleData)}}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				looks := 0
				a := New(Options{Store: &shelf{}, Sender: (&post{}).send, Look: func(context.Context) (Look, error) {
					looks++
					time.Sleep(15 * time.Second)
					return last()
				}})
				a.Use(twoReceivers)
				ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
				defer stop()
				if err := a.Run(ctx); err != nil {
					t.Error(err)
				}
				if looks < 20 {
					t.Errorf("%d looks in ten minutes", looks)
				}
			})
		})
	}
}

// Nobody to tell is nothing to store.
func TestWithoutReceiversNothingIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		a := New(Options{Store: s, Look: func(context.Context) (Look, error) {
			t.Error("looked for nobody")
			return Look{At: time.Now(), Troubles: []messaging.Trouble{trouble(messaging.TroubleKey)}}, nil
		}})
		a.Use(&Plan{})
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		if err := a.Run(ctx); err != nil || s.kept != 0 {
			t.Errorf("stored %d times, %v", s.kept, err)
		}
	})
}
