package messaging

import (
	"strconv"
	"strings"
	"time"
)

// A Hold keeps messages back: it says which (Scope, Name, and for some kinds Account and Part), why, and since when. Who stops
// something, and whatever stops by itself, leaves one. A message that is held keeps its due time.
type Hold struct {
	Scope  HoldScope `json:"scope"`
	Name   string    `json:"name,omitempty" kind:"ours"` // of what the scope names; "" where that has no name
	Kind   HoldKind  `json:"kind"`
	Reason string    `json:"reason,omitempty" kind:"text"` // in words; "" where nobody gave one
	Who    string    `json:"who,omitempty" kind:"ours"`    // the person; of an account, the process that told it
	At     time.Time `json:"at,omitzero"`                  // since when; not known of a paused run that has handed nothing over

	// Of HoldService, which ends by a message that shows that the service takes it again.
	Account string    `json:"account,omitempty" kind:"ours"` // whose messages alone wait
	Part    string    `json:"part,omitempty" kind:"ours"`    // "trigger reminder" or "run 12", whose messages alone wait; of an account its lane; "" for all
	Cause   string    `json:"cause,omitempty" kind:"text"`   // CausePaused, CauseRefused; of an account what is wrong with it
	Until   time.Time `json:"until,omitzero"`                // when a message goes as a probe
	Probe   MessageID `json:"probe,omitempty"`               // that message; 0 while there is none

	Way      string `json:"-"` // how the account was called: who calls it otherwise is not held
	Strikes  int    `json:"-"` // holds one after the other: each is longer
	ByStatus bool   `json:"-"` // the service took such messages, and failed them later
	Asked    bool   `json:"-"` // a question was answered well since the last strike

	// What those who list holds for people fill in.
	Job     string `json:"job,omitempty" kind:"ours"` // of a run
	Waiting int64  `json:"waiting,omitempty"`         // messages that it holds, where they are counted
}

// A HoldScope is what a hold keeps back: the messages of one thing, or all.
type HoldScope string

// The scopes of holds.
const (
	ScopeAll      HoldScope = "all"
	ScopeTrigger  HoldScope = "trigger"
	ScopeTemplate HoldScope = "template"
	ScopeCampaign HoldScope = "campaign"
	ScopeText     HoldScope = "text" // whatever is sent as text; it has no name
	ScopeJob      HoldScope = "job"
	ScopeRun      HoldScope = "run" // the rows that it handed over; Name is its number
	ScopeAccount  HoldScope = "account"
)

// A HoldKind is who holds, and so how it ends.
type HoldKind string

// The kinds of holds; HoldKinds says what each one is.
const (
	HoldHalt     HoldKind = "halt"
	HoldMode     HoldKind = "mode"
	HoldReleased HoldKind = "released"
	HoldRun      HoldKind = "run"
	HoldService  HoldKind = "service"
	HoldGone     HoldKind = "gone"
	HoldDamage   HoldKind = "damage"
	HoldRestored HoldKind = "restored"
)

// A HoldRule says what one kind of holds is.
type HoldRule struct {
	Kind   HoldKind
	Scopes []HoldScope // what it may keep back
	State  string      // what people read: halted, paused or released
	Why    string      // it holds
	Ends   string      // who or what ends it
}

// HoldKinds lists all kinds.
var HoldKinds = []HoldRule{
	{HoldHalt, []HoldScope{ScopeAll, ScopeTrigger, ScopeTemplate, ScopeJob}, "halted", "a person halted it", "a person: resume"},
	{HoldMode, []HoldScope{ScopeTrigger}, "paused", "the config does not send by the trigger", "the config that does, or a person: resume trigger"},
	{HoldReleased, []HoldScope{ScopeTrigger}, "released", "nothing: a person let go what waits of a trigger that the config does not send by", "the config that sends by the trigger"},
	{HoldRun, []HoldScope{ScopeRun}, "paused", "the run is paused or cancelled", "the run: it is resumed, or nothing of a cancelled one is under way"},
	{HoldService, []HoldScope{ScopeTemplate, ScopeCampaign, ScopeText, ScopeAccount}, "paused", "the service does not take it", "a message that it takes, or a person: resume template"},
	{HoldGone, []HoldScope{ScopeAccount}, "paused", "the config does not have the account; no row says it", "the config that has it"},
	{HoldDamage, []HoldScope{ScopeAll}, "halted", "commits were lost", "a person: resume --reviewed"},
	{HoldRestored, []HoldScope{ScopeAll}, "halted", "the data is a copy", "a person: resume --reviewed"},
}

