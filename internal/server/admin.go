package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/auth"
	"github.com/nudgewire/nudgewire/internal/drift"
	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/history"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/phones"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/signin"
	"github.com/nudgewire/nudgewire/internal/simulation"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/webhooks"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// MaxRows is the longest list that one request may ask for.
const MaxRows = 10_000

// A Daemon is what the admin API asks of the running process.
type Daemon interface {
	View() DaemonView
	// Plan says what taking up a config would change, and changes nothing.
	Plan(ctx context.Context, in PlanRequest) (ConfigPlan, error)
	// Reload takes up the config files as they are now, and says what became of what waits of triggers that they change; or it says why not and
	// keeps the old one. version is the config that they are to be, "" for any; it is a *NotPlannedError where they are not.
	Reload(ctx context.Context, version string) ([]preview.RuleChange, error)
	// Rollback writes the files of an earlier config where the config is read from, keeps those of today beside them, and takes them up. It says
	// which files it changed, and what became of what waits.
	// Errors: messaging.ErrNotFound, a *RollbackError; then nothing was changed.
	Rollback(ctx context.Context, version string) (RollbackView, []preview.RuleChange, error)
}

// AdminOptions are what the admin API is made of.
type AdminOptions struct {
	Store       *store.Store
	Storage     string                          // path of the database, or what the names of this machine's own files begin with
	Data        string                          // what the data is called for people, without secrets: a path, or server:port/database
	Jobs        Jobs                            // nil when nothing is known of scheduled campaigns but what the store holds
	Daemon      Daemon                          // nil when the store is read without a daemon; then nothing can be changed
	Errors      func() *messaging.ErrorRules    // of the config in use; nil for those that come with nudgewire
	Alerts      Alerts                          // nil where the store is read without a daemon
	Outgoing    Outgoing                        // nil where the store is read without a daemon
	Rules       *atomic.Pointer[webhooks.Rules] // what events that are posted meet; nil where the store is read without a daemon
	SignIns     *signin.Sessions                // who signs people in; nil where the store is read without a daemon
	Simulations *simulation.Runner              // nil where the store is read without a daemon
	// ConsoleURL is where browsers reach the console; "" and nil are nowhere.
	ConsoleURL func() string
	// Trial is the rules in use, or those with some edited, as YAML, in place of theirs; then the problems of that text, and no rules where one
	// is more than a warning. Nil where the store is read without a daemon.
	Trial func(edited string) (preview.Trial, yamlpos.Problems)
	// Config is the config in use, for people. Nil where the store is read without a daemon.
	Config func(context.Context) (ConfigView, error)
	// Reads are the places that the config reads in the events of a kind; known is false for a connector that it does not have. Nil where no
	// config is known.
	Reads func(connector, kind string) (reads []drift.Read, known bool)
	// Edits are what two configs, as they are printed, do not have alike. Nil where the store is read without a daemon.
	Edits func(was, is string) []ConfigEdit
	// Spend is what of the budget is spent. Nil where the store is read without a daemon.
	Spend   func(context.Context) (report.SpendView, error)
	Country string                // reads phones without a country code
	Zone    func() *time.Location // whose days reports mean; nil is UTC
	Now     func() time.Time
	Log     *zap.Logger
}

type admin struct {
	AdminOptions
	exports chan struct{} // a place for each export under way
	repeats *webhooks.Repeats
	reads   *readers
}

func (a admin) people() signin.People {
	return signin.People{Store: auth.Records{Store: a.Store}, Sessions: a.SignIns, ConsoleURL: a.ConsoleURL, Now: a.Now}
}

func (a admin) preview() preview.Preview {
	return preview.Preview{Store: a.Store, Rules: a.Trial, Now: a.Now, Log: a.Log, Held: a.heldNow}
}

func (a admin) runner() *simulation.Runner { return a.Simulations }

func (a admin) showSimulation(ctx context.Context, _ None) (simulation.Status, error) {
	return a.Simulations.Show(ctx)
}

