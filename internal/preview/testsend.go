package preview

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/history"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

// A test is one message of a trigger to a phone of one's own (test_numbers), as an event would fill it in: at once, whatever the conditions, times,
// mode, limits and consent say, which it is told beside it. A block and a halt keep it back: then it is refused, so that nothing leaves later by
// surprise. It goes the way of every other message, from an event of its own on, and is marked (messaging.Message.Test). What it says is kept no
// longer than it takes to send it: it may be about a real person, to whom it does not go.

// testLife is how long a test may wait for the service. One that comes later is expected by nobody.
const testLife = 10 * time.Minute

// A TestSendRequest asks for a test. The event is a stored one, or a webhook as in TryRequest; with neither a payload nor a sample it is the first
// sample that the trigger listens to.
type TestSendRequest struct {
	Trigger   string            `json:"trigger" validate:"required"`
	To        string            `json:"to" validate:"required"` // a name under test_numbers
	Step      int               `json:"step,omitempty"`         // of a trigger with steps, from 1; the first unless said
	Event     messaging.EventID `json:"event,omitempty"`
	Connector string            `json:"connector,omitempty"` // where the trigger listens to several
	Sample    string            `json:"sample,omitempty"`
	Payload   TryBody           `json:"payload,omitempty"`
	Topic     string            `json:"topic,omitempty"`
	Headers   map[string]string `json:"headers,omitempty"`
	DryRun    bool              `json:"dry_run,omitempty"` // say what would be sent, and send nothing

	IdempotencyKey []string `json:"-" header:"Idempotency-Key"` // at most one: a test is sent once for each
}

// A TestSendView is a test that was queued, and what its trigger would have decided without it.
type TestSendView struct {
	Message   messaging.MessageID `json:"message,omitempty"` // its number; absent with dry_run
	Before    bool                `json:"before,omitempty"`  // it was asked for before, with the same Idempotency-Key, and is not sent twice
	Test      string              `json:"test" kind:"ours"`  // the name of the number
	Phone     messaging.Phone     `json:"phone"`
	Trigger   string              `json:"trigger" kind:"ours"`
	Step      int                 `json:"step,omitempty"`
	Of        int                 `json:"of,omitempty"` // steps that the trigger has
	Category  messaging.Category  `json:"category"`
	Account   string              `json:"account,omitempty" kind:"ours"` // that sends it; not that of the section api
	Send      messaging.Send      `json:"send"`
	Reads     string              `json:"reads,omitempty" kind:"text"` // what the phone shows, where the template's text is declared
	Points    float64             `json:"points,omitempty"`            // that it costs; absent where the config names no price
	ExpiresAt time.Time           `json:"expires_at"`                  // when it is dropped, if it did not leave before
	Event     string              `json:"event" kind:"text"`           // by which it was filled in
	Decision  *TriedDecision      `json:"decision,omitempty"`          // of the trigger about that event; absent where it says nothing
	Silent    string              `json:"silent,omitempty" kind:"text"`
	Assumed   []string            `json:"assumed,omitempty" kind:"ours"`
}

// TestSend queues a test, or says what it would be.
func (p Preview) TestSend(ctx context.Context, in TestSendRequest) (TestSendView, error) {
	rules, _ := p.Rules("")
	now := p.Now().UTC()
	to, err := rules.testNumber(in.To)
	if err != nil {
		return TestSendView{}, err
	}
	if err := in.read(rules.Triggers); err != nil {
		return TestSendView{}, err
	}
	e, err := p.eventOfTest(ctx, &in, &rules, now)
	if err != nil {
		return TestSendView{}, err
	}
	m, trouble := rules.Triggers.TestOf(in.Trigger, in.Step, &e, now)
	if trouble != "" {
		return TestSendView{}, refusal.Newf(http.StatusConflict, rules.fillHint(&in, &e), "the message of %s cannot be filled in from this event: %s", in.Trigger, trouble)
	}
	m.Phone, m.SentAs, m.Test, m.DueAt, m.ExpiresAt, m.Send.Forget = to.Phone, to.SentAs, to.Name, now, now.Add(testLife), true
	if err := p.testMayGo(ctx, &m, now); err != nil {
		return TestSendView{}, err
	}
	v := TestSendView{
		Test: to.Name, Phone: m.Phone, Trigger: m.Trigger, Step: in.Step, Of: rules.Triggers.StepsOf(in.Trigger), Category: m.Category, Account: m.Account, Send: m.Send,
		Reads: rules.Templates.Reads(m.Send, m.Account), ExpiresAt: m.ExpiresAt, Event: e.Ref(),
	}
	v.Send.Forget = false // it is shown once, to who asked for it
	if rules.Cost != nil {
		v.Points = rules.Cost(&m)
	}
	if err := rules.tellDecision(ctx, &v, &e, now, in.Event != 0); err != nil || in.DryRun {
		return v, err
	}
	return v, p.queueTest(ctx, &in, &m, &v, &e)
}

