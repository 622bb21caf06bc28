package sender

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/claims"
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
	TroubleRejections:        {5, false, 5 * time.Second, time.Minute},
}

func words(t apiclient.Trouble) string {
	if t == TroubleRejections {
		return "the service refuses one message after the other"
	}
	return t.Words()
}

const (
	// hasChances is how many attempts a message has had when an answer that others do not get is
	// taken for its own fault.
	hasChances = 3

	// tellsBy is how long a probe that was accepted may take to show by its status whether the
	// account has points again, before another one goes.
	tellsBy = time.Minute

	// nobody is the message that questions are about.
	nobody = "0"
)

// health is what is known of the service beside the Halt.
type health struct {
	halt   pace.Halt
	slowed atomic.Bool  // said in the log
	well   atomic.Int64 // when the service was last seen to be, unix nanoseconds; 0 for never

	mu     sync.Mutex
	of     apiclient.Trouble // of the last calls, one after the other
	n      int
	last   nudgewire.DispatchID
	urgent bool          // one of them was urgent
	struck chan struct{} // closed by the next strike
	before [4]uint64     // what had happened when the trouble began
}

// learn takes in what a call begun at began showed about the service, and reports whether the message
// waits for the service to be well again rather than be refused for good.
func (s *Sender) learn(calling context.Context, began time.Time, c *claim, answer apiclient.Answer, err error, means meaning) (waits bool) {
	call, _ := errors.AsType[*apiclient.CallError](err)
	trouble := means.trouble
	if err != nil && (call == nil || call.HTTPStatus == 0 && calling.Err() != nil) {
		return false // not of the service, or cut by us
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
		s.taken(began, answer)
		return false
	case trouble == apiclient.TroubleBusy || call.HTTPStatus == 0 && trouble == apiclient.TroubleNone:
		return false
	case trouble == apiclient.TroubleNone: // a rule knows the words: they are about this message alone
		s.understood(began)
		return false
	}
	return s.troubled(began, c, trouble, err)
}

// troubled counts a call that met trouble, and halts when there were enough of them.
func (s *Sender) troubled(began time.Time, c *claim, trouble apiclient.Trouble, err error) (waits bool) {
	h := &s.health
	_, halted := h.halt.State()
	refusal := trouble == TroubleRejections
	if refusal && halted && s.understood(began) {
		halted = false
	}
	enough := h.count(trouble, &c.Dispatch) >= remedies[trouble].inRow
	if halted && h.halt.After(began) || !halted && enough {
		s.strike(began, trouble, false, err.Error())
		return refusal && halted || !refusal && trouble != apiclient.TroubleOutage
	}
	// Others are taken, and this one was not, again and again: it is the message.
	alone := trouble == apiclient.TroubleAddress && !halted && c.Attempt >= hasChances
	return !refusal && !alone && trouble != apiclient.TroubleOutage
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
func (s *Sender) understood(began time.Time) (lifted bool) {
	now, halted := s.health.halt.State()
	switch {
	case !halted, now.Cause == string(TroubleRejections), now.Cause == string(apiclient.TroublePoints), !s.health.halt.After(began):
		return false
	}
	s.lift(began)
	return true
}

// count says how many different dispatches met the same trouble, one after the other, this one
// included; TroubleNone begins anew.
func (h *health) count(t apiclient.Trouble, d *nudgewire.Dispatch) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of != t {
		h.of, h.n, h.last, h.urgent = t, 0, 0, false
	}
	if h.last != d.ID {
		h.n, h.last, h.urgent = h.n+1, d.ID, h.urgent || d.Category.Urgent()
	}
	return h.n
}

// forget begins counting anew.
func (h *health) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of, h.n, h.last, h.urgent = apiclient.TroubleNone, 0, 0, false
}