func (a admin) stopSimulation(ctx context.Context, _ None) (simulation.Status, error) {
	return a.Simulations.Stop(ctx)
}

func (a admin) privacy() privacy.Records { return privacy.Records{Store: a.Store} }

func (a admin) redactions() privacy.OpenRedactions {
	return privacy.OpenRedactions{Records: a.privacy(), Now: a.Now}
}

func (a admin) reports() report.Reports {
	zone := a.Zone
	if zone == nil {
		zone = func() *time.Location { return time.UTC }
	}
	return report.Reports{Records: report.Records{Store: a.Store}, Zone: zone, Now: a.Now, Spend: a.Spend}
}

func (a admin) drifts() drift.Drifts {
	return drift.Drifts{Records: drift.Records{Store: a.Store}, Reads: a.Reads, Topics: a.unknownTopics, Now: a.Now}
}

func (a admin) status(ctx context.Context, _ None) (StatusView, error) {
	// Of data on a server that is away nothing can be read, and a server that hangs would have whoever asks wait. Of damaged data
	// nobody knows what is read.
	err := a.Store.Present()
	if _, damaged := errors.AsType[*sqlite.DamagedError](err); err != nil && (damaged || a.Store.Shares()) {
		return StatusView{}, refusal.Newf(http.StatusServiceUnavailable, a.Store.Hint(err), "webhooks are rejected and nothing is sent: %v", err)
	}
	c, err := report.Records{Store: a.Store}.Counts(ctx)
	if err != nil {
		return StatusView{}, err
	}
	v := StatusView{
		Storage: a.Data, Counts: c.Totals, Waiting: c.Waiting, Deferred: c.Deferred, Sending: c.Sending, Tracking: c.Tracking, Lookups: c.Lookups,
		Awaiting: c.Awaiting,
	}
	rules, err := a.Store.VerdictCounts(ctx)
	if err != nil {
		return StatusView{}, err
	}
	for _, one := range rules {
		v.Rules = append(v.Rules, RuleCountView{one.Rule, one.Action, one.N})
	}
	if v.Retention, err = a.privacy().ViewRetention(ctx); err != nil {
		return StatusView{}, err
	}
	if err := a.gatherStatus(ctx, &v); err != nil {
		return StatusView{}, err
	}
	if late := c.Overdue(a.Now()); late > time.Second {
		v.Overdue = late.Round(time.Second).String()
	}
	return v, nil
}

func (a admin) reload(ctx context.Context, in ReloadRequest) (DaemonView, error) {
	changes, err := a.Daemon.Reload(ctx, in.Version)
	if changed, is := errors.AsType[*NotPlannedError](err); is {
		return DaemonView{}, refusal.Newf(http.StatusConflict, `look at what would change now: "nudgewire plan"`, "%v", changed)
	}
	if err != nil {
		return DaemonView{}, refusal.Newf(http.StatusUnprocessableEntity, "the daemon goes on with the config that it had", "%v", err)
	}
	return a.reloaded(ctx, changes)
}

// reloaded is the daemon after it took up a config.
func (a admin) reloaded(ctx context.Context, changes []preview.RuleChange) (DaemonView, error) {
	v := a.Daemon.View()
	v.Changes = changes
	holds, err := a.holds(ctx)
	v.Paused = slices.DeleteFunc(holds, func(h messaging.Hold) bool { return h.Kind != messaging.HoldMode && h.Kind != messaging.HoldGone })
	return v, err
}

// listOf is a list as it is asked for, with what is meant where nothing was said, and the phone in it.
func (a admin) listOf(q ListQuery) (_ ListQuery, phone messaging.Phone, err error) {
	if q.Limit < 0 || q.Limit > MaxRows {
		return q, "", refusal.Fieldf("limit", "", "limit \"%d\": want 1 to %d", q.Limit, MaxRows)
	}
	q.Limit = cmp.Or(q.Limit, 50)
	if q.Phone != "" {
		phone, err = a.phone(q.Phone, a.Country)
	}
	return q, phone, err
}

