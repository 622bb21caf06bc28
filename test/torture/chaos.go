package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/units"
)

// sends are the endpoints that ask for a message, by the sandbox's names.
var sends = []string{"send-template"}

// faults is what the service can suffer from. Each passes: nothing of it is a reason to
// refuse one message for good.
var faults = []struct {
	name string
	what sandbox.Faults
}{
	{"well", sandbox.Faults{}},
	{"well", sandbox.Faults{}},
	{"slow", sandbox.Faults{Latency: units.Duration(200 * time.Millisecond), LatencyJitter: units.Duration(time.Second)}},
	{"429 after a second", sandbox.Faults{Latency: units.Duration(time.Second), ErrorRate: 1, Status: http.StatusTooManyRequests, RetryAfter: units.Duration(time.Second), Endpoints: sends}},
	{"503 with Retry-After", sandbox.Faults{Latency: units.Duration(time.Second), ErrorRate: 1, Status: http.StatusServiceUnavailable, RetryAfter: units.Duration(time.Second), Endpoints: sends}},
	{"503", sandbox.Faults{ErrorRate: 1, Status: http.StatusServiceUnavailable}},
	{"500 now and then", sandbox.Faults{ErrorRate: 0.3}},
	{"the key is refused", sandbox.Faults{Latency: units.Duration(500 * time.Millisecond), ErrorRate: 1, Status: http.StatusUnauthorized}},
	{"no points", sandbox.Faults{ErrorRate: 1, Status: http.StatusPaymentRequired, Endpoints: sends}},
	{"not found", sandbox.Faults{ErrorRate: 1, Status: http.StatusNotFound}},
	{"statuses answer 500", sandbox.Faults{ErrorRate: 1, Endpoints: []string{"message-status"}}},
	{"cut before", sandbox.Faults{CutBefore: 0.3}},
	{"cut after", sandbox.Faults{CutAfter: 0.2}},
	{"answers that never come", sandbox.Faults{HangAfterAccept: 0.1}},
	{"answers that nobody can read", sandbox.Faults{Junk: 0.2}},
	{"40 a second", sandbox.Faults{RateLimit: 40}},
}