// holds says what keeps a message of that lane back. Refusals that may yet be about the messages hold
// the lane that they befell: a list that the service does not take must not stop login codes.
func (h *health) holds(urgent bool) (now pace.Halted, held bool) {
	now, held = h.halt.State()
	if !held || !urgent || now.Urgent {
		return now, held
	}
	switch apiclient.Trouble(now.Cause) {
	case TroubleRejections, apiclient.TroubleAddress:
		h.mu.Lock()
		defer h.mu.Unlock()
		return now, h.urgent
	default:
		return now, true
	}
}

// strikes is closed by the next strike.
func (h *health) strikes() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.struck == nil {
		h.struck = make(chan struct{})
	}
	return h.struck
}

// taken notes that a message was accepted.
func (s *Sender) taken(began time.Time, answer apiclient.Answer) {
	h := &s.health
	now, halted := h.halt.State()
	h.forget()
	if !halted {
		h.well.Store(time.Now().UnixNano())
		return
	}
	// An acceptance says nothing of points where only a status told that there are none.
	if now.Cause == string(apiclient.TroublePoints) && now.ByStatus && answer.MessageID != "" {
		h.halt.Hold(time.Now().Add(tellsBy))
		s.loop.Ring()
		return
	}
	s.lift(began)
}

// StatusReported takes in what a status showed about the service: a message that was accepted, and failed because
// the account has no points, or one that shows that it has some again.
func (s *Sender) StatusReported(m *nudgewire.Message, p *nudgewire.Poll) {
	switch {
	case p.Status == nudgewire.StatusFailed && p.Class == nudgewire.ErrorNoPoints:
		s.strike(m.AcceptedAt, apiclient.TroublePoints, true, p.Error)
	case p.Status == nudgewire.StatusSent, p.Status == nudgewire.StatusDelivered, p.Status == nudgewire.StatusRead, p.Status == nudgewire.StatusFailed:
		if now, halted := s.health.halt.State(); halted && now.Cause == string(apiclient.TroublePoints) {
			s.lift(m.AcceptedAt)
		}
	}
}

// strike halts, or goes on halting. Claims in hand go back at once.
func (s *Sender) strike(began time.Time, trouble apiclient.Trouble, byStatus bool, said string) {
	h, r, now := &s.health, remedies[trouble], time.Now()
	why := words(trouble) + ": " + said
	first, counted := h.halt.Strike(began, now, pace.Cause{
		Name: string(trouble), First: r.first, Max: r.most, Marks: pace.Marks{Urgent: h.befellUrgent(trouble), ByStatus: byStatus},
	}, why)
	if !counted {
		return
	}
	s.giveAllBack(first)
	if first {
		until, _ := h.halt.State()
		s.Log.Warn("sending is halted: "+words(trouble), zap.String("cause", string(trouble)), zap.String("words", said), zap.Time("next_probe", until.Until))
	}
}

// giveAllBack ends the waiting of claims in hand.
func (s *Sender) giveAllBack(first bool) {
	h := &s.health
	h.mu.Lock()
	if h.struck != nil {
		close(h.struck)
		h.struck = nil
	}
	if first {
		h.before = s.counts.burned()
	}
	h.mu.Unlock()
	s.Budget.Dismiss()
	s.loop.Ring()
}

// befellUrgent reports whether an urgent message met the trouble of the last calls.
func (h *health) befellUrgent(t apiclient.Trouble) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.of == t && h.urgent
}

// heard takes in that another process halts, goes on halting, or lets go on.
func (s *Sender) heard(was, is pace.Halted) {
	of, none := apiclient.Trouble(is.Cause), pace.Halted{}
	switch {
	case is == none:
		s.health.well.Store(time.Now().UnixNano())
		s.health.forget()
		s.Log.Info("sending goes on, as another process found", zap.String("cause", was.Cause), zap.Duration("lasted", time.Since(was.Since)))
		s.loop.Wake(time.Time{})
	case was == none:
		s.giveAllBack(true)
		s.Log.Warn("sending is halted already, as another process or an earlier one found: "+words(of), zap.String("cause", is.Cause), zap.String("words", is.Why), zap.Time("next_probe", is.Until))
	case is.Strikes != was.Strikes || is.Cause != was.Cause:
		s.giveAllBack(false)
	default:
		s.loop.Ring()
	}
}

