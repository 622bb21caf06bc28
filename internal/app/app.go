package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/alerts"
	"github.com/nudgewire/nudgewire/internal/auth"
	"github.com/nudgewire/nudgewire/internal/backup"
	"github.com/nudgewire/nudgewire/internal/certificates"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/console"
	"github.com/nudgewire/nudgewire/internal/delivery/enricher"
	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/listeners"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/metrics"
	"github.com/nudgewire/nudgewire/internal/outbox"
	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/signin"
	"github.com/nudgewire/nudgewire/internal/simulation"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/webhooks"
	"github.com/nudgewire/nudgewire/scheduler"
)

// grace is how long calls and requests under way may take to finish at a stop.
const grace = 15 * time.Second

// mostGrace is the longest that a stop of thirty seconds has room for, with the turns before it and the words to the store behind it.
const mostGrace = 16 * time.Second

// graceOf is the grace of calls to the service: as long as one may take by api.timeout, so that a call which is cut by a stop is
// one that had hung anyway; but no longer than a stop may be.
func graceOf(api config.API) time.Duration {
	return min(max(grace, api.Timeout.D()+time.Second), mostGrace)
}

// Options are what an App is made of besides its config.
type Options struct {
	ConfigFile string
	Env        secret.Lookup    // where ${NAME} in the config comes from
	Ready      func()           // called once webhooks are taken and messages sent; may be nil
	Version    string           // of the program, for status
	Log        *zap.Logger      // nil logs nothing
	Now        func() time.Time // the clock of the machine; nil is time.Now
	JobClock   func() time.Time // the clock that fires jobs; nil is the store's
	Observer   store.Observer   // is called with what was committed; its functions must be quick

	// AwaitDisk waits for a disk that takes nothing, and answers webhooks 503 meanwhile; else New fails.
	AwaitDisk bool

	// Space is how much of a disk is free, and how much there is; nil asks the system.
	Space func(path string) (free, all uint64, err error)

	Alerts alerts.Pace // how alerts are told; the zero value is the usual one

	Unpaced bool // no rate holds calls back, whatever api.rate says; package bench measures so
}

// An App is the daemon: every room, built and wired, running while Run does.
type App struct {
	opt   Options
	log   *zap.Logger
	store *store.Store
	owner string // signs this process's claims

	accounts          atomic.Pointer[accountMap]
	built             atomic.Bool // the accounts have their rooms
	senders, trackers *workerGroup
	lessors           *workerGroup // of the budgets whose rates other processes share
	outboxes          *workerGroup
	receivers         atomic.Pointer[receiverMap]
	outgoing          atomic.Pointer[outbox.Plan]
	leaving           []*account // gone from the config, with calls under way perhaps; guarded by reloading
	listenAt          time.Time  // when it is looked next whether those still matter
	renamed           bool       // what the config renames was carried out; guarded by reloading
	edits             bool       // rules of earlier configs go on cancelling what they planned; guarded by reloading

	enricher *enricher.Enricher
	alerts   *alerts.Alerts
	jobs     *scheduler.Scheduler
	lookups  *enricher.Client

	disk         *diskGuard
	traces       *traces          // nil without a collector
	metrics      *metrics.Metrics // nil where metrics.listen is not set
	figures      net.Listener     // of them; nil where it is not set
	hooks        net.Listener
	commands     *server.API                   // the admin API
	local        *server.Client                // of it, in this process
	console      net.Listener                  // of the API, for people and programs; nil where it is not set
	consoleTLS   *certificates.Set             // nil where that speaks no TLS
	connLimiter  *listeners.ConsoleConnLimiter // of console; nil where that is
	people       *signin.Sessions              // who signs in, and who is
	pages        *console.Console              // for browsers; nil where console is
	door         *webhooks.Hooks
	certificates *certificates.Set // nil where the door speaks no TLS
	backups      *backup.Keeper
	simulations  *simulation.Runner
	admin        net.Listener
	due          atomic.Pointer[duerules.Rules]
	kept         atomic.Pointer[keptConfigs] // what earlier configs said of what they planned
	guessed      atomic.Int64                // messages that went by a zone that nobody said and defaults.timezone or a connector's default is
	languages    atomic.Int64                // the same of their language
	rules        atomic.Pointer[webhooks.Rules]
	started      time.Time
	began        *config.Config // what the process started with; some of it only a new one can change

	reloading     sync.Mutex // one reload at a time
	changedUntil  time.Time  // how long what comes to wait late by an edited trigger is looked for; guarded by reloading
	mu            sync.Mutex // guards what status shows of the config
	cfg           *config.Config
	loadedAt      time.Time
	loadError     string
	loadErrorAt   time.Time
	fileError     string // why the config file as it lies there now could not be used
	fileVersion   string // which config it is, where that is not cfg
	fileChangedAt time.Time
	same          []string // keys that the service refuses and that the last reload found as they were, in words
	restart       []string
	checking      sync.Mutex  // one check of the files for a page at a time
	checked       *diskConfig // guarded by checking; nil before the first

	rates  failedRates
	silent []server.SilentView
}

