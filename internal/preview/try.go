// Package preview says what would become of a webhook, of a stored event or of an edit of the rules. Nothing is stored or sent by it, but where
// events that are stored are to be decided about again (replay.go), or somebody wants to see a message on a phone of their own (testsend.go).
package preview

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/delivery/enricher"
	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/rawjson"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// A Preview says what would become of webhooks and of stored events, and has those decided about again that are to be.
type Preview struct {
	Store *store.Store
	// Rules are those in use, or those with some edited, as YAML, in place of theirs; then the problems of that text, and no rules where one is
	// more than a warning.
	Rules func(edited string) (Trial, yamlpos.Problems)
	Now   func() time.Time
	Log   *zap.Logger
	// Held is what would keep a message back that was due now, in words; "" for nothing.
	Held func(context.Context, *messaging.Message) (string, error)
}

// A Trial is the rules that something is tried against, and who knows what waits and was sent. Nothing is stored or sent.
type Trial struct {
	Receivers map[string]*connectors.Connector
	Triggers  *triggers.Set
	Due       messaging.DueRules
	Ledger    Ledger              // nil where nobody can be asked; then what is assumed is told
	Templates messaging.Templates // whose texts are known

	TestNumbers messaging.TestNumbers
	Cost        func(*messaging.Message) float64 // in points, 0 where the config names no price; nil where nobody asks
	PublicURL   string                           // as senders know us
	Spent       time.Duration                    // of the time that the whole try may take, before these rules are asked
}

// A Ledger says what a daemon would know: by which facts it would settle a plan, and what a claim would know of a message.
type Ledger interface {
	FactsOfPlan(ctx context.Context, plan messaging.Plan) (repeats messaging.EventID, all []messaging.Facts, err error)
	FactsAtDue(ctx context.Context, d messaging.Message, said messaging.ConsentRecord, rules messaging.DueRules, at time.Time) (messaging.DueFacts, error)
}

// A TryRequest is a webhook to try: of a connector with a payload, or one of its samples; or a stored event as it was read then.
type TryRequest struct {
	Connector string            `json:"connector,omitempty"`
	Sample    string            `json:"sample,omitempty"`  // without a payload; "" is the first
	Number    int               `json:"number,omitempty"`  // goes into the ids of a sample; 0 is a random one
	Payload   TryBody           `json:"payload,omitempty"` // the body, as it would be posted: a text, or an object, which is its own JSON
	Topic     string            `json:"topic,omitempty"`   // where the sender's word for what happened is in a header
	Headers   map[string]string `json:"headers,omitempty"`
	Event     messaging.EventID `json:"event,omitempty"` // in place of all these
	At        time.Time         `json:"at,omitzero"`     // when it arrives; now unless said
	Triggers  string            `json:"triggers,omitempty"`
}

// A TryBody is the body of a webhook: a text as it would be posted, or an object or a list, whose JSON is the body.
type TryBody string

// UnmarshalJSON reads both.
func (b *TryBody) UnmarshalJSON(text []byte) error {
	if text[0] == '{' || text[0] == '[' {
		*b = TryBody(text)
		return nil
	}
	return json.Unmarshal(text, (*string)(b))
}

// A TryView is what a webhook would lead to.
type TryView struct {
	Connector string    `json:"connector" kind:"ours"`
	At        time.Time `json:"at"`
	// Verified is what a request would be verified by, in words. A try is not.
	Verified string `json:"verified,omitempty" kind:"ours"`
	TriedRequest
	Edited *EditedTry `json:"edited,omitempty"` // by the triggers of the request
}

// A TriedRequest is what became of a request.
type TriedRequest struct {
	Handshake string       `json:"handshake,omitempty" kind:"text"` // its name, where the request only tries out the URL
	Status    int          `json:"status,omitempty"`                // that a handshake is answered with
	Rejected  *TryRejected `json:"rejected,omitempty"`
	Skipped   []string     `json:"skipped,omitempty" kind:"text"` // why an item of it makes no event
	Events    []TriedEvent `json:"events"`
	Cut       int64        `json:"cut,omitempty"`                 // events that were left out, as there are too many
	Unasked   int64        `json:"unasked,omitempty"`             // times that a trigger was not asked, as the try took too long
	Assumed   []string     `json:"assumed,omitempty" kind:"ours"` // what was taken for granted of the contacts, as nobody was asked
}