func (a admin) phone(text, country string) (messaging.Phone, error) {
	phone, _, err := readPhone(text, country)
	return phone, err
}

// readPhone reads a phone that a person or a program names; sentAs is as in messaging.PhoneOf.
func readPhone(text, country string) (phone messaging.Phone, sentAs string, err error) {
	// Digits alone are what the product prints itself: a number with its country code.
	number, err := phones.Read(text, phones.Home{Country: country, Spelling: phones.International})
	if err != nil {
		words := "that is not a phone number"
		if !errors.Is(err, phones.ErrNone) {
			words += ": " + err.Error()
		}
		return "", "", refusal.Fieldf("phone", "write it with its country code: +447700900123", "%s", words)
	}
	phone, sentAs = messaging.PhoneOf(number.Digits)
	return phone, sentAs, nil
}

func (a admin) events(ctx context.Context, in ListQuery) ([]EventView, error) {
	q, phone, err := a.listOf(in)
	if err != nil {
		return nil, err
	}
	return a.eventsOf(ctx, q, phone)
}

// eventsOf is a page of events.
func (a admin) eventsOf(ctx context.Context, q ListQuery, phone messaging.Phone) ([]EventView, error) {
	if q.Outcome != "" && !slices.Contains(OutcomeWords(), q.Outcome) {
		return nil, refusal.Fieldf("outcome", "one of: "+strings.Join(OutcomeWords(), ", "), "unknown outcome %q", q.Outcome)
	}
	rows, err := a.Store.Events(ctx, store.EventFilter{
		Since: q.Since, Until: q.Until, Limit: q.Limit, Connector: q.Connector, Kind: q.Kind, Phone: phone, Trigger: q.Trigger, Outcome: messaging.Outcome(q.Outcome),
		Before: messaging.EventID(q.Before), DownTo: messaging.EventID(q.DownTo),
	})
	if err != nil {
		return nil, err
	}
	out := make([]EventView, len(rows))
	for i := range rows {
		out[i] = eventView(&rows[i].Event, rows[i].Decisions)
		out[i].Unsaid = rows[i].Unsaid
		out[i].Payload, out[i].Lookup = "", rows[i].Lookup
	}
	return out, nil
}

func (a admin) event(ctx context.Context, id messaging.EventID) (StoryView, error) {
	s, err := history.Records{Store: a.Store}.EventStory(ctx, id)
	if err != nil {
		return StoryView{}, err
	}
	v := storyView(&s)
	held, err := a.readHoldReasons(ctx)
	held.setHeld(v.Messages)
	return v, err
}

func storyView(s *history.Story) StoryView {
	v := StoryView{Event: eventView(&s.Event, s.Decisions), Messages: make([]MessageView, 0, len(s.Messages))}
	v.Event.Lookup, v.Event.Unsaid = s.Lookup, s.Unsaid
	for i := range s.Messages {
		d := &s.Messages[i]
		v.Messages = append(v.Messages, messageView(d))
	}
	return v
}

func (a admin) rejectedRequests(ctx context.Context, in ListQuery) ([]messaging.RejectedRequest, error) {
	q, _, err := a.listOf(in)
	if err != nil {
		return nil, err
	}
	rows, err := history.Records{Store: a.Store}.RejectedRequests(ctx, history.RejectedRequestFilter{Since: q.Since, Limit: q.Limit, Connector: q.Connector, Before: q.Before})
	if err != nil {
		return nil, err
	}
	out := make([]messaging.RejectedRequest, len(rows))
	for i, f := range rows {
		out[i] = messaging.RejectedRequest{
			ID: f.ID, Connector: f.Connector, Status: f.Status, Stage: f.Stage, Reason: f.Reason,
			Method: f.Method, Bytes: f.Bytes, Sample: f.Sample, At: f.At.UTC(),
		}
	}
	return out, nil
}

