package server

import (
	"strconv"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/scheduler"
)

// A JobView is a scheduled campaign of the config.
type JobView struct {
	Name     string            `json:"name" kind:"ours"`
	Cron     string            `json:"cron,omitempty" kind:"ours"`
	Timezone string            `json:"timezone" kind:"ours"`
	Source   string            `json:"source" kind:"text"`
	Campaign string            `json:"campaign,omitempty" kind:"ours"`
	Deliver  messaging.Deliver `json:"deliver"`
	Off      bool              `json:"off,omitempty"` // mode: off
	NextAt   *time.Time        `json:"next_at,omitempty"`
	Last     *RunView          `json:"last,omitempty"`
}

// A RunView is one firing of a job. Parts, Messages and Progress are filled for a single run
// only.
type RunView struct {
	ID      messaging.RunID `json:"id"`
	Job     string          `json:"job" kind:"ours"`
	Slot    string          `json:"slot" kind:"ours"`   // local time that it stands for
	RetryOf messaging.RunID `json:"retry_of,omitempty"` // the run whose parts or rows it sends again
	DueAt   time.Time       `json:"due_at"`

	RetryClasses messaging.ErrorClassList `json:"retry_classes,omitempty"` // of a retry, what it is about; all where it names none
	RetryUntil   *time.Time               `json:"retry_until,omitempty"`   // of a retry, when what was not sent is dropped

	Cause      messaging.RunCause `json:"cause"`
	State      messaging.RunState `json:"state"`            // for people: of one that is stored as done, by what became of its messages, see judge
	Before     messaging.RunState `json:"before,omitempty"` // of a paused run, the state in which it goes on
	Reason     string             `json:"reason,omitempty" kind:"text"`
	Began      string             `json:"began,omitempty" kind:"ours"` // why it was begun late
	Note       string             `json:"note,omitempty" kind:"text"`  // of one that is done: what is not known of it
	Stopped    messaging.RunStop  `json:"stopped,omitempty"`
	StoppedBy  string             `json:"stopped_by,omitempty" kind:"ours"`
	Source     string             `json:"source" kind:"text"`
	Deliver    messaging.Deliver  `json:"deliver"`
	Account    string             `json:"account,omitempty" kind:"ours"` // that it goes out by; not that of the section api
	Campaign   string             `json:"campaign,omitempty" kind:"ours"`
	TemplateID int64              `json:"template_id,omitempty"`
	Template   string             `json:"template,omitempty" kind:"ours"`
	Sends      string             `json:"sends,omitempty" kind:"ours"`   // what each row is sent as, in words
	Expires    string             `json:"expires,omitempty" kind:"ours"` // how long a row may wait, where it is sent as a message
	Tally      messaging.Tally    `json:"tally"`
	Approved   string             `json:"approved,omitempty" kind:"ours"` // who approved it
	Approvals  *ApprovalsView     `json:"approvals,omitempty"`            // of one that several people have to approve
	Canary     string             `json:"canary,omitempty" kind:"text"`   // what its canary found when it let the rest go
	Waits      messaging.RunWait  `json:"waits,omitempty"`                // what it waits for
	WaitUntil  *time.Time         `json:"wait_until,omitempty"`
	Overruled  string             `json:"overruled,omitempty" kind:"text"` // who let it go on after its canary stopped it
	Repeats    messaging.RunID    `json:"repeats,omitempty"`               // the run that a person said it may send once more
	Config     string             `json:"config" kind:"ours"`
	CreatedAt  time.Time          `json:"created_at"`
	StartedAt  *time.Time         `json:"started_at,omitempty"`
	EndedAt    *time.Time         `json:"ended_at,omitempty"`

	BlankedAt *time.Time `json:"blanked_at,omitempty"` // when what its rows said was removed

	Parts    []PartView        `json:"parts,omitempty"`
	Messages map[string]int64  `json:"messages,omitempty" kind:"ours"` // by status, where they are tracked; filled in lists of runs, too
	Progress *ProgressView     `json:"progress,omitempty"`
	Retries  int               `json:"retries,omitempty"`            // runs that sent something of it again
	WaitsFor []messaging.RunID `json:"waits_for,omitempty"`          // runs whose lists are being read while this one waits for a place
	Halted   string            `json:"halted,omitempty" kind:"text"` // what holds the run back, in words

	// Of a paused run, the most calls that may be under way for it: they end as usual, and nothing
	// else of it leaves.
	UnderWay int64 `json:"under_way,omitempty"`
}

