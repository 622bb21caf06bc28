package messaging

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// DueRules are the rules of the config for a message that is due. Do not ask them alone: duerules.MayGo asks them, and everything else
// that may hold a message back. The store does so inside the commit of a claim, so both methods are pure and quick; the rules are those of the config that is loaded then.
type DueRules interface {
	// Needs says which facts Decide looks at. The zero value costs the claim nothing.
	Needs(d *Message) DueNeeds
	// Decide is asked once for each row of a claim. now is the time of the claim.
	Decide(d *Message, f *DueFacts, now time.Time) Verdict
}

// DueNeeds are the facts that a decision at the due moment needs.
type DueNeeds struct {
	Sends   time.Duration // how far back the sends to this phone are looked at; 0 is not at all
	Account time.Duration // how far back the contacts of this account are counted; 0 is not at all
	Consent bool          // what the contact agreed to
	Window  bool          // the window of the trigger's rate
	Budget  Calendar      // whose day and month what was spent is counted for; nil is not at all
}

// A Calendar says when the day and the month began that a moment lies in.
type Calendar interface {
	Begins(now time.Time) (day, month time.Time)
}

// Spent is what was spent on a day and in a month, with what is on its way or in doubt, and what the message costs: in thousandths of points.
type Spent struct{ Day, Month, Cost int64 }

// Thousandths are points as they are counted.
func Thousandths(points float64) int64 { return int64(math.Round(points * 1000)) }

// Points are counted points as people read them.
func Points(thousandths int64) float64 { return float64(thousandths) / 1000 }

// DueFacts are what is known of a message at its due moment, and once more just before its call. Only what was needed is filled in.
type DueFacts struct {
	CalledOff  string // by which event, since it was claimed; "" for none
	Held       string // why a hold keeps it back; "" for none
	Blocked    string // why its contact is blocked, as a sentence; "" where it is not
	Forgetting string // the connector by which its contact came, all of which is asked to be forgotten; "" for none

	// Claimed says that it has been claimed: its consent was asked about then, and it counts in the limits and rates already.
	Claimed bool
	// File says that it is a row of a file: quiet hours and the room of the account are asked about the file as a whole.
	File bool
	// OwnClock says that quiet hours are asked about each row of the file, on the clock of its contact.
	OwnClock bool
	// Begun says that it is a file of a list that was begun: it is only put off.
	Begun   bool
	Service string   // why the service takes nothing of its account or lane now; "" where it does
	Step    *Verdict // what is said of a step of a sequence; nil for another message, and where all else has to let it go first

	Messaged *Contacted    // the newest message to its contact within Within, for another reason than its run; nil for none
	Within   time.Duration // what its job excludes by (exclude.messaged_within)

	Sends    []PastSend // to the same phone, whatever the trigger or job, the newest first
	Contacts int        // different phones that were sent to by this account
	New      bool       // this phone is not one of them
	Consent  Consent
	Window   UsedWindow
	Spent    Spent
	FirstDue time.Time // before it was deferred; the zero time where it never was
}

// A UsedWindow is the newest window of a trigger's rate, which may have ended. The zero value is none.
type UsedWindow struct {
	Since time.Time
	Used  int64 // claims of the trigger's messages in it
}

// At is the window that holds now, of those that began at from or later: this one, or one that begins now, with what is about to leave in it.
func (u UsedWindow) At(now, from time.Time, leaves int64) UsedWindow {
	if u.Since.Before(from) {
		return UsedWindow{now, leaves}
	}
	return u
}

// A PastSend is one message that was sent, is being sent, or may have been sent: a message, or the row of a
// CSV file that was uploaded.
type PastSend struct {
	At       time.Time // when the claim began, or the upload
	Category Category
	Trigger  string // or job
}

// NewestFirst is the order of what was sent: the newest first, and of one moment by trigger, so that the same sends are always told alike.
func NewestFirst(a, b PastSend) int {
	return cmp.Or(b.At.Compare(a.At), strings.Compare(a.Trigger, b.Trigger))
}

// AddSend is sends with one more, in their order.
func AddSend(sends []PastSend, one PastSend) []PastSend {
	i, _ := slices.BinarySearchFunc(sends, one, NewestFirst)
	return slices.Insert(sends, i, one)
}

// Consent is what a contact said about messages of a category. The zero value is silence.
type Consent string

// What a contact may have said.
const (
	ConsentGiven     Consent = "given"
	ConsentWithdrawn Consent = "withdrawn"
)

// A Verdict is what duerules.MayGo answers. The zero value lets the message go.
type Verdict struct {
	Action VerdictAction `json:"action"`
	Rule   string        `json:"rule" kind:"ours"`   // what decided: one of DueReasons
	Reason string        `json:"reason" kind:"text"` // one sentence for people, with the numbers that decided
	Common string        `json:"-"`                  // what Reason has in common with those of other contacts, for counts; "" for all of it
	Until  time.Time     `json:"until,omitzero"`     // for DeferSend: when it falls due again
	Window time.Time     `json:"-"`                  // for AllowSend: when the window of the trigger's rate began in which it goes; zero for no rate
}