// TryRejected is why a request would not be taken.
type TryRejected struct {
	Status int    `json:"status"`
	Stage  string `json:"stage" kind:"ours"`
	Reason string `json:"reason" kind:"text"`
	Line   int    `json:"line,omitempty"` // of the payload, 1-based, where it is no JSON
	Column int    `json:"column,omitempty"`
}

// An EditedTry is the same request met by edited rules.
type EditedTry struct {
	Problems yamlpos.Problems `json:"problems"` // of the text, as check says them
	Usable   bool             `json:"usable"`   // none of them is more than a warning; only then there are events
	Events   []TriedEvent     `json:"events"`
	Unasked  int64            `json:"unasked,omitempty"` // as in TriedRequest
	Assumed  []string         `json:"assumed,omitempty" kind:"ours"`
}

// A TriedEvent is an event as it was read and what the triggers want because of it.
type TriedEvent struct {
	Event        string            `json:"event" kind:"text"`
	Topic        string            `json:"topic,omitempty" kind:"text"`
	DedupeKey    string            `json:"dedupe_key" kind:"text"`
	Repeats      messaging.EventID `json:"repeats,omitempty"` // the stored event that this one repeats: nothing of it would be stored
	OccurredAt   time.Time         `json:"occurred_at,omitzero"`
	Phone        string            `json:"phone,omitempty" kind:"phone"`
	PhoneProblem string            `json:"phone_problem,omitempty" kind:"text"`
	Name         string            `json:"name,omitempty" kind:"text"`
	Country      string            `json:"country,omitempty" kind:"text"`
	Language     string            `json:"language,omitempty" kind:"text"`
	Cart         *TriedMatter      `json:"cart,omitempty"`
	Order        *TriedMatter      `json:"order,omitempty"`
	Deal         *TriedMatter      `json:"deal,omitempty"`
	Form         string            `json:"form,omitempty" kind:"text"`
	Unread       []string          `json:"unread,omitempty" kind:"text"` // what was given and cannot be read
	LookedUp     bool              `json:"looked_up,omitempty"`          // first, and planned then
	LookUp       *connectors.Asked `json:"look_up,omitempty"`            // what is asked then; nothing is asked in a try
	Decisions    []TriedDecision   `json:"decisions"`
	Silent       []TriedSilence    `json:"silent,omitempty"` // triggers that do not listen to it
}

// A TriedMatter is a cart, an order or a deal.
type TriedMatter struct {
	ID       string `json:"id,omitempty" kind:"text"`
	Total    string `json:"total,omitempty" kind:"text"` // decimal
	Currency string `json:"currency,omitempty" kind:"ours"`
	Items    int    `json:"items,omitempty"`
}

// A TriedDecision is what one trigger says, with the message that would be queued.
type TriedDecision struct {
	Trigger string             `json:"trigger" kind:"ours"`
	Outcome messaging.Outcome  `json:"outcome"`
	Reason  string             `json:"reason,omitempty" kind:"text"`
	Clauses []messaging.Clause `json:"clauses,omitempty"`
	Key     string             `json:"key,omitempty" kind:"text"`
	Message *TriedMessage      `json:"message,omitempty"`
	Steps   []TriedMessage     `json:"steps,omitempty"` // of a sequence: all of them, the first with Message
}

// A TriedSilence is a trigger that says nothing, and why.
type TriedSilence struct {
	Trigger string `json:"trigger" kind:"ours"`
	Reason  string `json:"reason" kind:"text"`
}

