package server

import (
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/alerts"
	"github.com/nudgewire/nudgewire/internal/certificates"
	"github.com/nudgewire/nudgewire/internal/drift"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/internal/webhooks"
)

// The views are what the commands print with --json and what the admin API answers: one
// stable shape each, with times in RFC 3339 and UTC, and an absent field for "not known".

// An EventView is a stored event. Payload is filled for a single event only.
type EventView struct {
	ID         messaging.EventID        `json:"id"`
	Event      string                   `json:"event" kind:"text"` // connector.kind
	Topic      string                   `json:"topic,omitempty" kind:"text"`
	Phone      messaging.Phone          `json:"phone,omitempty"`
	SentAs     string                   `json:"sent_as,omitempty" kind:"phone"` // the phone as the sender spells it, where that differs; in a single event only
	OccurredAt time.Time                `json:"occurred_at,omitzero"`
	ReceivedAt time.Time                `json:"received_at"`
	Request    string                   `json:"request,omitempty" kind:"ours"` // id of the request that brought it; in events show and why
	DedupeKey  string                   `json:"dedupe_key" kind:"text"`
	Decisions  []messaging.Decision     `json:"decisions"`
	Lookup     *messaging.PendingLookup `json:"lookup,omitempty"`              // what it waits for before it is planned
	Said       string                   `json:"said,omitempty" kind:"carried"` // what the contact wrote or tapped, of its newest replies; in why only
	Payload    string                   `json:"payload,omitempty" kind:"carried"`
	Forgotten  bool                     `json:"forgotten,omitempty"` // the payload was not kept: keep_variables: false
	Cleared    bool                     `json:"cleared,omitempty"`   // the payload is not kept any more (retention.payloads); in a single event only
	Unsaid     bool                     `json:"unsaid,omitempty"`    // what triggers decided is not kept any more (retention.decisions)
}

// A MessageView is a message with all that came of it. Its id is ours: it has one before the service gives it another, the message_id.
type MessageView struct {
	store.MessageStory
	Request string              `json:"request,omitempty" kind:"ours"` // id of the request that brought the event; in a single message only
	Reads   string              `json:"reads,omitempty" kind:"text"`   // what the phone shows, where the config declares the template's text now; in a single message only
	What    string              `json:"what" kind:"text"`
	Held    string              `json:"held,omitempty" kind:"text"` // what keeps it back at present, beside its time: a halt, a pause, an account that sends nothing
	Row     int64               `json:"row,omitempty"`              // for a row: as messaging.Position has it; in a single message only
	File    string              `json:"file,omitempty" kind:"text"` // of the source, that the row stands in
	Steps   int                 `json:"steps,omitempty"`            // that the sequence has
	If      []string            `json:"if,omitempty" kind:"text"`   // what is asked of the step when it falls due
	Decided *messaging.Decision `json:"decided,omitempty"`          // what was said then; in a single message only

	// Of a single message that was sent again, or goes again for another.
	RetriedAs messaging.MessageID `json:"retried_as,omitempty"` // the message that took its place
	RetryOf   messaging.MessageID `json:"retry_of,omitempty"`   // the message whose place it took
}

// To is whom the message goes to, as it is sent, and whose phone that is where another spelling stands for it.
func (v *MessageView) To() string {
	if v.SentAs == "" {
		return string(v.Phone)
	}
	return v.SentAs + " (" + string(v.Phone) + ")"
}

// A StoryView is one event of a phone, or one row of a run, with all that came of it. The last ones
// may be the phone's block alone, and a note alone, on what is not known.
type StoryView struct {
	Event    EventView     `json:"event,omitzero"`
	Row      *RunRowView   `json:"row,omitempty"` // instead of Event
	Messages []MessageView `json:"messages"`
	Block    *store.Block  `json:"block,omitempty"` // that holds at present
	Note     string        `json:"note,omitempty" kind:"ours"`
}

