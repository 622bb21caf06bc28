package app

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/delivery/tracker"
	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/pace"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/webhooks"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// A ConfigError is a config that cannot be used, with every problem in it.
type ConfigError struct {
	File     string
	Problems yamlpos.Problems
}

func (e *ConfigError) Error() string {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s cannot be used:", e.File)
	for _, p := range e.Problems {
		if !p.Warning {
			fmt.Fprintf(&out, "\n  %v", p)
		}
	}
	return out.String()
}

func load(o Options) (*config.Config, error) {
	cfg, problems := config.Load(o.ConfigFile, o.Env)
	if slices.ContainsFunc(problems, func(p yamlpos.Problem) bool { return !p.Warning }) {
		return nil, &ConfigError{File: o.ConfigFile, Problems: problems}
	}
	for _, p := range problems {
		o.Log.Warn("config", zap.String("warning", p.Error()))
	}
	return cfg, nil
}

func rulesOf(cfg *config.Config, set *triggers.Set) *webhooks.Rules {
	return &webhooks.Rules{
		Receivers: cfg.Receivers, Triggers: set, PublicURL: cfg.Server.PublicURL, Proxies: cfg.Server.TrustedProxies, Callers: cfg.Callers,
	}
}

// settle decides as triggers.Settle does, and counts what of its contact a message goes by that nobody said.
func (a *App) settle(p messaging.Proposal, f messaging.Facts) messaging.Settlement {
	done := triggers.Settle(p, f)
	if done.Outcome != messaging.Planned {
		return done
	}
	if p.Guessed.Timezone {
		a.guessedZone()
	}
	if p.Guessed.Language && a.languages.Add(1) == 1 {
		a.log.Warn("a contact's language is not known: templates go in that of the number or the default; status counts how often")
	}
	return done
}

func (a *App) guessedZone() {
	if a.guessed.Add(1) == 1 {
		a.log.Warn("a contact's time zone is not known: quiet hours, limits and times go by the default; status counts how often")
	}
}

// takeDue has the rules of the due moment be those of cfg, and counts the contacts whose zone is a guess.
func (a *App) takeDue(cfg *config.Config) {
	cfg.Due.Guessed = a.guessedZone
	kept := &keptConfigs{app: a, folder: filepath.Dir(a.opt.ConfigFile)}
	cfg.Due.Earlier = func(version string) *duerules.Rules {
		if k := kept.of(version); k != nil {
			return k.Due
		}
		return nil
	}
	a.kept.Store(kept)
	a.due.Store(cfg.Due)
}

// reviewDeferred has what rules put off asked about again, by the rules of now: of a limit that was lifted nothing
// is left to wait for, and what is still held back waits as before.
func (a *App) reviewDeferred(ctx context.Context) error {
	n, err := a.store.ReviewDeferred(ctx)
	if n > 0 {
		a.log.Info("what rules put off is asked about again", zap.Int64("messages", n))
	}
	return err
}

func planOf(cfg *config.Config) tracker.Plan {
	plan := tracker.Plan{GiveUp: cfg.Tracking.GiveUp.D(), FinalStatus: cfg.Tracking.FinalStatus}
	for _, d := range cfg.Tracking.Poll {
		plan.Schedule = append(plan.Schedule, d.D())
	}
	return plan
}

// Reload takes the config file as it is now, all of it or nothing: on any error the daemon goes on
// with the config that it had. What waits already is paused where the new config does not send by its trigger, and where its trigger
// was edited on_change says what becomes of it.
func (a *App) Reload(ctx context.Context) error {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	_, err := a.reload(ctx, "reload", "")
	return err
}

// reload is called with reloading locked. action says in the audit why; version is the config that is to be taken up, "" for any.
func (a *App) reload(ctx context.Context, action, version string) ([]preview.RuleChange, error) {
	before := a.config()
	cfg, err := load(a.opt)
	if err == nil && version != "" && cfg.Version != version {
		return nil, &server.NotPlannedError{Planned: version, Is: cfg.Version}
	}
	var same []string
	var runs []preview.RuleChange
	if err == nil && action == rollback {
		cfg.Renames = append(cfg.Renames, a.namesAgain(before, cfg)...)
	}
	if err == nil {
		runs, err = a.runChanges(ctx, withRenames(cfg))
	}
	if err == nil {
		same = a.sameKeys(before, cfg) // before it is adopted: a reload tries every account anew
		err = a.adopt(ctx, cfg)
	}
	if err = a.adopted(cfg, same, err); err != nil {
		return nil, err
	}
	a.recordConfig(ctx, action, cfg)
	// The config is taken: what is left after a failure is done later (watchPauses).
	a.changedUntil = a.store.Now().Add(lateChanges)
	changes, err := a.edit(ctx, cfg, a.rulesBefore(before, withRenames(cfg)))
	if err != nil {
		a.log.Error("not all that waits was planned anew or cancelled; the rest follows, and what was paused stays paused until then", zap.Error(err))
	}
	return append(changes, runs...), nil
}

