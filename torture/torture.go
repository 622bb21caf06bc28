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
)

// Options say how long and how hard a round is.
type Options struct {
	Program string        // the nudgewire binary
	Folder  string        // for its config, data and log; empty at the start
	For     time.Duration // how long things break; what is then left may take as long again
	Seed    uint64        // decides the customers, the faults and their order
	Rate    float64       // customers a second; DefaultRate when 0

	Say func(format string, args ...any) // what happens, a line each; nil for silence
}

// DefaultRate of customers leaves two small processors room for the faults.
const DefaultRate = 25

// The daemon's limits, as the config below has them.
const (
	concurrency  = 16
	reminderWait = 2 * time.Second
)

const configText = `
api: {base_url: http://%[1]s/api/v1, key: %[2]s, rate: 400/s, concurrency: %[3]d, timeout: 3s}
defaults: {country: GB, language: en}
connectors: {shopify: {secret: %[4]s}}
triggers:
  reminder:
    on: shopify.cart.updated
    wait: %[5]s
    cancel_on: shopify.order.created
    send: {template: reminder, variables: ['{{ cart.id }}']}
  thanks:
    on: shopify.order.created
    category: utility
    send: {template: thanks, variables: ['{{ order.id }}']}
jobs:
  news:
    source: {csv: %[6]s/list.csv}
    columns: {phone: phone, var_1: name}
    campaign: {template_id: 1042}
    max_size: 2kB
storage: sqlite:%[6]s/nudgewire.db
server: {listen: "%[7]s"}
tracking: {poll: [2s]}
`

// Names of what the config sends.
const (
	reminder = "reminder"
	thanks   = "thanks"
)

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
	posting, stop := context.WithCancel(ctx)
	defer stop()
	var customers sync.WaitGroup
	customers.Go(func() { r.shop.open(posting) })
	err := r.chaos(ctx, began.Add(o.For))
	stop()
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
	text := fmt.Sprintf(configText, r.service.address, key, concurrency, secret, reminderWait, r.Folder, address)
	if err := os.WriteFile(filepath.Join(r.Folder, "config.yaml"), []byte(text), 0o600); err != nil {
		return errors.Join(err, r.service.close())
	}
	r.daemon = &daemon{program: r.Program, folder: r.Folder, address: address}
	r.shop = newShop("http://"+address, secret, r.Seed, r.Rate, r.service.arrived)
	return nil
}

// violate notes that something that must hold does not.
func (r *round) violate(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.Say("VIOLATION %s", text)
	r.report.Violations = append(r.report.Violations, text)
}