// chaos breaks things at random until end. The daemon runs when it returns without an error.
func (r *round) chaos(ctx context.Context, end time.Time) error {
	if err := r.reload(ctx, ruleSets[2]); err != nil { // so that no round is without an edit
		return err
	}
	half := time.Now().Add(time.Until(end) / 2)
	for time.Now().Before(end) || r.owes() {
		pause := 200*time.Millisecond + time.Duration(r.dice.Int64N(int64(2500*time.Millisecond)))
		if r.KillEvery > 0 {
			pause = r.KillEvery
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		var err error
		late := time.Now().After(end)
		switch {
		case r.Restart != nil && r.report.Restarts == 0 && time.Now().After(half):
			err = r.restartDatabase(ctx)
		case r.KillEvery > 0:
			err = r.killOften(ctx)
		case late && r.report.Kills < fewestKills:
			err = r.kill(ctx)
		case late:
			err = r.restart(ctx)
		default:
			err = r.strike(ctx)
		}
		if err != nil {
			return err
		}
	}
	return r.awaitAll(ctx)
}

// fewestKills are those without which a round proves too little.
const fewestKills = 2

// owes reports whether something has not happened that no round is without, however busy the machine is.
func (r *round) owes() bool {
	return r.shop.answers() < r.Webhooks || r.Restart != nil && r.report.Restarts == 0 || r.report.Kills < fewestKills || r.report.Stops == 0 && r.KillEvery == 0
}

// restartDatabase ends the server of the database and starts it again, and waits until all daemons have it back.
func (r *round) restartDatabase(ctx context.Context) error {
	if err := r.awaitAll(ctx); err != nil { // a start needs the database
		return err
	}
	r.Say("the database is started anew")
	r.report.Restarts++
	if err := r.Restart(ctx); err != nil {
		return err
	}
	return r.awaitAll(ctx)
}

// awaitAll waits until all daemons take webhooks.
func (r *round) awaitAll(ctx context.Context) error {
	for _, d := range r.daemons {
		if err := d.awaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// strike does one thing.
func (r *round) strike(ctx context.Context) error {
	switch n := r.dice.IntN(100); {
	case n < 40:
		f := faults[r.dice.IntN(len(faults))]
		r.Say("the service: %s", f.name)
		r.service.box.SetFaults(f.what)
		return nil
	case n < 50:
		return r.reload(ctx, ruleSets[r.dice.IntN(len(ruleSets))])
	case n < 65:
		return r.kill(ctx)
	case n < 68 && r.Restart != nil:
		return r.restartDatabase(ctx)
	case n < 75:
		return r.restart(ctx)
	case n < 85:
		r.Say("the service goes away for a second")
		if err := r.service.down(); err != nil {
			return err
		}
		rest(ctx, time.Second)
		return r.service.up(ctx)
	case n < 90:
		return r.halt(ctx)
	case n < 95:
		return r.block(ctx)
	default:
		return r.campaign(ctx)
	}
}

// campaign begins a run with a list of its own, unless one is under way.
func (r *round) campaign(ctx context.Context) (err error) {
	s, err := r.daemons[0].ledger(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	open, err := s.OpenRuns(ctx, "news")
	if err != nil || len(open) > 0 {
		return err
	}
	r.report.Runs++
	if err := os.WriteFile(filepath.Join(r.Folder, "list.csv"), newList(r.report.Runs), 0o600); err != nil {
		return err
	}
	out, err := r.any().command(ctx, "jobs", "run", "news")
	r.Say("a campaign: %s", firstLine(out))
	if err != nil {
		r.violate("jobs run: %v: %s", err, firstLine(out))
	}
	return nil
}

// killOften ends a daemon as a crash does and starts it again, and does not wait until it is ready.
func (r *round) killOften(ctx context.Context) error {
	d := r.any()
	d.kill()
	r.report.Kills++
	r.Say("SIGKILL of %s after %s", filepath.Base(d.folder), time.Since(d.began).Round(time.Millisecond))
	err := d.launch(ctx)
	d.back() // as far as anybody looks
	return err
}

// kill ends a daemon as a crash does, starts it again, and looks at what that put in doubt, where it is alone.
func (r *round) kill(ctx context.Context) error {
	d := r.any()
	began := d.began
	reachable := r.service.reachable()
	d.kill()
	if len(r.daemons) > 1 { // what others claim and finish meanwhile cannot be told from what is its own
		rest(ctx, time.Duration(r.dice.Int64N(int64(3*time.Second))))
		r.report.Kills++
		r.Say("SIGKILL of %s", filepath.Base(d.folder))
		return d.start(ctx)
	}
	claimed, err := d.messages(ctx, messaging.StateSending)
	if err != nil {
		return err
	}
	if err := d.start(ctx); err != nil {
		return err
	}
	after, err := d.messages(ctx, messaging.StateInDoubt)
	if err != nil {
		return err
	}
	held := map[messaging.MessageID]bool{}
	for i := range claimed {
		held[claimed[i].ID] = true
	}
	doubts, unseen := 0, 0
	for i := range after {
		d := &after[i].Message
		if !held[d.ID] {
			continue
		}
		doubts++
		if !r.service.saw(callOf(d), began) {
			unseen++
		}
	}
	r.report.Kills++
	r.Say("SIGKILL: %d claimed, %d in doubt, of %d of them no request had arrived", len(claimed), doubts, unseen)
	// A request that was written and not read yet has not arrived: it is under way all the same.
	if reachable && unseen > unseenMost {
		r.violate("a kill put %d messages in doubt of which no request had left (%d in doubt, %d claimed)", unseen, doubts, len(claimed))
	}
	return nil
}

// unseenMost is how many calls may be between the decision to call and their arrival at the service when a kill comes: as many as may be
// under way. On a quiet machine there are few, because each takes well below a millisecond; the report says how many there were.
const unseenMost = concurrency

// restart stops the daemon as an operator does, and starts it again.
func (r *round) restart(ctx context.Context) error {
	d := r.any()
	err := d.stop(ctx)
	r.Say("SIGTERM: %v", err)
	r.report.Stops++
	if err != nil {
		r.violate("the daemon's end after SIGTERM: %v", err)
	}
	return d.start(ctx)
}

// halt stops everything for a while and looks whether anything leaves.
func (r *round) halt(ctx context.Context) error {
	if out, err := r.any().command(ctx, "halt"); err != nil {
		r.violate("halt: %v: %s", err, firstLine(out))
		return nil
	}
	from, patience := time.Now(), r.shop.patience()
	rest(ctx, patience+time.Second)
	to := time.Now()
	if n := r.service.between(from.Add(patience), to); n > 0 {
		r.violate("%d requests arrived while everything was halted", n)
	}
	r.halts = append(r.halts, span{from, time.Now()})
	out, err := r.any().command(ctx, "resume")
	r.Say("halted for %s", to.Sub(from).Round(time.Millisecond))
	if err != nil {
		r.violate("resume: %v: %s", err, firstLine(out))
	}
	return nil
}

// block takes a customer of the last seconds off the list of those who may be messaged.
func (r *round) block(ctx context.Context) error {
	all := r.shop.all()
	if len(all) == 0 {
		return nil
	}
	c := all[max(0, len(all)-1-r.dice.IntN(50))]
	if out, err := r.any().command(ctx, "contacts", "block", "+"+c.phone()); err != nil {
		r.violate("contacts block: %v: %s", err, firstLine(out))
		return nil
	}
	r.Say("customer %d is blocked", c.number)
	if _, known := r.blocked[c.phone()]; !known {
		r.blocked[c.phone()] = time.Now()
	}
	return nil
}

// A span is from when something had been done until it was begun to be undone; a zero end is never.
type span struct{ from, to time.Time }

// holds reports whether a time lies in the span.
func (s span) holds(at time.Time) bool { return at.After(s.from) && (s.to.IsZero() || at.Before(s.to)) }

// reload puts other rules into the config and has the daemon take them up.
func (r *round) reload(ctx context.Context, rules ruleSet) error {
	if n := len(r.silent); n > 0 && r.silent[n-1].to.IsZero() {
		r.silent[n-1].to = time.Now()
	}
	r.settings.ruleSet = rules
	if err := r.writeConfig(); err != nil {
		return err
	}
	r.Say("the rules are %s", rules.Name)
	for _, d := range r.daemons {
		if out, err := d.command(ctx, "reload"); err != nil {
			r.violate("reload: %v: %s", err, firstLine(out))
			return nil
		}
	}
	r.report.Reloads++
	if !rules.sends() {
		r.silent = append(r.silent, span{from: time.Now()})
	}
	return nil
}

// calm mends everything.
func (r *round) calm(ctx context.Context) error {
	r.Say("everything is mended")
	r.service.box.SetFaults(sandbox.Faults{})
	if err := r.service.up(ctx); err != nil {
		return err
	}
	r.mended = time.Now()
	return r.reload(ctx, ruleSets[0])
}

// settle waits until nothing waits any more but what a rule put off, and stops the daemon. A message that was tried
// again and again waits at most about as long as it has waited already. What a rule put off comes back all the
// time while things break; a round need not last for the last of it. How long that takes is the machine's matter:
// the limit is for what would wait for ever.
func (r *round) settle(ctx context.Context) error {
	within := r.For + 10*time.Minute
	for end, said := time.Now().Add(within), ""; ; {
		open, err := r.unfinished(ctx)
		if err == nil {
			err = r.goOn(ctx)
		}
		if err != nil {
			return err
		}
		if open == "" {
			break
		}
		if open != said {
			said = open
			r.Say("left: %s", open)
		}
		if time.Now().After(end) {
			r.violate("not done %s after everything was mended: %s", within, open)
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
	for _, d := range r.daemons {
		if err := d.stop(ctx); err != nil {
			r.violate("the daemon's end after SIGTERM: %v", err)
		}
	}
	return nil
}

// goOn lets runs go on that the trouble paused, as an operator does when it is over.
func (r *round) goOn(ctx context.Context) (err error) {
	s, err := r.daemons[0].ledger(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	runs, err := s.OpenRuns(ctx, "")
	for i := range runs {
		if runs[i].State == messaging.RunPaused {
			out, err := r.any().command(ctx, "jobs", "resume", strconv.FormatInt(int64(runs[i].ID), 10))
			r.Say("run %d goes on: %v %s", runs[i].ID, err, firstLine(out))
		}
	}
	return err
}