// HaltScopes lists what a person may halt by name.
var HaltScopes = HoldKinds[0].Scopes

// Why the service does not take some of what is sent.
const (
	CausePaused  = "paused"  // its words say that the template is paused
	CauseRefused = "refused" // it refuses one message after the other
)

// RunHold is the hold of what a run handed over.
func RunHold(run RunID, reason string) Hold {
	return Hold{Scope: ScopeRun, Name: strconv.FormatInt(int64(run), 10), Kind: HoldRun, Reason: reason}
}

// Run is the run whose rows are held; 0 for none.
func (h Hold) Run() RunID {
	if h.Scope != ScopeRun {
		return 0
	}
	id, _ := strconv.ParseInt(h.Name, 10, 64)
	return RunID(id)
}

// Resumed is what a person lets go on (POST /resume).
type Resumed struct {
	Scope HoldScope `json:"scope" kind:"ours"`
	Name  string    `json:"name,omitempty" kind:"ours"`
}

// Resumes is what is resumed to end it; nil where no resume does.
func (h Hold) Resumes() *Resumed {
	switch h.Kind {
	case HoldHalt, HoldMode:
		return &Resumed{h.Scope, h.Name}
	case HoldService:
		return &Resumed{ScopeTemplate, h.Content()}
	}
	return nil
}

// Same reports whether two holds are one, whatever they say of it.
func (h Hold) Same(other Hold) bool {
	return h.Scope == other.Scope && h.Name == other.Name && h.Kind == other.Kind && h.Account == other.Account && h.Part == other.Part && h.Way == other.Way
}

// OfEverything reports whether it stops each message, whatever it is of.
func (h Hold) OfEverything() bool { return h.Scope == ScopeAll }

// Stops reports whether it keeps a message back. The claim asks the same in SQL (internal/store/hold.go). What the service does to an account is
// not asked here: whoever calls the account knows. A test of a trigger that does not send by its mode goes: that is how it is tried before.
func (h Hold) Stops(d *Message) bool {
	if h.Kind == HoldReleased || h.Scope == ScopeAccount && h.Kind != HoldGone {
		return false
	}
	switch h.Scope {
	case ScopeAll:
		return true
	case ScopeTrigger:
		return d.EventID != 0 && d.Trigger == h.Name && (h.Kind != HoldMode || d.Test == "")
	case ScopeJob:
		return d.EventID == 0 && d.Trigger == h.Name
	case ScopeRun:
		return d.EventID == 0 && strings.HasPrefix(d.Key, RowKeys(h.Run()))
	case ScopeAccount:
		return d.Account == h.Name
	}
	kind, name := d.Send.Content()
	if kind != string(h.Scope) || name != h.Name {
		return false
	}
	return h.Kind == HoldHalt || d.Account == h.Account && d.ID != h.Probe && (h.Part == "" || h.Part == d.Origin())
}

// A SendingHalt says why nothing is sent by an account of the service, or nothing of a category: the service, or the account, is unwell.
type SendingHalt struct {
	Account   string    `json:"account,omitempty" kind:"ours"` // "" where there is one
	Node      string    `json:"node,omitempty" kind:"ours"`    // that calls the account by another key or at another address than the one that answers; "" for that one
	Lane      Category  `json:"lane,omitempty"`                // that is halted alone; "" for all of the account
	Cause     string    `json:"cause" kind:"ours"`             // key, points, address, outage or refusals
	Why       string    `json:"why" kind:"text"`               // in words
	Since     time.Time `json:"since"`
	NextProbe time.Time `json:"next_probe"`

	// OfEnvironment says of a key that is refused that it comes from the environment of the process, which only a restart changes.
	OfEnvironment bool `json:"of_environment,omitempty"`
}

// Stops reports whether messages of a category to an account, as rows name it, wait for it.
func (h *SendingHalt) Stops(account string, c Category) bool {
	return h.Node == "" && (h.Account == "" || AccountKey(h.Account) == account) && (h.Lane == "" || h.Lane == c)
}
