package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

// A MessageFilter narrows a list of messages. Zero fields do not.
type MessageFilter struct {
	ID      messaging.MessageID // this one alone
	Since   time.Time           // created at or after
	Until   time.Time           // created before
	Limit   int                 // default 50
	State   messaging.State
	Status  messaging.Status // what the service said last
	Trigger string
	Account string // as people name it: api is that of the section; "" is all
	Phone   messaging.Phone
	EventID messaging.EventID   // queued or renewed because of this event
	Before  messaging.MessageID // for the next page: the last one's ID
	DownTo  messaging.MessageID // no older ones than that: bounds a search for what few match

	Template  string
	Run       messaging.RunID // a row of this run
	DueBefore time.Time
	OfEvents  bool   // no row of a run
	Class     string // in words, of what the service said about it; "unknown" for an end of none
	Words     string // exactly why it is in its state: what the service said last, else what a rule or a person did
}

// A MessageStory is a message with how its attempts ended, and what rules and people said of it.
type MessageStory struct {
	messaging.Message
	ClaimedAt time.Time           `json:"-"` // for the last time, which is when its rules were asked; zero before the first
	Attempts  []messaging.Attempt `json:"attempts,omitempty"`
	Resolved  []Resolved          `json:"resolved,omitempty"`    // what people said while it was in doubt, the oldest first
	Verdicts  []Verdict           `json:"verdicts,omitempty"`    // what rules said when it was due, the oldest first
	FirstDue  time.Time           `json:"first_due_at,omitzero"` // before a rule put it off; zero where none did
	Rule      *messaging.StepRule `json:"-"`                     // of a step of a sequence; nil for others
}

// Resolved is what a person decided about a message that was in doubt.
type Resolved struct {
	As     messaging.Resolution `json:"as"`
	Reason string               `json:"reason" kind:"text"` // who said it, and why
	At     time.Time            `json:"at"`
}

// Messages lists messages, newest first.
func (s *Store) Messages(ctx context.Context, f MessageFilter) ([]MessageStory, error) {
	if f.Limit <= 0 {
		f.Limit = defaultLimit
	}
	out, err := s.listMessages(ctx, f)
	if err == nil {
		err = s.addEnds(ctx, out)
	}
	return out, Wrap(err, "list messages")
}

func (s *Store) listMessages(ctx context.Context, f MessageFilter) (out []MessageStory, err error) {
	q, err := s.where(ctx, f)
	if err != nil {
		return nil, err
	}
	err = s.Rows(ctx, q.SQL(storyColumns, "messages", "id DESC", f.Limit), q.Args, func(r *engine.Row) error {
		d, err := shownStory(r)
		out = append(out, d)
		return err
	})
	return out, err
}

const storyColumns = stored.MessageColumns + `, claimed_at, first_due_at, ` + stored.ServiceColumns

// shownStory reads storyColumns.
func shownStory(r *engine.Row) (MessageStory, error) {
	d, err := shownMessage(r)
	story := MessageStory{Message: d, ClaimedAt: r.Time(), FirstDue: r.Time()}
	stored.ScanService(r, &story.Message)
	return story, err
}

// shownMessage reads stored.MessageColumns for people: what is not kept is not shown before, either.
func shownMessage(r *engine.Row) (messaging.Message, error) {
	d, send := stored.ScanMessage(r)
	err := stored.DecodeSend(&d, send)
	d.Send = d.Send.Ended()
	return d, err
}

// where are the conditions that f sets.
func (s *Store) where(ctx context.Context, f MessageFilter) (*engine.Select, error) {
	q := &engine.Select{}
	if f.EventID != 0 {
		decisions, err := s.Decisions(ctx, f.EventID)
		if err != nil {
			return nil, err
		}
		queued, err := s.WithRetries(ctx, QueuedBy(decisions))
		if err != nil {
			return nil, err
		}
		q.And("id IN " + engine.In(queued))
	}
	if f.Phone != "" {
		// The phone's events lead to their messages, so only rows of runs are indexed by phone.
		ids, err := s.messagesOf(ctx, f.Phone)
		if err != nil {
			return nil, err
		}
		if len(ids) > maxOfPhone {
			ids = ids[len(ids)-maxOfPhone:]
		}
		q.And("id IN " + engine.In(ids))
		q.And("phone = ?", string(f.Phone))
	}
	if !f.Since.IsZero() {
		first, err := s.FirstSince(ctx, "messages", "created_at", f.Since)
		if err != nil {
			return nil, err
		}
		q.And("id >= ?", first)
		q.And("created_at >= ?", engine.Micro(f.Since))
	}
	if !f.Until.IsZero() {
		first, err := s.reads.FirstFrom(ctx, "messages", "created_at", f.Until)
		if err != nil {
			return nil, err
		}
		q.And("id < ?", first)
		q.And("created_at < ?", engine.Micro(f.Until))
	}
	if f.State != "" {
		if !slices.Contains(messaging.States, f.State) {
			return nil, fmt.Errorf("unknown state %q", f.State)
		}
		q.And(stateCondition(f.State))
	}
	switch f.Status {
	case "":
	case messaging.StatusDelivered, messaging.StatusRead: // most of them: a walk from the newest soon finds enough
		q.And("status = ?", string(f.Status))
	default:
		q.And("id IN ("+onTheWay+" UNION ALL "+atItsEnd+")", string(f.Status), string(f.Status))
	}
	q.When(f.ID != 0, "id = ?", int64(f.ID))
	q.When(f.Trigger != "", "trigger_name = ?", f.Trigger)
	q.When(f.Account != "", "account = ?", messaging.AccountKey(f.Account))
	q.When(f.Before > 0, "id < ?", int64(f.Before))
	q.When(f.DownTo > 0, "id >= ?", int64(f.DownTo))
	q.When(f.Template != "", "replace(send, ?, '') <> send", stored.TemplateMark(f.Template))
	switch f.Class {
	case "":
	case messaging.ErrorUnknown.Words():
		q.And(ofNoClass)
	default:
		q.And(ofClass, f.Class, f.Class)
	}
	q.When(f.Words != "", inWords+" = ?", f.Words)
	if f.Run != 0 {
		q.And("run_id = ? AND part = 0", int64(f.Run))
	}
	q.When(!f.DueBefore.IsZero(), "due_at < ?", engine.Micro(f.DueBefore))
	q.When(f.OfEvents, "event_id <> 0")
	return q, nil
}

