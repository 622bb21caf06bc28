package messaging

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Approvals are the people who approved a run that its guard holds. They stand with the run.
type Approvals struct {
	Need    int        `json:"need,omitempty"`    // how many different people let it go; 0 is 1
	Starter string     `json:"starter,omitempty"` // the person who started it by hand, as Approval.Person
	By      []Approval `json:"by,omitempty"`      // in their order
}

// An Approval is one person's word for what a run was when it was shown to them.
type Approval struct {
	Who    string    `json:"who"`    // for the record
	Person string    `json:"person"` // who answers for it; the same person counts once. A token's is who made it
	Via    string    `json:"via"`    // socket, token or session
	At     time.Time `json:"at"`
	Of     string    `json:"of"`   // Run.Content then
	Rows   int64     `json:"rows"` // that the run kept then
}

// Content is what somebody approves: the list as it was read, what it is sent as, and by which account, as one hash. It stays the same
// when contacts are excluded or forgotten afterwards.
func (r *Run) Content() string {
	send, _ := json.Marshal(r.Send) // plain texts always encode
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q %q %d %q %q", r.Tally.SHA256, r.Account, r.Deliver, r.CampaignName, r.TemplateID, r.Category, send)
	return hex.EncodeToString(sum.Sum(nil))
}

// Approvers are the approvals that count: they were given for what the run holds now, or for more of it.
func (r *Run) Approvers() []Approval {
	content := r.Content()
	return slices.DeleteFunc(slices.Clone(r.Approvals.By), func(a Approval) bool { return a.Of != content || a.Rows < r.Tally.Kept })
}

// ApprovalsNeeded is how many different people let the run go, at least 1.
func (r *Run) ApprovalsNeeded() int { return max(1, r.Approvals.Need) }

// Why says why the run is in its state. One that was paused before it was approved still knows why somebody has to.
func (r *Run) Why() string {
	if r.State != RunPaused || r.Before != RunAwaiting {
		return r.Reason
	}
	switch {
	case r.Stopped == StopConfig:
		return "its job " + r.Held + ", and it was not approved: " + r.Reason
	case r.StoppedBy == "":
		return "paused before it was approved: " + r.Reason
	}
	return "paused by " + r.StoppedBy + " before it was approved: " + r.Reason
}

// ApprovedWords say how far the approval of a held run has come: "1 of 2 approved: ann (1000)". "" where one person is enough.
func (r *Run) ApprovedWords() string {
	if r.ApprovalsNeeded() == 1 {
		return ""
	}
	by := r.Approvers()
	words := fmt.Sprintf("%d of %d approved", len(by), r.ApprovalsNeeded())
	if len(by) > 0 {
		words += ": " + whoApproved(by)
	}
	return words
}

func whoApproved(by []Approval) string {
	names := make([]string, len(by))
	for i := range by {
		names[i] = by[i].Who
	}
	return strings.Join(names, ", ")
}

// ErrStarter means that who started a run by hand cannot be the last of several to approve it.
var ErrStarter = errors.New("who started the run is not the last to approve it")

// Approve adds a person's word to a run that waits for it, and lets the run go when it was the last that is needed. Who approved it
// before changes nothing. ErrStarter where the last one has to be somebody else.
func (r *Run) Approve(by Approval) error {
	need, kept := r.ApprovalsNeeded(), r.Approvers()
	if !slices.ContainsFunc(kept, func(a Approval) bool { return a.Person == by.Person }) {
		if need > 1 && by.Person == r.Approvals.Starter && len(kept)+1 >= need {
			return ErrStarter
		}
		by.Of, by.Rows = r.Content(), r.Tally.Kept
		kept = append(kept, by)
	}
	r.Approvals.By = kept
	if len(kept) >= need {
		r.State, r.Reason, r.Approved = RunUploading, "", whoApproved(kept)
		r.Owner, r.LeaseEnd = "", time.Time{}
	}
	return nil
}