// StateWords lists what a list of messages can be narrowed to: our states and the service's
// statuses.
func StateWords() []string {
	var words []string
	for _, s := range messaging.States {
		words = append(words, string(s))
	}
	for _, s := range messaging.Statuses {
		if !slices.Contains(words, string(s)) {
			words = append(words, string(s))
		}
	}
	return words
}

// OutcomeWords lists what triggers may say to an event, which a list of events can be narrowed to.
func OutcomeWords() []string {
	words := make([]string, len(messaging.Outcomes))
	for i, o := range messaging.Outcomes {
		words[i] = string(o)
	}
	return words
}

func (a admin) messages(ctx context.Context, in ListQuery) ([]MessageView, error) {
	q, phone, err := a.listOf(in)
	if err != nil {
		return nil, err
	}
	return a.messagesOf(ctx, q, phone)
}

// messagesOf is a page of messages.
func (a admin) messagesOf(ctx context.Context, q ListQuery, phone messaging.Phone) ([]MessageView, error) {
	f, err := messageFilter(&q, phone)
	if err != nil {
		return nil, err
	}
	if q.State == string(messaging.Shadowed) {
		return a.shadows(ctx, f)
	}
	rows, err := a.Store.Messages(ctx, f)
	if err != nil {
		return nil, err
	}
	out := make([]MessageView, len(rows))
	for i := range rows {
		out[i] = messageView(&rows[i])
	}
	held, err := a.readHoldReasons(ctx)
	if err != nil {
		return nil, err
	}
	held.setHeld(out)
	return out, nil
}

// messageFilter is what a list of messages is narrowed to.
func messageFilter(q *ListQuery, phone messaging.Phone) (f store.MessageFilter, err error) {
	f = store.MessageFilter{
		Since: q.Since, Until: q.Until, Limit: q.Limit, Trigger: q.Trigger, Template: q.Template, Account: q.Account, Phone: phone, EventID: q.Event, Class: q.Class, Words: q.Words,
		Before: messaging.MessageID(q.Before), DownTo: messaging.MessageID(q.DownTo),
	}
	if err := checkClass(q.Class); err != nil {
		return f, err
	}
	switch {
	case slices.Contains(messaging.States, messaging.State(q.State)):
		f.State = messaging.State(q.State)
	case slices.Contains(messaging.Statuses, messaging.Status(q.State)):
		f.Status = messaging.Status(q.State)
	case q.State != "" && q.State != string(messaging.Shadowed):
		return f, refusal.Fieldf("state", "one of: "+strings.Join(append(StateWords(), string(messaging.Shadowed)), ", "), "unknown state %q", q.State)
	}
	return f, nil
}

// StatesWithReasons are those of which people ask why, and which an index knows.
var StatesWithReasons = []string{string(messaging.StateRejected), string(messaging.StateDropped), string(messaging.StatusFailed), string(messaging.StateInDoubt), string(messaging.StateCancelled)}

// messageReasons counts the messages that match by why they are in their state.
func (a admin) messageReasons(ctx context.Context, in ListQuery) (BulkView, error) {
	q, _, err := a.listOf(in)
	if err != nil {
		return BulkView{}, err
	}
	f, err := messageFilter(&q, "")
	switch {
	case err != nil:
		return BulkView{}, err
	case !slices.Contains(StatesWithReasons, q.State):
		return BulkView{}, refusal.Fieldf("state", "one of: "+strings.Join(StatesWithReasons, ", "), "reasons are counted of one state, and not of %q", q.State)
	}
	f.Limit = 0
	groups, err := a.Store.TallyByReason(ctx, f)
	return bulkView(groups), err
}