// A TriedMessage is one that would be queued.
type TriedMessage struct {
	Category  messaging.Category `json:"category"`
	Account   string             `json:"account,omitempty" kind:"ours"` // that sends it; not that of the section api
	Send      messaging.Send     `json:"send"`
	Reads     string             `json:"reads,omitempty" kind:"text"` // what the phone shows, where the template's text is declared
	DueAt     time.Time          `json:"due_at"`
	ExpiresAt time.Time          `json:"expires_at,omitzero"`
	Step      int                `json:"step,omitempty"`
	Of        int                `json:"of,omitempty"`             // steps that the sequence has
	If        []string           `json:"if,omitempty" kind:"text"` // what is asked of the step when it falls due
	Held      *TriedHold         `json:"held,omitempty"`           // what the rules would do to it at that time
}

// A TriedHold is what a rule would say to the message when it falls due.
type TriedHold struct {
	Action messaging.VerdictAction `json:"action"`
	Rule   string                  `json:"rule" kind:"ours"`
	Reason string                  `json:"reason" kind:"text"`
	Until  time.Time               `json:"until,omitzero"` // when it would really be sent
}

// Bounds of one try: whoever asks waits, and others ask, too.
const (
	maxTriedEvents = 50
	maxTriedFor    = 3 * time.Second // by all rules; looked at between events, and between triggers
	MaxBody        = 4 << 20
	maxEditedRules = 64 << 10
)

// Request is what a request would lead to. req names the time; who sends it has proven who they are. An error is the ledger's.
func (t *Trial) Request(ctx context.Context, c *connectors.Connector, req connectors.Request) (TriedRequest, error) {
	out := TriedRequest{Events: []TriedEvent{}}
	got, err := c.Receive(req)
	if no, is := errors.AsType[*connectors.Rejected](err); is {
		out.Rejected = &TryRejected{Status: no.Status, Stage: no.Stage, Reason: no.Reason}
		if fault, is := errors.AsType[*rawjson.Fault](rawjson.Check(string(req.Body))); is && no.Stage == connectors.StageBody {
			out.Rejected.Line, out.Rejected.Column = position(req.Body, fault.At)
		}
		return out, nil
	}
	if got.Handshake != "" {
		out.Handshake, out.Status = got.Handshake, got.Reply.Status
		return out, nil
	}
	for _, s := range got.Skipped {
		out.Skipped = append(out.Skipped, s.Reason)
	}
	slices.Sort(out.Skipped)
	out.Skipped = slices.Compact(out.Skipped)
	return out, t.meet(ctx, &out, got.Events, req.Now, false)
}

// What a try takes for granted.
const (
	assumedNew     = "the event is met as a new one: what it led to when it came, and what else waits or was sent by its key, is not considered"
	assumedUnknown = "nothing is known of the contacts but what the webhook says: nothing waits for them, nothing was sent to them, and they are not blocked"
)

// meet puts into out what the events lead to, for as long as a try may take. stored says that they are events that came before.
func (t *Trial) meet(ctx context.Context, out *TriedRequest, events []messaging.Event, now time.Time, stored bool) error {
	ends := time.Now().Add(maxTriedFor - t.Spent)
	over := func() bool { return time.Now().After(ends) }
	set, unasked := t.Triggers.Within(over)
	bounded := *t
	bounded.Triggers = set
	for i := range events {
		if i == maxTriedEvents || i > 0 && over() {
			out.Cut = int64(len(events) - i)
			break
		}
		plan := enricher.First(t.Receivers[events[i].Connector], set, &events[i], now)
		tried, err := bounded.describePlan(ctx, &plan, stored)
		if err != nil {
			return err
		}
		out.Events = append(out.Events, tried)
	}
	switch {
	case t.Ledger == nil:
		out.Assumed = []string{assumedUnknown}
	case stored:
		out.Assumed = []string{assumedNew}
	}
	out.Unasked = int64(*unasked)
	return nil
}

// position is the line and the column of a byte in a text, 1-based, the column in characters.
func position(text []byte, at int) (line, column int) {
	before := string(text[:min(at, len(text))])
	line = strings.Count(before, "\n") + 1
	return line, len([]rune(before[strings.LastIndexByte(before, '\n')+1:])) + 1
}