// New loads the config, opens both listeners and the store, and recovers what a dead owner
// left behind. Nothing is sent or taken before Run. Errors: a *ConfigError, a *PortError, those of store.Open.
func New(ctx context.Context, o Options) (_ *App, err error) {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := endRollback(o); err != nil {
		return nil, err
	}
	cfg, err := load(o)
	if err != nil {
		return nil, err
	}
	a := &App{
		opt: o, log: o.Log, cfg: cfg, loadedAt: time.Now(), started: time.Now(), began: cfg,
		owner: ownerName(), senders: newWorkerGroup(), trackers: newWorkerGroup(), lessors: newWorkerGroup(), outboxes: newWorkerGroup(),
	}
	a.disk = newDiskGuard(filepath.Dir(engine.Path(cfg.Storage)), o.Space)
	a.disk.least.Store(uint64(cfg.Server.LeastFree.Bytes()))
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()
	if cfg.Metrics.Listen != "" {
		a.metrics = metrics.New(o.Version, a.readFigures)
	}
	if a.traces, err = a.openTraces(ctx, cfg); err != nil {
		return nil, err
	}
	clients, err := a.newServices(cfg)
	if err != nil {
		return nil, err
	}
	all := accountMap{}
	for name, api := range clients {
		all[name] = a.newAccount(name, cfg, api)
	}
	a.accounts.Store(&all)
	if err := a.readCertificates(cfg); err != nil {
		return nil, err
	}
	// The port comes first: whoever cannot have it has made no database, and whoever waits for the disk can say so.
	if err := a.listen(ctx, cfg); err != nil {
		return nil, err
	}
	if err := a.listenForScrapes(ctx, cfg); err != nil {
		return nil, err
	}
	if err := a.listenForConsole(ctx, cfg); err != nil {
		return nil, err
	}
	if err := a.openData(ctx, cfg); err != nil {
		return nil, err
	}
	a.mu.Lock()
	a.loadedAt = a.store.Now() // other nodes compare it with theirs
	a.mu.Unlock()
	a.people = &signin.Sessions{Store: auth.Records{Store: a.store}, Now: a.store.Now, Log: a.log.Named("console"), Sources: a.signOnSources}
	if a.simulations, err = a.newSimulations(); err != nil {
		return nil, err
	}
	a.commands = server.Admin(a.adminOptions())
	a.local = server.Local(a.commands, access.Process("nudgewire"))
	a.pages = a.newPages()
	a.backups = &backup.Keeper{
		DSN: cfg.Storage, Version: o.Version, Plan: func() backup.Plan { b := a.config().Backup; return b.Plan() }, Log: a.log.Named("backups"), Now: a.store.Now,
	}
	a.door = webhooks.New(webhooks.Options{
		Rules: &a.rules, Store: a.store, Log: a.log.Named("hooks"), Now: a.store.Now, Ready: a.ready, Unreviewed: a.unreviewed, Answered: a.answered(),
		Memory: cfg.Server.MaxInFlight.Bytes(), Samples: cfg.Server.Samples, DiskShort: a.disk.short,
	})
	return a, nil
}

// Addr is where webhooks are taken.
func (a *App) Addr() net.Addr { return a.hooks.Addr() }

// Storage names the data, which a reload does not change.
func (a *App) Storage() string { return a.began.Storage }

// Run serves until ctx is done, then stops everything in order and closes the store. A clean
// stop returns nil. Run is called once.
func (a *App) Run(ctx context.Context) error {
	cfg := a.config()
	hooks := a.door
	a.tellReady(cfg)
	a.recordConfig(ctx, "start", cfg)
	if a.opt.Ready != nil {
		a.opt.Ready()
	}
	a.reloading.Lock()
	for _, acc := range *a.accounts.Load() {
		a.start(acc)
	}
	a.reloading.Unlock()
	var stopped time.Time
	err := runParts(ctx, []part{
		{"tracing", a.traces.run},       // before those that tell it, so that it hears all of them to their end
		{"metrics", a.showFigures},      // first, so that it is stopped last and shows how the others stop
		{"alerts", a.led(a.alerts.Run)}, // stopped after all that it tells of
		{"webhooks out", a.led(a.outboxes.run)},
		{"rates", a.lessors.run}, // stopped after those that call the service
		{"sender", a.senders.run},
		{"tracker", a.trackers.run},
		{"scheduler", a.jobs.Run},
		{"enricher", a.enricher.Run},
		{"silence", a.watchSilence},
		{"config file", a.watchConfigFile},
		{"failed rates", a.watchFailedRates},
		{"storage", a.watchStorage},
		{"backups", a.led(a.backups.Run)},
		{"simulations", a.runSimulations},
		{"retention", a.led(a.watchRetention)},
		{"audit", a.watchAudit},
		{"pauses", a.watchPauses},
		{"send pauses", a.watchSendPauses},
		{"certificates", a.watchCertificates},
		{"forgetting", a.watchForgetting},
		{"contacts", a.led(a.readContacts)},
		{"admin", func(ctx context.Context) error {
			return listeners.Serve(ctx, a.admin, access.BySocket(a.commands), nil, grace, a.log.Named("admin"))
		}},
		{"console certificates", a.watchConsoleCertificates},
		{"console", a.serveConsole},
		{"door", hooks.Run},
		{"hooks", func(ctx context.Context) error {
			return listeners.Serve(ctx, a.secured(a.hooks), a.asking(hooks.Handler()), hooks, grace, a.log.Named("hooks"))
		}},
	}, func(ended string, err error) {
		stopped = time.Now()
		a.tellStopping(ended, err)
	}, func(names []string) {
		a.log.Warn("the stop waits; all that is left is told to end", zap.String("for", names[0]), zap.Strings("then", names[1:]))
	})
	err = errors.Join(err, a.close())
	a.log.Info("stopped", zap.Duration("took", time.Since(stopped)), zap.Duration("ran", time.Since(a.started)), zap.Error(err))
	return err
}

