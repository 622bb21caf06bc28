package sender

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/claims"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/pace"
)

// The sender has one view of the service's health. While the service is unwell nothing is burned:
// messages wait, and one after the other is the probe, after pauses that double. Where a question
// can tell, one about a message that cannot be is asked before each probe, so that a
// customer's message is risked only when the service answers well.

// TroubleRejections is that different messages, one after the other, were refused for what looks
// like reasons of their own.
const TroubleRejections apiclient.Trouble = "rejections"

// A remedy is how a trouble is met.
type remedy struct {
	inRow       int // so many, one after the other, show it
	question    bool
	first, most time.Duration // pauses between probes
}

var remedies = map[apiclient.Trouble]remedy{
	apiclient.TroubleKey:     {1, true, 5 * time.Second, 5 * time.Minute},
	apiclient.TroublePoints:  {1, false, 15 * time.Second, 15 * time.Minute}, // a probe may cost its message
	apiclient.TroubleAddress: {3, true, 5 * time.Second, time.Minute},
	apiclient.TroubleOutage:  {3, true, time.Second, time.Minute},
	TroubleRejections:        {1, false, 5 * time.Second, time.Minute}, // counted by what is refused: see refusals
}

func troubleWords(t apiclient.Trouble) string {
	if t == TroubleRejections {
		return "the service refuses different messages alike, one after the other"
	}
	return t.Words()
}

const (
	// hasChances is how many times a message was tried when an answer that others do not get is
	// taken for its own fault.
	hasChances = 3

	// tellsBy is how long a probe that was accepted may take to show by its status whether the
	// account has points again, before another one goes.
	tellsBy = time.Minute

	// nobody is the message that questions are about.
	nobody = "0"
)

// everything is the scope of a halt of all lanes; that of one lane is its place in messaging.Lanes.
const everything = len(messaging.Lanes)

// scopeOf is what a trouble that a message of that lane met halts: what may yet be about the messages halts their lane, so that a
// list that the service does not take stops no login codes.
func scopeOf(t apiclient.Trouble, lane int) int {
	if t == TroubleRejections || t == apiclient.TroubleAddress {
		return lane
	}
	return everything
}

// Pauses keep the trouble of an account for all processes that call it. The zero value is for this one alone.
type Pauses struct {
	Account pace.Keeper
	Lanes   [len(messaging.Lanes)]pace.Keeper
}

func (p *Pauses) of(scope int) pace.Keeper {
	if scope == everything {
		return p.Account
	}
	return p.Lanes[scope]
}

// health is what is known of the service.
type health struct {
	halts  [everything + 1]pace.Halt // by scope
	slowed atomic.Bool               // said in the log
	well   atomic.Int64              // when the service was last seen to be, unix nanoseconds; 0 for never

	mu      sync.Mutex
	rows    [everything + 1]row // by scope
	refused refusals
	failed  [everything + 1]failures
	dear    map[messaging.MessageID]time.Time // found no points, and when first
	spent   map[messaging.MessageID]bool      // taken, and tried so often that a status without points is their own
	struck  [everything]chan struct{}         // of each lane; closed by the next strike
	before  [everything + 1][4]uint64         // what had happened when the trouble began
}

// A row is the trouble of the last calls of a scope, one after the other.
type row struct {
	of   apiclient.Trouble
	n    int // different messages; see count
	last messaging.MessageID
}

// failures are what failed in a halt, the last at the end: another one is asked first.
type failures struct {
	phones   []messaging.Phone
	contents []messaging.Send
}

const (
	mostFailedPhones   = 16
	mostFailedContents = 4
	mostSpent          = 4096
)

func (f *failures) add(phone messaging.Phone, content messaging.Send) {
	if phone != "" && !slices.Contains(f.phones, phone) {
		f.phones = append(f.phones, phone)
		f.phones = f.phones[max(0, len(f.phones)-mostFailedPhones):]
	}
	kind, name := content.Content()
	same := func(other messaging.Send) bool { k, n := other.Content(); return k == kind && n == name }
	if (kind != "text" || content.Text != "") && !slices.ContainsFunc(f.contents, same) {
		f.contents = append(f.contents, content)
		f.contents = f.contents[max(0, len(f.contents)-mostFailedContents):]
	}
}

// A verdict is what an answer means for the message that it was given to.
type verdict struct {
	waits   bool // for the service to be well again, rather than be refused for good
	held    bool // by a halt or a pause: it is due when that ends
	refused messaging.Refused
}