// A RunRowView is the row of a run that queued a phone a message, or left it out.
type RunRowView struct {
	Job       string              `json:"job" kind:"ours"`
	Run       messaging.RunID     `json:"run"`
	Slot      string              `json:"slot" kind:"ours"`           // local time that the run stands for
	Row       int64               `json:"row,omitempty"`              // as messaging.Position has it; 0 where it is not known
	File      string              `json:"file,omitempty" kind:"text"` // of the source, that the row stands in
	Number    int64               `json:"number,omitempty"`           // among those that the run kept
	Part      int                 `json:"part,omitempty"`             // that was uploaded
	Source    string              `json:"source" kind:"text"`
	Excluded  string              `json:"excluded,omitempty" kind:"text"` // why the run excluded the row
	At        time.Time           `json:"at"`                             // when it was queued, or read and excluded
	RetriedAs messaging.MessageID `json:"retried_as,omitempty"`           // the message that took its place
	RetryOf   messaging.MessageID `json:"retry_of,omitempty"`             // the message whose place it took

	// Of a row that is uploaded with a part: how that stands, since At.
	PartState  messaging.PartState `json:"part_state,omitempty"`
	PartReason string              `json:"part_reason,omitempty" kind:"text"`
	CampaignID string              `json:"campaign_id,omitempty" kind:"ours"`
	Waits      messaging.RunWait   `json:"waits,omitempty"` // what the run waits for, while the part is built
	WaitUntil  time.Time           `json:"wait_until,omitzero"`
}

// at is when the story began.
func (s *StoryView) at() time.Time {
	if s.Row != nil {
		return s.Row.At
	}
	return s.Event.ReceivedAt
}

func rowStoryView(r *store.RowStory, at messaging.Position) StoryView {
	number := r.Number
	if r.ReadBy == r.Run.ID {
		number = r.ReadNumber
	}
	return StoryView{
		Row: &RunRowView{
			Job: r.Trigger, Run: r.Run.ID, Slot: r.Run.Slot, Row: at.Row, File: at.File, Number: number, Part: r.Part, Source: r.Run.Source,
			At: r.CreatedAt.UTC(), RetriedAs: r.RetriedAs, RetryOf: r.RetryOf,
		},
		Messages: []MessageView{messageView(&r.MessageStory)},
	}
}

// A StatusView is the daemon's state in one look. Everything under Daemon is absent when the
// answer comes from the database alone.
type StatusView struct {
	Troubles []messaging.Trouble `json:"troubles,omitempty"` // what needs a person, a halt first

	Daemon   *DaemonView      `json:"daemon,omitempty"`
	Storage  string           `json:"storage" kind:"ours"` // absolute path of the database, or its server, port and name
	Counts   map[string]int64 `json:"counts" kind:"ours"`  // since the database began
	Waiting  int64            `json:"waiting"`
	Overdue  string           `json:"overdue,omitempty" kind:"ours"` // age of the oldest message past its time
	Deferred int64            `json:"deferred,omitempty"`            // of those that wait: a rule put them off
	Sending  int64            `json:"sending"`
	InDoubt  int64            `json:"in_doubt"`
	Tracking int64            `json:"tracking"`          // messages still asked about
	Lookups  int64            `json:"lookups"`           // events that wait for a look-up
	Awaiting int64            `json:"awaiting_approval"` // runs that wait to be approved

	Rules []RuleCountView `json:"rules,omitempty"` // what rules held back when it was due, since the database began

	Holds []messaging.Hold `json:"holds,omitempty"` // and runs that are paused

	Rejected []RejectedView `json:"rejected,omitempty"` // in the last 24 hours, by reason, the most first

	Failing []FailingView `json:"failing,omitempty"` // runs of the last 24 hours, the newest first

	PartsInDoubt int64 `json:"parts_in_doubt"` // files of runs of which nobody knows whether they were taken

	InDoubtSince      time.Time `json:"in_doubt_since,omitzero"` // the oldest
	PartsInDoubtSince time.Time `json:"parts_in_doubt_since,omitzero"`

	Behind []BehindView `json:"behind,omitempty"` // what is past its time
	Held   []HeldView   `json:"held,omitempty"`   // runs that wait to be approved

	WebhooksOut []ReceiverView `json:"webhooks_out,omitempty"` // receivers, in the order of the config

	UnknownErrors *UnknownView `json:"unknown_errors,omitempty"`

	Unused     []UnusedView     `json:"unused,omitempty"`     // what was taken and came to nothing, by connector, reason and kind
	Unverified []UnverifiedView `json:"unverified,omitempty"` // connectors none of whose last requests could be verified

	Drift []drift.View `json:"drift,omitempty"` // what senders changed and somebody reads

	Forgetting     []ForgettingView        `json:"forgetting,omitempty"`                  // who is to be forgotten and is not yet, the oldest order first
	Redactions     []privacy.RedactionView `json:"redactions,omitempty"`                  // connectors all of which is asked to be forgotten: a person decides
	ForgettingRest string                  `json:"forgetting_rest,omitempty" kind:"ours"` // that the last step of forgetting is not done; "" when it is

	DataRequests []DataRequestView `json:"data_requests,omitempty"` // contacts who are to get what is stored about them, the oldest first

	LastEvents map[string]time.Time `json:"last_events,omitempty" kind:"ours"` // by connector, also of those no longer in the config

	Spend *report.SpendView `json:"spend,omitempty"` // absent without a daemon

	Retention *privacy.RetentionView `json:"retention,omitempty"`

	Nodes []NodeView `json:"nodes,omitempty"` // daemons that share a PostgreSQL database, and those that died within an hour

	Backup      *BackupView `json:"backup,omitempty"`                   // the last one that is known; nil for none
	BackupError string      `json:"backup_error,omitempty" kind:"text"` // why it cannot be known

	AuditBroken string    `json:"audit_broken,omitempty" kind:"ours"` // what of the audit is missing or not as it was written, until a person accepts it
	AuditSince  time.Time `json:"audit_since,omitzero"`               // when that was found
}