// What a verdict goes by, as its Rule. Those of the config are its YAML keys.
const (
	RuleExpires    = "expires"
	RuleCancelled  = "cancelled"
	RuleHold       = "hold"
	RuleBlock      = "block"
	RuleRedaction  = "redaction"
	RuleExclude    = "exclude"
	RuleConfig     = "config"
	RuleConsent    = "consent"
	RuleQuietHours = "quiet_hours"
	RuleLimit      = "limit"
	RuleAccount    = "limits"
	RuleBudget     = "budget"
	RuleRate       = "rate"
	RuleService    = "service"
	RuleStep       = "step"
)

// Why a message ended that no Rule dropped, as counts name it.
const (
	EndedByEvent     = "event"  // that cancels it
	EndedByPerson    = "person" // who cancelled it, or let it be
	EndedByRun       = "run"    // that was cancelled
	EndedByTries     = "tries"  // of which no more is made
	EndedByDoubt     = "on_doubt"
	EndedByForgotten = "forgotten"  // its contact is
	EndedUnread      = "unreadable" // what it sends is
)

// A DueReason is one reason why a message may not go.
type DueReason struct {
	Rule      string
	Never     bool // the message may end by it
	Later     bool // it may wait by it until a time
	Held      bool // it waits by it until somebody or something ends that
	Kept      bool // what it said stays with the message (docs/internals/states.md)
	OfContact bool // it is about the contact, so it is asked already when a list is read; reasons about the moment are asked when a file is cut
}

// DueReasons lists all reasons, in the order in which they are asked. To add one: a Rule constant, its place here, its fact in DueFacts, its
// case in duerules.MayGo, and who fills the fact in: in internal/store message_due.go for a claim, contact_blocks.go (FactsOf) for the look before
// the call, message_back.go (meanwhile) and preview.go; in scheduler contact_facts.go for rows and run_quiet.go for files. A rule of the config
// needs more: its key (internal/duerules keys.go, rules.go, decide.go, describe.go), internal/config due.go, lint_due.go, print.go (takenFrom) and
// kept.go (brakeKeys: without it a config that cannot be read any more counts as leave to send), its words in triggers and scheduler (describe.go),
// internal/report (endedWords) and internal/ruletest (heldBy), docs/when.md and docs/internals/states.md.
var DueReasons = []DueReason{
	{Rule: RuleExpires, Never: true},
	{Rule: RuleCancelled, Held: true}, // it goes back to wait, and is cancelled on the way
	{Rule: RuleHold, Held: true},
	{Rule: RuleBlock, Never: true, OfContact: true},
	{Rule: RuleRedaction, Never: true, Later: true, Kept: true, OfContact: true},
	{Rule: RuleExclude, Never: true, OfContact: true},
	{Rule: RuleConfig, Later: true, Kept: true},
	{Rule: RuleConsent, Never: true, Kept: true, OfContact: true},
	{Rule: RuleQuietHours, Never: true, Later: true, Kept: true},
	{Rule: RuleLimit, Never: true, Later: true, Kept: true},
	{Rule: RuleAccount, Never: true, Later: true, Kept: true},
	{Rule: RuleBudget, Never: true, Later: true, Kept: true},
	{Rule: RuleRate, Never: true, Later: true, Kept: true},
	{Rule: RuleService, Held: true},
	{Rule: RuleStep, Never: true, Later: true},
}

// Counted is what counts of many contacts say.
func (v *Verdict) Counted() string { return cmp.Or(v.Common, v.Reason) }

// ForgottenWords are why a contact that was forgotten is blocked.
const ForgottenWords = "it was forgotten"

// BlockedWords say that a contact is blocked, with the reason where there is one.
func BlockedWords(reason string) string {
	if reason == "" {
		return "the contact is blocked"
	}
	return "the contact is blocked: " + reason
}

// Kept reports whether what was said stays with the message, for people.
func (v *Verdict) Kept() bool { return v.reason().Kept }

// OfContact reports whether it was said of the contact, so that it holds whenever the turn of a message comes.
func (v *Verdict) OfContact() bool { return v.reason().OfContact }

// reason is the zero value for a rule that is none of DueReasons.
func (v *Verdict) reason() DueReason {
	i := slices.IndexFunc(DueReasons, func(r DueReason) bool { return r.Rule == v.Rule })
	if i < 0 {
		return DueReason{}
	}
	return DueReasons[i]
}

// RuleAt is the Rule of a row whose time of day has not come (at of its job). It is asked before a row is handed over, so it is none of DueReasons.
const RuleAt = "at"

// RuleOnChange is the Rule of what an edit planned anew: it is kept with what rules said, put off until its new time, earlier or later.
const RuleOnChange = "on_change"

// A VerdictAction is what happens to a message at its due moment.
type VerdictAction string

// The actions of a Verdict.
const (
	AllowSend VerdictAction = ""
	DeferSend VerdictAction = "deferred"
	DropSend  VerdictAction = "dropped"
	HoldSend  VerdictAction = "held" // it waits with the due time that it has
)