// shadows are messages that triggers in mode shadow would have sent: none of them has a number, and reason says what it would be.
func (a admin) shadows(ctx context.Context, f store.MessageFilter) ([]MessageView, error) {
	rows, err := a.Store.Shadows(ctx, f)
	out := make([]MessageView, len(rows))
	for i := range rows {
		d := &rows[i]
		out[i].Message = messaging.Message{
			EventID: d.EventID, Trigger: d.Trigger, Key: d.Key, Phone: d.Phone, State: messaging.State(messaging.Shadowed), Reason: d.Reason, CreatedAt: d.At, DueAt: d.At, UpdatedAt: d.At,
		}
	}
	return out, err
}

func (a admin) message(ctx context.Context, id string) (MessageView, error) {
	v, err := a.messageOf(ctx, id)
	if err != nil {
		return MessageView{}, err
	}
	held, err := a.readHoldReasons(ctx)
	one := []MessageView{v}
	held.setHeld(one)
	if err == nil {
		one[0].RetriedAs, one[0].RetryOf, err = a.Store.AgainOf(ctx, v.ID)
	}
	return one[0], err
}

// messageOf finds a message by our number, or by the service's message_id.
func (a admin) messageOf(ctx context.Context, text string) (MessageView, error) {
	nothing := refusal.Newf(http.StatusNotFound, `"nudgewire messages list" shows the numbers`, "no message %s", text)
	id, err := strconv.ParseInt(text, 10, 64)
	if err == nil {
		d, err := a.Store.MessageStory(ctx, messaging.MessageID(id))
		if err == nil {
			return a.placed(ctx, messageView(&d))
		}
		if !errors.Is(err, messaging.ErrNotFound) {
			return MessageView{}, err
		}
	}
	m, err := a.Store.MessageByServiceID(ctx, messaging.ServiceID(text))
	if errors.Is(err, messaging.ErrNotFound) {
		return MessageView{}, nothing
	}
	if err != nil {
		return MessageView{}, err
	}
	d, err := a.Store.MessageStory(ctx, m.ID)
	if err != nil {
		return MessageView{}, err
	}
	return a.placed(ctx, messageView(&d))
}

// placed says of a message that is queued because of a row where that row stands, and of a step what was
// decided when it fell due.
func (a admin) placed(ctx context.Context, v MessageView) (MessageView, error) {
	if a.Trial != nil && !v.Send.Forget {
		rules, _ := a.Trial("")
		v.Reads = rules.Templates.Reads(v.Send, v.Account)
	}
	if v.EventID != 0 {
		request, err := a.Store.RequestOf(ctx, v.ID)
		if err != nil {
			return v, err
		}
		v.Request = request
	}
	if v.EventID != 0 && v.Step > 0 {
		said, err := a.Store.Decisions(ctx, v.EventID)
		for i := range said {
			if d := &said[i]; d.MessageID == v.ID && (d.Outcome == messaging.Confirmed || d.Outcome == messaging.Skipped) {
				v.Decided = d
			}
		}
		return v, err
	}
	if v.Run == 0 || v.Part > 0 {
		return v, nil
	}
	run, number, err := a.Store.ReadRow(ctx, v.ID)
	if err != nil || run == 0 {
		return v, err
	}
	at, err := a.Store.RowPlace(ctx, run, number)
	v.Row, v.File = at.Row, at.File
	return v, err
}

