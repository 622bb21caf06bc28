package config

import (
	"fmt"
	"slices"

	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// An Account is one more account of the service: another brand, or another number. What it does not say
// is as in the section api.
type Account struct {
	Key         secret.Secret  `yaml:"key" validate:"required" example:"${BRAND_B_API_KEY}" doc:"The account's API key."`
	BaseURL     string         `yaml:"base_url" validate:"http_url" example:"https://api.example.com/api/v1" doc:"Address of the service. Default: api.base_url."`
	Rate        units.Rate     `yaml:"rate" validate:"min=1/min,max=10000/s" example:"20/s" doc:"Most requests of this account, which no other account takes part in. Default: api.rate."`
	Concurrency int            `yaml:"concurrency" validate:"min=1,max=1024" example:"32" doc:"Most requests of this account under way at a time. Default: api.concurrency."`
	Timeout     units.Duration `yaml:"timeout" validate:"min=100ms,max=5m" example:"10s" doc:"Longest wait for one answer. Default: api.timeout."`
	Price       *Price         `yaml:"price" doc:"Points that a message costs. Default: api.price."`
	TextPath    string         `yaml:"text_path" validate:"url_path" example:"/send-message" doc:"Path of the endpoint for plain texts. Default: api.text_path."`
	CAFile      string         `yaml:"ca_file" example:"/etc/ssl/company-ca.pem" doc:"Certificates (PEM) of authorities that may vouch for the service. Default: api.ca_file."`

	Limits *duerules.Account `yaml:"limits" doc:"What the messaging service lets this account send, counted by itself. Default: as in limits."`
}

// fill gives an account what it does not say itself.
func (a *Account) fill(api *API) {
	if a.BaseURL == "" {
		a.BaseURL = api.BaseURL
	}
	if a.Rate.PerSecond() == 0 {
		a.Rate = api.Rate
	}
	if a.Concurrency == 0 {
		a.Concurrency = api.Concurrency
	}
	if a.Timeout == 0 {
		a.Timeout = api.Timeout
	}
	if a.Price == nil {
		a.Price = api.Price
	}
	if a.TextPath == "" {
		a.TextPath = api.TextPath
	}
	if a.CAFile == "" {
		a.CAFile = api.CAFile
	}
}

// KeyOfEnvironment reports whether the key of an account, by its name in rows, comes from the environment of the process, so that
// only a restart takes another one.
func (c *Config) KeyOfEnvironment(key string) bool {
	if c.doc == nil {
		return false
	}
	section := c.doc.Root().Get("api")
	if key != "" {
		section = c.doc.Root().Get("accounts").Get(key)
	}
	node := section.Get("key")
	return node != nil && secret.OfEnvironment(node.Raw())
}

// Account is what holds for an account, by its name in rows: "" is that of the section api. ok is false for
// one that is not there.
func (c *Config) Account(key string) (a API, ok bool) {
	if key == "" {
		return c.API, true
	}
	a, ok = c.Accounts[key]
	return a, ok
}

// AccountNames are the accounts beside that of the section api, in the order of the file.
func (c *Config) AccountNames() (names []string) {
	for _, e := range c.in.Accounts {
		if _, ok := c.Accounts[e.Key]; ok {
			names = append(names, e.Key)
		}
	}
	return names
}

// have are the accounts of which something holds.
func (c *Config) have(holds func(API) bool) map[string]bool {
	out := map[string]bool{}
	for name, a := range c.Accounts {
		if holds(a) {
			out[name] = true
		}
	}
	return out
}

// MaxConcurrency is how many requests all accounts together may have under way.
const MaxConcurrency = 2000

// compileAccounts makes Accounts of the section.
func (c *Config) compileAccounts(k *checker) {
	c.Accounts = map[string]API{}
	sum := c.API.Concurrency
	for i := range c.in.Accounts {
		e := &c.in.Accounts[i]
		at := yamlpos.Join("accounts", e.Key)
		k.name(at, "an account", e.Key)
		if e.Key == messaging.DefaultAccount {
			k.doc.ReportKey(at, `"api" is the name of the account of the section api`, "give this one another name, or write what it says in the section api", false)
			continue
		}
		e.Value.fill(&c.API)
		v := &e.Value
		a := API{BaseURL: v.BaseURL, Key: v.Key, Rate: v.Rate, Concurrency: v.Concurrency, Timeout: v.Timeout, Price: v.Price, TextPath: v.TextPath, CAFile: v.CAFile}
		k.api(at, &a, c.folder)
		c.Accounts[e.Key] = a
		if sum += a.Concurrency; sum > MaxConcurrency && sum-a.Concurrency <= MaxConcurrency {
			k.bad(at+".concurrency", fmt.Sprintf("all accounts together may have %d requests under way, and with this one they have more", MaxConcurrency), "give each of them fewer; 32 are enough for some hundred messages a second")
		}
	}
}

// accountOf reports an account that is not there; text is what stands at path, "" for nothing.
func (c *Config) accountOf(k *checker, path, text string) {
	if text == "" || text == messaging.DefaultAccount || !k.written(path) {
		return
	}
	if _, known := c.in.Accounts.Get(text); known {
		return
	}
	names := []string{messaging.DefaultAccount}
	for _, e := range c.in.Accounts {
		names = append(names, e.Key)
	}
	hint := "describe it under accounts, with its key"
	if near := nearest.Of(text, names); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	k.bad(path, fmt.Sprintf("there is no account %q", text), hint)
}

// lintAccounts warns of accounts that nobody sends by, and of those that are one and the same.
func (c *Config) lintAccounts(k *checker) {
	used := map[string]bool{}
	for _, e := range c.in.Connectors {
		used[e.Value.Account] = true
	}
	for _, e := range c.in.Triggers {
		used[e.Value.Account] = true
	}
	for _, e := range c.in.Jobs {
		used[e.Value.Account] = true
	}
	for i, e := range c.in.Accounts {
		at := yamlpos.Join("accounts", e.Key)
		a, ok := c.Accounts[e.Key]
		if !ok {
			continue
		}
		if !used[e.Key] && !k.topLevelFault() {
			k.lintKey("account-unused", at, "nothing is sent by it: no connector, trigger or job names it", "write account: "+e.Key+" where it is meant, or remove it")
		}
		same := func(other string) bool {
			b, ok := c.Account(other)
			return ok && b.BaseURL == a.BaseURL && b.Key.Reveal() == a.Key.Reveal() && c.StandIns() == 0
		}
		before := []string{""}
		for _, b := range c.in.Accounts[:i] {
			before = append(before, b.Key)
		}
		if j := slices.IndexFunc(before, same); j >= 0 && !a.Key.IsZero() {
			k.lint("account-twice", at+".key", fmt.Sprintf("is the key of %s: both press on one account, each with a rate of its own", messaging.AccountName(before[j])), "name one of them everywhere, and remove the other")
		}
	}
}