// learn takes in what a call begun at began showed about the service, and says what becomes of its message.
func (s *Sender) learn(calling context.Context, began time.Time, c *claim, answer apiclient.Answer, err error, means meaning) verdict {
	call, _ := errors.AsType[*apiclient.CallError](err)
	trouble := means.trouble
	if err != nil && (call == nil || call.HTTPStatus == 0 && calling.Err() != nil) {
		return verdict{} // not of the service, or cut by us
	}
	switch {
	case trouble == apiclient.TroubleBusy || trouble == apiclient.TroubleOutage:
		s.Budget.Slow(pace.Send, began, call.RetryAfter)
		if trouble == apiclient.TroubleBusy && !s.health.slowed.Swap(true) {
			s.Log.Warn("the service asks to come later; sends are slowed", zap.Int("http_status", call.HTTPStatus), zap.Duration("retry_after", call.RetryAfter))
		}
	case err == nil || call.HTTPStatus != 0:
		if s.Budget.Took(pace.Send) && s.health.slowed.Swap(false) {
			s.Log.Info("sends are at their full rate again")
		}
	}
	switch {
	case err == nil:
		s.taken(began, c, answer)
		return verdict{}
	case trouble == apiclient.TroubleBusy || call.HTTPStatus == 0 && trouble == apiclient.TroubleNone:
		return verdict{}
	case trouble == apiclient.TroubleNone: // a rule knows the words: they are about this message alone
		s.understood(began, c.Category.Lane())
		return verdict{}
	case trouble == TroubleRejections:
		return s.refuses(began, c, call)
	}
	return s.troubled(began, c, trouble, err)
}

// troubled counts a call that met trouble, and halts when there were enough of them.
func (s *Sender) troubled(began time.Time, c *claim, trouble apiclient.Trouble, err error) verdict {
	h, scope := &s.health, scopeOf(trouble, c.Category.Lane())
	_, halted := h.halts[scope].State()
	chances := !halted && c.Tries+1 >= hasChances // others are taken, and this one is not, again and again: it is the message
	if trouble == apiclient.TroublePoints {
		alone := h.findsNoPoints(c, began)
		if halted && alone && c.Tries+1 >= hasChances { // it halts by itself, and whoever comes next would wait for its probes
			s.lift(scope, began)
			return verdict{waits: true}
		}
		if chances {
			return verdict{waits: true}
		}
	}
	enough := h.count(scope, trouble, c, err) >= remedies[trouble].inRow
	if halted && h.halts[scope].After(began) || !halted && enough {
		s.strike(scope, began, trouble, false, err.Error(), c.Phone, c.Send)
		_, halted = h.halts[scope].State() // a call of before the last lift halts nothing
		return verdict{waits: trouble != apiclient.TroubleOutage, held: halted}
	}
	alone := chances && trouble == apiclient.TroubleAddress
	return verdict{waits: !alone && trouble != apiclient.TroubleOutage, held: halted}
}

// findsNoPoints notes that a message found none, and reports whether it is the only one: the service took others since it found none first, and no
// other failed in the halt.
func (h *health) findsNoPoints(c *claim, began time.Time) (alone bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dear == nil || len(h.dear) >= mostSpent {
		h.dear = map[messaging.MessageID]time.Time{}
	}
	first, known := h.dear[c.ID]
	if !known {
		h.dear[c.ID] = began
	}
	others := slices.ContainsFunc(h.failed[everything].phones, func(p messaging.Phone) bool { return p != c.Phone })
	return known && !others && h.wellAt().After(first)
}

// refuses counts a message that was refused in words that no rule knows.
func (s *Sender) refuses(began time.Time, c *claim, call *apiclient.CallError) verdict {
	h, lane := &s.health, c.Category.Lane()
	s.understood(began, lane)
	if s.Probes != nil && s.Probes(&c.Message) {
		return verdict{waits: true, held: true, refused: messaging.RefusedOrigin}
	}
	halted, is := h.halts[lane].State()
	is = is && halted.Cause == string(TroubleRejections)
	h.mu.Lock()
	found, contents := h.refused.add(&c.Message, alike(call, &c.Message), began, s.Now())
	for _, one := range contents {
		h.failed[lane].add("", one)
	}
	h.mu.Unlock()
	v := verdict{waits: is, held: is}
	if found == groundOrigin || found == groundAll {
		v = verdict{waits: true, held: true, refused: messaging.Refused(found)}
	}
	if is && h.halts[lane].After(began) || !is && found == groundLane {
		s.strike(lane, began, TroubleRejections, false, call.Error(), c.Phone, c.Send)
		_, halts := h.halts[lane].State()
		v.waits, v.held = true, halts || v.refused != ""
	}
	return v
}