// adopted notes that cfg was taken up, or why it was not.
func (a *App) adopted(cfg *config.Config, same []string, err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.countReload(false, nil, nil)
		a.loadError, a.loadErrorAt = err.Error(), a.store.Now()
		a.log.Error("reload rejected; the daemon goes on with the config that it had", zap.Error(err))
		return err
	}
	a.restart, a.same = a.needRestart(cfg), same
	a.disk.least.Store(uint64(cfg.Server.LeastFree.Bytes()))
	a.countReload(true, a.cfg, cfg)
	a.cfg, a.loadedAt, a.loadError, a.fileError, a.fileVersion = cfg, a.store.Now(), "", "", ""
	a.log.Info("config reloaded", zap.String("config", cfg.Version), zap.Strings("needs_restart", a.restart))
	return nil
}

// adopt takes up cfg. What can fail comes first, so that a failure leaves nothing half
// done.
func (a *App) adopt(ctx context.Context, cfg *config.Config) error {
	clients, err := a.newServices(cfg)
	if err != nil {
		return err
	}
	taken := false
	defer func() {
		for _, one := range clients {
			if !taken {
				one.Close()
			}
		}
	}()
	takeCertificates, err := a.prepareCertificates(cfg)
	if err != nil {
		return err
	}
	takeConsole, err := a.prepareConsole(cfg)
	if err != nil {
		return err
	}
	if err := a.saveConfig(ctx, cfg); err != nil {
		return err
	}
	// Until the new rules are taken up, events may still be planned by the old ones.
	old := a.config().Triggers
	set, err := a.pause(ctx, cfg, slices.DeleteFunc(old.Names(), func(name string) bool { return old.ModeOf(name) != triggers.Live }))
	if err != nil {
		return err
	}
	takeCertificates()
	takeConsole()
	a.takeDue(cfg) // before the rules: what is planned from now on may be due at once
	if err := a.rename(ctx, cfg); err != nil {
		a.log.Error("not yet: what was renamed takes along what is open; that waits, and is tried again", zap.Error(err))
	}
	a.rules.Store(rulesOf(cfg, set))
	taken = true
	a.adoptAccounts(cfg, clients)
	a.jobs.Use(cfg.Jobs)
	if err := a.jobs.Hold(ctx, true); err != nil {
		a.log.Error("not all runs of jobs that left the config could be paused; nothing more of them is begun, and it is tried again", zap.Error(err))
	}
	// After the pauses: rows whose rule is lifted would leave at once.
	if err := a.reviewDeferred(ctx); err != nil {
		a.log.Error("what rules put off waits as they said; reload once more to have it asked about by the new rules", zap.Error(err))
	}
	a.useAlerts(cfg)
	a.useReceivers(cfg)
	return nil
}

// needRestart lists the settings that only a new process can take up, by what this one began with.
func (a *App) needRestart(now *config.Config) (out []string) {
	began := a.began
	differs := func(name string, a, b any) {
		if a != b {
			out = append(out, fmt.Sprintf("%s is still %v", name, a))
		}
	}
	if began.Storage != now.Storage { // an address may hold a password
		out = append(out, "storage is still "+engine.Name(began.Storage))
	}
	differs("server.listen", began.Server.Listen, now.Server.Listen)
	differs("server.tls", began.Server.TLS.Source(), now.Server.TLS.Source())
	a.accountsNeedRestart(now, differs)
	differs("console.listen", began.Console.Listen, now.Console.Listen)
	differs("console.tls", began.Console.TLS.Source(), now.Console.TLS.Source())
	differs("metrics.listen", began.Metrics.Listen, now.Metrics.Listen)
	differs("tracing.endpoint", began.Tracing.Endpoint, now.Tracing.Endpoint)
	differs("tracing.sample", began.Tracing.Sample, now.Tracing.Sample)
	differs("server.max_in_flight", began.Server.MaxInFlight, now.Server.MaxInFlight)
	differs("server.samples", began.Server.Samples, now.Server.Samples)
	return out
}

// daemon is the app as the admin API sees it.
type daemon struct{ *App }