func (a admin) why(ctx context.Context, in ListQuery) ([]StoryView, error) {
	q, phone, err := a.listOf(in)
	if no, ok := errors.AsType[*refusal.Error](err); ok && phone == "" && strings.TrimSpace(in.Phone) != "" {
		return a.whyNoPhone(ctx, in, no)
	}
	if err != nil {
		return nil, err
	}
	if phone == "" {
		return nil, refusal.Fieldf("phone", "", "why needs a phone")
	}
	stories, err := history.Records{Store: a.Store}.Story(ctx, phone, q.Limit)
	if err != nil {
		return nil, err
	}
	rows, err := a.Store.PhoneRows(ctx, phone, q.Limit)
	if err != nil {
		return nil, err
	}
	left, note, err := a.listRows(ctx, phone, "", rows)
	if err != nil {
		return nil, err
	}
	block, blocked, err := a.Store.BlockOf(ctx, phone)
	if err != nil {
		return nil, err
	}
	if len(stories)+len(rows)+len(left) == 0 && !blocked {
		hint := `"nudgewire events rejected" shows requests that were not taken`
		kept, err := a.privacy().RetentionState(ctx)
		if err != nil {
			return nil, err
		}
		if kept.Removed["phones"] > 0 {
			note = joined(note, "what ended long ago is not found by its phone: that is masked (retention.phones)")
		}
		if note != "" {
			hint += "; " + note
		}
		return nil, refusal.Newf(http.StatusNotFound, hint, "nothing is known about %s", phone)
	}
	out := make([]StoryView, 0, len(stories)+len(rows)+len(left))
	for i := range stories {
		out = append(out, storyView(&stories[i]))
	}
	for i := range rows {
		var at messaging.Position
		if rows[i].ReadBy != 0 {
			if at, err = a.Store.RowPlace(ctx, rows[i].ReadBy, rows[i].ReadNumber); err != nil {
				return nil, err
			}
		}
		out = append(out, rowStoryView(&rows[i], at))
	}
	held, err := a.readHoldReasons(ctx)
	if err != nil {
		return nil, err
	}
	for i := range out {
		held.setHeld(out[i].Messages)
	}
	out = newestStories(append(out, left...), q.Limit)
	if err := a.addReplies(ctx, out); err != nil {
		return nil, err
	}
	if blocked {
		out = append(out, StoryView{Messages: []MessageView{}, Block: &block})
	}
	return noted(out, note), nil
}

// toldReplies is how many of a contact's newest replies are told word by word.
const toldReplies = 5

// addReplies says of the newest events that brought a reply what the contact wrote, or tapped.
func (a admin) addReplies(ctx context.Context, out []StoryView) error {
	told := 0
	for i := len(out) - 1; i >= 0 && told < toldReplies; i-- {
		v := &out[i].Event
		if !strings.HasSuffix(v.Event, ".message.received") {
			continue
		}
		e, err := a.Store.Event(ctx, v.ID)
		if errors.Is(err, messaging.ErrNotFound) {
			continue // the retention was faster
		}
		if err != nil {
			return err
		}
		v.Said = cmp.Or(e.Message.Text, e.Message.Button)
		told++
	}
	return nil
}

// newestStories are the newest stories, the newest last.
func newestStories(out []StoryView, limit int) []StoryView {
	slices.SortStableFunc(out, func(a, b StoryView) int { return a.at().Compare(b.at()) })
	return out[max(0, len(out)-limit):]
}

// noted are stories and a note, "" for none.
func noted(out []StoryView, note string) []StoryView {
	if note != "" {
		out = append(out, StoryView{Messages: []MessageView{}, Note: note})
	}
	return out
}

// A CancelRequest ends a message that waits.
type CancelRequest struct {
	ID     messaging.MessageID `json:"-" path:"id"`
	Reason string              `json:"reason"`
}

func (a admin) cancel(ctx context.Context, in CancelRequest) (MessageView, error) {
	if err := a.Store.CancelMessage(ctx, in.ID, reasonBy("cancelled", access.NameOf(ctx), in.Reason)); err != nil {
		return MessageView{}, err
	}
	return a.numbered(ctx, in.ID)
}

// A ResolveRequest says what became of a message in doubt.
type ResolveRequest struct {
	ID     messaging.MessageID  `json:"-" path:"id"`
	As     messaging.Resolution `json:"as"`
	Reason string               `json:"reason"`
}

func (a admin) resolve(ctx context.Context, in ResolveRequest) (MessageView, error) {
	if err := checkResolution(in.As); err != nil {
		return MessageView{}, err
	}
	if err := a.Store.Resolve(ctx, in.ID, in.As, reasonBy("resolved as "+string(in.As), access.NameOf(ctx), in.Reason)); err != nil {
		return MessageView{}, err
	}
	return a.numbered(ctx, in.ID)
}

