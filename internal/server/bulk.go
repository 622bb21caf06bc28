package server

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/store"
)

// A BulkRequest is a person's word about all messages that match. Zero fields do not narrow it, but
// one of the first seven has to be set.
type BulkRequest struct {
	Message   messaging.MessageID `json:"message,omitempty"` // this one alone
	Phone     string              `json:"phone,omitempty"`
	Trigger   string              `json:"trigger,omitempty"` // or job
	Template  string              `json:"template,omitempty"`
	Account   string              `json:"account,omitempty"` // api is that of the section
	Run       messaging.RunID     `json:"run,omitempty"`
	Since     time.Time           `json:"since,omitzero"`
	DueBefore time.Time           `json:"due_before,omitzero"`

	State string `json:"state,omitempty"` // for retry: rejected, dropped or failed; with Class "" is all of them
	Class string `json:"class,omitempty"` // for retry: what the rules of today make of the service's words, "unknown" for none

	Words string `json:"words,omitempty"` // exactly why each is in its state, as GET /messages/reasons has it

	Messages []messaging.MessageID `json:"messages,omitempty"` // for retry: these alone, at most 200, whatever became of them

	MinWait  time.Duration `json:"min_wait_ns,omitempty"` // for retry: only what ended that long ago; 0 is as the class rests
	Deadline time.Duration `json:"deadline_ns,omitempty"` // for retry: what is not sent within that is dropped

	As     messaging.Resolution `json:"as,omitempty"` // for resolve
	Reason string               `json:"reason,omitempty"`
	DryRun bool                 `json:"dry_run,omitempty"` // count alone
}

// A BulkView is how many messages match, and what they have in common. After an order it is what was
// changed.
type BulkView struct {
	Count  int64       `json:"count"`
	Groups []GroupView `json:"groups,omitempty"` // most first
	Stay   []GroupView `json:"stay,omitempty"`   // for retry: what matches and does not go, and why
}

// A GroupView is a part of the messages of a BulkView.
type GroupView struct {
	Words string `json:"words" kind:"text"` // the trigger or job, or why they are in their state
	Count int64  `json:"count"`
}

// filter is what a request narrows to; retries says that it is about a retry.
func (a admin) filter(in *BulkRequest, retries bool) (f store.MessageFilter, err error) {
	switch { // whatever narrows to nothing must not be taken for what narrows not at all
	case in.Message < 0:
		return f, refusal.Fieldf("message", "", "a message's number begins at 1")
	case in.Run < 0:
		return f, refusal.Fieldf("run", "", "a run's number begins at 1")
	case in.Messages != nil && !retries:
		return f, refusal.Fieldf("messages", "name one as message, or narrow by something else", "messages are named one by one for a retry alone")
	}
	if in.Phone != "" {
		f.Phone, err = a.phone(in.Phone, a.Country)
	}
	f.ID, f.Trigger, f.Template, f.Account, f.Run, f.Since, f.DueBefore, f.Words = in.Message, in.Trigger, in.Template, in.Account, in.Run, in.Since, in.DueBefore, in.Words
	return f, err
}

// reasonBy is a person's word as a reason: "cancelled by Ann: wrong price".
func reasonBy(what, who, reason string) string {
	words := what + " by " + who
	if reason != "" {
		words += ": " + reason
	}
	return words
}

func (a admin) cancelMany(ctx context.Context, in BulkRequest) (BulkView, error) {
	f, err := a.filter(&in, false)
	if err != nil {
		return BulkView{}, err
	}
	if f == (store.MessageFilter{}) {
		return BulkView{}, refusal.Newf(http.StatusBadRequest, "name a trigger, a template, a phone, a run or a time", "that would cancel everything that waits")
	}
	f.State = messaging.StateWaiting
	if in.DryRun {
		groups, err := a.Store.TallyByTrigger(ctx, f)
		return bulkView(groups), err
	}
	n, err := a.Store.CancelAll(ctx, f, reasonBy("cancelled", access.NameOf(ctx), in.Reason))
	return BulkView{Count: n}, err
}

