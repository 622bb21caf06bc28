package config

import (
	"crypto/x509"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/alerts"
	"github.com/nudgewire/nudgewire/internal/certificates"
	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/outbox"
	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
	"github.com/nudgewire/nudgewire/scheduler"
)

// A Config is a config file ready to run. It is never changed: a reload makes another one.
type Config struct {
	// Version is the first 12 hex digits of the SHA-256 of the file's bytes, and of those that it includes. Decisions and
	// messages carry it, so that each can be compared with the rules that made it. Values
	// from the environment are not part of it.
	Version string

	API      API            // that "" names in rows
	Accounts map[string]API // the others, by name; see Account
	Defaults Defaults
	Tracking Tracking
	Storage  string // "sqlite:" and an absolute path; or "postgres://…#" and the absolute path of node.folder
	Server   Server

	Retention Retention
	Backup    Backup
	Metrics   Metrics
	Tracing   Tracing
	Console   Console

	Errors *messaging.ErrorRules // of the service's words

	Receivers map[string]*connectors.Connector // by name; those that compiled
	Callers   map[string]*x509.CertPool        // who vouches for those who connect, by connector; of those that ask
	Triggers  *triggers.Set
	Due       *duerules.Rules // what holds at the due moment
	Templates messaging.Templates

	TestNumbers messaging.TestNumbers // those that could be read
	Alerts      *alerts.Plan
	Outgoing    *outbox.Plan          // of webhooks_out
	Renames     []store.Rename        // the keys "was" of triggers and jobs
	Jobs        []*scheduler.Compiled // in the order of the file; those that compiled

	folder   string                    // where relative paths start
	included []string                  // files, as problems name them
	holidays map[string]hours.Holidays // by the path as it is written
	tried    *Config                   // the one in use, where this is one to try; see With

	doc *yamlpos.Doc
	in  file
}

// A file is config.yaml as it is written: one field for each section.
type file struct {
	Include   []string                 `yaml:"include" example:"[triggers/*.yaml]" doc:"Further files, with connectors, triggers, templates and jobs: names or patterns (* and ?), from the folder of this file. See docs/config-files.md."`
	API       API                      `yaml:"api" validate:"required" doc:"The messaging service that sends."`
	Accounts  yamlpos.Ordered[Account] `yaml:"accounts" doc:"Further accounts of the service, by name: other brands, other numbers. A connector, trigger or job names one with account; what names none is sent by that of the section api."`
	Defaults  Defaults                 `yaml:"defaults" doc:"What every trigger and job starts from."`
	part      `yaml:",inline"`
	Errors    []messaging.ErrorRule `yaml:"errors" doc:"What the service's own words for a message that it did not send mean, and so what happens next."`
	Limits    duerules.Account      `yaml:"limits" doc:"What the messaging service lets the account send."`
	Budget    duerules.Budget       `yaml:"budget" doc:"Points that may be spent before marketing waits, all accounts together, by price; utility and authentication go on. See docs/spend.md."`
	Tracking  Tracking              `yaml:"tracking" doc:"How accepted messages are followed to the phone."`
	Retention Retention             `yaml:"retention" doc:"How long what is no longer needed is kept."`
	Backup    Backup                `yaml:"backup" doc:"Backups that the daemon makes by itself."`
	Storage   string                `yaml:"storage" default:"sqlite:./data/nudgewire.db" doc:"Where everything is kept: sqlite: and a file's path, or postgres://user:password@server/database where several machines share the work. A relative path starts at the folder of the config file, as every other in it."`
	Node      Node                  `yaml:"node" doc:"What one machine has for itself where several share a PostgreSQL database."`
	Metrics   Metrics               `yaml:"metrics" doc:"Figures about the daemon, for Prometheus."`
	Tracing   Tracing               `yaml:"tracing" doc:"Traces of webhooks and what follows from them, for OpenTelemetry."`
	Server    Server                `yaml:"server" doc:"The door that webhooks come in by."`
	Console   Console               `yaml:"console" doc:"A listener of its own for people and programs: pages for browsers (docs/console.md) and the HTTP API (docs/api.md)."`
	Alerts    []alerts.Entry        `yaml:"alerts" doc:"Who is told what is wrong, and that it is over: by a webhook, to Slack, by e-mail. See docs/alerts.md."`
	Outgoing  []outbox.Entry        `yaml:"webhooks_out" doc:"Systems of your own that are told what became of messages, by signed webhooks. See docs/webhooks-out.md."`
	Mail      *alerts.Mail          `yaml:"mail" doc:"The server that sends the e-mails of alerts."`

	TestNumbers yamlpos.Ordered[string] `yaml:"test_numbers" example:"{me: '+447700900123'}" doc:"Phones of your own that send-test may send to, by name: whoever tries a trigger names one of them. See docs/testing.md."`
}