// describePlan says of each proposal what the ledger would. A stored event is settled as if nothing of its keys were stored.
func (t *Trial) describePlan(ctx context.Context, p *messaging.Plan, stored bool) (TriedEvent, error) {
	e := &p.Event
	v := TriedEvent{
		Event: e.Ref(), Topic: e.Topic, DedupeKey: e.DedupeKey, OccurredAt: e.OccurredAt.UTC(),
		Phone: string(e.Contact.Phone), PhoneProblem: e.Contact.PhoneProblem,
		Name: e.Contact.Name, Country: e.Contact.Country, Language: e.Contact.Language,
		Cart:  matterOf(e.Cart.ID, e.Cart.Total, e.Cart.Currency, len(e.Cart.Items)),
		Order: matterOf(e.Order.ID, e.Order.Total, e.Order.Currency, len(e.Order.Items)),
		Deal:  matterOf(e.Deal.ID, e.Deal.Amount, e.Deal.Currency, 0),
		Form:  e.Form.ID, Unread: e.Unread, LookedUp: p.Later, Decisions: []TriedDecision{},
	}
	if c := t.Receivers[e.Connector]; c != nil {
		v.LookUp = c.Asks(e)
	}
	for _, s := range t.Triggers.Silent(e.Connector, e.Kind) {
		v.Silent = append(v.Silent, TriedSilence(s))
	}
	facts := make([]messaging.Facts, len(p.Proposals))
	if t.Ledger != nil && !stored {
		var err error
		if v.Repeats, facts, err = t.Ledger.FactsOfPlan(ctx, *p); err != nil {
			return v, err
		}
	}
	var queue []queued
	blocked := ""
	for i := range p.Proposals {
		w := &p.Proposals[i]
		s := triggers.Settle(*w, facts[i])
		d := TriedDecision{Trigger: w.Decision.Trigger, Outcome: s.Outcome, Reason: s.Reason, Clauses: w.Decision.Clauses, Key: w.Decision.Key}
		switch d.Outcome {
		case messaging.Blocked, messaging.Forgetting:
			blocked = messaging.BlockedWords("")
		case messaging.Planned, messaging.Shadowed, messaging.Restarted:
			first := w.Message
			if d.Outcome == messaging.Restarted && !s.DueAt.IsZero() {
				first.DueAt = s.DueAt
			}
			d.Message = t.messageOf(&first)
			for i := range w.Steps {
				one := t.messageOf(&w.Steps[i].Message)
				one.Of, one.If = w.Steps[i].Rule.Of, w.Steps[i].Rule.If
				d.Steps = append(d.Steps, *one)
			}
			for i := range d.Steps {
				queue = append(queue, queued{w.Steps[i].Message, d.Outcome, &d.Steps[i], w.Steps[i].Message.DueAt, 0})
			}
			if len(d.Steps) == 0 {
				queue = append(queue, queued{first, d.Outcome, d.Message, first.DueAt, 0})
			}
		}
		v.Decisions = append(v.Decisions, d)
	}
	err := t.ask(ctx, e, blocked, queue)
	for i := range v.Decisions {
		if d := &v.Decisions[i]; len(d.Steps) > 0 {
			d.Message.Held = d.Steps[0].Held
		}
	}
	return v, err
}

// A queued message is one that would wait, with what is told of it.
type queued struct {
	messaging.Message
	outcome messaging.Outcome
	told    *TriedMessage
	first   time.Time // when it fell due first
	asked   int       // how often it was
}

// mostDeferrals is how often a try asks again after a rule put a message off.
const mostDeferrals = 10

