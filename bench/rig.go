package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/app"
	"github.com/nudgewire/nudgewire/config"
	"github.com/nudgewire/nudgewire/internal/pace"
	"github.com/nudgewire/nudgewire/sender"
	"github.com/nudgewire/nudgewire/server"
	"github.com/nudgewire/nudgewire/store"
	"github.com/nudgewire/nudgewire/tracker"
	"github.com/nudgewire/nudgewire/triggers"
)

// A rig is the daemon in this process: the rooms that package app starts, wired as it wires
// them, with two differences that measuring needs. No rate holds the calls back, where the
// config knows none above 10,000/s, and messages may be asked about sooner than a config allows.
type rig struct {
	store *store.Store
	addr  string // of the hooks
	stop  func() error
}

// Options of a rig.
type rigOptions struct {
	folder    string
	wait      string        // of the trigger, as in a config; "" for none
	firstPoll time.Duration // how long after acceptance a message is asked about
	without   rooms         // rooms that are not started
	oneByOne  bool          // each event takes a commit for itself

	finished func(nudgewire.Attempt) // told of each recorded send; nil for nobody
	polled   func(nudgewire.Poll)    // told of each recorded status; nil for nobody
}

// rooms is a set of them.
type rooms struct{ hooks, sender, tracker bool }

// concurrency is how many calls the daemon may have under way.
const concurrency = baseConns

// data is the file a rig keeps everything in.
func data(folder string) string { return filepath.Join(folder, "nudgewire.db") }

// startRig opens the store in o.folder and starts every room.
func startRig(ctx context.Context, l *lab, o rigOptions) (_ *rig, err error) {
	cfg, err := loadConfig(l, o.folder, o.wait)
	if err != nil {
		return nil, err
	}
	log := quietLog()
	api, err := apiclient.New(apiclient.Options{
		BaseURL: l.service.base(), Key: serviceKey, Concurrency: concurrency, Timeout: cfg.API.Timeout.D(),
	})
	if err != nil {
		return nil, err
	}
	r := &rig{}
	var out *sender.Sender
	var follow *tracker.Tracker
	r.store, err = store.Open(ctx, store.Options{
		DSN: "sqlite:" + data(o.folder), Settle: triggers.Settle,
		OnDue: func(at time.Time) { out.Wake(at) }, OnPoll: func(at time.Time) { follow.Wake(at) },
	})
	if err != nil {
		return nil, err
	}
	l0 := observedStore{store: r.store, finished: o.finished, polled: o.polled}
	budget := pace.NewBudget(0)
	plan := tracker.Plan{}
	if o.firstPoll > 0 {
		plan.Schedule = []time.Duration{o.firstPoll}
	}
	follow = tracker.New(tracker.Options{
		Store: l0, API: api, Budget: budget, Log: log, Plan: plan, Concurrency: concurrency, Timeout: cfg.API.Timeout.D(),
	})
	out = sender.New(sender.Options{
		Store: l0, API: api, Budget: budget, Log: log, Owner: "bench", Concurrency: concurrency,
		Timeout: cfg.API.Timeout.D(), FirstPoll: follow.First,
	})
	listener, err := listen(ctx)
	if err != nil {
		return nil, errors.Join(err, r.store.Close())
	}
	r.addr = listener.Addr().String()
	var rules atomic.Pointer[server.Rules]
	rules.Store(&server.Rules{Receivers: cfg.Receivers, Triggers: cfg.Triggers})
	var in server.Store = r.store
	if o.oneByOne {
		in = &queueing{Store: r.store}
	}
	hooks := server.NewHooks(server.HooksOptions{Rules: &rules, Store: in, Log: log, Ready: r.store.Ping, Memory: cfg.Server.MaxInFlight.Bytes()})

	var stops []func() error
	start := func(idle bool, room func(context.Context) error) {
		if idle {
			return
		}
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		ended := make(chan error, 1)
		go func() { ended <- room(ctx) }()
		stops = append(stops, func() error { cancel(); return <-ended })
	}
	start(o.without.sender, out.Run)
	start(o.without.tracker, follow.Run)
	start(o.without.hooks, func(ctx context.Context) error {
		return server.Serve(ctx, listener, hooks.Handler(), hooks, time.Second, log)
	})
	undo := app.SpareProcessor()
	r.stop = sync.OnceValue(func() error {
		defer undo()
		var errs []error
		for i := len(stops) - 1; i >= 0; i-- {
			errs = append(errs, stops[i]())
		}
		if o.without.hooks {
			errs = append(errs, listener.Close())
		}
		api.Close()
		return errors.Join(append(errs, r.store.Close())...)
	})
	return r, nil
}

