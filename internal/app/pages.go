package app

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/console"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/signin"
)

func (a *App) consoleProxies() []netip.Prefix { return a.config().Console.TrustedProxies }

// signOn is who else signs people in, by the config in use.
func (a *App) signOn() console.SignOn {
	c := &a.config().Console
	return console.SignOn{Base: a.consoleURL(), OIDC: c.OIDC, Header: c.TrustedHeader, Proxies: c.TrustedProxies}
}

// signOnSources are those whose users the config in use believes.
func (a *App) signOnSources() (out []string) {
	on := a.signOn()
	if on.OIDC != nil {
		out = append(out, signin.SourceOIDC)
	}
	if on.Header != nil {
		out = append(out, signin.SourceHeader)
	}
	return out
}

// newPages are those for browsers, nil where there is no listener for them. They ask what the commands ask, in this process.
func (a *App) newPages() *console.Console {
	if a.console == nil {
		return nil
	}
	return console.New(console.Options{
		Ask: a.local, SignOn: a.signOn, Door: a.people, Rules: a.rulesShown, RuleWords: config.RuleWords(), Templates: func() []string { return a.config().TemplateNames() }, Zone: a.zone, Stopped: a.stopped, Secure: strings.HasPrefix(a.consoleURL(), "https:"), Now: a.store.Now, Log: a.log.Named("console"),
		Address: func(r *http.Request) string { return server.AddressKey(r, a.consoleProxies()) },
	})
}

// stopped are halts, and runs that are paused.
func (a *App) stopped(ctx context.Context) ([]messaging.Hold, error) {
	holds := a.store.HoldsOf(func(h messaging.Hold) bool {
		return h.OfEverything() || h.Kind == messaging.HoldHalt || h.Kind == messaging.HoldRun
	})
	paused, err := server.PausedRuns(ctx, a.store, holds)
	halts := slices.DeleteFunc(holds, func(h messaging.Hold) bool { return h.Kind == messaging.HoldRun }) // of runs that were cancelled, too
	return append(halts, paused...), err
}

// rulesShown are the triggers of the config in use, for people.
func (a *App) rulesShown() []console.Rule {
	cfg := a.config()
	var out []console.Rule
	for _, name := range cfg.Triggers.Names() {
		out = append(out, console.Rule{
			Name: name, Mode: cfg.Triggers.ModeOf(name), Summary: cfg.Triggers.Summary(name), Sentences: cfg.Triggers.Tell(name), Stages: cfg.Triggers.Stages(name, cfg.Templates), Steps: cfg.Triggers.StepsOf(name), Source: cfg.Source(name),
		})
	}
	return out
}

// zone is the one that times are shown in: defaults.timezone.
func (a *App) zone() *time.Location {
	zone, err := time.LoadLocation(a.config().Defaults.Timezone)
	if err != nil {
		return time.UTC
	}
	return zone
}