// View is what status shows of the running process.
func (d daemon) View() server.DaemonView {
	receivers := d.alerts.View().Receivers // before the lock: those who tell alerts ask for the config
	d.mu.Lock()
	defer d.mu.Unlock()
	main := d.of("").view(d.cfg)
	v := server.DaemonView{
		Version: d.opt.Version, PID: os.Getpid(), StartedAt: d.started, Listen: d.hooks.Addr().String(),
		Config: d.cfg.Version, ConfigFile: d.opt.ConfigFile, LoadedAt: d.loadedAt, LoadError: d.loadError, NeedsRestart: d.restart, SameKeys: d.same,
		LoadErrorAt: d.loadErrorAt.UTC(), FileError: d.fileError, FileVersion: d.fileVersion, FileChangedAt: d.fileChangedAt.UTC(), Disk: d.disk.space(), FailedRates: d.rates.views(),
		Receivers: receivers,
		API:       main.API, Rate: main.Rate, UnderWay: main.UnderWay,
	}
	v.DataError, v.DataHint = d.dataError()
	v.OpenReader = readerView(d.store)
	for name := range d.cfg.Receivers {
		v.Connectors = append(v.Connectors, name)
	}
	slices.SortFunc(v.Connectors, strings.Compare)
	v.Triggers, v.Templates = d.cfg.Triggers.Names(), templatesOf(d.cfg)
	v.Language, v.Texts = d.cfg.Defaults.Language, main.Texts
	v.Modes = notLive(d.cfg)
	v.TestNumbers = d.cfg.TestNumbers.Names()
	v.Silent, v.Turned = d.silent, d.door.Turned()
	if plan := d.cfg.Backup; plan.To != "" {
		failed := d.backups.Failed()
		v.Backups = &server.BackupPlanView{To: plan.To, Every: plan.Every.D(), Failed: failed.Why, FailedAt: failed.At}
	}
	if d.certificates != nil {
		v.Certificates = d.certificates.Views()
	}
	if d.consoleTLS != nil {
		v.Certificates = append(v.Certificates, d.consoleTLS.Views()...)
	}
	if d.console != nil {
		v.Console = d.consoleURL()
	}
	v.Guessed, v.Languages = d.guessed.Load(), d.languages.Load()
	v.Halts = d.haltsOf(d.of(""), d.cfg)
	if names := d.cfg.AccountNames(); len(names) > 0 {
		v.Accounts = append(v.Accounts, main)
		for _, name := range names {
			if acc := d.of(name); acc != nil {
				one := acc.view(d.cfg)
				v.Accounts, v.UnderWay = append(v.Accounts, one), v.UnderWay+one.UnderWay
				v.Halts = append(v.Halts, d.haltsOf(acc, d.cfg)...)
			}
		}
	}
	return v
}

// configInUse is the version of the config, and since when it is in use.
func (a *App) configInUse() (version string, since time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.cfg.Version, a.loadedAt
}

// notLive are the modes of the triggers that are not live; nil when all are.
func notLive(cfg *config.Config) map[string]string {
	var modes map[string]string
	for _, name := range cfg.Triggers.Names() {
		if mode := cfg.Triggers.ModeOf(name); mode != triggers.Live {
			if modes == nil {
				modes = map[string]string{}
			}
			modes[name] = string(mode)
		}
	}
	return modes
}

// rateWords says how fast requests may leave, and what holds them up.
func rateWords(s pace.State) string {
	words := "no rate limit"
	if s.Rate > 0 {
		words = perSecond(s.Rate) + " requests a second"
	}
	other := func(what string, p pace.Pace) string {
		slowed := slowedWords(p, s.Configured)
		if slowed == "" {
			return ""
		}
		return "; " + what + " at " + perSecond(p.Rate) + " a second" + slowed
	}
	return words + slowedWords(s.Pace, s.Configured) + other("status questions", s.Status) + other("uploads", s.Uploads)
}

func perSecond(rate float64) string { return strconv.FormatFloat(rate, 'f', -1, 64) }

// slowedWords says what trouble did to a pace, "" for nothing.
func slowedWords(p pace.Pace, configured float64) (words string) {
	if p.Slowed {
		words = ", slowed after trouble at " + p.LastTrouble.UTC().Format(time.DateTime) + " UTC"
		if configured > 0 {
			words = ", slowed from " + perSecond(configured) + words[len(", slowed"):]
		}
	}
	if !p.PausedUntil.IsZero() {
		words += ", paused by the service until " + p.PausedUntil.UTC().Format(time.DateTime) + " UTC"
	}
	return words
}