// testNumber is the number of a name.
func (t *Trial) testNumber(name string) (messaging.TestNumber, error) {
	to, known := t.TestNumbers.Named(name)
	if known {
		return to, nil
	}
	names := t.TestNumbers.Names()
	if len(names) == 0 {
		return to, refusal.Fieldf("to", `add test_numbers: {me: "+447700900123"} with your own phone to the config, and reload`, "the config names no number that a test may go to")
	}
	hint := "there are " + strings.Join(names, ", ") + "; another one is added to test_numbers in the config"
	if near := nearest.Of(name, names); near != "" {
		hint = "did you mean " + near + "?"
	}
	return to, refusal.Fieldf("to", hint, "there is no %q under test_numbers, and a test goes to nobody else", name)
}

// read checks what a request says of its trigger, and fills in the step.
func (in *TestSendRequest) read(set *triggers.Set) error {
	if !slices.Contains(set.Names(), in.Trigger) {
		hint := "there are " + strings.Join(set.Names(), ", ")
		if near := nearest.Of(in.Trigger, set.Names()); near != "" {
			hint = "did you mean " + near + "?"
		} else if len(set.Names()) == 0 {
			hint = "the config has none"
		}
		return &refusal.Error{Status: http.StatusNotFound, Field: "trigger", Words: mask.Sprintf("the config has no trigger %q", in.Trigger), Hint: hint}
	}
	switch steps := set.StepsOf(in.Trigger); {
	case in.Step < 0:
		return refusal.Fieldf("step", "", "a step is 1 or more")
	case in.Step > 0 && steps == 0:
		return refusal.Fieldf("step", "leave step out", "%s has no steps", in.Trigger)
	case in.Step > steps:
		return refusal.Fieldf("step", "", "%s has the steps 1 to %d", in.Trigger, steps)
	case in.Step == 0 && steps > 0:
		in.Step = 1
	}
	tried := in.tried("")
	if in.Event == 0 {
		tried.Connector = cmp.Or(tried.Connector, "any")
	}
	return tried.check()
}

// tried is the webhook of a request, as a try takes it.
func (in *TestSendRequest) tried(connector string) TryRequest {
	return TryRequest{Connector: cmp.Or(in.Connector, connector), Sample: in.Sample, Payload: in.Payload, Topic: in.Topic, Headers: in.Headers, Event: in.Event}
}

// testMayGo refuses what would not leave now: blocks and halts hold for tests.
func (p Preview) testMayGo(ctx context.Context, m *messaging.Message, now time.Time) error {
	blocked, err := p.Store.Blocked(ctx, []messaging.Phone{m.Phone})
	if err != nil {
		return err
	}
	if v := duerules.MayGo(nil, m, &messaging.DueFacts{Blocked: blocked[m.Phone]}, now); v.Action != messaging.AllowSend {
		return refusal.Newf(http.StatusConflict, "nudgewire contacts allow, with its phone, ends that", "the number %s is blocked: nothing but codes is sent to it", m.Test)
	}
	asked := *m
	asked.ID, asked.EventID = -1, 1 // it is no message that anything is tried with, and no row of a job
	held, err := p.Held(ctx, &asked)
	if err == nil && held != "" {
		err = refusal.Newf(http.StatusConflict, "a test would wait for that, so none was queued; nudgewire status shows what is halted", "nothing is sent now: %s", held)
	}
	return err
}

// tellDecision says what the trigger would have decided about the event for its own contact.
func (t *Trial) tellDecision(ctx context.Context, v *TestSendView, e *messaging.Event, now time.Time, stored bool) error {
	var out TriedRequest
	if err := t.meet(ctx, &out, []messaging.Event{*e}, now, stored); err != nil {
		return err
	}
	if v.Assumed = out.Assumed; len(out.Events) == 0 {
		return nil
	}
	one := &out.Events[0]
	for i := range one.Decisions {
		if d := &one.Decisions[i]; d.Trigger == v.Trigger && d.Outcome != messaging.Cancelling {
			v.Decision = d
		}
	}
	i := slices.IndexFunc(one.Silent, func(s TriedSilence) bool { return s.Trigger == v.Trigger })
	switch {
	case v.Decision != nil:
	case one.LookedUp:
		v.Silent = "it would decide after a look-up"
	case i >= 0:
		v.Silent = one.Silent[i].Reason
	}
	return nil
}

