package server

import (
	"strconv"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
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
	NextAt   time.Time         `json:"next_at,omitzero"`
	Last     *RunView          `json:"last,omitempty"`
}

// A RunView is one firing of a job. Parts, Messages and Progress are filled for a single run
// only. State is for people: of a run that is stored as done, by what became of its messages, see judge.
type RunView struct {
	messaging.Run
	Note      string            `json:"note,omitempty" kind:"text"` // of one that is done: what is not known of it
	Template  string            `json:"template,omitempty" kind:"ours"`
	Sends     string            `json:"sends,omitempty" kind:"ours"`   // what each row is sent as, in words
	Expires   string            `json:"expires,omitempty" kind:"ours"` // how long a row may wait, where it is sent as a message
	Approvals *ApprovalsView    `json:"approvals,omitempty"`           // of one that several people have to approve
	Parts     []messaging.Part  `json:"parts,omitempty"`
	Messages  map[string]int64  `json:"messages,omitempty" kind:"ours"` // by status, where they are tracked; filled in lists of runs, too
	Progress  *ProgressView     `json:"progress,omitempty"`
	Retries   int               `json:"retries,omitempty"`            // runs that sent something of it again
	WaitsFor  []messaging.RunID `json:"waits_for,omitempty"`          // runs whose lists are being read while this one waits for a place
	Halted    string            `json:"halted,omitempty" kind:"text"` // what holds the run back, in words

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
	Run      messaging.RunID   `json:"run,omitempty"` // of one that awaits approval
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
	Ends     time.Time         `json:"ends,omitzero"`                 // when all of such a run is sent if it begins now; left out where something waits
	Before   string            `json:"before,omitempty" kind:"ours"`  // how it differs from the job's run before
	Columns  []string          `json:"columns,omitempty" kind:"text"` // what the variables of First are, for people: VAR_1, IMAGE
	First    []PreviewView     `json:"first,omitempty"`
	Later    []scheduler.Later `json:"later,omitempty"` // rows of those kept that would not go at once, by rule
}

// A PreviewView is one of the first rows as it would be sent.
type PreviewView struct {
	Phone     messaging.Phone `json:"phone"`
	SentAs    string          `json:"sent_as,omitempty" kind:"phone"` // as in MessageView
	Variables []string        `json:"variables,omitempty" kind:"text"`
	Reads     string          `json:"reads,omitempty" kind:"text"` // what the phone shows, where the template's text is declared
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
	v := RunView{Run: *r, Template: r.Send.Template, Sends: sendsWords(r), Approvals: approvalsView(r), Parts: parts, Note: scheduler.Untracked(r, parts)}
	v.Reason = r.Why()
	for i := range parts { // those that are not followed yet, too
		parts[i].Followed = max(parts[i].Followed, int64(len(parts[i].MessageIDs)))
	}
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

func progressView(p *scheduler.Progress) *ProgressView {
	return &ProgressView{
		Rows: p.Rows, Kept: p.Kept, Of: p.Of, Parts: p.Parts, OfParts: p.OfParts,
		PerSecond: p.PerSecond, Seconds: p.Elapsed.Seconds(), Left: p.Left.Seconds(),
	}
}
