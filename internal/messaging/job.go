package messaging

import (
	"slices"
	"strings"
	"time"
)

// A Job is a scheduled campaign as the rest of the program speaks of it: what history, pages
// and counters need to know of one entry under jobs: in config.yaml. How it is written, read
// and run is package scheduler's matter.
type Job struct {
	Name     string
	Cron     string // five fields, in the job's zone; "" for a job that is only run by hand
	Timezone string // IANA name
	Source   string // where the rows come from, without secrets: "csv ./lists/*.csv"
	Campaign string // name of the campaign, with {{ }} in it
	Deliver  Deliver
	Paused   bool      // a person stopped its firing
	NextAt   time.Time // zero when it does not fire by itself
}

// Deliver is how a run's rows reach the service.
type Deliver string

// The ways to deliver.
const (
	DeliverCSV        Deliver = "csv"         // one upload for each part; fast
	DeliverPerMessage Deliver = "per_message" // one message for each row; slower, tracked
)

// A RunID is the row number of a stored run, from 1.
type RunID int64

// A Run is one firing of a job. It is unique by job and slot: whoever gets the row stored
// runs it, so that neither the hour that autumn repeats nor a second process sends twice.
type Run struct {
	ID      RunID     `json:"id"`
	Job     string    `json:"job" kind:"ours"`  // name in config.yaml, kept as text: history outlives the job
	Slot    string    `json:"slot" kind:"ours"` // local wall-clock time it stands for, "2026-11-01 01:30"; by hand with the seconds and a word
	DueAt   time.Time `json:"due_at"`           // UTC, the instant of Slot
	Cause   RunCause  `json:"cause"`
	RetryOf RunID     `json:"retry_of,omitempty"` // the run whose parts or rows it sends again; 0 for none

	RetryClasses ErrorClassList `json:"retry_classes,omitempty"` // of a retry of rows, the classes that it is about; "" is all
	RetryWait    time.Duration  `json:"-"`                       // of a retry of rows, how long before it they had ended at the least; 0 is as their class rests
	RetryUntil   time.Time      `json:"retry_until,omitzero"`    // of a retry of rows, when what was not sent is dropped; zero is as the job has it

	Source  string `json:"source" kind:"text"`            // where the rows came from, without secrets
	Config  string `json:"config" kind:"ours"`            // version of the config that it began with
	Account string `json:"account,omitempty" kind:"ours"` // of the service, that its files and rows go to; "" is that of the section api

	State  RunState `json:"state"`
	Reason string   `json:"reason,omitempty" kind:"text"` // why it is in this state, where that needs words; "" for a run that does well
	Before RunState `json:"before,omitempty"`             // for paused: where it goes on
	Began  string   `json:"began,omitempty" kind:"ours"`  // why it was begun late, or what was passed over before it; "" for a run on time

	// What keeps it from sending on, and, for StopPerson, who that was. Of a run that has ended it is
	// who ended what was left of it. Empty for a run that nobody stopped.
	Stopped   RunStop `json:"stopped,omitempty"`
	StoppedBy string  `json:"stopped_by,omitempty" kind:"ours"`

	Held     string `json:"-"` // of StopConfig: why the config does not send by its job, "is gone from the config" or "is off"; else ""
	Released string `json:"-"` // who lets it go on all the same; "" for nobody

	// What a run that is uploading waits for before more of it leaves, and until when; empty while it
	// waits for nothing, and in every other state. A run that is built has WaitSource from its first reading that failed to the
	// end of its second.
	Waits     RunWait   `json:"waits,omitempty"`
	WaitUntil time.Time `json:"wait_until,omitzero"`

	Deliver      Deliver       `json:"deliver"`
	CampaignName string        `json:"campaign,omitempty" kind:"ours"` // as filled in for this run
	TemplateID   int64         `json:"template_id,omitempty"`          // for DeliverCSV
	Send         Send          `json:"-"`                              // for DeliverPerMessage, as it is written: what has {{ }} in it, each row says itself
	Category     Category      `json:"-"`
	Expires      time.Duration `json:"-"` // for DeliverPerMessage: how long a row may wait
	Columns      []string      `json:"-"` // what its rows have beside a phone, as its files name them: var_1, language; nil before it was built

	Tally     Tally     `json:"tally"`
	Approved  string    `json:"approved,omitempty" kind:"ours"`  // who approved it; "" for nobody
	Approvals Approvals `json:"-"`                               // of those who approved it while it was held, and how many that takes
	Canary    string    `json:"canary,omitempty" kind:"text"`    // what its canary found before it let the rest go; "" before that, and where there is none
	Overruled string    `json:"overruled,omitempty" kind:"text"` // who let it go on after its canary had stopped it; "" for nobody
	Repeats   RunID     `json:"repeats,omitempty"`               // the run whose list and template a person said it may send once more; 0 for none
	Owner     string    `json:"-"`                               // who works on it; "" for nobody
	LeaseEnd  time.Time `json:"-"`

	CreatedAt time.Time `json:"created_at"`
	StartedAt time.Time `json:"started_at,omitzero"`
	EndedAt   time.Time `json:"ended_at,omitzero"`

	BlankedAt time.Time `json:"blanked_at,omitzero"` // when the values of its rows were removed (retention.lists); zero while they are there
}

