package app

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/listeners"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/metrics"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/webhooks"
)

// listenForScrapes opens the private listener, where the config has one.
func (a *App) listenForScrapes(ctx context.Context, cfg *config.Config) (err error) {
	if cfg.Metrics.Listen == "" {
		return nil
	}
	var lc net.ListenConfig
	if a.figures, err = lc.Listen(ctx, "tcp", cfg.Metrics.Listen); err != nil {
		return &PortError{Key: "metrics.listen", Address: cfg.Metrics.Listen, Err: err}
	}
	return nil
}

// MetricsAddr is where figures are shown, nil where metrics.listen is not set.
func (a *App) MetricsAddr() net.Addr {
	if a.figures == nil {
		return nil
	}
	return a.figures.Addr()
}

// showFigures is the part that answers scrapes.
func (a *App) showFigures(ctx context.Context) error {
	if a.figures == nil {
		<-ctx.Done()
		return nil
	}
	return listeners.Serve(ctx, a.figures, a.metrics.Handler(), nil, time.Second, a.log.Named("metrics"))
}

// readFigures is what a scrape asks for. Most of it is what status shows.
func (a *App) readFigures(ctx context.Context) (f metrics.Figures, err error) {
	if f.Status, err = server.ShowStatus.Call(ctx, a.local, server.None{}); err != nil {
		return f, err
	}
	if f.Status.Daemon == nil {
		return f, errors.New("status shows no daemon")
	}
	f.Now = a.store.Now()
	if f.Backlogs, err = (report.Records{Store: a.store}).Backlogs(ctx, f.Now); err != nil {
		return f, err
	}
	if f.Runs, err = (report.Records{Store: a.store}).RunsOpen(ctx); err != nil {
		return f, err
	}
	f.Commits = a.store.Stats()
	for name, acc := range *a.accounts.Load() {
		f.Accounts = append(f.Accounts, metrics.Account{Name: name, Budget: acc.budget.State(), Sender: acc.sender.Stats(), Tracker: acc.tracker.Stats()})
	}
	slices.SortFunc(f.Accounts, func(x, y metrics.Account) int { return cmp.Compare(x.Name, y.Name) })
	if s, err := a.store.Space(ctx); err == nil {
		f.Database = s.File
	}
	f.Log = store.LogSize(a.began.Storage)
	return f, nil
}

// seen adds what metrics count and traces tell to an observer of commits.
func (a *App) seen(o store.Observer) store.Observer {
	m := a.metrics
	if m != nil {
		polled := o.Polled
		o.Polled = func(p messaging.Poll) {
			m.Polled(&p)
			if polled != nil {
				polled(p)
			}
		}
		o.Committed = m.Committed
	}
	if accepted := o.Accepted; m != nil || a.traces != nil {
		o.Accepted = func(p messaging.Plan, r messaging.Receipt) {
			if m != nil {
				m.Decided(&r)
			}
			a.traces.decided(&p, &r)
			if accepted != nil {
				accepted(p, r)
			}
		}
	}
	return o
}

// called, asked and answered are who is told of calls, of looks at messages and of webhooks, nil where nobody wants to know.

func (a *App) called() func(d *messaging.Message, began, ended time.Time, attempt *messaging.Attempt) {
	if a.metrics == nil && a.traces == nil {
		return nil
	}
	return func(d *messaging.Message, began, ended time.Time, attempt *messaging.Attempt) {
		if a.metrics != nil {
			a.metrics.Called(d, began, ended, attempt)
		}
		a.traces.called(d, began, ended, attempt)
	}
}

func (a *App) asked() func(m *messaging.Message, began, ended time.Time, p *messaging.Poll) {
	if a.traces == nil {
		return nil
	}
	return a.traces.asked
}

func (a *App) answered() func(*webhooks.AnsweredHook) {
	if a.metrics == nil && a.traces == nil {
		return nil
	}
	return func(hook *webhooks.AnsweredHook) {
		if a.metrics != nil {
			a.metrics.Answered(hook)
		}
		a.traces.answered(hook)
	}
}

// countReload tells metrics of a reload, with what the config has no longer.
func (a *App) countReload(taken bool, before, now *config.Config) {
	if a.metrics == nil {
		return
	}
	gone := map[string][]string{}
	if taken {
		for _, name := range before.Triggers.Names() {
			if !slices.Contains(now.Triggers.Names(), name) {
				gone["trigger"] = append(gone["trigger"], name)
			}
		}
		for name := range before.Receivers {
			if now.Receivers[name] == nil {
				gone["connector"] = append(gone["connector"], name)
			}
		}
	}
	a.metrics.Reloaded(taken, gone)
}

func (a *App) metricsText() string {
	if a.figures == nil {
		return "off"
	}
	return "http://" + a.figures.Addr().String() + "/metrics"
}