// ask puts into each message what the rules would do to it. They are asked in the order in which claims ask: by time, by lane, by number;
// what goes counts for the next, and what is put off is asked again at its time. blocked is why the event's contact is blocked by the event
// itself; "" where it is not.
func (t *Trial) ask(ctx context.Context, e *messaging.Event, blocked string, queue []queued) error {
	var sends []messaging.PastSend // of this event
	for len(queue) > 0 {
		next := 0
		for i := range queue {
			if c := queue[i].DueAt.Compare(queue[next].DueAt); c < 0 || c == 0 && queue[i].Category.Lane() < queue[next].Category.Lane() {
				next = i
			}
		}
		q := &queue[next]
		v, err := t.mayGo(ctx, e, q, blocked, sends)
		if err != nil {
			return err
		}
		if v.Action == messaging.AllowSend && q.outcome != messaging.Shadowed {
			sends = append(sends, messaging.PastSend{At: q.DueAt, Category: q.Category, Trigger: q.Trigger})
		}
		if v.Action != messaging.AllowSend {
			q.told.Held = &TriedHold{Action: v.Action, Rule: v.Rule, Reason: v.Reason, Until: v.Until.UTC()}
		}
		if q.asked++; v.Action != messaging.DeferSend || !v.Until.After(q.DueAt) || q.asked > mostDeferrals {
			queue = slices.Delete(queue, next, next+1)
			continue
		}
		if !q.ExpiresAt.IsZero() { // what is put off is not late
			q.ExpiresAt = q.ExpiresAt.Add(v.Until.Sub(q.DueAt))
		}
		q.DueAt = v.Until
	}
	return nil
}

// mayGo is what the rules say to a message when it falls due. sends are what the event sends before it.
func (t *Trial) mayGo(ctx context.Context, e *messaging.Event, q *queued, blocked string, sends []messaging.PastSend) (v messaging.Verdict, err error) {
	d := q.Message
	d.EventID = 1 // any: without one it would be a job's row
	said := messaging.ConsentOf(e, 0)
	f := messaging.DueFacts{Consent: said.Consent}
	if t.Ledger != nil {
		if f, err = t.Ledger.FactsAtDue(ctx, d, said, t.Due, d.DueAt); err != nil {
			return v, err
		}
	}
	if t.Cost != nil {
		f.Spent.Cost = messaging.Thousandths(t.Cost(&d)) // by the prices that are tried
	}
	f.Sends = append(f.Sends, sends...)
	slices.SortStableFunc(f.Sends, messaging.NewestFirst)
	f.Blocked = cmp.Or(f.Blocked, blocked)
	if q.asked > 0 {
		f.FirstDue = q.first
	}
	return duerules.MayGo(t.Due, &d, &f, d.DueAt), nil
}

func (t *Trial) messageOf(d *messaging.Message) *TriedMessage {
	return &TriedMessage{Category: d.Category, Account: d.Account, Send: d.Send, Reads: t.Templates.Reads(d.Send, d.Account), DueAt: d.DueAt.UTC(), ExpiresAt: d.ExpiresAt.UTC(), Step: d.Step}
}

func matterOf(id string, total messaging.Amount, currency string, items int) *TriedMatter {
	if id == "" && !total.Reported() {
		return nil
	}
	m := &TriedMatter{ID: id, Currency: currency, Items: items}
	if total.Reported() {
		m.Total = total.String()
	}
	return m
}

// Words are the matter for people: "4711  60.00 EUR  2 items".
func (m *TriedMatter) Words() string {
	if m == nil {
		return ""
	}
	text := m.ID
	if m.Total != "" {
		text += "  " + m.Total + " " + m.Currency
	}
	if m.Items > 0 {
		text += fmt.Sprintf("  %d items", m.Items)
	}
	return text
}