// quietLog does the work of the daemon's own log, level info, and keeps none of it.
func quietLog() *zap.Logger {
	encoder := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig())
	return zap.New(zapcore.NewCore(encoder, zapcore.AddSync(discardSync{}), zap.InfoLevel))
}

type discardSync struct{}

func (discardSync) Write(b []byte) (int, error) { return len(b), nil }

// configText is the config of every daemon of a run: one shop, one trigger with three clauses
// and three variables.
const configText = `api: {base_url: %q, key: %q, rate: 10000/s, concurrency: %d}
defaults: {country: GB, timezone: Europe/London, language: en}
connectors:
  shopify: {secret: %q}
triggers:
  abandoned-cart:
    on: shopify.cart.updated
    if:
      - cart.total >= 50
      - customer.accepts_marketing
      - not (customer.tags contains "wholesale")
    key: cart.id
    cooldown: 3d
    %s
    cancel_on: [shopify.order.created]
    max_age: 72h
    expires: 6h
    send:
      template: cart_reminder
      variables:
        - '{{ customer.first_name | default: "there" }}'
        - '{{ cart.items[0].title }}'
        - '{{ cart.url }}'
storage: %q
server: {listen: %q}
`

// writeConfig puts a config into folder and returns its path.
func writeConfig(l *lab, folder, wait, listen string) (string, error) {
	if wait != "" {
		wait = "wait: " + wait
	}
	path := filepath.Join(folder, "config.yaml")
	text := fmt.Sprintf(configText, l.service.base(), serviceKey, concurrency, secret, wait, "sqlite:"+data(folder), listen)
	return path, os.WriteFile(path, []byte(text), 0o600)
}

func loadConfig(l *lab, folder, wait string) (*config.Config, error) {
	path, err := writeConfig(l, folder, wait, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	cfg, problems := config.Load(path, os.LookupEnv)
	for _, p := range problems {
		if !p.Warning {
			return nil, p
		}
	}
	return cfg, nil
}

// queueing is the store as if it knew no group commit: each event waits until the one before
// it is on disk, and then pays for a commit of its own.
type queueing struct {
	*store.Store
	turn sync.Mutex
}

func (q *queueing) Accept(ctx context.Context, plans []nudgewire.Plan) ([]nudgewire.Receipt, error) {
	q.turn.Lock()
	defer q.turn.Unlock()
	return q.Store.Accept(ctx, plans)
}

// observedStore is the store as the sender and the tracker see it.
type observedStore struct {
	store    *store.Store
	finished func(nudgewire.Attempt)
	polled   func(nudgewire.Poll)
}

func (l observedStore) Claim(ctx context.Context, owner string, now time.Time, lease time.Duration, urgent, marketing int) ([]nudgewire.Dispatch, error) {
	return l.store.Claim(ctx, store.ClaimRequest{Owner: owner, Now: now, Lease: lease, Urgent: urgent, Marketing: marketing})
}

func (l observedStore) Finish(ctx context.Context, a nudgewire.Attempt) error {
	err := l.store.Finish(ctx, a)
	if err == nil && l.finished != nil {
		l.finished(a)
	}
	return err
}

func (l observedStore) NextDue(ctx context.Context) (time.Time, bool, error) {
	return l.store.NextDue(ctx)
}

func (l observedStore) RescueClaims(ctx context.Context, now time.Time, owner string) (int, error) {
	n, err := l.store.RescueClaims(ctx, now, owner)
	return n.Doubtful, err
}

func (l observedStore) BeginCall(slot int, id nudgewire.DispatchID, attempt int) error {
	return l.store.BeginCall(slot, id, attempt)
}

func (l observedStore) ClaimPolls(ctx context.Context, now time.Time, lease time.Duration, n int) ([]nudgewire.Message, error) {
	return l.store.ClaimPolls(ctx, store.PollRequest{Now: now, Lease: lease, N: n})
}

func (l observedStore) FinishPoll(ctx context.Context, p nudgewire.Poll) error {
	err := l.store.FinishPoll(ctx, p)
	if err == nil && l.polled != nil {
		l.polled(p)
	}
	return err
}

func (l observedStore) OverduePolls(ctx context.Context, now, accepted time.Time, n int) ([]nudgewire.Message, error) {
	return l.store.OverduePolls(ctx, now, accepted, n)
}

func (l observedStore) NextPoll(ctx context.Context) (time.Time, bool, error) {
	return l.store.NextPoll(ctx)
}