// wellAt is when the service last took a message, or ended a halt by how it answered; zero for never.
func (h *health) wellAt() time.Time {
	at := h.well.Load()
	if at == 0 {
		return time.Time{}
	}
	return time.Unix(0, at)
}

// understood notes that the service read a request begun at began and said no to this one message. Where
// there was doubt about that it is well, which says nothing of points, nor of why it rejects so many.
func (s *Sender) understood(began time.Time, lane int) {
	for _, scope := range []int{lane, everything} {
		now, halted := s.health.halts[scope].State()
		if halted && now.Cause != string(TroubleRejections) && now.Cause != string(apiclient.TroublePoints) && s.health.halts[scope].After(began) {
			s.lift(scope, began)
		}
	}
}

// count says how many calls met the same trouble, one after the other, this one included. A message that met it counts once: it may
// be the message. A connection that cannot be made is never that, and counts each time, and twice: so an outage is known by the
// second try of one message.
func (h *health) count(scope int, t apiclient.Trouble, c *claim, err error) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := &h.rows[scope]
	if r.of != t {
		*r = row{of: t}
	}
	call, _ := errors.AsType[*apiclient.CallError](err)
	switch {
	case call != nil && call.HTTPStatus == 0 && apiclient.OutcomeOf(err) == apiclient.NotAccepted:
		r.n, r.last = r.n+2, c.ID
	case r.last != c.ID:
		r.n, r.last = r.n+1, c.ID
	}
	h.failed[scope].add(c.Phone, c.Send)
	return r.n
}

// forget begins counting anew for a scope.
func (h *health) forget(scope int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rows[scope], h.failed[scope] = row{}, failures{}
}

// holds says what keeps a message of that lane back.
func (h *health) holds(lane int) (now pace.Halted, scope int, held bool) {
	for _, scope := range []int{everything, lane} {
		if now, held := h.halts[scope].State(); held {
			return now, scope, true
		}
	}
	return pace.Halted{}, lane, false
}

// strikes is closed by the next strike that halts the lane.
func (h *health) strikes(lane int) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.struck[lane] == nil {
		h.struck[lane] = make(chan struct{})
	}
	return h.struck[lane]
}

// taken notes that a message was accepted.
func (s *Sender) taken(began time.Time, c *claim, answer apiclient.Answer) {
	h, lane := &s.health, c.Category.Lane()
	h.mu.Lock()
	for _, scope := range []int{lane, everything} {
		if h.rows[scope] = (row{}); !h.halts[scope].On() {
			h.failed[scope] = failures{}
		}
	}
	h.refused.taken(&c.Message)
	delete(h.dear, c.ID)
	if c.Tries+1 >= hasChances && answer.MessageID != "" && len(h.spent) < mostSpent {
		if h.spent == nil {
			h.spent = map[messaging.MessageID]bool{}
		}
		h.spent[c.ID] = true
	}
	h.mu.Unlock()
	if _, halted := h.halts[lane].State(); halted {
		s.lift(lane, began)
	}
	now, halted := h.halts[everything].State()
	if !halted {
		h.well.Store(s.Now().UnixNano())
		return
	}
	// An acceptance says nothing of points where only a status told that there are none.
	if now.Cause == string(apiclient.TroublePoints) && now.ByStatus && answer.MessageID != "" {
		h.halts[everything].Hold(s.Now().Add(tellsBy))
		s.loop.Ring()
		return
	}
	s.lift(everything, began)
}

