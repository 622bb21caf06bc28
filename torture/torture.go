package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nudgewire/nudgewire"
)

// Options say how long and how hard a round is.
type Options struct {
	Program string        // the nudgewire binary
	Folder  string        // for its config, data and log; empty at the start
	For     time.Duration // how long things break; what no rule put off may then take as long again
	Seed    uint64        // decides the customers, the faults and their order
	Rate    float64       // customers a second; DefaultRate when 0

	Say func(format string, args ...any) // what happens, a line each; nil for silence
}

// DefaultRate of customers leaves two small processors room for the faults.
const DefaultRate = 25

// A round is one run of everything.
type round struct {
	Options
	dice    *rand.Rand // of the plan alone; customers have dice of their own
	service *service
	daemon  *daemon
	shop    *shop
	report  Report

	daemonBegan time.Time            // its last start
	blocked     map[string]time.Time // phone: when the command had answered
	settings    settings             // of the config as it stands in the file
	nights      nights
	silent      []span                        // when extra had been turned off or removed
	held        map[nudgewire.DispatchID]bool // that a rule had put off when the round ended
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
		return nil, fmt.Errorf("torture: %w", err)
	}
	defer r.service.close()
	defer r.daemon.kill()
	began := time.Now()
	if err := r.begin(ctx); err != nil {
		return nil, fmt.Errorf("torture: %w", err)
	}
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
		return nil, fmt.Errorf("torture: ended %s after its beginning by %w; nothing was audited", time.Since(began).Round(time.Second), context.Cause(ctx))
	}
	if err != nil {
		return nil, fmt.Errorf("torture: %w", err)
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
	address, err := freeAddress(ctx)
	if err != nil {
		return errors.Join(err, r.service.close())
	}
	r.nights = nightsOf(time.Now(), r.For)
	r.settings = settings{ruleSet: ruleSets[0], Service: r.service.address, Key: key, Secret: secret, Folder: r.Folder, Address: address, Quiet: r.nights.hours()}
	if err := r.writeConfig(); err != nil {
		return errors.Join(err, r.service.close())
	}
	r.daemon = &daemon{program: r.Program, folder: r.Folder, address: address}
	r.shop = newShop("http://"+address, secret, r.Seed, r.Rate, r.service.arrived)
	return nil
}

// writeConfig writes the file; a reload or a start takes it up.
func (r *round) writeConfig() error {
	text, err := r.settings.text()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.Folder, "config.yaml"), []byte(text), 0o600)
}

// violate notes that something that must hold does not.
func (r *round) violate(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.Say("VIOLATION %s", text)
	r.report.Violations = append(r.report.Violations, text)
}