// A part is what an included file may hold, too.
type part struct {
	Connectors yamlpos.Ordered[connectors.Config]  `yaml:"connectors" doc:"Who may post to /hooks/<name>: a preset of that name, or one described here."`
	Triggers   yamlpos.Ordered[triggers.Rule]      `yaml:"triggers" doc:"Who gets which message when."`
	Templates  yamlpos.Ordered[messaging.Template] `yaml:"templates" doc:"Approved templates of the service, by name, each declared once: all that send one are held to its variables, languages, category and header, and previews show its text. See docs/templates.md."`
	Jobs       yamlpos.Ordered[scheduler.Job]      `yaml:"jobs" doc:"Scheduled campaigns: which list is sent what, and when."`
}

// API is the messaging service and how hard it may be pressed.
type API struct {
	BaseURL     string         `yaml:"base_url" validate:"required,http_url" example:"https://api.example.com/api/v1" doc:"Address of the service, with its version segment /api/v1."`
	Key         secret.Secret  `yaml:"key" validate:"required" example:"${MESSAGING_API_KEY}" doc:"The account's API key."`
	Rate        units.Rate     `yaml:"rate" validate:"min=1/min,max=10000/s" default:"20/s" doc:"Most requests, sends and status questions together."`
	Concurrency int            `yaml:"concurrency" validate:"min=1,max=1024" default:"32" doc:"Most requests under way at a time: so many that send, and so many that ask for a status."`
	Timeout     units.Duration `yaml:"timeout" validate:"min=100ms,max=5m" default:"10s" doc:"Longest wait for one answer. A send that takes longer is in doubt, so too short hurts more than too long. The upload of a file may take this and its size at 64 KB/s."`
	Price       *Price         `yaml:"price" doc:"Points that a message costs, for the report, budget, forecasts and guards of jobs. Without it points are not counted."`
	TextPath    string         `yaml:"text_path" validate:"url_path" example:"/send-message" doc:"Path of the endpoint for plain texts, below base_url. The service's document does not show it; texts are rejected until it is set."`
	CAFile      string         `yaml:"ca_file" example:"/etc/ssl/company-ca.pem" doc:"Certificates (PEM) of authorities that may vouch for the service, beside those that this machine trusts: for a proxy of the company's own. Read at the start and at each reload."`
}

