package app

import (
	"context"
	"os"
	"time"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/alerts"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/delivery/sender"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// adminOptions are what the admin API, and those who look for troubles, work with.
func (a *App) adminOptions() server.AdminOptions {
	return server.AdminOptions{
		Store: a.store, Storage: engine.Path(a.began.Storage), Data: engine.Name(a.began.Storage), Daemon: daemon{a}, Jobs: a.jobs, Alerts: a.alerts, Outgoing: a, Simulations: a.simulations, Rules: &a.rules, SignIns: a.people, ConsoleURL: a.consoleURL, Trial: a.trial, Config: a.configView, Edits: configEdits, Reads: a.reads, Spend: a.spend, Country: a.began.Defaults.Country, Zone: a.zone,
		Now: a.store.Now, Log: a.log.Named("admin"), Errors: func() *messaging.ErrorRules { return a.config().Errors },
	}
}

// newAlerts are those who tell people outside what is wrong. They do nothing before Run.
func (a *App) newAlerts(cfg *config.Config) *alerts.Alerts {
	from := "nudgewire"
	if host, err := os.Hostname(); err == nil {
		from += " on " + host
	}
	if cfg.Server.PublicURL != "" {
		from += " (" + cfg.Server.PublicURL + ")"
	}
	all := alerts.New(alerts.Options{
		Store: alerts.Records{Store: a.store}, Look: a.lookForTroubles, Urgent: func() bool { why, _ := a.dataError(); return why != "" }, Pace: a.opt.Alerts, From: from, Log: a.log.Named("alerts"), Agent: "nudgewire/" + a.opt.Version, Now: a.store.Now,
	})
	all.Use(cfg.Alerts)
	a.rates.use(windowsOf(cfg.Alerts))
	return all
}

// useAlerts takes up what cfg says about alerts.
func (a *App) useAlerts(cfg *config.Config) {
	a.rates.use(windowsOf(cfg.Alerts))
	a.alerts.Use(cfg.Alerts)
}

// windowsOf are the shares of failures that are looked at: those that alerts name, and the usual one unless only others are named.
func windowsOf(p *alerts.Plan) (out []failedWindow) {
	for _, w := range p.Windows() {
		out = append(out, failedWindow{w.Subject, w.Above, w.Over})
	}
	if len(out) > 0 && p.UsesUsual() {
		out = append(out, usualRate)
	}
	return out
}

// lookForTroubles is what is wrong now, for alerts. Where the data cannot be read, what the process knows itself is told.
func (a *App) lookForTroubles(ctx context.Context) (alerts.Look, error) {
	v, err := server.GatherStatus(ctx, a.adminOptions())
	if ctx.Err() != nil {
		return alerts.Look{}, ctx.Err()
	}
	look := alerts.Look{At: a.store.Now(), Troubles: v.Troubles}
	if err != nil {
		look.Troubles = server.Unread(daemon{a}.View(), err, a.store.Hint(err), a.store.Now())
		look.Gone = func(t *messaging.Trouble, _ time.Time) bool { return t.Code == messaging.TroubleReceiver } // who knows
		return look, nil
	}
	look.Gone = func(t *messaging.Trouble, seen time.Time) bool { return a.gone(&v, t, seen) }
	return look, nil
}

// gone reports whether a trouble that is not found now is over. What the process knows of the service it forgets by a restart, and
// a reload makes it try again: that is over only when the service has shown that it is well.
func (a *App) gone(v *server.StatusView, t *messaging.Trouble, seen time.Time) bool {
	switch apiclient.Trouble(t.Code) {
	case apiclient.TroubleKey, apiclient.TroublePoints, apiclient.TroubleAddress, apiclient.TroubleOutage, sender.TroubleRejections:
		acc := a.of(messaging.AccountKey(t.Subject))
		return acc == nil || acc.sender.Stats().Well.After(seen)
	}
	switch t.Code {
	case messaging.TroubleSilent: // one that was never heard of is measured from the last start or reload
		r := a.config().Receivers[t.Subject]
		return r == nil || r.SilentAfter() == 0 || !v.LastEvents[t.Subject].IsZero()
	case messaging.TroubleFailedRate:
		return a.rates.whole(t.Subject)
	}
	return true
}

// dataError says why nothing can be stored at present, and what to do where that is known; "" when it can.
func (a *App) dataError() (why, hint string) {
	err := a.store.Present()
	if err == nil {
		err = a.store.Refused()
	}
	if err != nil {
		return err.Error(), a.store.Hint(err)
	}
	return "", ""
}
