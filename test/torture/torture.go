package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/test/testserver"
)

// Options say how long and how hard a round is.
type Options struct {
	Program string        // the nudgewire binary
	Others  string        // that of all nodes but the first; Program where empty
	Folder  string        // for its config, data and log; empty at the start
	For     time.Duration // how long things break; what no rule put off may then take as long again
	Seed    uint64        // decides the customers, the faults and their order
	Rate    float64       // customers a second; DefaultRate when 0

	// Storage is a PostgreSQL database that Nodes daemons share; the folder's own file, and one daemon, when empty.
	Storage string
	Nodes   int
	// Restart ends the server of the database and starts it again, once in the middle of the round and now and then; nil where that
	// is not to be tried.
	Restart func(context.Context) error
	// KillEvery has one of the daemons killed that often, by the dice, ready or not, and started at once, and nothing else break but
	// the database; 0 has everything break.
	KillEvery time.Duration
	Webhooks  int // things break until so many were answered, too

	Say func(format string, args ...any) // what happens, a line each; nil for silence
}

// DefaultRate of customers leaves two small processors room for the faults.
const DefaultRate = 25

// sharedRate is how many requests a second many daemons may make together for each customer a second.
const sharedRate = 3.2

// A round is one run of everything.
type round struct {
	Options
	dice    *rand.Rand // of the plan alone; customers have dice of their own
	service *service
	daemons []*daemon
	shop    *shop
	report  Report

	blocked  map[string]time.Time // phone: when the command had answered
	settings settings             // of the config as it stands in the file
	nights   nights
	ready    time.Time                         // all daemons took webhooks
	mended   time.Time                         // nothing broke any more
	halts    []span                            // when everything was halted
	silent   []span                            // when extra had been turned off or removed
	held     map[messaging.MessageID]bool      // that a rule had put off when the round ended
	claimed  map[messaging.MessageID]time.Time // for the last time
}

// Run plays one round and reports what it found. An error means that the round itself
// could not be played; violations are in the report.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.Rate <= 0 {
		o.Rate = DefaultRate
	}
	if o.Say == nil {
		o.Say = func(string, ...any) {}
	}
	r := &round{Options: o, dice: rand.New(rand.NewPCG(o.Seed, 1)), blocked: map[string]time.Time{}}
	r.report.Seed = o.Seed
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	defer r.service.close()
	defer r.killAll()
	began := time.Now()
	for _, d := range r.daemons {
		if err := d.start(ctx); err != nil {
			return nil, err
		}
	}
	r.ready = time.Now()
	closes := make(chan struct{})
	var customers sync.WaitGroup
	customers.Go(func() { r.shop.open(ctx, closes) })
	err := r.chaos(ctx, began.Add(o.For))
	close(closes)
	if err == nil {
		err = r.calm(ctx)
	}
	customers.Wait()
	if err == nil {
		err = r.settle(ctx)
	}
	if err == nil {
		err = r.audit(ctx)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("ended %s after its beginning by %w; nothing was audited", time.Since(began).Round(time.Second), context.Cause(ctx))
	}
	if err != nil {
		return nil, err
	}
	r.report.Took = time.Since(began).Round(time.Second)
	return &r.report, nil
}

// open makes the folder, the service and the shop; the daemon is not started yet.
func (r *round) open(ctx context.Context) (err error) {
	const key, secret = "torture-key", "torture-secret"
	if r.service, err = newService(ctx, key, r.Seed); err != nil {
		return err
	}
	var hooks []string
	for number := range max(1, r.Nodes) {
		d := &daemon{program: r.Program, folder: r.Folder, storage: r.Storage}
		if number > 0 {
			d.program = cmp.Or(r.Others, r.Program)
		}
		if r.Storage == "" {
			d.storage = "sqlite:" + filepath.Join(r.Folder, "nudgewire.db")
		} else {
			d.folder = filepath.Join(r.Folder, fmt.Sprint("node", number+1))
			err = os.MkdirAll(d.folder, 0o700)
		}
		if err == nil {
			d.address, err = testserver.FreeAddress()
		}
		if err != nil {
			return errors.Join(err, r.service.close())
		}
		r.daemons, hooks = append(r.daemons, d), append(hooks, "http://"+d.address)
	}
	r.nights = nightsOf(time.Now(), r.For)
	r.settings = settings{ruleSet: ruleSets[0], Service: r.service.address, Key: key, Secret: secret, Folder: r.Folder, Quiet: r.nights.hours(), Rate: 400}
	if len(r.daemons) > 1 {
		r.settings.Rate = int(sharedRate * r.Options.Rate) // so little that they all have to wait for it
	}
	list := []byte("phone,name\n+447500000015,Tick\n")
	if err := os.WriteFile(filepath.Join(r.Folder, "ticks.csv"), list, 0o600); err != nil {
		return errors.Join(err, r.service.close())
	}
	if err := r.writeConfig(); err != nil {
		return errors.Join(err, r.service.close())
	}
	r.shop = newShop(hooks, secret, r.Seed, r.Rate, r.service.arrived)
	return nil
}

// writeConfig writes the file of each daemon; a reload or a start takes it up.
func (r *round) writeConfig() error {
	for _, d := range r.daemons {
		s := r.settings
		s.Address, s.Storage, s.Node = d.address, d.storage, d.folder
		text, err := s.text()
		if err == nil {
			err = os.WriteFile(d.config(), []byte(text), 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// any is one of the daemons, by the dice.
func (r *round) any() *daemon { return r.daemons[r.dice.IntN(len(r.daemons))] }

func (r *round) killAll() {
	for _, d := range r.daemons {
		d.kill()
	}
}

// violate notes that something that must hold does not.
func (r *round) violate(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.Say("VIOLATION %s", text)
	r.report.Violations = append(r.report.Violations, text)
}