// numbered is the message of a number.
func (a admin) numbered(ctx context.Context, id messaging.MessageID) (MessageView, error) {
	return a.messageOf(ctx, strconv.FormatInt(int64(id), 10))
}

func checkResolution(as messaging.Resolution) error {
	switch as {
	case messaging.ResolveAccepted, messaging.ResolveResend, messaging.ResolveDrop:
		return nil
	}
	return refusal.Fieldf("as", "", "as %q: want accepted, resend or drop", as)
}

// send queues one message to one phone at a person's word. It goes the way of every other
// message: an event, a decision and a message in one commit.
func (a admin) send(ctx context.Context, in SendRequest) (MessageView, error) {
	phone, sentAs, err := readPhone(in.Phone, cmp.Or(in.Country, a.Country))
	if err != nil {
		return MessageView{}, err
	}
	daemon := a.Daemon.View()
	if in.Send.Template != "" {
		in.Send.Language = cmp.Or(in.Send.Language, daemon.Language)
	}
	if err := in.Check(); err != nil {
		return MessageView{}, err
	}
	if in.Send.Template != "" && in.Send.Language == "" {
		return MessageView{}, refusal.Fieldf("send.language", "", "a template needs a language")
	}
	if h := in.Send.Header; h != nil {
		if err := triggers.Fetchable(h.URL); err != nil {
			return MessageView{}, refusal.Fieldf("send.header.url", "write an address such as https://shop.example/picture.jpg", "the header's %s: %v", h.Type, err)
		}
	}
	account, err := accountOf(in.Account, &daemon)
	if err != nil {
		return MessageView{}, err
	}
	if err := a.canLeave(ctx, &in, phone, account.Texts); err != nil {
		return MessageView{}, err
	}
	now, config := a.Now().UTC(), a.Daemon.View().Config
	raw, err := json.Marshal(in)
	if err != nil {
		return MessageView{}, fmt.Errorf("encode the request: %w", err)
	}
	key, err := access.OrderKey(ctx, in.IdempotencyKey)
	if err != nil {
		return MessageView{}, err
	}
	event := messaging.Event{
		Connector: messaging.People, Kind: "message.requested", Topic: "asked for by " + mask.Line(access.NameOf(ctx)), DedupeKey: key, ReceivedAt: now,
		Contact: messaging.Contact{Phone: phone, SentAs: sentAs}, Payload: raw, ContentType: "application/json",
	}
	in.Send.Forget = in.Category == messaging.Authentication
	queued := messaging.Message{
		Trigger: messaging.ByHand, Key: event.DedupeKey, Phone: phone, SentAs: sentAs, Category: in.Category, Send: in.Send, Account: messaging.AccountKey(account.Name),
		State: messaging.StateWaiting, DueAt: now, ExpiresAt: now.Add(time.Hour), CreatedAt: now, UpdatedAt: now, Config: config,
	}
	if in.DryRun {
		return messageView(&store.MessageStory{Message: queued}), nil
	}
	receipts, err := a.Store.Accept(ctx, []messaging.Plan{{Event: event, Forgets: in.Send.Forget, Proposals: []messaging.Proposal{{
		Decision: messaging.Decision{
			Trigger: messaging.ByHand, Outcome: messaging.Planned, Reason: "asked for by hand", Key: event.DedupeKey, Config: config, At: now,
		},
		Correlation: messaging.Correlation{Trigger: messaging.ByHand, Key: event.DedupeKey, Phone: phone},
		Message:     queued, OnRepeat: messaging.OnRepeat{Mode: messaging.Parallel}, Cooldown: messaging.Cooldown{Mode: messaging.CooldownNone}, EventAt: now,
	}}}})
	if err != nil {
		return MessageView{}, err
	}
	if receipts[0].Duplicate {
		return a.sentBefore(ctx, receipts[0].EventID, raw)
	}
	return a.numbered(ctx, receipts[0].Decisions[0].MessageID)
}