// tellReady writes what begins: what it is, where its data is, where webhooks go, and what sends.
func (a *App) tellReady(cfg *config.Config) {
	v := daemon{a}.View()
	base := strings.TrimSuffix(cfg.Server.PublicURL, "/")
	if base == "" {
		base = "http://" + v.Listen
		if a.certificates != nil {
			base = "https://" + v.Listen
		}
	}
	var hooks, jobs []string
	for _, name := range v.Connectors {
		hooks = append(hooks, base+"/hooks/"+name)
	}
	for _, j := range cfg.Jobs {
		name := j.Name
		if j.Mode != scheduler.Live {
			name += " (" + string(j.Mode) + ")"
		}
		jobs = append(jobs, name)
	}
	a.log.Info("ready", zap.String("version", v.Version), zap.Strings("accounts", append([]string{messaging.DefaultAccount}, cfg.AccountNames()...)),
		zap.Int("connector_count", len(v.Connectors)), zap.Int("trigger_count", len(v.Triggers)), zap.Int("job_count", len(jobs)),
		zap.String("commands", SocketPath(a.began.Storage)), zap.String("config", v.Config), zap.String("config_file", v.ConfigFile),
		zap.String("database", engine.Name(a.began.Storage)), zap.String("listen", v.Listen), zap.String("metrics", a.metricsText()), zap.String("console", cmp.Or(a.consoleURL(), "off")), zap.Bool("tracing", a.traces != nil), zap.Strings("hooks", hooks),
		zap.Strings("triggers", v.TriggersAndModes()), zap.Strings("jobs", jobs))
}

// tellStopping writes what was under way when the stop began: it is waited for, at most for the grace of each account. ended is the part
// that ended by itself, "" for a stop that was asked for.
func (a *App) tellStopping(ended string, err error) {
	inHand, calls, polls := 0, 0, 0
	for _, acc := range *a.accounts.Load() {
		sending := acc.sender.Stats()
		inHand, calls, polls = inHand+sending.InHand, calls+sending.UnderWay, polls+acc.tracker.Stats().InHand
	}
	underWay := []zap.Field{zap.Int("calls_under_way", calls), zap.Int("messages_in_hand", inHand), zap.Int("status_questions_in_hand", polls)}
	if ended == "" {
		a.log.Info("stopping", underWay...)
		return
	}
	a.log.Error("a part ended by itself; stopping", append(underWay, zap.String("part", ended), zap.Error(err))...)
}

// ready says why webhooks could not be stored at present.
func (a *App) ready(ctx context.Context) error { return a.store.Ping(ctx) }

// unreviewed names what keeps everything from being sent until a person has reviewed it; "" for nothing.
func (a *App) unreviewed() string {
	if _, review := a.store.InReview(); review {
		return "the restored data"
	}
	if _, damaged := a.store.Damaged(); damaged {
		return "the damage"
	}
	return ""
}

func (a *App) close() error {
	errs := []error{a.closeData()}
	if a.hooks != nil {
		errs = append(errs, closeListener(a.hooks))
	}
	if a.figures != nil {
		errs = append(errs, closeListener(a.figures))
	}
	if a.console != nil {
		errs = append(errs, closeListener(a.console))
	}
	a.traces.close()
	if all := a.accounts.Load(); all != nil {
		for _, acc := range *all {
			acc.api.Load().Close()
		}
	}
	return errors.Join(errs...)
}

func (a *App) config() *config.Config {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.cfg
}

// ownerName is unique to this run of this process, so that the next one knows its claims
// for a dead owner's.
func ownerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	return fmt.Sprintf("%s:%d:%s", host, os.Getpid(), rand.Text()[:8])
}