// Look takes up what other processes told of the service's health.
func (s *Sender) Look() { s.health.halt.Look(time.Now()) }

// lift ends the halt for a request begun at began that went well.
func (s *Sender) lift(began time.Time) {
	was, lifted := s.health.halt.Lift(began, time.Now())
	if !lifted {
		return
	}
	s.health.well.Store(time.Now().UnixNano())
	s.health.mu.Lock()
	before := s.health.before
	s.health.mu.Unlock()
	s.health.forget()
	after := s.counts.burned()
	s.Log.Info("sending goes on: it was halted because "+words(apiclient.Trouble(was.Cause)),
		zap.String("cause", was.Cause), zap.Duration("lasted", time.Since(was.Since)),
		zap.Uint64("put_back", after[0]-before[0]), zap.Uint64("rejected", after[1]-before[1]),
		zap.Uint64("in_doubt", after[2]-before[2]), zap.Uint64("dropped", after[3]-before[3]))
	s.loop.Wake(time.Time{})
}

// keepsBack is what the halt means for claims.
func (h *health) keepsBack() claims.Halt {
	halted, is := h.halt.State()
	_, urgent := h.holds(true)
	return claims.Halt{Is: is, Until: halted.Until, UrgentPass: !urgent}
}

// tellAgain is after what time others are told again of what could not be told.
const tellAgain = time.Second

// probe tells others what was learned, and asks about a message that cannot be, which costs nothing, where the next probe is a question.
// An answer that shows no trouble lets one message go.
func (s *Sender) probe(ctx context.Context, now time.Time) (asked bool) {
	if err := s.health.halt.Tell(ctx, now); err != nil {
		s.loop.Wake(now.Add(tellAgain)) // claims meet the same trouble, and say so
		return false
	}
	if !s.health.mustAsk(now) {
		return false
	}
	if mine, err := s.health.halt.Try(ctx, now, s.turn()); err != nil || !mine || !s.health.mustAsk(now) {
		if err != nil {
			s.loop.Wake(now.Add(tellAgain))
		}
		return false
	}
	s.ask(ctx)
	return true
}

// turn is how long the next probe is this sender's: time for the question, and then for the message.
func (s *Sender) turn() time.Duration { return 2*s.Timeout + holdMost }

// mayClaim reports whether there is anything to claim for, where one message after the other shows whether the service is well again.
func (s *Sender) mayClaim(ctx context.Context, now time.Time) (bool, error) {
	if _, halted := s.health.halt.State(); !halted || s.health.halt.Turn(now) {
		return true, nil
	}
	// A turn without a message would make all others wait.
	if due, waits, err := s.Store.NextDue(ctx); err != nil || !waits || due.After(now) {
		return false, err
	}
	return s.health.halt.Try(ctx, now, s.turn())
}

// mustAsk reports whether the next probe is a question.
func (h *health) mustAsk(now time.Time) bool {
	halted, is := h.halt.State()
	return is && !halted.Asked && !halted.Until.After(now) && remedies[apiclient.Trouble(halted.Cause)].question
}

func (s *Sender) ask(ctx context.Context) {
	if s.Budget.Wait(ctx, pace.Urgent, time.Time{}) != nil {
		return
	}
	began, api := time.Now(), s.api.Load()
	_, err := (*api).MessageStatus(ctx, nobody)
	if ctx.Err() != nil || s.api.Load() != api {
		return
	}
	switch trouble := apiclient.TroubleOf(err); trouble {
	case apiclient.TroubleNone, apiclient.TroubleBusy:
		s.health.halt.Answered()
	default:
		s.strike(began, trouble, false, err.Error())
	}
}