// inWords is why a message is in its state.
const inWords = `coalesce(nullif(error, ''), reason)`

// The messages of a status: those still asked about, and those of the index of all that ended.
const (
	onTheWay = `SELECT id FROM messages WHERE next_poll_at > 0 AND status = ?`
	atItsEnd = `SELECT id FROM messages WHERE state = 'accepted' AND next_poll_at = 0 AND status = ?`
)

// What the service said about a message is of a class: of its attempt, or of its status. Of no class is what ended by words that no rule knew.
const (
	ofClass   = `(error_class = ? OR EXISTS (SELECT 1 FROM attempts a WHERE a.message = messages.id AND a.error_class = ?))`
	ofNoClass = `(state = 'rejected' AND EXISTS (SELECT 1 FROM attempts a WHERE a.message = messages.id AND a.state = 'rejected' AND a.error_class = '')
		OR status = 'failed' AND error_class = '')`
)

// stateCondition is spelt out, because an index on some states is used only where the
// statement shows that it may be. What is alive is few among many, so it is taken from its
// index first and ordered afterwards; a walk from the newest could pass all of history.
func stateCondition(s messaging.State) string {
	is := "state = '" + string(s) + "'"
	if s == messaging.StateWaiting || s == messaging.StateSending {
		return "id IN (SELECT id FROM messages WHERE " + is + ") AND " + is
	}
	return is
}

// maxOfPhone bounds the messages of one phone that are looked at, newest first.
const maxOfPhone = 10_000