// A RunCause is what made a run.
type RunCause string

// The causes of a run.
const (
	CauseCron   RunCause = "cron"
	CauseMissed RunCause = "missed" // its time passed while nothing ran, and on_missed had it run later
	CauseHand   RunCause = "hand"
)

// A RunStop is what stopped a run. What may go on, and how, hangs on this and never on the words of
// Run.Reason.
type RunStop string

// What stops a run.
const (
	StopPerson    RunStop = "person"    // paused or cancelled by somebody
	StopNewer     RunStop = "newer"     // a later run of its job took its place
	StopCanary    RunStop = "canary"    // too many of its first messages failed, or too few have ended
	StopKey       RunStop = "key"       // the service refuses the API key
	StopDoubt     RunStop = "doubt"     // several answers in a row were lost
	StopRejection RunStop = "rejection" // the service refuses the campaign, and would refuse each further file
	StopSize      RunStop = "size"      // its files are larger than the service takes: resumed, it is cut anew
	StopConfig    RunStop = "config"    // the config does not send by its job: see Run.Held
	StopRestored  RunStop = "restored"  // the data was restored, and whoever had it may have gone on with the run
)

// A RunWait is what a run waits for while it is uploading; WaitSource while it is built.
type RunWait string

// What a run waits for.
const (
	WaitSource     RunWait = "source"      // to read its source once more, which was away, or changed while it was read
	WaitCanary     RunWait = "canary"      // to see what becomes of its first rows
	WaitQuietHours RunWait = "quiet_hours" // for the end of the quiet hours
	WaitRate       RunWait = "rate"        // for the next window of its rate
	WaitLimits     RunWait = "limits"      // for room in the window of its account's limit
	WaitAt         RunWait = "at"          // for the time of day at which the next of its rows go
	WaitBudget     RunWait = "budget"      // for the day or the month in which there are points again
)

// Words say what the run waits for: "for the end of quiet hours".
func (w RunWait) Words() string {
	switch w {
	case WaitSource:
		return "to read its source once more"
	case WaitCanary:
		return "for its canary"
	case WaitQuietHours:
		return "for the end of quiet hours"
	case WaitRate:
		return "for its rate"
	case WaitLimits:
		return "for room under unique_contacts"
	case WaitAt:
		return "for the time of its next rows"
	case WaitBudget:
		return "for the budget of the next day or month"
	default:
		return ""
	}
}

// RunWaits lists them all.
var RunWaits = []RunWait{WaitSource, WaitCanary, WaitQuietHours, WaitRate, WaitLimits, WaitAt, WaitBudget}

// In reports whether a run of a state can wait for that.
func (w RunWait) In(state RunState) bool {
	if w == WaitSource {
		return state == RunBuilding
	}
	return state == RunUploading
}

// A QuotaQuestion asks whether contacts have room in the window of an account's limit.
type QuotaQuestion struct {
	Account string
	Now     time.Time
	Per     time.Duration // how long the window is, that ends now
	Most    int64         // different contacts in it
	Least   int64         // how many need room for it to be of use, where there are so many
	Phones  []Phone       // in the order in which they would be sent to
}

// A Room answers a QuotaQuestion.
type Room struct {
	Contacts int64 // that the account reached in the window, is reaching, or may have reached
	Fits     int   // how many of the phones, from the first, have room; one that was reached needs none
	// Next is when enough contacts leave the window that there is room for the least, if the account reaches nobody
	// meanwhile; zero where all fit, and where that is not known.
	Next time.Time
}

