package app

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/delivery/sender"
	"github.com/nudgewire/nudgewire/internal/delivery/tracker"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/pace"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/store"
)

// Each account of the service has rooms of its own: a client, a budget, a sender and a tracker. Nothing of
// what they learn of the service is shared, so the trouble of one account cannot reach another (decision 4).

// An account is one account of the service with its rooms.
type account struct {
	name  string     // as rows name it: "" is that of the section api
	began config.API // what its rooms were made with; some of it only new ones can change

	api     atomic.Pointer[apiclient.Client] // swapped by reload
	budget  *pace.Budget
	sender  *sender.Sender
	tracker *tracker.Tracker

	first, slots     int // its share of the store's slots for calls
	sending, looking *worker
	leasing          *worker
}

// accountMap is all accounts by name. It is replaced, never changed.
type accountMap map[string]*account

// of is an account, nil for one that the config does not have.
func (a *App) of(name string) *account { return (*a.accounts.Load())[name] }

// has reports whether there is such an account.
func (a *App) has(name string) bool { return a.of(name) != nil }

// newServices are clients of all accounts of the config, or none of them.
func (a *App) newServices(cfg *config.Config) (map[string]*apiclient.Client, error) {
	all := map[string]*apiclient.Client{}
	var ended func(call string, outcome apiclient.Outcome, took time.Duration)
	if a.metrics != nil {
		ended = a.metrics.Requested
	}
	for _, name := range append([]string{""}, cfg.AccountNames()...) {
		one, _ := cfg.Account(name)
		c, err := apiclient.New(apiclient.Options{
			BaseURL: one.BaseURL, Key: one.Key.Reveal(), TextPath: one.TextPath,
			Concurrency: one.Concurrency, Timeout: one.Timeout.D(), UserAgent: "nudgewire/" + a.opt.Version, CAFile: one.CAFile, Ended: ended,
		})
		if err != nil {
			for _, other := range all {
				other.Close()
			}
			if name != "" {
				return nil, fmt.Errorf("messaging service, account %s: %w", name, err)
			}
			return nil, fmt.Errorf("messaging service: %w", err)
		}
		all[name] = c
	}
	return all, nil
}

// newAccount is an account without its rooms.
func (a *App) newAccount(name string, cfg *config.Config, api *apiclient.Client) *account {
	acc := &account{name: name}
	acc.began, _ = cfg.Account(name)
	acc.budget = pace.NewBudget(acc.began.Rate.PerSecond())
	if a.opt.Unpaced {
		acc.budget = pace.NewBudget(0)
	}
	acc.api.Store(api)
	return acc
}

// addAccountWorkers makes the rooms of an account. They do nothing before they join a worker group.
func (a *App) addAccountWorkers(acc *account, cfg *config.Config) {
	api, log := acc.api.Load(), a.log
	if len(cfg.Accounts) > 0 {
		log = log.With(zap.String("account", messaging.AccountName(acc.name)))
	}
	acc.slots = sender.Slots(acc.began.Concurrency)
	acc.first = a.freeSlots(acc.slots)
	rows := a.store.Account(acc.name, acc.first)
	if a.store.Shares() && !a.opt.Unpaced {
		acc.budget.Share(rows)
	}
	acc.budget.ByClock(a.store.Now)
	timeout, grace := acc.began.Timeout.D(), graceOf(acc.began)
	way := wayOf(acc.began)
	acc.tracker = tracker.New(tracker.Options{
		Store: rows, API: api, Budget: acc.budget, Log: log.Named("tracker"),
		Plan: planOf(cfg), Concurrency: acc.began.Concurrency, Timeout: timeout, Grace: grace,
		AsksOnly: acc.name != "",
		Pauses:   rows.Pause(store.HeldLooks, way),
		Classify: a.classify,
		Request:  func(m *messaging.Message) string { return a.requestOf(m.ID) },
		Asked:    a.asked(),
		Now:      a.store.Now,
		Reported: func(m *messaging.Message, p *messaging.Poll) { acc.sender.StatusReported(m, p) },
	})
	acc.sender = sender.New(sender.Options{
		Store: rows, API: api, Budget: acc.budget, Log: log.Named("sender"),
		Owner: a.owner, Concurrency: acc.began.Concurrency, Timeout: timeout, Grace: grace, FirstPoll: acc.tracker.First,
		Pauses:        sendPauses(rows, way),
		Now:           a.store.Now,
		HoldMarketing: a.disk.holds,
		Request:       func(d *messaging.Message) string { return a.requestOf(d.ID) },
		Called:        a.called(),
		OnDoubt:       a.onDoubt,
		OwnExpiry:     a.ownExpiry,
		Probes:        func(d *messaging.Message) bool { return a.store.Probes(d.ID) },
		Classify:      a.classify,
		MayGo:         a.lastLook().MayGo,
	})
}

