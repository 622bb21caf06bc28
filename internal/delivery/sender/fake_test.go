package sender

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/pace"
)

const phone messaging.Phone = "447700900123"

// memory is a Store that holds everybody to the law of states.
type memory struct {
	mu       sync.Mutex
	rows     map[messaging.MessageID]*messaging.Message
	messages map[messaging.MessageID]messaging.Message
	attempts map[messaging.MessageID][]messaging.Attempt
	claims   []int // rows of each claim that got any
	asked    int   // claims altogether
	dueAsked int

	refused map[[2]string]bool  // what waits, by content and origin
	probe   messaging.MessageID // that goes all the same

	commit     time.Duration // each write takes so long
	slowClaim  time.Duration // the next claim takes so long on top
	slowFinish time.Duration // every outcome takes so long on top
	slots      map[int]messaging.Message
	beginFails func() error                  // nil error is no failure
	claimFails func() error                  // nil error is no failure
	finish     func(messaging.Attempt) error // the same
}

func newMemory(rows ...messaging.Message) *memory {
	m := &memory{
		rows:     make(map[messaging.MessageID]*messaging.Message),
		messages: make(map[messaging.MessageID]messaging.Message),
		attempts: make(map[messaging.MessageID][]messaging.Attempt),
		refused:  map[[2]string]bool{},
	}
	m.add(rows...)
	return m
}

// add stores rows, waiting, and numbers those without a number.
func (m *memory) add(rows ...messaging.Message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range rows {
		if d.ID == 0 {
			d.ID = messaging.MessageID(len(m.rows) + 1)
		}
		if d.State == "" {
			d.State = messaging.StateWaiting
		}
		m.rows[d.ID] = &d
	}
}

func (m *memory) Claim(ctx context.Context, q messaging.ClaimRequest) ([]messaging.Message, error) {
	m.mu.Lock()
	slow := m.slowClaim
	m.slowClaim = 0
	m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	time.Sleep(m.commit + slow) // a commit that was begun is not undone because nobody waits for it
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	if m.claimFails != nil {
		if err := m.claimFails(); err != nil {
			return nil, err
		}
	}
	var due []*messaging.Message
	for _, d := range m.rows {
		if d.State == messaging.StateWaiting && !d.DueAt.After(q.Now) {
			due = append(due, d)
		}
	}
	slices.SortFunc(due, func(a, b *messaging.Message) int {
		if c := a.DueAt.Compare(b.DueAt); c != 0 {
			return c
		}
		return int(a.ID - b.ID)
	})
	var got []messaging.Message
	left := map[messaging.Category]int{messaging.Authentication: q.Authentication, messaging.Utility: q.Utility, messaging.Marketing: q.Marketing}
	for _, d := range due {
		if left[d.Category] <= 0 || m.holds(d) {
			continue
		}
		left[d.Category]--
		d.State, d.Owner, d.LeaseEnds, d.Attempt = messaging.StateSending, q.Owner, q.Now.Add(q.Lease), d.Attempt+1
		got = append(got, *d)
	}
	if len(got) > 0 {
		m.claims = append(m.claims, len(got))
	}
	return got, ctx.Err()
}

// ClaimProbe is the store's: of the most urgent lane first, and of another phone and content than those that failed.
func (m *memory) ClaimProbe(_ context.Context, p messaging.ProbeRequest) ([]messaging.Message, error) {
	time.Sleep(m.commit)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	if m.claimFails != nil {
		if err := m.claimFails(); err != nil {
			return nil, err
		}
	}
	failed := func(d *messaging.Message) int {
		content := slices.ContainsFunc(p.Contents, func(s messaging.Send) bool { return s.Template == d.Send.Template && s.Campaign == d.Send.Campaign })
		switch {
		case slices.Contains(p.Phones, d.Phone):
			return 2
		case content:
			return 1
		}
		return 0
	}
	var best *messaging.Message
	for _, d := range m.rows {
		if d.State != messaging.StateWaiting || d.DueAt.After(p.Now) || !p.Lanes[d.Category.Lane()] || m.holds(d) {
			continue
		}
		if best == nil || cmp.Or(failed(d)-failed(best), d.Category.Lane()-best.Category.Lane(), d.DueAt.Compare(best.DueAt), int(d.ID-best.ID)) < 0 {
			best = d
		}
	}
	if best == nil {
		return nil, nil
	}
	best.State, best.Owner, best.LeaseEnds, best.Attempt = messaging.StateSending, p.Owner, p.Now.Add(p.Lease), best.Attempt+1
	m.claims = append(m.claims, 1)
	return []messaging.Message{*best}, nil
}