// queueTest stores a test with an event of its own, which says who asked for it and by what it was filled in.
func (p Preview) queueTest(ctx context.Context, in *TestSendRequest, m *messaging.Message, v *TestSendView, by *messaging.Event) error {
	key, err := access.OrderKey(ctx, in.IdempotencyKey)
	if err != nil {
		return err
	}
	order, err := in.order()
	if err != nil {
		return err
	}
	who, now := mask.Line(access.NameOf(ctx)), m.CreatedAt
	why := "a test to " + m.Test
	if in.Step > 0 {
		why = "a test of " + triggers.StepWords(in.Step, v.Of) + " to " + m.Test
	}
	switch {
	case in.Event != 0:
		why += ", filled in from event " + strconv.FormatInt(int64(in.Event), 10) + " (" + by.Ref() + ")"
	case in.Payload != "":
		why += ", filled in from a webhook (" + by.Ref() + ")"
	default:
		why += ", filled in from a sample (" + by.Ref() + ")"
	}
	e := messaging.Event{
		Connector: messaging.People, Kind: messaging.TestRequested, Topic: "a test to " + m.Test + ", asked for by " + who, DedupeKey: key, ReceivedAt: now,
		Contact: messaging.Contact{Phone: m.Phone, SentAs: m.SentAs}, Payload: order, ContentType: "application/json",
	}
	m.Key = "test " + key
	receipts, err := p.Store.Accept(ctx, []messaging.Plan{{Event: e, Proposals: []messaging.Proposal{{
		Decision: messaging.Decision{
			Trigger: m.Trigger, Outcome: messaging.Planned, Reason: why, Key: m.Key, Config: m.Config, At: now,
		},
		Correlation: messaging.Correlation{Trigger: m.Trigger, Key: m.Key, Phone: m.Phone},
		Message:     *m, OnRepeat: messaging.OnRepeat{Mode: messaging.Parallel}, Cooldown: messaging.Cooldown{Mode: messaging.CooldownNone}, EventAt: now,
	}}}})
	if err != nil {
		return err
	}
	if receipts[0].Duplicate {
		v.Before = true
		v.Message, err = p.testBefore(ctx, receipts[0].EventID, order)
		return err
	}
	v.Message = receipts[0].Decisions[0].MessageID
	p.Log.Info("a test was queued", zap.String("who", access.NameOf(ctx)), zap.String("trigger", m.Trigger), zap.String("to", m.Test), zap.Int64("message", int64(v.Message)))
	return nil
}

// order is what a request asks for, as its event keeps it: of a payload, which may tell of somebody, a hash.
func (in *TestSendRequest) order() ([]byte, error) {
	kept := *in
	if in.Payload != "" {
		sum := sha256.Sum256([]byte(in.Payload))
		kept.Payload = TryBody("sha256 " + hex.EncodeToString(sum[:]))
	}
	kept.Headers = nil
	raw, err := json.Marshal(kept)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	return raw, nil
}

// testBefore is the message that was asked for with the same Idempotency-Key.
func (p Preview) testBefore(ctx context.Context, id messaging.EventID, order []byte) (messaging.MessageID, error) {
	s, err := history.Records{Store: p.Store}.EventStory(ctx, id)
	if err != nil {
		return 0, err
	}
	if s.Forgotten {
		return 0, &refusal.Error{
			Status: http.StatusGone, Field: "Idempotency-Key", Words: "a test was asked for with this key, and its number was forgotten since: it is not sent again", Hint: "take a new key for a new test",
		}
	}
	if len(s.Payload) > 0 && !bytes.Equal(s.Payload, order) {
		return 0, &refusal.Error{Status: http.StatusConflict, Field: "Idempotency-Key", Words: "another message was asked for with this key", Hint: "take a new key for each message"}
	}
	for i := range s.Decisions {
		if d := &s.Decisions[i]; d.MessageID != 0 {
			return d.MessageID, nil
		}
	}
	return 0, refusal.Newf(http.StatusConflict, "nudgewire events show "+strconv.FormatInt(int64(id), 10), "the test was asked for before, and is not kept any more")
}