// A BackupView is the last backup of the data.
type BackupView struct {
	File    string    `json:"file" kind:"ours"`
	At      time.Time `json:"at"`      // the moment that it shows
	Checked time.Time `json:"checked"` // when it was read whole last
	Bytes   int64     `json:"bytes"`
}

// A BackupPlanView is the plan by which the daemon makes backups.
type BackupPlanView struct {
	To       string        `json:"to" kind:"ours"`
	Every    time.Duration `json:"every_ns"`
	Failed   string        `json:"failed,omitempty" kind:"text"` // why the last one was not made; "" when it was
	FailedAt time.Time     `json:"failed_at,omitzero"`
}

// Missed says why the plan is not kept, "" when it is. A backup may take an hour.
func (v *BackupPlanView) Missed(last *BackupView, now time.Time) string {
	switch {
	case v.Failed != "":
		return "the last one was not made: " + v.Failed
	case last != nil && now.Sub(last.At) > v.Every+time.Hour:
		return fmt.Sprintf("the last one is %s old, and there should be one every %s", units.Brief(now.Sub(last.At)), units.Duration(v.Every))
	default:
		return ""
	}
}

// Words say it in a line.
func (v *BackupView) Words(now time.Time) string {
	return fmt.Sprintf("%s ago, in %s, read whole %s ago", units.Brief(now.Sub(v.At)), v.File, units.Brief(now.Sub(v.Checked)))
}

// A ForgettingView is an order to forget a contact, or all that came by a connector.
type ForgettingView struct {
	Phone     string    `json:"phone,omitempty" kind:"phone"` // masked
	Connector string    `json:"connector,omitempty" kind:"ours"`
	Source    string    `json:"source" kind:"text"` // who asked
	Since     time.Time `json:"since"`
	Waits     string    `json:"waits" kind:"ours"` // for what
}

// Words is the order in words.
func (f *ForgettingView) Words() string {
	who := "contact " + f.Phone
	if f.Connector != "" {
		who = "all that came by " + f.Connector
	}
	return fmt.Sprintf("%s is being forgotten since %s (%s), and waits for %s", who, f.Since.Format("2006-01-02 15:04 UTC"), f.Source, f.Waits)
}

// A RuleCountView is how often a rule put a message off, or dropped one.
type RuleCountView struct {
	Rule   string                  `json:"rule" kind:"ours"` // the YAML key
	Action messaging.VerdictAction `json:"action"`
	Times  int64                   `json:"times"`
}