// Try says what a webhook would lead to.
func (p Preview) Try(ctx context.Context, in TryRequest) (TryView, error) {
	if err := in.check(); err != nil {
		return TryView{}, err
	}
	rules, _ := p.Rules("")
	at := p.Now().UTC()
	if !in.At.IsZero() {
		at = in.At.UTC()
	}
	v := TryView{At: at}
	var meet func(*Trial) (TriedRequest, error)
	if in.Event != 0 {
		e, err := p.keptEvent(ctx, in.Event)
		if err != nil {
			return TryView{}, err
		}
		v.Connector = e.Connector
		meet = func(t *Trial) (TriedRequest, error) {
			out := TriedRequest{Events: []TriedEvent{}}
			return out, t.meet(ctx, &out, []messaging.Event{e}, at, true)
		}
	} else {
		c := rules.Receivers[in.Connector]
		if c == nil {
			return TryView{}, NoConnector(in.Connector, rules.Receivers)
		}
		req, err := in.request(c, rules.PublicURL, at)
		if err != nil {
			return TryView{}, err
		}
		v.Connector, v.Verified = c.Name(), c.Info().Verifier
		meet = func(t *Trial) (TriedRequest, error) { return t.Request(ctx, c, req) }
	}
	began := time.Now()
	met, err := meet(&rules)
	if err != nil {
		return TryView{}, err
	}
	v.TriedRequest = met
	spent := time.Since(began)
	if strings.TrimSpace(in.Triggers) == "" {
		return v, nil
	}
	select { // to compile rules is work that somebody who may only look could ask for without end
	case editing <- struct{}{}:
		defer func() { <-editing }()
	case <-ctx.Done():
		return TryView{}, ctx.Err()
	}
	began = time.Now()
	edited, problems := p.Rules(in.Triggers)
	edited.Spent = spent + time.Since(began)
	v.Edited = &EditedTry{Problems: slices.Clone(problems), Usable: problems.Errors() == 0, Events: []TriedEvent{}}
	if v.Edited.Problems == nil {
		v.Edited.Problems = yamlpos.Problems{}
	}
	if v.Edited.Usable {
		if met, err = meet(&edited); err != nil {
			return TryView{}, err
		}
		v.Edited.Events, v.Edited.Unasked, v.Edited.Assumed = met.Events, met.Unasked, met.Assumed
	}
	return v, nil
}

// editing are the tries that compile rules at a time.
var editing = make(chan struct{}, 2)

func (in *TryRequest) check() error {
	switch {
	case in.Event < 0:
		return refusal.Fieldf("event", "", "an event's number begins at 1")
	case in.Event != 0 && (in.Connector != "" || in.Payload != "" || in.Sample != "" || len(in.Headers) > 0 || in.Topic != ""):
		return refusal.Fieldf("event", "leave event out, or all that describes a webhook", "a stored event has its connector, payload and headers already")
	case in.Event == 0 && in.Connector == "":
		return refusal.Fieldf("connector", "name a connector of the config, or the number of an event", "there is nothing to try")
	case in.Payload != "" && in.Sample != "":
		return refusal.Fieldf("sample", "leave one of the two out", "a sample has a payload of its own")
	case len(in.Triggers) > maxEditedRules:
		return refusal.Fieldf("triggers", "send only the triggers that are edited", "the rules are longer than %d bytes", maxEditedRules)
	case in.Number < 0:
		return refusal.Fieldf("number", "", "a number is 0 or more")
	case !in.At.IsZero() && (in.At.Year() < 2000 || in.At.Year() > 2200):
		return refusal.Fieldf("at", "", "that is no time of ours")
	}
	return nil
}