// sendPauses keep what the service does to an account, and to each lane of it.
func sendPauses(rows store.Account, way string) (p sender.Pauses) {
	p.Account = rows.Pause(store.HeldSends, way)
	for lane, category := range messaging.Lanes {
		p.Lanes[lane] = rows.Pause(store.HeldLane(category), way)
	}
	return p
}

// wayOf tells one way to call an account from another, by a new key or at another address, and tells nothing of the key: nobody finds
// a key by trying that was made at random.
func wayOf(api config.API) string {
	mac := hmac.New(sha256.New, []byte(api.Key.Reveal()))
	_, _ = fmt.Fprintf(mac, "nudgewire way\n%s\n%s", api.BaseURL, api.TextPath) // a hash fails never
	return hex.EncodeToString(mac.Sum(nil)[:8])
}

// lookAtPauses takes up what other processes told of pauses of accounts.
func (a *App) lookAtPauses() {
	if !a.built.Load() {
		return
	}
	for _, acc := range *a.accounts.Load() {
		acc.sender.Look()
		acc.tracker.Look()
	}
}

// freeSlots finds n slots for calls that no account has, those of accounts that are on their way out
// included, and is where they begin. There are twice as many as all accounts of a config may have.
func (a *App) freeSlots(n int) (first int) {
	a.leaving = slices.DeleteFunc(a.leaving, func(acc *account) bool {
		select {
		case <-acc.sending.ended:
			return true
		default:
			return false
		}
	})
	taken := slices.Clone(a.leaving)
	for _, acc := range *a.accounts.Load() {
		if acc.slots > 0 {
			taken = append(taken, acc)
		}
	}
	slices.SortFunc(taken, func(x, y *account) int { return x.first - y.first })
	for _, acc := range taken {
		if acc.first-first >= n {
			break
		}
		first = max(first, acc.first+acc.slots)
	}
	return first
}

// start lets the rooms of an account run.
func (a *App) start(acc *account) {
	acc.sender.Look() // what was told while it was made
	acc.tracker.Look()
	acc.leasing = a.lessors.join(acc.budget.Run)
	acc.sending, acc.looking = a.senders.join(acc.sender.Run), a.trackers.join(acc.tracker.Run)
}

// adoptAccounts takes up the accounts of cfg with their clients: changed ones go on with the new client,
// new ones begin, and those that are gone end the calls under way and take no more. It comes after all that
// can fail.
func (a *App) adoptAccounts(cfg *config.Config, clients map[string]*apiclient.Client) {
	before, after := *a.accounts.Load(), accountMap{}
	for name, api := range clients {
		acc := before[name]
		if acc == nil {
			continue
		}
		after[name] = acc
		now, _ := cfg.Account(name)
		acc.budget.SetRate(now.Rate.PerSecond())
		rows, way := a.store.Account(acc.name, acc.first), wayOf(now)
		acc.sender.Reconfigure(api, sendPauses(rows, way))
		acc.tracker.Reconfigure(api, planOf(cfg), rows.Pause(store.HeldLooks, way))
		// Calls under way end on the old client; this only lets go of its idle connections.
		acc.api.Swap(api).Close()
	}
	for name, acc := range before {
		if after[name] != nil {
			continue
		}
		a.log.Info("an account is gone from the config; what waits for it is paused", zap.String("account", name))
		a.senders.leave(acc.sending)
		a.trackers.leave(acc.looking)
		a.lessors.leave(acc.leasing)
		a.leaving = append(a.leaving, acc)
		acc.api.Load().Close()
	}
	a.accounts.Store(&after)
	for name, api := range clients {
		if after[name] != nil {
			continue
		}
		acc := a.newAccount(name, cfg, api)
		a.addAccountWorkers(acc, cfg)
		more := accountMap{name: acc}
		for other, one := range *a.accounts.Load() {
			more[other] = one
		}
		a.accounts.Store(&more)
		a.start(acc)
	}
}