// holds reports whether a pause holds a message of what was refused, one after the other.
func (m *memory) holds(d *messaging.Message) bool {
	_, content := d.Send.Content()
	return (m.refused[[2]string{content, d.Origin()}] || m.refused[[2]string{content, ""}]) && m.probe != d.ID
}

func (m *memory) Finish(ctx context.Context, a messaging.Attempt) error {
	if d := m.commit + m.slowFinish; d > 0 {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.finish != nil {
		if err := m.finish(a); err != nil {
			return err
		}
	}
	d := m.rows[a.MessageID]
	if d.State != messaging.StateSending || d.Owner != a.Owner || d.Attempt != a.Number {
		return fmt.Errorf("message %d: %w", a.MessageID, messaging.ErrClaimLost)
	}
	m.attempts[d.ID] = append(m.attempts[d.ID], a)
	d.State, d.Reason, d.Owner, d.LeaseEnds, d.UpdatedAt = a.State, a.Reason, "", time.Time{}, a.At
	switch a.State {
	case messaging.StateWaiting:
		if a.PutOff && !d.ExpiresAt.IsZero() {
			d.ExpiresAt = d.ExpiresAt.Add(a.RetryAt.Sub(d.DueAt))
		}
		if d.DueAt = a.RetryAt; a.Called {
			d.Tries++
		}
		if _, content := d.Send.Content(); a.Refused == messaging.RefusedOrigin {
			m.refused[[2]string{content, d.Origin()}] = true
		} else if a.Refused == messaging.RefusedContent || a.Class == messaging.ErrorTemplate {
			m.refused[[2]string{content, ""}] = true
		}
	case messaging.StateAccepted:
		m.messages[d.ID] = *a.Message
	}
	return nil
}

func (m *memory) NextDue(_ context.Context, lanes ...messaging.Category) (time.Time, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dueAsked++
	var next time.Time
	for _, d := range m.rows {
		if d.State == messaging.StateWaiting && slices.Contains(lanes, d.Category) && !m.holds(d) && (next.IsZero() || d.DueAt.Before(next)) {
			next = d.DueAt
		}
	}
	return next, !next.IsZero(), nil
}

func (m *memory) RescueClaims(_ context.Context, now time.Time, _ string) (n messaging.Rescued, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range m.rows {
		if d.State == messaging.StateSending && d.LeaseEnds.Before(now) {
			d.State, d.Reason = messaging.StateInDoubt, "its sender died"
			n.Doubtful++
		}
	}
	return n, nil
}

func (m *memory) BeginCall(slot int, id messaging.MessageID, attempt int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.beginFails != nil {
		if err := m.beginFails(); err != nil {
			return err
		}
	}
	if m.slots == nil {
		m.slots = map[int]messaging.Message{}
	}
	// The slot of a call whose outcome is not recorded yet must not be used again.
	if was := m.rows[m.slots[slot].ID]; was != nil && was.State == messaging.StateSending && was.Attempt == m.slots[slot].Attempt {
		return fmt.Errorf("slot %d still holds the call for message %d", slot, was.ID)
	}
	if d := m.rows[id]; d.State != messaging.StateSending || d.Attempt != attempt {
		return fmt.Errorf("message %d, attempt %d is not claimed", id, attempt)
	}
	m.slots[slot] = *m.rows[id]
	return nil
}

func (m *memory) row(id messaging.MessageID) messaging.Message {
	m.mu.Lock()
	defer m.mu.Unlock()
	return *m.rows[id]
}

// in counts the rows in a state.
func (m *memory) in(state messaging.State) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, d := range m.rows {
		if d.State == state {
			n++
		}
	}
	return n
}

// service is an API: answer decides, after taking its time.
type service struct {
	mu        sync.Mutex
	calls     []made
	questions []time.Time
	question  func() error                                                       // nil answers well
	answer    func(ctx context.Context, n int, m made) (apiclient.Answer, error) // n counts from 1; nil accepts
}

// made is one call as the service saw it.
type made struct {
	at               time.Time
	phone, what      string
	variables        []string
	header, filename string
}

func (s *service) take(ctx context.Context, m made) (apiclient.Answer, error) {
	m.at = time.Now()
	s.mu.Lock()
	s.calls = append(s.calls, m)
	n := len(s.calls)
	s.mu.Unlock()
	if s.answer != nil {
		return s.answer(ctx, n, m)
	}
	return accepts(n), nil
}

func accepts(n int) apiclient.Answer {
	id := strconv.Itoa(1000 + n)
	return apiclient.Answer{MessageID: id, Raw: `{"message_id":` + id + `}`, HTTPStatus: 200}
}

