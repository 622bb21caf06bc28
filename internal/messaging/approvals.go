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

	StarterMakers []string `json:"starter_makers,omitempty"` // as Approval.Makers
}

// An Approval is one person's word for what a run was when it was shown to them.
type Approval struct {
	Who    string    `json:"who"`    // for the record
	Person string    `json:"person"` // who answers for it; the same person counts once. A token's is who made it
	Via    string    `json:"via"`    // socket, token or session
	At     time.Time `json:"at"`
	Of     string    `json:"of"`   // Run.Content then
	Rows   int64     `json:"rows"` // that the run kept then

	Makers  []string  `json:"makers,omitempty"`   // who let that person in, then who let those in
	LetInAt time.Time `json:"let_in_at,omitzero"` // when that was, or when the token was made; zero where it was not done here
}

// another reports whether the word of a is that of somebody else than b: neither the same person, nor one who let the other in and so may
// be both.
func (a *Approval) another(b *Approval) bool {
	return a.Person != b.Person && !slices.Contains(a.Makers, b.Person) && !slices.Contains(b.Makers, a.Person)
}

// A NotAnotherError says why somebody does not count as one more of several people.
type NotAnotherError struct{ Words string }

func (e *NotAnotherError) Error() string { return e.Words }

// Hint is the next step.
func (e *NotAnotherError) Hint() string {
	return "have somebody else approve it: nudgewire jobs approve"
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

// mayJoin says why one more person does not count where several have to approve.
func (r *Run) mayJoin(by *Approval, kept []Approval) error {
	if by.LetInAt.After(r.CreatedAt) {
		return &NotAnotherError{by.Who + " was let in after the run was made"}
	}
	for i := range kept {
		switch one := &kept[i]; {
		case by.another(one):
		case slices.Contains(by.Makers, one.Person):
			return &NotAnotherError{by.Who + " was let in by " + one.Person + ", who approved it"}
		default:
			return &NotAnotherError{one.Who + ", who approved it, was let in by " + by.Person}
		}
	}
	if starter := (&Approval{Person: r.Approvals.Starter, Makers: r.Approvals.StarterMakers}); starter.Person != "" && len(kept)+1 >= r.ApprovalsNeeded() && !by.another(starter) {
		return ErrStarter
	}
	return nil
}

// Approve adds a person's word to a run that waits for it, and lets the run go when it was the last that is needed. Who approved it
// before changes nothing. ErrStarter where the last one has to be somebody else, a *NotAnotherError where that is no other person.
func (r *Run) Approve(by Approval) error {
	need, kept := r.ApprovalsNeeded(), r.Approvers()
	if !slices.ContainsFunc(kept, func(a Approval) bool { return a.Person == by.Person }) {
		if need > 1 {
			if err := r.mayJoin(&by, kept); err != nil {
				return err
			}
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