// StatusReported takes in what a status showed about the service: a message that was accepted, and failed because
// the account has no points, or one that shows that it has some again.
func (s *Sender) StatusReported(m *messaging.Message, p *messaging.Poll) {
	h := &s.health
	now, halted := h.halts[everything].State()
	switch {
	case p.Status == messaging.StatusFailed && p.Class == messaging.ErrorNoPoints:
		if h.wasSpent(m.ID) && !halted {
			return // others are sent: it rests by itself
		}
		s.strike(everything, m.AcceptedAt, apiclient.TroublePoints, true, p.Error, m.Phone, messaging.Send{})
	case p.Status == messaging.StatusSent, p.Status == messaging.StatusDelivered, p.Status == messaging.StatusRead, p.Status == messaging.StatusFailed:
		h.wasSpent(m.ID)
		if halted && now.Cause == string(apiclient.TroublePoints) {
			s.lift(everything, m.AcceptedAt)
		}
	}
}

// wasSpent forgets a message of which a status has told, and reports whether it had its chances before.
func (h *health) wasSpent(id messaging.MessageID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.spent[id]
	delete(h.spent, id)
	return was
}

// strike halts, or goes on halting, for what a message for that phone and with that content met. Claims in hand go back at once.
func (s *Sender) strike(scope int, began time.Time, trouble apiclient.Trouble, byStatus bool, said string, phone messaging.Phone, content messaging.Send) {
	h, r, now := &s.health, remedies[trouble], s.Now()
	why := troubleWords(trouble) + ": " + said
	first, counted := h.halts[scope].Strike(began, now, pace.Cause{
		Name: string(trouble), First: r.first, Max: r.most, Marks: pace.Marks{ByStatus: byStatus},
	}, why)
	if !counted {
		return
	}
	h.mu.Lock()
	h.failed[scope].add(phone, content)
	h.mu.Unlock()
	s.releaseAllClaims(scope, first)
	if first {
		until, _ := h.halts[scope].State()
		s.Log.Warn("sending is halted: "+troubleWords(trouble), zap.String("lane", laneName(scope)), zap.String("cause", string(trouble)), zap.String("words", mask.Text(said)),
			zap.Time("next_probe", until.Until))
	}
}

// laneName names a scope for people.
func laneName(scope int) string {
	if scope == everything {
		return "all"
	}
	return string(messaging.Lanes[scope])
}

// inScope reports which lanes a halt of that scope keeps back.
func inScope(scope int) (lanes [len(messaging.Lanes)]bool) {
	for lane := range lanes {
		lanes[lane] = scope == everything || scope == lane
	}
	return lanes
}

// classes are the kinds of request by lane.
var classes = [len(messaging.Lanes)]pace.Class{pace.MostUrgent, pace.Urgent, pace.Send}

// releaseAllClaims ends the waiting of claims in hand.
func (s *Sender) releaseAllClaims(scope int, first bool) {
	h := &s.health
	h.mu.Lock()
	for lane, is := range inScope(scope) {
		if is && h.struck[lane] != nil {
			close(h.struck[lane])
			h.struck[lane] = nil
		}
	}
	if first {
		h.before[scope] = s.counts.burned()
	}
	h.mu.Unlock()
	for lane, is := range inScope(scope) {
		if is {
			s.Budget.Dismiss(classes[lane])
		}
	}
	s.loop.Ring()
}

// haltElsewhere takes in that another process halts, goes on halting, or lets go on.
func (s *Sender) haltElsewhere(scope int, was, is pace.Halted) {
	of, none := apiclient.Trouble(is.Cause), pace.Halted{}
	switch {
	case is == none:
		s.health.well.Store(s.Now().UnixNano())
		s.health.forget(scope)
		s.Log.Info("sending goes on, as another process found", zap.String("lane", laneName(scope)), zap.String("cause", was.Cause), zap.Duration("lasted", s.Now().Sub(was.Since)))
		s.loop.Wake(time.Time{})
	case was == none:
		s.releaseAllClaims(scope, true)
		s.Log.Warn("sending is halted already, as another process or an earlier one found: "+troubleWords(of), zap.String("lane", laneName(scope)), zap.String("cause", is.Cause),
			zap.String("words", mask.Text(is.Why)), zap.Time("next_probe", is.Until))
	case is.Strikes != was.Strikes || is.Cause != was.Cause:
		s.releaseAllClaims(scope, false)
	default:
		s.loop.Ring()
	}
}

// Look takes up what other processes told of the service's health.
func (s *Sender) Look() {
	for scope := range s.health.halts {
		s.health.halts[scope].Look(s.Now())
	}
}

