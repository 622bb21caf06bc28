package messaging

// To add an alert: a code below, its place in TroubleCodes, the rule that finds it in internal/server/troubles.go, a row in
// docs/alert-names.md, its name in docs/alerts.md (a test misses both), and a way to provoke it in internal/app/alerts_test.go. A pause before it is
// told is in internal/alerts/condition.go; where to look at it, and its button, in internal/console/overview.go.

import (
	"cmp"
	"slices"
	"time"
)

// A Trouble is something that keeps messages from being sent, or that a person has to look at. It is worked out
// anew from stored facts whenever somebody asks, and names what to do. Code and Subject together are its name.
type Trouble struct {
	Code     TroubleCode `json:"code"`
	Subject  string      `json:"subject,omitempty" kind:"ours"` // which one, where there can be several: `trigger "cart"`, an account, a connector, a run's number
	Severity Severity    `json:"severity"`
	About    string      `json:"about" kind:"ours"` // the part of the daemon that it is in, for people: "messages", "connector shopify"
	Since    time.Time   `json:"since,omitzero"`    // UTC; zero where nobody knows
	Amount   float64     `json:"amount,omitempty"`
	Words    string      `json:"words" kind:"text"`
	Hint     string      `json:"hint,omitempty" kind:"ours"` // what to do, with the command

	Run     RunID    `json:"run,omitempty"`     // the run that it is about
	Resumes *Resumed `json:"resumes,omitempty"` // what ends it; nil where no resume does
}

// Severity says how a trouble is to be taken.
type Severity string

// The severities, the worst first.
const (
	Stops Severity = "stops" // something that should be sent is not
	Bad   Severity = "bad"   // somebody has to do something
	Note  Severity = "note"  // worth knowing
)

// A TroubleCode is what kind of trouble it is. Alerts name troubles by it (alerts: {when: …}).
type TroubleCode string

// The codes. docs/alert-names.md has a row for each.
const (
	TroubleHalt        TroubleCode = "halt"
	TroubleReview      TroubleCode = "review"
	TroubleKey         TroubleCode = "key"
	TroublePoints      TroubleCode = "points"
	TroubleAddress     TroubleCode = "address"
	TroubleOutage      TroubleCode = "outage"
	TroubleRejections  TroubleCode = "rejections"
	TroublePaused      TroubleCode = "paused"
	TroubleTemplate    TroubleCode = "template"
	TroubleApproval    TroubleCode = "approval"
	TroubleOverdue     TroubleCode = "overdue"
	TroubleDisk        TroubleCode = "disk"
	TroubleCertificate TroubleCode = "certificate"
	TroubleConfig      TroubleCode = "config"
	TroublePolls       TroubleCode = "polls"
	TroubleBackup      TroubleCode = "backup"
	TroubleInDoubt     TroubleCode = "in_doubt"
	TroubleFiles       TroubleCode = "files_in_doubt"
	TroubleFailedRate  TroubleCode = "failed_rate"
	TroubleFailing     TroubleCode = "failing"
	TroubleSilent      TroubleCode = "silent"
	TroubleTurnedAway  TroubleCode = "turned_away"
	TroubleUnverified  TroubleCode = "unverified"
	TroubleData        TroubleCode = "data"
	TroubleReader      TroubleCode = "open_reader"
	TroubleReceiver    TroubleCode = "receiver"
	TroubleUnknownText TroubleCode = "unknown_errors"
	TroubleRejected    TroubleCode = "rejected"
	TroubleUntracked   TroubleCode = "untracked"
	TroubleDataRequest TroubleCode = "data_request"
	TroubleForgetting  TroubleCode = "forgetting"
	TroubleRedaction   TroubleCode = "redaction"
	TroubleWebhooksOut TroubleCode = "webhooks_out"
	TroubleNodes       TroubleCode = "nodes"
	TroubleClock       TroubleCode = "clock"
	TroubleAudit       TroubleCode = "audit"
	TroubleDrift       TroubleCode = "drift"
	TroubleBudget      TroubleCode = "budget"

	TroubleOptOutMissed = TroubleCode(UnusedOptOut)
	TroubleUnknownKind  = TroubleCode(UnusedKind)
	TroubleNoPhone      = TroubleCode(UnusedPhone)
	TroubleUnknownTopic = TroubleCode(UnusedTopic)
	TroubleRepeatedID   = TroubleCode(UnusedRepeated)
	TroubleNoEvent      = TroubleCode(UnusedRequest)
)

// TroubleCodes lists every code, in the order in which troubles of one severity are told: a review or a halt first of all.
var TroubleCodes = []TroubleCode{
	TroubleReview, TroubleHalt, TroubleData, TroubleKey, TroublePoints, TroubleAddress, TroubleOutage, TroubleRejections, TroubleBudget, TroublePaused, TroubleTemplate,
	TroubleApproval, TroubleOverdue, TroubleDisk, TroubleCertificate, TroubleConfig, TroubleNodes, TroubleClock, TroubleAudit, TroubleReader, TroubleBackup, TroublePolls, TroubleInDoubt, TroubleFiles, TroubleFailedRate, TroubleFailing,
	TroubleRedaction, TroubleDataRequest, TroubleForgetting, TroubleOptOutMissed, TroubleDrift, TroubleUnknownKind, TroubleNoPhone, TroubleUnknownTopic, TroubleRepeatedID, TroubleNoEvent, TroubleUnverified, TroubleSilent, TroubleTurnedAway, TroubleReceiver, TroubleWebhooksOut, TroubleUnknownText, TroubleRejected, TroubleUntracked,
}

var severities = []Severity{Stops, Bad, Note}

// Everything is the Subject of a halt that stops each message.
const Everything = "everything"

// SortTroubles puts the worst first, a halt before the others of its severity, and a halt of everything before all.
func SortTroubles(all []Trouble) {
	slices.SortStableFunc(all, func(a, b Trouble) int {
		return cmp.Or(
			cmp.Compare(slices.Index(severities, a.Severity), slices.Index(severities, b.Severity)),
			cmp.Compare(slices.Index(TroubleCodes, a.Code), slices.Index(TroubleCodes, b.Code)),
			ofEverything(a)-ofEverything(b), a.Since.Compare(b.Since), cmp.Compare(a.Subject, b.Subject))
	})
}

// ofEverything sorts a halt of everything before those of a part.
func ofEverything(t Trouble) int {
	if t.Subject == Everything {
		return 0
	}
	return 1
}