// A DaemonView is what only the running process knows.
type DaemonView struct {
	Version    string    `json:"version" kind:"ours"`
	PID        int       `json:"pid"`
	StartedAt  time.Time `json:"started_at"`
	Listen     string    `json:"listen" kind:"ours"`
	Console    string    `json:"console,omitempty" kind:"ours"` // address of the API beside the socket; "" where it is off
	Config     string    `json:"config" kind:"ours"`
	ConfigFile string    `json:"config_file" kind:"ours"`
	LoadedAt   time.Time `json:"loaded_at"`
	LoadError  string    `json:"load_error,omitempty" kind:"text"` // why the last reload was not taken
	// LoadErrorAt is when that was. FileError says why the config file as it lies there now could not be used, FileVersion which config it is
	// where that is not the one in use, both since FileChangedAt.
	LoadErrorAt   time.Time `json:"load_error_at,omitzero"`
	FileError     string    `json:"file_error,omitempty" kind:"text"`
	FileVersion   string    `json:"file_version,omitempty" kind:"ours"`
	FileChangedAt time.Time `json:"file_changed_at,omitzero"`
	DataError     string    `json:"data_error,omitempty" kind:"text"` // why nothing can be stored
	DataHint      string    `json:"data_hint,omitempty" kind:"ours"`  // the next step, where that is not the disk and the folder of the data
	// OpenReader is a transaction of another program that keeps old data for too long.
	OpenReader *OpenReaderView `json:"open_reader,omitempty"`
	// NeedsRestart lists settings that the last reload could not change.
	NeedsRestart []string `json:"needs_restart,omitempty" kind:"ours"`
	// SameKeys says of each key that the service refuses and that the last reload found as it was, why.
	SameKeys []string `json:"same_keys,omitempty" kind:"ours"`
	UnderWay int      `json:"under_way"` // calls that send a message
	API      string   `json:"api" kind:"ours"`
	Rate     string   `json:"rate" kind:"ours"` // requests a second at present, and why when slowed

	Halts      []messaging.SendingHalt `json:"halts,omitempty"`    // why nothing is sent at present, or nothing of a category
	Accounts   []AccountView           `json:"accounts,omitempty"` // all, that of the section api first; none where it is the only one
	Connectors []string                `json:"connectors" kind:"ours"`
	Triggers   []string                `json:"triggers" kind:"ours"`
	Modes      map[string]string       `json:"modes,omitempty" kind:"ours"`     // of those triggers that are not live
	Language   string                  `json:"language,omitempty" kind:"ours"`  // of templates that name none
	Texts      bool                    `json:"texts,omitempty"`                 // plain texts can be sent
	Templates  []string                `json:"templates,omitempty" kind:"ours"` // those that triggers and jobs name

	TestNumbers []string `json:"test_numbers,omitempty" kind:"ours"` // names of those that tests may go to

	Backups *BackupPlanView `json:"backups,omitempty"` // that the daemon makes by itself; nil for none

	Turned []webhooks.TurnedView `json:"turned_away,omitempty"` // webhooks that proved nothing wrong and were not taken

	Certificates []certificates.CertificateView `json:"certificates,omitempty"` // of the door, where it speaks TLS

	Silent []SilentView `json:"silent,omitempty"` // connectors that sent nothing for longer than they should

	Receivers []alerts.ReceiverView `json:"receivers,omitempty"` // of alerts

	Disk        *DiskView        `json:"disk,omitempty"`         // of the data; absent where the system does not say
	FailedRates []FailedRateView `json:"failed_rates,omitempty"` // in the windows that alerts name

	// Guessed counts, since the start, how often quiet hours, a limit or a time went by a default because nothing is known of the
	// contact's own zone; Languages counts the messages whose template went in the number's or the default's language, because
	// the contact's own was not said or cannot be read.
	Guessed   int64 `json:"zones_guessed,omitempty"`
	Languages int64 `json:"languages_guessed,omitempty"`

	Paused  []messaging.Hold     `json:"paused,omitempty"`  // triggers of which something waits that is not sent; told by reload
	Changes []preview.RuleChange `json:"changes,omitempty"` // what became of what waits; told by reload
}

// TakesUp reports whether the config files are good and others than what is in use, so that a reload would take them up.
func (d *DaemonView) TakesUp() bool {
	return d.LoadError == "" && d.FileError == "" && d.FileVersion != ""
}

// An OpenReaderView is a transaction of another program over the data that has been open for long.
type OpenReaderView struct {
	PID   int       `json:"pid,omitempty"`              // of the process, or of the backend of the server; absent where the system does not say
	Name  string    `json:"name,omitempty" kind:"ours"` // its role and program, where the server tells
	Since time.Time `json:"since"`                      // when it was seen first
	Log   int64     `json:"log,omitempty"`              // bytes of SQLite's log that wait for it
}