// request is the webhook that is meant.
func (in *TryRequest) request(c *connectors.Connector, publicURL string, at time.Time) (connectors.Request, error) {
	path := "/hooks/" + c.Name()
	req := connectors.Request{Method: http.MethodPost, Path: path, URL: publicURL + path, Header: http.Header{}, Now: at, Proven: true, Body: []byte(in.Payload)}
	if in.Payload == "" {
		s, err := pickSample(c, in.Sample, at, cmp.Or(in.Number, 100_000+rand.IntN(900_000)))
		if err != nil {
			return req, err
		}
		req.Method, req.Body = s.Method, s.Body
		for name, value := range s.Header {
			req.Header.Set(name, value)
		}
	}
	for name, value := range in.Headers {
		req.Header.Set(name, value)
	}
	if in.Topic != "" {
		name := c.TopicHeader()
		if name == "" {
			return req, refusal.Fieldf("topic", "leave topic out", "connector %q takes the topic from the body, not from a header", c.Name())
		}
		req.Header.Set(name, in.Topic)
	}
	if req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// pickSample is a connector's sample, "" for the first. A secret that is part of one stands there as <<secret>>.
func pickSample(c *connectors.Connector, name string, at time.Time, number int) (connectors.Sample, error) {
	all := c.SamplesWithoutSecret(at, number)
	if len(all) == 0 {
		return connectors.Sample{}, refusal.Fieldf("payload", "give a payload", "connector %q has no samples", c.Name())
	}
	names := make([]string, 0, len(all))
	for _, s := range all {
		if name == "" || s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return connectors.Sample{}, &refusal.Error{Status: http.StatusNotFound, Field: "sample", Words: mask.Sprintf("connector %q has no sample of that name", c.Name()), Hint: "it has " + strings.Join(names, ", ")}
}

// NoConnector says which there are.
func NoConnector(name string, all map[string]*connectors.Connector) error {
	names := slices.Sorted(maps.Keys(all))
	hint := "there are " + strings.Join(names, ", ")
	if len(names) == 0 {
		hint = "the config has none"
	}
	if near := nearest.Of(name, names); near != "" {
		hint = "did you mean " + near + "?"
	}
	return &refusal.Error{Status: http.StatusNotFound, Field: "connector", Words: "there is no connector of that name", Hint: hint}
}

// keptEvent is a stored event with all that it carried, for those who may see that.
func (p Preview) keptEvent(ctx context.Context, id messaging.EventID) (messaging.Event, error) {
	if who, _ := access.WhoOf(ctx); !who.May(access.Phones) {
		return messaging.Event{}, &refusal.Error{Status: http.StatusForbidden, Field: "event", Words: who.Name + " may not do that: what an event carried needs the scope " + string(access.Phones)}
	}
	e, err := p.Store.Event(ctx, id)
	switch {
	case errors.Is(err, messaging.ErrNotFound):
		return e, &refusal.Error{Status: http.StatusNotFound, Field: "event", Words: mask.Sprintf("there is no event %d", id), Hint: `"nudgewire events list" shows the numbers`}
	case err != nil:
		return e, err
	case e.Forgotten, e.Cleared, len(e.Payload) == 0:
		return e, &refusal.Error{Status: http.StatusConflict, Field: "event", Words: mask.Sprintf("what event %d carried is not kept any more, so nothing can be decided by it", id), Hint: "paste the payload, if you have it"}
	}
	return e, nil
}

// A ConnectorView is a connector of the config with its samples.
type ConnectorView struct {
	Name        string       `json:"name" kind:"ours"`
	Preset      string       `json:"preset,omitempty" kind:"ours"`
	Verified    string       `json:"verified,omitempty" kind:"ours"`     // what requests are verified by, in words
	TopicHeader string       `json:"topic_header,omitempty" kind:"ours"` // that the sender's word for what happened is in
	Samples     []SampleView `json:"samples"`
}

// A SampleView is an invented webhook in a sender's shape. Where its secret would stand it has <<secret>>.
type SampleView struct {
	Name    string            `json:"name" kind:"ours"`
	Kind    string            `json:"kind,omitempty" kind:"ours"`
	Topic   string            `json:"topic,omitempty" kind:"ours"`
	Headers map[string]string `json:"headers,omitempty" kind:"text"`
	Number  int               `json:"number"` // that stands in its ids; a try takes it
	Body    string            `json:"body" kind:"text"`
}

func (p Preview) Connectors(context.Context, struct{}) ([]ConnectorView, error) {
	rules, _ := p.Rules("")
	out, number := make([]ConnectorView, 0, len(rules.Receivers)), 100_000+rand.IntN(900_000)
	for _, name := range slices.Sorted(maps.Keys(rules.Receivers)) {
		c := rules.Receivers[name]
		v := ConnectorView{Name: name, Preset: c.Preset(), Verified: c.Info().Verifier, TopicHeader: c.TopicHeader(), Samples: []SampleView{}}
		for _, s := range c.SamplesWithoutSecret(p.Now(), number) {
			v.Samples = append(v.Samples, SampleView{s.Name, s.Kind, s.Topic, s.Header, number, string(s.Body)})
		}
		out = append(out, v)
	}
	return out, nil
}
