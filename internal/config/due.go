package config

import (
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/regular"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// fillKeys gives an entry the rules of the due moment that it does not say itself.
func (d *Defaults) fillKeys(keys *duerules.Keys, written func(key string) bool) {
	if !written("quiet_hours") {
		keys.QuietHours = d.QuietHours
	}
	if !written("consent") {
		keys.Consent = d.Consent
	}
	if !written("limit") {
		keys.Limit = d.Limit
	}
}

// exempt reports whether all messages of the trigger or job of that name skip quiet hours. A job may have
// a category for each row, which is not known here.
func (c *Config) exempt(section, name string) bool {
	r, _ := c.in.Triggers.Get(name)
	category := r.Category
	if section == "jobs" {
		j, _ := c.in.Jobs.Get(name)
		category = messaging.Category(j.Category)
	}
	if category == "" {
		category = c.Defaults.Category
	}
	return category == messaging.Utility || category == messaging.Authentication
}

// compileDue makes the rules of the due moment of what defaults, triggers and jobs say.
func (c *Config) compileDue(k *checker) {
	zone, err := time.LoadLocation(c.Defaults.Timezone)
	if err != nil { // which was reported where it stands
		zone = time.UTC
	}
	k.account("limits", &c.in.Limits)
	c.Due = duerules.New(zone, c.in.Limits)
	for i := range c.in.Accounts {
		e := &c.in.Accounts[i]
		limits := c.in.Limits
		if e.Value.Limits != nil {
			k.account(yamlpos.Join("accounts", e.Key)+".limits", e.Value.Limits)
			limits = *e.Value.Limits
		}
		c.Due.Account(e.Key, limits)
	}
	c.budget(k)
	c.Due.Budget(c.in.Budget)
	c.Due.Defaults(c.Defaults.Keys, c.holidays[c.Defaults.QuietHours.Holidays])
	for i := range c.in.Triggers {
		e := &c.in.Triggers[i]
		c.Due.Trigger(e.Key, e.Value.Keys, c.holidays[e.Value.QuietHours.Holidays])
		c.Due.Rate(e.Key, e.Value.Rate)
	}
	for i := range c.in.Jobs {
		e := &c.in.Jobs[i]
		c.Due.Job(e.Key, e.Value.Keys, c.holidays[e.Value.QuietHours.Holidays])
	}
}

// allHolidays reads the files of holidays that the config names, and adds them to its sum: they decide as it does.
func (c *Config) allHolidays(k *checker, sum hash.Hash) {
	c.holidays = map[string]hours.Holidays{}
	c.readHolidays(k, "defaults.quiet_hours.holidays", c.Defaults.QuietHours.Holidays, sum)
	for i := range c.in.Triggers {
		e := &c.in.Triggers[i]
		c.readHolidays(k, yamlpos.Join("triggers", e.Key)+".quiet_hours.holidays", e.Value.QuietHours.Holidays, sum)
	}
	for i := range c.in.Jobs {
		e := &c.in.Jobs[i]
		c.readHolidays(k, yamlpos.Join("jobs", e.Key)+".quiet_hours.holidays", e.Value.QuietHours.Holidays, sum)
	}
}

// readHolidays reads a file of holidays once, and reports what is wrong with it where it is named first.
func (c *Config) readHolidays(k *checker, at, path string, sum hash.Hash) {
	if _, known := c.holidays[path]; known || path == "" || !k.written(at) {
		return
	}
	c.holidays[path] = hours.Holidays{}
	if c.tried != nil {
		days, read := c.tried.holidays[path]
		if !read {
			k.bad(at, "a file that the config in use does not name is not read for a try", "leave the line out here, and try it with nudgewire check")
		}
		c.holidays[path] = days
		return
	}
	full := path
	if !filepath.IsAbs(full) {
		full = filepath.Join(c.folder, full)
	}
	ctx, done := regular.Bounded()
	defer done()
	f, err := regular.Open(ctx, full)
	switch {
	case errors.Is(err, regular.ErrFolder), errors.Is(err, regular.ErrNoFile):
		k.bad(at, full+" is not a file", "name the file in it")
		return
	case err != nil:
		why := "cannot be read"
		if errors.Is(err, fs.ErrNotExist) {
			why = "does not exist"
		} else if errors.Is(err, fs.ErrPermission) {
			why = "may not be read by this user"
		}
		k.bad(at, fmt.Sprintf("%s %s", full, why), "write one date a line, such as 2026-12-25, or 12-25 for every year; a relative path starts at the folder of the config file")
		return
	}
	defer func() { _ = f.Close() }()        // read only: nothing can be lost by a bad close
	_, _ = fmt.Fprintf(sum, "\n%s\n", path) // a hash takes everything
	days, faults := hours.ReadHolidays(io.TeeReader(f, sum))
	for _, fault := range faults {
		k.bad(at, fmt.Sprintf("%s:%d: %s", full, fault.Line, fault.Msg), fault.Hint)
	}
	if len(faults) == 0 && days.Len() == 0 {
		k.warn("holidays-empty", at, full+" has no date in it", "write one date a line, such as 2026-12-25, or remove the line")
	}
	c.holidays[path] = days
}

// budget checks that what may be spent can be counted, and lets something go.
func (c *Config) budget(k *checker) {
	b := c.in.Budget
	for _, one := range []struct {
		key  string
		most float64
	}{{"budget.day", b.Day}, {"budget.month", b.Month}} {
		switch dear := c.Dearest(); {
		case !k.has(one.key) || one.most < 0: // which was reported
		case one.most == 0:
			k.bad(one.key, "lets no marketing go", "write more points, or remove it; mode: off is what sends nothing")
		case one.most < dear:
			k.bad(one.key, fmt.Sprintf("a marketing message costs up to %v points, so it would wait for ever", dear), fmt.Sprintf("write %v or more", dear))
		}
	}
	if !k.has("budget") {
		return
	}
	if c.API.Price == nil {
		k.bad("budget", "nothing says what a message costs, so nothing is counted", "add price to api, such as price: {marketing: 1.0, utility: 0.4, authentication: 0.4}")
	}
	if b.Day == 0 && b.Month == 0 && !k.has("budget.day") && !k.has("budget.month") {
		k.bad("budget", "does not say how much", "write day: 500 or month: 9000 in it, or remove it")
	}
}

// Dearest is what a marketing message costs at the most, by the prices of all accounts.
func (c *Config) Dearest() (most float64) {
	prices := []*Price{c.API.Price}
	for i := range c.in.Accounts {
		prices = append(prices, c.in.Accounts[i].Value.Price)
	}
	for _, p := range prices {
		if p == nil {
			continue
		}
		most = max(most, p.Marketing.Default)
		for _, points := range p.Marketing.ByCountry {
			most = max(most, points)
		}
	}
	return most
}

// account checks what the account may send.
func (k *checker) account(at string, a *duerules.Account) {
	switch u := a.UniqueContacts; {
	case u.IsZero():
		if k.written(at+".reserve") && k.doc.Node(at+".unique_contacts") == nil {
			k.bad(at+".reserve", "is a share of unique_contacts, which is not set", "add unique_contacts: 10000 per 24h")
		}
	case u.Calendar != "":
		k.bad(at+".unique_contacts", fmt.Sprintf("%q is a window of the calendar, and the service's rolls", u), fmt.Sprintf("write %d per 24h", u.Most))
		a.UniqueContacts.Most, a.UniqueContacts.Calendar = 0, ""
	case u.Most == 0:
		k.bad(at+".unique_contacts", "lets no message go", "write the number of your tier, such as 1000 per 24h")
	case u.Per < time.Minute || u.Per > 90*24*time.Hour:
		k.bad(at+".unique_contacts", fmt.Sprintf("%q has a window that is not between 1m and 90d", u), fmt.Sprintf("write %d per 24h", u.Most))
	}
	if a.Reserve >= 1 {
		k.bad(at+".reserve", fmt.Sprintf("%s leaves nothing to marketing", a.Reserve), "write less than 100%, such as 10%")
	}
}