// lift ends a halt for a request begun at began that went well.
func (s *Sender) lift(scope int, began time.Time) {
	was, lifted := s.health.halts[scope].Lift(began, s.Now())
	if !lifted {
		return
	}
	s.health.well.Store(s.Now().UnixNano())
	s.health.mu.Lock()
	before := s.health.before[scope]
	s.health.mu.Unlock()
	s.health.forget(scope)
	after := s.counts.burned()
	s.Log.Info("sending goes on: it was halted because "+troubleWords(apiclient.Trouble(was.Cause)), zap.String("lane", laneName(scope)),
		zap.String("cause", was.Cause), zap.Duration("lasted", s.Now().Sub(was.Since)),
		zap.Uint64("put_back", after[0]-before[0]), zap.Uint64("rejected", after[1]-before[1]),
		zap.Uint64("in_doubt", after[2]-before[2]), zap.Uint64("dropped", after[3]-before[3]))
	s.loop.Wake(time.Time{})
}

// keepsBack is what the halts mean for claims; marketing is held until then besides, zero for not.
func (h *health) keepsBack(now, marketing time.Time) (out []claims.Halt) {
	held := marketing.After(now)
	last := len(messaging.Lanes) - 1
	if halted, is := h.halts[everything].State(); is {
		all := claims.Halt{Lanes: inScope(everything), Until: halted.Until}
		all.Lanes[last] = !held
		out = append(out, all)
	} else {
		for lane := range messaging.Lanes {
			if halted, is := h.halts[lane].State(); is && !(held && lane == last) {
				out = append(out, claims.Halt{Lanes: inScope(lane), Until: halted.Until})
			}
		}
	}
	if held {
		out = append(out, claims.Halt{Lanes: inScope(last), Until: marketing})
	}
	return out
}

// tellAgain is after what time others are told again of what could not be told.
const tellAgain = time.Second

// probe tells others what was learned, and asks about a message that cannot be, which costs nothing, where the next probe is a question.
// An answer that shows no trouble lets one message go.
func (s *Sender) probe(ctx context.Context, now time.Time) (asked bool) {
	for scope := range s.health.halts {
		h := &s.health.halts[scope]
		if err := h.Tell(ctx, now); err != nil {
			s.loop.Wake(now.Add(tellAgain)) // claims meet the same trouble, and say so
			return false
		}
		if !s.health.mustAsk(scope, now) {
			continue
		}
		if mine, err := h.Try(ctx, now, s.turn()); err != nil || !mine || !s.health.mustAsk(scope, now) {
			if err != nil {
				s.loop.Wake(now.Add(tellAgain))
			}
			continue
		}
		s.ask(ctx, scope)
		return true
	}
	return false
}

// turn is how long the next probe is this sender's: time for the question, and then for the message.
func (s *Sender) turn() time.Duration { return 2*s.Timeout + holdMost }

// mayProbe reports whether there is anything to claim for, where one message after the other shows whether the service is well again.
func (s *Sender) mayProbe(ctx context.Context, now time.Time, scope int, lanes []messaging.Category) (bool, error) {
	h := &s.health.halts[scope]
	if _, halted := h.State(); !halted || h.Turn(now) {
		return true, nil
	}
	// A turn without a message would make all others wait.
	if due, waits, err := s.Store.NextDue(ctx, lanes...); err != nil || !waits || due.After(now) {
		return false, err
	}
	return h.Try(ctx, now, s.turn())
}

// mustAsk reports whether the next probe is a question.
func (h *health) mustAsk(scope int, now time.Time) bool {
	halted, is := h.halts[scope].State()
	return is && !halted.Asked && !halted.Until.After(now) && remedies[apiclient.Trouble(halted.Cause)].question
}

func (s *Sender) ask(ctx context.Context, scope int) {
	if s.Budget.Wait(ctx, pace.MostUrgent, time.Time{}) != nil {
		return
	}
	began, api := s.Now(), s.api.Load()
	_, err := (*api).MessageStatus(ctx, nobody)
	if ctx.Err() != nil || s.api.Load() != api {
		return
	}
	switch trouble := apiclient.TroubleOf(err); trouble {
	case apiclient.TroubleNone, apiclient.TroubleBusy:
		s.health.halts[scope].Answered()
	default:
		// What the question met may be more than what halts the lane.
		if of := scopeOf(trouble, 0); scope != everything && of == everything {
			s.strike(everything, began, trouble, false, err.Error(), "", messaging.Send{})
		}
		s.strike(scope, began, trouble, false, err.Error(), "", messaging.Send{})
	}
}