func (s *service) SendTemplate(ctx context.Context, m apiclient.TemplateMessage) (apiclient.Answer, error) {
	sent := made{phone: m.Phone, what: "template " + m.Template + " " + m.Language, variables: m.Variables}
	if h := m.Header; h != nil {
		sent.header, sent.filename = h.Type+" "+h.URL, h.Filename
	}
	return s.take(ctx, sent)
}

func (s *service) SendCampaign(ctx context.Context, phone, id string) (apiclient.Answer, error) {
	return s.take(ctx, made{phone: phone, what: "campaign " + id})
}

func (s *service) SendText(ctx context.Context, phone, text string) (apiclient.Answer, error) {
	return s.take(ctx, made{phone: phone, what: "text " + text})
}

// MessageStatus is a question, which is answered as a send would be but leaves no call; question
// decides otherwise.
func (s *service) MessageStatus(context.Context, string) (apiclient.Status, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.questions = append(s.questions, time.Now())
	if s.question != nil {
		return apiclient.Status{}, s.question()
	}
	return apiclient.Status{}, nil
}

func (s *service) made() []made {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// takes answers after d, or with what a cut call brings.
func takes(d time.Duration) func(context.Context, int, made) (apiclient.Answer, error) {
	return func(ctx context.Context, n int, _ made) (apiclient.Answer, error) {
		select {
		case <-time.After(d):
			return accepts(n), nil
		case <-ctx.Done():
			return apiclient.Answer{}, &apiclient.CallError{Call: "send-template", Outcome: apiclient.InDoubt, Err: ctx.Err()}
		}
	}
}

// fails answers the first times with err and accepts what comes after; times < 0 is always.
func fails(times int, err error) func(context.Context, int, made) (apiclient.Answer, error) {
	return func(_ context.Context, n int, _ made) (apiclient.Answer, error) {
		if times < 0 || n <= times {
			return apiclient.Answer{Raw: "no"}, err
		}
		return accepts(n), nil
	}
}

func refusal(outcome apiclient.Outcome, status int, wait time.Duration, words string) error {
	return &apiclient.CallError{Call: "send-template", Outcome: outcome, HTTPStatus: status, RetryAfter: wait, Words: words}
}

// queued is a message due now.
func queued(c messaging.Category) messaging.Message {
	return messaging.Message{
		Trigger: "abandoned-cart", Phone: phone, Category: c, DueAt: time.Now(),
		Send: messaging.Send{Template: "cart_reminder", Language: "en", Variables: []string{"Ada"}},
	}
}

func many(n int, c messaging.Category) []messaging.Message {
	rows := make([]messaging.Message, n)
	for i := range rows {
		rows[i] = queued(c)
	}
	return rows
}

// different are n messages of so many triggers, each with a template of its own, for so many phones.
func different(n int, c messaging.Category) []messaging.Message {
	rows := many(n, c)
	for i := range rows {
		rows[i].Trigger, rows[i].Send.Template = fmt.Sprint("trigger ", i), fmt.Sprint("template ", i)
		rows[i].Phone = messaging.Phone(fmt.Sprint(44770090000 + i))
	}
	return rows
}

// running is a Sender at work, to be stopped by the test's end.
type running struct {
	*Sender
	store   *memory
	service *service
	logs    *observer.ObservedLogs
	stop    func() time.Duration // stops, and says how long that took
}

func start(t *testing.T, store *memory, api *service, change func(*Options)) *running {
	t.Helper()
	core, logs := observer.New(zap.DebugLevel)
	o := Options{
		Store: store, API: api, Budget: pace.NewBudget(0), Log: zap.New(core), Owner: "node-1",
		Concurrency: 8, Jitter: func() float64 { return 0 },
	}
	if change != nil {
		change(&o)
	}
	s := New(o)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Errorf("Run = %v", err)
		}
	})
	r := &running{Sender: s, store: store, service: api, logs: logs}
	r.stop = func() time.Duration {
		began := time.Now()
		cancel()
		wg.Wait()
		return time.Since(began)
	}
	t.Cleanup(func() {
		r.stop()
		if s := r.Stats(); s.InHand != 0 || s.UnderWay != 0 {
			t.Errorf("after the stop: %d in hand and %d calls under way", s.InHand, s.UnderWay)
		}
		for _, entry := range logs.All() {
			fields := entry.ContextMap()
			delete(fields, "stack") // its addresses may look like phones
			if line := fmt.Sprint(entry.Message, fields); containsPhone(line) {
				t.Errorf("a whole phone number in the log: %s", line)
			}
		}
	})
	return r
}

func containsPhone(line string) bool {
	digits := 0
	for _, c := range line {
		if c < '0' || c > '9' {
			digits = 0
			continue
		}
		if digits++; digits == len(phone) {
			return true
		}
	}
	return false
}

// pass lets d go by, and what it set in motion come to rest.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