// Defaults are what every trigger starts from, and what holds for contacts of whom a sender
// does not say it.
type Defaults struct {
	Country  string `yaml:"country" validate:"country" example:"GB" doc:"Two-letter country that phone numbers without a country code belong to. Without it, only numbers written with one can be read."`
	Timezone string `yaml:"timezone" validate:"timezone" default:"UTC" example:"Europe/London" doc:"Time zone of contacts whose own is not known, of jobs that name none, and of the times that commands show and take."`
	Language string `yaml:"language" validate:"language" example:"en" doc:"Language of templates, as the service names it."`

	Category       messaging.Category `yaml:"category" validate:"oneof=marketing utility authentication" default:"marketing" doc:"The messaging network's class of messages."`
	OnRepeat       triggers.OnRepeat  `yaml:"on_repeat" default:"restart" doc:"What a second event of a correlation key does while the first one's message waits: restart, ignore or parallel; or {mode: restart, max: 20, within: 24h}."`
	Cooldown       triggers.Cooldown  `yaml:"cooldown" example:"3d" doc:"When a correlation key that got its message may get another: once, none for always, or a duration. Unless set: once by key, always by phone."`
	Expires        triggers.Lifetime  `yaml:"expires" example:"6h" doc:"Past due by more than this, a message is dropped; off for never. Unless set: 24h. Triggers of category authentication keep their 10m: a login code must not be late because reminders may be."`
	MaxAge         triggers.Lifetime  `yaml:"max_age" default:"off" example:"72h" doc:"An event that happened longer ago than this sends nothing; off for no limit."`
	RememberCancel units.Duration     `yaml:"remember_cancel" validate:"min=1m,max=90d" default:"24h" doc:"How long a cancelling event is remembered, for those that arrive after it."`
	OnChange       triggers.OnChange  `yaml:"on_change" validate:"oneof=pin migrate cancel" default:"pin" doc:"What an edit of a trigger does to what waits of it. pin: it keeps the content and the time that it was planned with; migrate: it is planned anew from its event, and cancelled where the trigger would not plan it any more; cancel: it is cancelled. See docs/config-files.md."`
	Mode           triggers.Mode      `yaml:"mode" validate:"oneof=live shadow off" default:"live" doc:"live sends; shadow decides and sends nothing; off does not listen. What waits of a trigger that stops being live is paused, and can still be cancelled. shadow here tries out a whole config."`

	duerules.Keys `yaml:",inline"`
}

// Tracking says how long and how often the service is asked what became of a message.
type Tracking struct {
	Poll        []units.Duration `yaml:"poll" validate:"min=1s,max=7d" default:"5s, 15s, 1m, 5m, 30m, 6h" doc:"When to ask, counted from acceptance; after the last one, again and again at its distance."`
	GiveUp      units.Duration   `yaml:"give_up" validate:"min=10s,max=400d" default:"30d" doc:"A message without a final status for this long is expired."`
	FinalStatus messaging.Status `yaml:"final_status" validate:"oneof=delivered read" default:"delivered" doc:"The status after which nobody asks any more. read costs many more questions."`
}

// Server is the public door.
type Server struct {
	Listen         string     `yaml:"listen" default:"127.0.0.1:8080" example:":8080" doc:"Address and port for webhooks: of this machine alone, for a proxy in front that speaks https. :8080 is all addresses, in the clear unless tls is set."`
	PublicURL      string     `yaml:"public_url" validate:"http_url" example:"https://hooks.example.com" doc:"The address that senders know, where a proxy stands before the daemon. Senders that sign the URL cannot be verified without it."`
	MaxBody        units.Size `yaml:"max_body" validate:"min=1kB,max=50MB" default:"1MB" doc:"Longest body of a webhook; a longer one is answered 413. A connector may set its own."`
	MaxInFlight    units.Size `yaml:"max_in_flight" validate:"min=1MB,max=4GB" default:"64MB" doc:"Most bytes of webhooks in memory at a time; beyond it senders are told to come back (503)."`
	ListsAtOnce    int        `yaml:"lists_at_once" default:"2" validate:"min=1,max=64" doc:"Most lists of jobs that are read at a time. A run that waits for a place says so (jobs show)."`
	LeastFree      units.Size `yaml:"least_free" validate:"min=100MB,max=1000GB" default:"1GB" doc:"Free space on the disk of storage below which marketing waits and webhooks of connectors that verify nothing are answered 503, so that what was proven and what somebody waits for has the rest. It ends by itself once there is a quarter more."`
	Samples        bool       `yaml:"samples" default:"false" doc:"Keep the first 512 bytes of a verified webhook that cannot be read, long numbers starred. They hold what the sender knows of a customer, so only while a connector is being set up."`
	TrustedProxies Networks   `yaml:"trusted_proxies" example:"[127.0.0.1/8]" doc:"Networks whose X-Forwarded-For and X-Request-Id are believed. Needs public_url."`

	TLS *certificates.TLS `yaml:"tls" doc:"Speak https, where no proxy does it. See docs/door.md."`
}

// Node is what one of several machines has for itself.
type Node struct {
	Folder string `yaml:"folder" default:"./data" doc:"Where this machine keeps its command socket and its notes of calls that have begun, beside a PostgreSQL database. With sqlite: these lie beside the file."`
}