// Words say it in a line.
func (v *OpenReaderView) Words() string {
	since := v.Since.Format("15:04:05") + " UTC"
	if v.Name != "" {
		return fmt.Sprintf("backend %d of the database server (%s) has had a transaction open since %s: what was removed or changed since cannot be cleared away", v.PID, v.Name, since)
	}
	who := "another program"
	if v.PID != 0 {
		who = fmt.Sprintf("process %d", v.PID)
	}
	return fmt.Sprintf("%s has read the database in one transaction since %s: its log cannot be moved into it, is %.1f MB and grows", who, since, float64(v.Log)/1e6)
}

// Hint is what to do about it.
func (v *OpenReaderView) Hint() string {
	switch {
	case v.Name != "":
		return fmt.Sprintf("end it there, or with SELECT pg_terminate_backend(%d); ALTER ROLE … SET idle_in_transaction_session_timeout = '1min' has the server do so", v.PID)
	case v.PID != 0:
		return fmt.Sprintf(`"ps -p %d" says what it is; a sqlite3 that has begun a transaction ends it with COMMIT, and everything else by its own end`, v.PID)
	default:
		return "end other programs that have the database open"
	}
}

// An AccountView is one account of the service. API, Rate and Texts of a DaemonView are those of the first.
type AccountView struct {
	Name     string `json:"name" kind:"ours"`
	API      string `json:"api" kind:"ours"`
	Rate     string `json:"rate" kind:"ours"`
	UnderWay int    `json:"under_way"`
	Accepted uint64 `json:"accepted"` // messages, since the daemon began
	Texts    bool   `json:"texts,omitempty"`
}

// HaltsOf are why an account sends nothing at present, or nothing of a category.
func (v *DaemonView) HaltsOf(account string) (out []messaging.SendingHalt) {
	for _, h := range v.Halts {
		if h.Node == "" && (h.Account == "" || h.Account == account) {
			out = append(out, h)
		}
	}
	return out
}

// TriggersAndModes are the triggers, each with its mode when that is not live: "cart", "thanks (shadow)".
func (v *DaemonView) TriggersAndModes() []string {
	out := slices.Clone(v.Triggers)
	for i, name := range out {
		if mode := v.Modes[name]; mode != "" {
			out[i] += " (" + mode + ")"
		}
	}
	return out
}

// A RejectedView is how many messages ended for one reason in the last 24 hours.
type RejectedView struct {
	State  string `json:"state" kind:"ours"` // rejected, or failed after it was accepted
	Reason string `json:"reason" kind:"text"`
	Count  int64  `json:"count"`
}

// Words say it in a line.
func (v RejectedView) Words() string {
	return fmt.Sprintf("%d %s in 24h: %s", v.Count, v.State, v.Reason)
}

// A SendRequest asks for one message by hand.
type SendRequest struct {
	Phone    string             `json:"phone" validate:"required"`
	Country  string             `json:"country,omitempty"`
	Category messaging.Category `json:"category,omitempty" validate:"omitempty,oneof=marketing utility authentication"`
	Account  string             `json:"account,omitempty"` // that sends it; "" is that of the section api
	Send     messaging.Send     `json:"send"`
	DryRun   bool               `json:"dry_run,omitempty"`

	IdempotencyKey []string `json:"-" header:"Idempotency-Key"` // at most one: a message is sent once for each
}

// listed is a list that JSON has as [] where nothing is in it.
func listed[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

func eventView(e *messaging.Event, decisions []messaging.Decision) EventView {
	v := EventView{
		ID: e.ID, Event: e.Ref(), Topic: e.Topic, Phone: e.Contact.Phone, SentAs: e.Contact.SentAs,
		OccurredAt: e.OccurredAt, ReceivedAt: e.ReceivedAt.UTC(), Request: e.Request, DedupeKey: e.DedupeKey,
		Decisions: listed(decisions), Payload: string(e.Payload), Forgotten: e.Forgotten, Cleared: e.Cleared,
	}
	return v
}

// messageView is a message with all that came of it.
func messageView(d *store.MessageStory) MessageView {
	v := MessageView{MessageStory: *d, What: d.Send.What()}
	if d.Part > 0 {
		v.Key = fmt.Sprintf("run %d part %d", d.Run, d.Part)
	}
	if d.Rule != nil {
		v.Steps, v.If = d.Rule.Of, d.Rule.If
	}
	return v
}