func (a admin) retryMany(ctx context.Context, in BulkRequest) (BulkView, error) {
	if err := checkClass(in.Class); err != nil {
		return BulkView{}, err
	}
	if in.MinWait < 0 || in.Deadline < 0 {
		return BulkView{}, refusal.Newf(http.StatusBadRequest, "", "a wait and a deadline are not negative")
	}
	if in.Messages != nil {
		if err := namedMessages(in.Messages); err != nil {
			return BulkView{}, err
		}
	}
	states := []string{in.State}
	switch in.State {
	case string(messaging.StateRejected), string(messaging.StateDropped), string(messaging.StatusFailed):
	case "":
		if in.Messages != nil {
			break
		}
		states = []string{string(messaging.StateRejected), string(messaging.StatusFailed), string(messaging.StateDropped)}
		if in.Class != "" {
			break
		}
		fallthrough
	default:
		return BulkView{}, refusal.Fieldf("state", "", "state %q: want rejected, failed or dropped; what else ended may have reached the phone", in.State)
	}
	if in.Run != 0 {
		return BulkView{}, refusal.Fieldf("run", "nudgewire jobs retry RUN", "rows of a run go again with their run")
	}
	f, err := a.filter(&in, true)
	if err != nil {
		return BulkView{}, err
	}
	q := store.Retry{Of: in.Messages, Now: a.Now(), DryRun: in.DryRun, OfClass: a.ofClass(in.Class), Expires: in.Deadline}
	if rest := messaging.ErrorClass(in.Class).Rest(in.MinWait, true); rest > 0 {
		q.Ended = q.Now.Add(-rest)
	}
	var out BulkView
	for _, state := range states {
		q.Filter = f
		if state == string(messaging.StatusFailed) {
			q.Filter.Status = messaging.StatusFailed
		} else {
			q.Filter.State = messaging.State(state)
		}
		went, stay, err := a.Store.Retry(ctx, q)
		if err != nil {
			return BulkView{}, err
		}
		some := bulkView(went)
		out.Count += some.Count
		out.Groups = append(out.Groups, some.Groups...)
		out.Stay = append(out.Stay, bulkView(stay).Groups...)
	}
	return out, nil
}

// A RetryPlanRequest names messages.
type RetryPlanRequest struct {
	Messages []messaging.MessageID `json:"messages"` // at most 200
}

// An AgainView is whether a message could be sent again now, and why: what ended it, or what is against that.
type AgainView struct {
	Message messaging.MessageID `json:"message"`
	Goes    bool                `json:"goes"`
	Why     string              `json:"why" kind:"text"`
}

// mostNamed is how many messages one request may name.
const mostNamed = 200

func namedMessages(ids []messaging.MessageID) error {
	switch {
	case len(ids) == 0:
		return refusal.Fieldf("messages", "name at least one", "messages names none")
	case len(ids) > mostNamed:
		return refusal.Fieldf("messages", "ask for the others in a further request", "%d messages are named, and %d is the most", len(ids), mostNamed)
	case slices.ContainsFunc(ids, func(id messaging.MessageID) bool { return id < 1 }):
		return refusal.Fieldf("messages", "", "a message's number begins at 1")
	}
	return nil
}

// planRetry is what a retry of messages would do. Numbers that no message has are left out.
func (a admin) planRetry(ctx context.Context, in RetryPlanRequest) ([]AgainView, error) {
	if err := namedMessages(in.Messages); err != nil {
		return nil, err
	}
	all, err := a.Store.RetryEach(ctx, store.Retry{Of: in.Messages, Now: a.Now(), DryRun: true})
	out := make([]AgainView, len(all))
	for i, one := range all {
		out[i] = AgainView{one.ID, one.Goes, one.Why}
	}
	return out, err
}

// ofClass tells messages of a class by the rules of today; what these do not know counts by the class that it had.
func (a admin) ofClass(class string) func(string, messaging.ErrorClass) (bool, messaging.ErrorClass) {
	if class == "" {
		return nil
	}
	rules := a.errorRules()
	return func(words string, then messaging.ErrorClass) (bool, messaging.ErrorClass) {
		now := rules.Now(words, then)
		return now.Words() == class, now
	}
}

func (a admin) resolveMany(ctx context.Context, in BulkRequest) (BulkView, error) {
	if err := checkResolution(in.As); err != nil {
		return BulkView{}, err
	}
	f, err := a.filter(&in, false)
	if err != nil {
		return BulkView{}, err
	}
	f.State = messaging.StateInDoubt
	if in.DryRun {
		groups, err := a.Store.TallyByReason(ctx, f)
		return bulkView(groups), err
	}
	n, err := a.Store.ResolveAll(ctx, f, in.As, reasonBy("resolved as "+string(in.As), access.NameOf(ctx), in.Reason))
	return BulkView{Count: n}, err
}

func bulkView(groups []store.Tally) (v BulkView) {
	for _, g := range groups {
		v.Count += g.N
		v.Groups = append(v.Groups, GroupView{g.Words, g.N})
	}
	return v
}