// sentBefore is the message that was asked for with the same Idempotency-Key. Another request with that key is refused, as far as what
// was asked then is still kept.
func (a admin) sentBefore(ctx context.Context, id messaging.EventID, raw []byte) (MessageView, error) {
	s, err := history.Records{Store: a.Store}.EventStory(ctx, id)
	if err != nil {
		return MessageView{}, err
	}
	if s.Forgotten {
		return MessageView{}, &refusal.Error{
			Status: http.StatusGone, Field: "Idempotency-Key", Words: "a message was asked for with this key, and its contact was forgotten since: it is not sent again",
			Hint: "take a new key for a new message",
		}
	}
	if len(s.Payload) > 0 && !bytes.Equal(s.Payload, raw) {
		return MessageView{}, &refusal.Error{Status: http.StatusConflict, Field: "Idempotency-Key", Words: "another message was asked for with this key", Hint: "take a new key for each message"}
	}
	for i := range s.Decisions {
		if d := &s.Decisions[i]; d.MessageID != 0 {
			return a.numbered(ctx, d.MessageID)
		}
	}
	return MessageView{}, refusal.Newf(http.StatusConflict, "nudgewire events show "+strconv.FormatInt(int64(id), 10), "the message was asked for before, and is not kept any more")
}

// accountOf is the account that a person names, or what is wrong with the name.
func accountOf(name string, d *DaemonView) (AccountView, error) {
	if messaging.AccountKey(name) == "" {
		return AccountView{Name: messaging.DefaultAccount, Texts: d.Texts}, nil
	}
	var names []string
	for _, a := range d.Accounts {
		if a.Name == name {
			return a, nil
		}
		names = append(names, a.Name)
	}
	hint := "the config has one account, that of the section api"
	if near := nearest.Of(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	} else if len(names) > 0 {
		hint = "there are " + strings.Join(names, ", ")
	}
	return AccountView{}, &refusal.Error{Status: http.StatusNotFound, Field: "account", Hint: hint, Words: mask.Sprintf("there is no account %q", name)}
}

// canLeave refuses what would wait and never leave.
func (a admin) canLeave(ctx context.Context, in *SendRequest, phone messaging.Phone, texts bool) error {
	if in.Send.Text != "" && !texts {
		return refusal.Newf(http.StatusConflict, "set api.text_path to the path of the service's text endpoint, and reload", "plain texts cannot be sent: their endpoint is not known")
	}
	blocked, err := a.Store.Blocked(ctx, []messaging.Phone{phone})
	asked := messaging.Message{Trigger: messaging.ByHand, Phone: phone, Category: in.Category}
	if v := duerules.MayGo(nil, &asked, &messaging.DueFacts{Blocked: blocked[phone]}, a.Now()); err != nil || v.Action == messaging.AllowSend {
		return err
	}
	return refusal.Newf(http.StatusConflict, "nudgewire contacts allow, with its phone, ends that", "the contact %s is blocked: nothing but codes is sent to it", phone)
}

// Check holds a message sent by hand to the rules of one made by a trigger; what is wrong with it is an *Error.
func (in *SendRequest) Check() error {
	if in.Category == "" {
		in.Category = messaging.Marketing
	}
	switch in.Category {
	case messaging.Marketing, messaging.Utility, messaging.Authentication:
	default:
		return refusal.Fieldf("category", "", "category %q: want marketing, utility or authentication", in.Category)
	}
	kinds := 0
	for _, s := range []string{in.Send.Template, in.Send.Campaign, in.Send.Text} {
		if s != "" {
			kinds++
		}
	}
	if kinds != 1 {
		return refusal.Fieldf("send", "", "want exactly one of a template, a campaign and a text")
	}
	return nil
}