// A RateWindow is how many rows of a job may be handed over before a window ends. It begins with the first of them.
type RateWindow struct {
	Job     string
	Most    int64
	From    time.Time // a window that began before this has ended
	Now     time.Time
	Waiting int64 // rows that were handed over and have not left: they leave in a window that begins now
}

// A Tally counts the rows of a run. Rows is Kept and what was excluded together.
type Tally struct {
	Rows     int64      `json:"rows"` // of the source, without its header
	Kept     int64      `json:"kept"`
	Parts    int        `json:"parts"`
	Bytes    int64      `json:"bytes"`
	Points   float64    `json:"points"` // by the price table; 0 where there is none
	Excluded []Excluded `json:"excluded,omitempty"`
	SHA256   string     `json:"sha256,omitempty" kind:"ours"`  // of all rows that could be sent, before anybody was excluded; hex
	ReadAs   string     `json:"read_as,omitempty" kind:"ours"` // encoding and delimiter of the source, for people; "" where it is no text
	Notes    []string   `json:"notes,omitempty" kind:"text"`   // what is worth a look about the source, for people
}

// ExcludedRows is how many rows were excluded.
func (t Tally) ExcludedRows() int64 { return t.Rows - t.Kept }

// An Excluded is one reason for excluding rows, and how many it met.
type Excluded struct {
	Kind   string `json:"kind" kind:"ours"`   // phone, variable, send, duplicate, contact, message, row or size
	Reason string `json:"reason" kind:"text"` // for people: "the phone is too short for GB"
	Count  int64  `json:"count"`
	First  int64  `json:"first,omitempty"`            // Position.Row of the first such row; 0 where that is not known
	File   string `json:"file,omitempty" kind:"text"` // that it stands in, where the source has several
	Late   bool   `json:"late,omitempty"`             // not while the run was built, but when its rows were to leave
}

// A RunCounts counts the messages of a run that has handed some over.
type RunCounts struct {
	Messages int64
	Ended    int64 // of Messages: what becomes of them is known
	Failed   int64 // of Ended: rejected by the service, or failed on the way to the phone
	Arrived  int64 // of Ended: delivered or read
	Read     int64 // of Arrived
}

// A Position is where a row stands in the source of its run: people find it by that, in the file or
// in the spreadsheet that they made it with.
type Position struct {
	// Row is the row that a spreadsheet shows: the first is 1, the column names count and so does an
	// empty row, the further lines of a cell do not. In a source that is no file it is the place in
	// the list, from 1; 0 where it is not known.
	Row  int64
	File string // "" where the source is no file
}

// A RunState is where a run stands. docs/internals/states.md holds the law; the schema repeats it.
type RunState string

// The states of a run.
const (
	RunPlanned   RunState = "planned"           // stored; nothing was read yet
	RunBuilding  RunState = "building"          // the source is read and parts are written
	RunAwaiting  RunState = "awaiting_approval" // built; a person must let it go
	RunUploading RunState = "uploading"         // its parts go out, one after the other
	RunPaused    RunState = "paused"            // stopped for now; Run.Stopped says by what
	RunDone      RunState = "done"              // every part was accepted, or there was nothing to send; final
	RunPartial   RunState = "partial"           // some parts were not accepted or are in doubt; final
	RunFailed    RunState = "failed"            // nothing was accepted and nothing is in doubt; final
	RunSkipped   RunState = "skipped"           // its time came and it was not run; final
	RunCancelled RunState = "cancelled"         // a person or a later run ended it; final
)

// RunStates lists every state in the order of a run's life.
var RunStates = []RunState{
	RunPlanned, RunBuilding, RunAwaiting, RunUploading, RunPaused,
	RunDone, RunPartial, RunFailed, RunSkipped, RunCancelled,
}

// runLaw says where a run may go from each state. The final ones are absent.
var runLaw = map[RunState][]RunState{
	RunPlanned:   {RunBuilding, RunPaused, RunCancelled, RunFailed, RunSkipped},
	RunBuilding:  {RunBuilding, RunAwaiting, RunUploading, RunDone, RunPaused, RunCancelled, RunFailed},
	RunAwaiting:  {RunUploading, RunPaused, RunCancelled},
	RunUploading: {RunUploading, RunDone, RunPartial, RunFailed, RunPaused, RunCancelled},
	RunPaused:    {RunPlanned, RunBuilding, RunAwaiting, RunUploading, RunCancelled},
}