// Waiting says that the run waits for a place to read its list in; "" for one that does not.
func (v *RunView) Waiting() string {
	if len(v.WaitsFor) == 0 {
		return ""
	}
	words := make([]string, len(v.WaitsFor))
	for i, id := range v.WaitsFor {
		words[i] = strconv.FormatInt(int64(id), 10)
	}
	if len(words) == 1 {
		return "waits for a place: run " + words[0] + " is reading (server.lists_at_once)"
	}
	return "waits for a place: runs " + units.Enumerate(words) + " are reading (server.lists_at_once)"
}

// A PartView is one file of a run.
type PartView struct {
	Number     int                 `json:"number"`
	Rows       int64               `json:"rows"`
	Bytes      int64               `json:"bytes"`
	SHA256     string              `json:"sha256" kind:"ours"`
	State      messaging.PartState `json:"state"`
	Reason     string              `json:"reason,omitempty" kind:"text"`
	Attempt    int                 `json:"attempt"`
	RetryAt    *time.Time          `json:"retry_at,omitempty"`
	CampaignID string              `json:"campaign_id,omitempty" kind:"ours"`
	MessageIDs int64               `json:"message_ids,omitempty"` // how many the answer listed: each is followed
	Answer     string              `json:"answer,omitempty" kind:"text"`
	HTTPStatus int                 `json:"http_status,omitempty"`
	Resolved   string              `json:"resolved,omitempty" kind:"text"` // a person's word on it when it was in doubt
	UpdatedAt  time.Time           `json:"updated_at"`
}

// A ProgressView is how far a run has come that is under way.
type ProgressView struct {
	Rows      int64   `json:"rows"`
	Kept      int64   `json:"kept"`
	Of        int64   `json:"of,omitempty"` // rows expected
	Parts     int     `json:"parts"`
	OfParts   int     `json:"of_parts,omitempty"`
	PerSecond float64 `json:"per_second"`
	Seconds   float64 `json:"seconds"`
	Left      float64 `json:"seconds_left,omitempty"`
}

// A ForecastView says what a run would do.
type ForecastView struct {
	Job      string            `json:"job" kind:"ours"`
	Source   string            `json:"source" kind:"text"`
	Tally    messaging.Tally   `json:"tally"`
	Awaiting []string          `json:"awaiting_approval,omitempty" kind:"ours"` // why it would wait for a person
	Repeats  messaging.RunID   `json:"repeats,omitempty"`                       // the run that sent the same list with the same template
	Repeat   string            `json:"repeat,omitempty" kind:"ours"`            // that, in words
	Nothing  string            `json:"nothing,omitempty" kind:"text"`           // why nothing would be sent
	Halted   string            `json:"halted,omitempty" kind:"text"`            // what holds back all that would be sent, until it goes on
	Priced   bool              `json:"priced"`
	Seconds  float64           `json:"seconds"`                       // of sending, at the configured rate
	Basis    string            `json:"basis,omitempty" kind:"ours"`   // what Seconds is reckoned from
	Columns  []string          `json:"columns,omitempty" kind:"text"` // what the variables of First are, for people: VAR_1, IMAGE
	First    []PreviewView     `json:"first,omitempty"`
	Later    []scheduler.Later `json:"later,omitempty"` // rows of those kept that would not go at once, by rule
}

// A PreviewView is one of the first rows as it would be sent.
type PreviewView struct {
	Phone     messaging.Phone `json:"phone"`
	SentAs    string          `json:"sent_as,omitempty" kind:"phone"` // as in MessageView
	Variables []string        `json:"variables,omitempty" kind:"text"`
}

// A BlockRequest asks for contacts to be blocked.
type BlockRequest struct {
	Phones  []string `json:"phones" validate:"required"`
	Country string   `json:"country,omitempty"`
	Reason  string   `json:"reason,omitempty"`
	Source  string   `json:"source,omitempty"`
}

// A BlockAnswer says what came of it.
type BlockAnswer struct {
	Blocked int      `json:"blocked"`
	Before  int      `json:"blocked_before"`
	Bad     []BadRow `json:"bad,omitempty"`
}

// A BadRow is a phone that cannot be read, by its place in the request, from 1.
type BadRow struct {
	Row    int    `json:"row"`
	Reason string `json:"reason" kind:"text"`
}