// messagesOf lists the numbers of all messages that events of a phone or rows of runs led to,
// ascending.
func (s *Store) messagesOf(ctx context.Context, phone messaging.Phone) (ids []messaging.MessageID, err error) {
	events, err := s.eventsOf(ctx, phone, 0, maxOfPhone)
	if err != nil {
		return nil, err
	}
	_, err = s.decisionsOf(ctx, events, func(d messaging.Decision) {
		if d.MessageID != 0 {
			ids = append(ids, d.MessageID)
		}
		ids = append(ids, d.Later...)
	})
	if err == nil {
		var rows []messaging.MessageID
		rows, err = s.rowsOf(ctx, phone, maxOfPhone)
		ids = append(ids, rows...)
	}
	if err == nil {
		ids, err = s.WithRetries(ctx, ids)
	}
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// QueuedBy are the messages that decisions name, each once for each of them.
func QueuedBy(decisions []messaging.Decision) (ids []messaging.MessageID) {
	for _, d := range decisions {
		if d.MessageID != 0 {
			ids = append(ids, d.MessageID)
		}
		ids = append(ids, d.Later...)
	}
	// What was decided of a step when it fell due names it once more.
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Message is one message. ErrNotFound when there is none.
func (s *Store) Message(ctx context.Context, id messaging.MessageID) (messaging.Message, error) {
	m, err := s.oneMessage(ctx, `WHERE id = ?1`, int64(id))
	return m, Wrap(err, "message %d", id)
}

// MessageByServiceID is the newest message that the service gave this id. ErrNotFound when there is none.
func (s *Store) MessageByServiceID(ctx context.Context, id messaging.ServiceID) (messaging.Message, error) {
	m, err := s.oneMessage(ctx, `WHERE message_id = ?1 AND message_id <> '' ORDER BY id DESC LIMIT 1`, string(id))
	return m, Wrap(err, "message_id %s", id)
}

func (s *Store) oneMessage(ctx context.Context, where string, arg any) (messaging.Message, error) {
	found, err := List(ctx, s, `SELECT `+storyColumns+` FROM messages `+where, []any{arg}, shownStory)
	if err == nil && len(found) == 0 {
		err = messaging.ErrNotFound
	}
	if err != nil {
		return messaging.Message{}, err
	}
	return found[0].Message, nil
}

// MessageStory is one message with its story. ErrNotFound when there is none.
func (s *Store) MessageStory(ctx context.Context, id messaging.MessageID) (MessageStory, error) {
	one, err := s.StoriesByID(ctx, []messaging.MessageID{id})
	if err == nil && len(one) == 0 {
		err = messaging.ErrNotFound
	}
	if err != nil {
		return MessageStory{}, fmt.Errorf("message %d: %w", id, err)
	}
	return one[0], nil
}

// StoriesByID are those of the messages that are there, by number.
func (s *Store) StoriesByID(ctx context.Context, ids []messaging.MessageID) (out []MessageStory, err error) {
	for some := range slices.Chunk(ids, engine.PerList) {
		found, err := List(ctx, s, `SELECT `+storyColumns+` FROM messages WHERE id IN `+engine.In(some)+` ORDER BY id`, nil, shownStory)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, s.addEnds(ctx, out)
}

// addEnds fills in the rest of the story of each message.
func (s *Store) addEnds(ctx context.Context, list []MessageStory) error {
	for part := range slices.Chunk(list, engine.PerList) {
		ids := make([]messaging.MessageID, len(part))
		at := make(map[messaging.MessageID]*MessageStory, len(part))
		for i := range part {
			ids[i] = part[i].ID
			at[ids[i]] = &part[i]
		}
		err := s.Rows(ctx, `SELECT message, number, state, owner, reason, answer, retry_at, at, words, error_class FROM attempts
			WHERE message IN `+engine.In(ids)+` ORDER BY message, number, at`, nil, func(r *engine.Row) error {
			a := messaging.Attempt{
				MessageID: messaging.MessageID(r.Int()), Number: int(r.Int()), State: messaging.State(r.Text()), Owner: r.Text(),
				Reason: r.Text(), Answer: r.Text(), RetryAt: r.Time(), At: r.Time(),
				Words: r.Text(), Class: messaging.ErrorClass(r.Text()),
			}
			d := at[a.MessageID]
			d.Attempts = append(d.Attempts, a)
			return nil
		})
		if err != nil {
			return fmt.Errorf("attempts: %w", err)
		}
		err = s.Rows(ctx, `SELECT message, resolved, reason, at FROM resolutions WHERE message IN `+engine.In(ids)+` ORDER BY message, at`, nil, func(r *engine.Row) error {
			d := at[messaging.MessageID(r.Int())]
			d.Resolved = append(d.Resolved, Resolved{messaging.Resolution(r.Text()), r.Text(), r.Time()})
			return nil
		})
		if err != nil {
			return fmt.Errorf("resolutions: %w", err)
		}
		if err := s.addVerdicts(ctx, ids, at); err != nil {
			return fmt.Errorf("verdicts: %w", err)
		}
		if slices.ContainsFunc(part, func(d MessageStory) bool { return d.Step > 0 }) {
			if err := s.addSteps(ctx, ids, at); err != nil {
				return err
			}
		}
		for i := range part {
			part[i].addAcceptance()
		}
	}
	return nil
}

// addAcceptance adds the plain acceptance that left no row of its own.
func (d *MessageStory) addAcceptance() {
	if d.State != messaging.StateAccepted || !d.Tracked() {
		return
	}
	if n := len(d.Attempts); n > 0 && d.Attempts[n-1].State == messaging.StateAccepted {
		return
	}
	d.Attempts = append(d.Attempts, messaging.Attempt{
		MessageID: d.ID, Number: d.Attempt, State: messaging.StateAccepted, At: d.AcceptedAt,
	})
}

// PastMessages are messages that events led to, in the order in which they were planned: after a number, and at most limit. What is filled
// in is there as far as it is kept. One that a person sent again is left out, for which the first one stands, and so are tests.
func (s *Store) PastMessages(ctx context.Context, after messaging.MessageID, limit int) ([]messaging.Message, error) {
	var q engine.Select
	q.And("id > ?", int64(after))
	q.And("event_id > 0 AND replaces = 0 AND test = ''")
	out, err := s.pastMessages(ctx, &q, limit)
	return out, Wrap(err, "read messages")
}

func (s *Store) pastMessages(ctx context.Context, q *engine.Select, limit int) ([]messaging.Message, error) {
	return List(ctx, s, q.SQL(stored.MessageColumns+", "+stored.ServiceColumns, "messages", "id", limit), q.Args, func(r *engine.Row) (messaging.Message, error) {
		m, send := stored.ScanMessage(r)
		stored.ScanService(r, &m)
		if r.Err != nil {
			return m, r.Err
		}
		return m, stored.DecodeSend(&m, send)
	})
}