// view is what status shows of an account.
func (acc *account) view(cfg *config.Config) server.AccountView {
	api, _ := cfg.Account(acc.name)
	sending := acc.sender.Stats()
	v := server.AccountView{
		Name: messaging.AccountName(acc.name), API: api.BaseURL, Rate: rateWords(acc.budget.State()),
		UnderWay: sending.UnderWay, Accepted: sending.Accepted, Texts: api.TextPath != "",
	}
	return v
}

// sameKeys says of each account whose key the service refuses that it is the same in both configs, and what to do about that.
func (a *App) sameKeys(before, now *config.Config) (out []string) {
	for _, acc := range *a.accounts.Load() {
		was, _ := before.Account(acc.name)
		is, there := now.Account(acc.name)
		if !there || acc.trouble() != apiclient.TroubleKey || !was.Key.Equal(is.Key) {
			continue
		}
		words := "api.key is as it was, and the service refused it"
		if now.KeyOfEnvironment(acc.name) {
			words += ": it comes from the environment of the process, which a reload does not read again. Set the variable, and restart the daemon"
		}
		out = append(out, server.OfAccount(words, acc.name))
	}
	slices.Sort(out)
	return out
}

// trouble is why nothing is sent by the account.
func (acc *account) trouble() apiclient.Trouble {
	stats := acc.sender.Stats()
	return apiclient.Trouble(stats.Halt().Cause)
}

// haltsOf are why nothing is sent by an account, and the pauses of it that only who calls it otherwise meets, for as long as somebody tries to end
// them.
func (a *App) haltsOf(acc *account, cfg *config.Config) (out []messaging.SendingHalt) {
	api, _ := cfg.Account(acc.name)
	name := ""
	if len(cfg.Accounts) > 0 {
		name = messaging.AccountName(acc.name)
	}
	for _, h := range acc.sender.Stats().Halts {
		h.Account, h.Since, h.NextProbe = name, h.Since.UTC(), h.NextProbe.UTC()
		h.OfEnvironment = h.Lane == "" && apiclient.Trouble(h.Cause) == apiclient.TroubleKey && cfg.KeyOfEnvironment(acc.name)
		out = append(out, h)
	}
	if !a.store.Shares() {
		return out
	}
	for _, lane := range append([]messaging.Category{""}, messaging.Lanes[:]...) {
		room := store.HeldSends
		if lane != "" {
			room = store.HeldLane(lane)
		}
		for _, p := range a.store.AccountHolds(acc.name, room) {
			if p.Way != wayOf(api) && a.store.Now().Sub(p.Until) < stillTried {
				out = append(out, messaging.SendingHalt{Account: name, Node: p.Who, Lane: lane, Cause: p.Cause, Why: p.Reason, Since: p.At, NextProbe: p.Until})
			}
		}
	}
	return out
}

// stillTried is for how long after a try was due a pause of another node counts: whoever meets it tries, and says so.
const stillTried = time.Minute

// wake tells the senders of an account, or of all of them, that something falls due.
func (a *App) wake(name string, at time.Time) {
	if !a.built.Load() {
		return // they look for themselves when they begin
	}
	if name == messaging.EveryAccount {
		for _, acc := range *a.accounts.Load() {
			acc.sender.Wake(at)
		}
	} else if acc := a.of(name); acc != nil {
		acc.sender.Wake(at)
	}
}

// wakeLooks is wake for questions about messages.
func (a *App) wakeLooks(name string, at time.Time) {
	if acc := a.of(name); acc != nil && a.built.Load() {
		acc.tracker.Wake(at)
	}
}

// accountsNeedRestart lists the settings of accounts that only a new process can take up.
func (a *App) accountsNeedRestart(now *config.Config, differs func(name string, a, b any)) {
	for _, name := range append([]string{""}, now.AccountNames()...) {
		acc := a.of(name)
		if acc == nil {
			continue
		}
		next, _ := now.Account(name)
		section := "accounts." + name
		if name == "" {
			section = messaging.DefaultAccount
		}
		differs(section+".concurrency", acc.began.Concurrency, next.Concurrency)
		differs(section+".timeout", acc.began.Timeout, next.Timeout)
	}
}