// A BlockView is a blocked contact.
type BlockView struct {
	Phone  messaging.Phone `json:"phone"`
	Reason string          `json:"reason,omitempty" kind:"text"`
	Source string          `json:"source,omitempty" kind:"text"`
	At     time.Time       `json:"at,omitzero"`

	Event messaging.EventID `json:"event,omitempty"` // that said so
}

func blockView(b *store.Block) *BlockView {
	return &BlockView{Phone: b.Phone, Reason: b.Reason, Source: b.Source, At: b.At.UTC(), Event: b.Event}
}

// An ApprovalsView is how far a run is that several people have to approve.
type ApprovalsView struct {
	Need  int            `json:"need"`
	By    []ApprovalView `json:"by,omitempty"`
	Words string         `json:"words" kind:"ours"` // "1 of 2 approved: ann (1000)"
}

// An ApprovalView is the word of one of them.
type ApprovalView struct {
	Who string    `json:"who" kind:"ours"`
	Via string    `json:"via,omitempty" kind:"ours"` // socket, token or session
	At  time.Time `json:"at"`
}

// approvalsView is nil where one person is enough.
func approvalsView(r *messaging.Run) *ApprovalsView {
	if r.ApprovalsNeeded() == 1 {
		return nil
	}
	v := &ApprovalsView{Need: r.ApprovalsNeeded(), Words: r.ApprovedWords()}
	for _, a := range r.Approvers() {
		v.By = append(v.By, ApprovalView{a.Who, a.Via, a.At.UTC()})
	}
	return v
}

// runView is a run with its parts, nil where they are not asked for.
func runView(r *messaging.Run, parts []messaging.Part) RunView {
	v := RunView{
		ID: r.ID, Job: r.Job, Slot: r.Slot, RetryOf: r.RetryOf, RetryClasses: r.RetryClasses, RetryUntil: optional(r.RetryUntil), DueAt: r.DueAt.UTC(), Cause: r.Cause, State: r.State, Reason: r.Why(), Source: r.Source,
		Deliver: r.Deliver, Account: r.Account, Campaign: r.CampaignName, TemplateID: r.TemplateID, Template: r.Send.Template, Sends: sendsWords(r), Tally: r.Tally,
		Approved: r.Approved, Approvals: approvalsView(r), Overruled: r.Overruled, Before: r.Before, Canary: r.Canary, Waits: r.Waits, WaitUntil: optional(r.WaitUntil), Repeats: r.Repeats, Began: r.Began, Stopped: r.Stopped, StoppedBy: r.StoppedBy, Config: r.Config, CreatedAt: r.CreatedAt.UTC(),
		StartedAt: optional(r.StartedAt), EndedAt: optional(r.EndedAt),
		BlankedAt: optional(r.BlankedAt),
	}
	for i := range parts {
		v.Parts = append(v.Parts, partView(&parts[i]))
	}
	v.Note = scheduler.Untracked(r, parts)
	if r.Expires > 0 {
		v.Expires = units.Duration(r.Expires).String()
	}
	return v
}

// sendsWords are what a run sends to each row, "" for one that uploads files.
func sendsWords(r *messaging.Run) string {
	if r.Deliver != messaging.DeliverPerMessage || r.Columns == nil && r.RetryOf == 0 {
		return ""
	}
	words := r.Send.What()
	switch language := r.Send.Language; {
	case strings.Contains(language, "{{"):
		words += " in the language of each row"
	case language != "":
		words += " in " + language
	}
	if h := r.Send.Header; h != nil {
		words += ", with " + map[string]string{"image": "an image", "video": "a video", "document": "a document"}[h.Type]
	}
	return words
}

func partView(p *messaging.Part) PartView {
	return PartView{
		Number: p.Number, Rows: p.Rows, Bytes: p.Bytes, SHA256: p.SHA256, State: p.State, Reason: p.Reason,
		Attempt: p.Attempt, RetryAt: optional(p.RetryAt), CampaignID: p.CampaignID, MessageIDs: max(p.Followed, int64(len(p.MessageIDs))),
		Answer: p.Answer, HTTPStatus: p.HTTPStatus, Resolved: p.Resolved, UpdatedAt: p.UpdatedAt.UTC(),
	}
}

func progressView(p *scheduler.Progress) *ProgressView {
	return &ProgressView{
		Rows: p.Rows, Kept: p.Kept, Of: p.Of, Parts: p.Parts, OfParts: p.OfParts,
		PerSecond: p.PerSecond, Seconds: p.Elapsed.Seconds(), Left: p.Left.Seconds(),
	}
}