// Words are the state for people: "awaiting approval".
func (s RunState) Words() string { return strings.ReplaceAll(string(s), "_", " ") }

// Final reports whether no one leaves the state.
func (s RunState) Final() bool { return runLaw[s] == nil }

// May reports whether a run in state s may become next.
func (s RunState) May(next RunState) bool { return slices.Contains(runLaw[s], next) }

// A Part is rows of a list that go as one CSV file. It is cut when its turn comes: until then it is what is left of the list, and
// what finds no place in the file is left in a part of its own.
type Part struct {
	RunID  RunID       `json:"-"`
	Number int         `json:"number"`             // from 1
	List   RunID       `json:"-"`                  // the run that read the rows; of a retry that is another one
	Ranges RowRanges   `json:"-"`                  // the rows on the file of the newest attempt; of one that waits for its turn those that it may take
	Rows   int64       `json:"rows"`               // in Ranges; 0 only for PartExcluded
	Bytes  int64       `json:"bytes"`              // of the file of the newest attempt; 0 before the first
	Goes   []PartShare `json:"-"`                  // of that file, by country; none before the first
	SHA256 string      `json:"sha256" kind:"ours"` // of that file, hex; "" before the first

	State      PartState `json:"state"`
	Reason     string    `json:"reason,omitempty" kind:"text"` // the service's words or ours; "" for a plain acceptance
	Attempt    int       `json:"attempt"`                      // uploads begun so far; 0 before the first
	RetryAt    time.Time `json:"retry_at,omitzero"`
	CampaignID string    `json:"campaign_id,omitempty" kind:"ours"` // where the answer names one
	MessageIDs []string  `json:"-"`                                 // that the answer lists and that are not followed yet
	Phones     []string  `json:"-"`                                 // whose each of MessageIDs is, "" where the answer does not say; nil where it says none
	Followed   int64     `json:"message_ids,omitempty"`             // messages of the part that are followed; 0 where the answer lists none
	Answer     string    `json:"answer,omitempty" kind:"text"`      // the raw answer, first 4 KB
	HTTPStatus int       `json:"http_status,omitempty"`             // 0 when there was no answer
	Resolved   string    `json:"resolved,omitempty" kind:"text"`    // a person's word on it when it was in doubt; "" for none
	UpdatedAt  time.Time `json:"updated_at"`
}

// A PartShare is what of a file goes to one country.
type PartShare struct {
	Country string  `json:"country"` // by the phones; "" where they do not say
	Rows    int64   `json:"rows"`
	Points  float64 `json:"points,omitempty"` // what they cost by the prices of the config when the file was cut
}

// A PartState is where a part stands.
type PartState string

// The states of a part.
const (
	PartWaiting   PartState = "waiting"   // for its turn, also after an upload that was surely not taken
	PartUploading PartState = "uploading" // claimed; a crash here makes it in doubt
	PartAccepted  PartState = "accepted"  // the service took it; final
	PartRejected  PartState = "rejected"  // the service refused it, or it may not go out any more; final
	PartInDoubt   PartState = "in_doubt"  // may have been taken: a person decides, nothing uploads it again by itself
	PartCancelled PartState = "cancelled" // the run ended before its turn; final
	PartExcluded  PartState = "excluded"  // nobody on it was left to send to when its turn came; final
)

var partLaw = map[PartState][]PartState{
	PartWaiting:   {PartUploading, PartRejected, PartCancelled, PartExcluded, PartInDoubt}, // in doubt once the data was restored
	PartUploading: {PartWaiting, PartAccepted, PartRejected, PartInDoubt},
	PartInDoubt:   {PartWaiting, PartAccepted, PartRejected}, // a person's word
}

// May reports whether a part in state s may become next.
func (s PartState) May(next PartState) bool { return slices.Contains(partLaw[s], next) }

// MayHaveArrived reports whether those on a part in state s got it, or may have.
func (s PartState) MayHaveArrived() bool {
	return s == PartUploading || s == PartAccepted || s == PartInDoubt
}
