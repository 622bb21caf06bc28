package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/store"
)

// grace is the least of patience: on a machine that is busy with other things a request has taken
// nearly a second from the last look before it to its arrival.
const grace = 2 * time.Second

// A Report is what a round found.
type Report struct {
	Seed       uint64                  `json:"seed"`
	Took       time.Duration           `json:"took_ns"`
	Customers  int                     `json:"customers"`
	Webhooks   int                     `json:"webhooks"` // answered 2xx, repeats counted once
	Messages   int                     `json:"messages"` // taken by the service
	Kills      int                     `json:"kills"`
	Stops      int                     `json:"stops"`
	Reloads    int                     `json:"reloads"`
	Restarts   int                     `json:"restarts"`       // of the database's server
	Doubts     int                     `json:"doubts"`         // put in doubt by kills, however they were settled since
	MaxDoubts  int                     `json:"max_doubts"`     // by one of them
	InDoubt    int                     `json:"in_doubt"`       // at the end, for whatever reason
	Unasked    int                     `json:"unasked"`        // of those: no request for it had arrived
	LongestWay time.Duration           `json:"longest_way_ns"` // of marketing, from its claim to its arrival at the service
	Runs       int                     `json:"runs"`           // campaigns begun by hand
	Slots      int                     `json:"slots"`          // of the job that fires each minute
	Uploads    int                     `json:"uploads"`
	States     map[messaging.State]int `json:"states"` // of all messages at the end
	Violations []string                `json:"violations"`
}

// unfinished says what is not at its end yet, "" for nothing.
func (r *round) unfinished(ctx context.Context) (what string, err error) {
	s, err := r.daemons[0].ledger(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	n, err := report.Records{Store: s}.Counts(ctx)
	if err != nil {
		return "", err
	}
	waiting, err := r.daemons[0].messages(ctx, messaging.StateWaiting)
	if err != nil {
		return "", err
	}
	r.held = heldBack(waiting, time.Now().Add(soon))
	left := len(waiting) - len(r.held)
	runs, err := s.OpenRuns(ctx, "")
	if err != nil {
		return "", err
	}
	runs = slices.DeleteFunc(runs, func(r messaging.Run) bool { // as messages that a rule put off
		return r.State == messaging.RunUploading && r.Waits == messaging.WaitQuietHours && r.WaitUntil.After(time.Now().Add(soon))
	})
	slots, err := slotsOf(ctx, s)
	if err != nil {
		return "", err
	}
	missing := 0
	for _, slot := range r.slots() {
		if slots[slot] == 0 {
			missing++
		}
	}
	if int64(left)+n.Sending+int64(len(runs)+missing) > 0 {
		what = fmt.Sprintf("%d waiting and put off by no rule, %d being sent, %d runs open, %d minutes without their run", left, n.Sending, len(runs), missing)
	}
	for i := range waiting {
		if d := &waiting[i]; what != "" && left <= 3 && !r.held[d.ID] {
			what += fmt.Sprintf("; message %d, step %d, due %s: %s", d.ID, d.Step, d.DueAt.Format(time.TimeOnly), d.Reason)
		}
	}
	return what, nil
}

// slots are the minutes at which the job ticks has to have fired: those between the first daemon's start and the end of all faults, but for
// those at which no daemon ran. Such a one is skipped where the next has come by the time that one runs, which is the machine's matter.
func (r *round) slots() (all []string) {
	for at := r.ready.Truncate(time.Minute).Add(time.Minute); !at.After(r.mended); at = at.Add(time.Minute) {
		nobody := len(r.daemons) > 0
		for _, d := range r.daemons {
			nobody = nobody && slices.ContainsFunc(d.away, func(s span) bool { return s.holds(at) })
		}
		if !nobody {
			all = append(all, at.UTC().Format(slotLayout))
		}
	}
	return all
}

// slotsOf counts what became of each slot of the job ticks.
func slotsOf(ctx context.Context, s *store.Store) (map[string]int, error) {
	runs, err := s.Runs(ctx, store.RunFilter{Job: ticks, Limit: 1000})
	return countSlots(runs), err
}

// slotLayout is how a run has its slot.
const slotLayout = "2006-01-02 15:04"

// earlier is how a run tells of the times before its own that passed while no daemon lived long enough to see them: the newest alone is run
// or recorded.
var earlier = regexp.MustCompile(`\b(\d+) earlier (?:times|ones)\b`)

// countSlots counts the runs of each slot, and a slot that a run says had passed as one.
func countSlots(runs []messaging.Run) map[string]int {
	slots := map[string]int{}
	for i := range runs {
		r := &runs[i]
		slots[r.Slot]++
		at, err := time.Parse(slotLayout, r.Slot)
		if told := earlier.FindStringSubmatch(r.Began + " " + r.Reason); err == nil && told != nil {
			n, _ := strconv.Atoi(told[1]) // digits, few of them
			for range n {
				at = at.Add(-time.Minute)
				slots[at.Format(slotLayout)]++
			}
		}
	}
	return slots
}

// soon is what settle waits for although a rule put it off: it leaves before the daemon has ended.
const soon = 3 * time.Second

// heldBack are those of what waits that a rule put off until then or later, and the steps behind them.
func heldBack(waiting []store.MessageStory, then time.Time) map[messaging.MessageID]bool {
	held := map[messaging.MessageID]bool{}
	for i := range waiting {
		d := &waiting[i]
		n := len(d.Verdicts)
		if n > 0 && d.Verdicts[n-1].Rule != messaging.RuleOnChange && d.Verdicts[n-1].Action == messaging.DeferSend && d.Verdicts[n-1].Until.Equal(d.DueAt) && d.DueAt.After(then) {
			held[d.ID] = true
		}
	}
	type matter struct {
		trigger, key string
		phone        messaging.Phone
	}
	of := func(d *store.MessageStory) matter { return matter{d.Trigger, d.Key, d.Phone} }
	first := map[matter]int{}
	for i := range waiting {
		if d := &waiting[i]; held[d.ID] && d.Step > 0 && (first[of(d)] == 0 || d.Step < first[of(d)]) {
			first[of(d)] = d.Step
		}
	}
	for i := range waiting {
		if d := &waiting[i]; first[of(d)] > 0 && d.Step > first[of(d)] {
			held[d.ID] = true
		}
	}
	return held
}

// mayLack reports whether a message need not have been taken: it may have been, or a rule put it off until after the end.
func (r *round) mayLack(d *messaging.Message) bool {
	return d.State == messaging.StateInDoubt || d.State == messaging.StateWaiting && r.held[d.ID]
}

// audit holds the ledger, the shop's memory and the service's against each other.
func (r *round) audit(ctx context.Context) error {
	rows, err := r.daemons[0].messages(ctx, "")
	if err != nil {
		return err
	}
	ledger := map[call]*messaging.Message{}
	r.report.States = map[messaging.State]int{}
	r.claimed = map[messaging.MessageID]time.Time{}
	all := []*messaging.Message{}
	r.report.Doubts, r.report.MaxDoubts = doubtsOfKills(rows)
	for i := range rows {
		d := &rows[i].Message
		all = append(all, d)
		r.claimed[d.ID] = rows[i].ClaimedAt
		c := callOf(d)
		switch other := ledger[c]; {
		case other == nil || unsent(other):
			ledger[c] = d
		case !unsent(d): // what was cancelled or dropped may be queued anew by another event
			r.violate("%s: messages %d and %d for one matter", c, other.ID, d.ID)
		}
		if d.State == messaging.StateInDoubt {
			r.report.InDoubt++
			if !r.service.saw(c, time.Time{}) {
				r.report.Unasked++
				r.Say("message %d, attempt %d of %s, claimed %s, is in doubt, and no request for it arrived: %s", d.ID, d.Attempt, lastOwner(&rows[i]), rows[i].ClaimedAt.Format("15:04:05.000"), d.Reason)
			}
		}
	}
	for _, c := range r.shop.all() {
		r.report.Customers++
		for _, words := range c.refusals {
			r.violate("customer %d: %s", c.number, words)
		}
		r.auditReminder(c, ledger[call{c.phone(), reminder}])
		r.auditThanks(c, ledger[call{c.phone(), thanks}], thanks, 1)
		r.auditThanks(c, ledger[call{c.phone(), receipt}], receipt, maxResends)
		for _, template := range append(steps, extra) {
			r.auditTaken(c, template, ledger[call{c.phone(), template}], r.service.accepted(call{c.phone(), template}), 1)
		}
		if err := r.auditOffer(ctx, c, ledger[call{c.phone(), offer}]); err != nil {
			return err
		}
		r.auditSequence(c, ledger)
		r.auditRules(c, ledger)
	}
	// A kill leaves in doubt what was asked for and not answered, and calls that had begun and not arrived.
	if r.KillEvery > 0 && r.report.Unasked > r.report.Kills*unseenMost {
		r.violate("%d kills left %d messages in doubt of which no request had arrived", r.report.Kills, r.report.Unasked)
	}
	r.auditHalts(all)
	r.auditReasons(all)
	r.auditRate()
	r.auditPace()
	if err := r.auditEvents(ctx); err != nil {
		return err
	}
	if err := r.auditRuns(ctx); err != nil {
		return err
	}
	return r.auditLogs()
}

// doubtsOfKills counts the attempts that whoever came after a process put in doubt because it had ended, and the most of one process. A process
// has a name of its own, so one that is killed has one kill.
func doubtsOfKills(rows []store.MessageStory) (all, most int) {
	of := map[string]int{}
	for i := range rows {
		for _, a := range rows[i].Attempts {
			if a.State == messaging.StateInDoubt && strings.HasPrefix(a.Reason, "the daemon ended") {
				all++
				of[a.Owner]++
				most = max(most, of[a.Owner])
			}
		}
	}
	return all, most
}

// lastOwner is the process that made the newest attempt of a message.
func lastOwner(d *store.MessageStory) string {
	if n := len(d.Attempts); n > 0 {
		return d.Attempts[n-1].Owner
	}
	return "nobody"
}

// unsent reports whether a message ended without a call that may have been taken.
func unsent(d *messaging.Message) bool {
	return d.State == messaging.StateCancelled || d.State == messaging.StateDropped
}

func callOf(d *messaging.Message) call { return call{string(d.Phone), d.Send.Template} }

func (c call) String() string { return c.template + " to " + mask.Number(c.phone) }

// auditReminder: at most once, not after the order or the block, and not without a reason
// missing.
func (r *round) auditReminder(c *customer, d *messaging.Message) {
	taken := r.service.accepted(call{c.phone(), reminder})
	r.auditTaken(c, reminder, d, taken, 1)
	switch {
	case c.cart.answered.IsZero() || len(taken) > 0 || r.excused(c):
	case d == nil:
		r.violate("customer %d: left a cart, and no reminder was queued", c.number)
	case !r.mayLack(d):
		r.violate("customer %d: the reminder is missing: message %d is %s: %s", c.number, d.ID, d.State, d.Reason)
	}
}

// auditThanks: once for each order; as often as most says where it is sent again in doubt.
func (r *round) auditThanks(c *customer, d *messaging.Message, template string, most int) {
	taken := r.service.accepted(call{c.phone(), template})
	r.auditTaken(c, template, d, taken, most)
	_, blocked := r.blocked[c.phone()]
	switch {
	case c.order.answered.IsZero() || len(taken) > 0 || blocked:
	case d == nil:
		r.violate("customer %d: ordered, and no %s was queued", c.number, template)
	case !r.mayLack(d):
		r.violate("customer %d: %s is missing: message %d is %s: %s", c.number, template, d.ID, d.State, d.Reason)
	}
}

// auditTaken holds the ledger's word on a message against the service's.
func (r *round) auditTaken(c *customer, template string, d *messaging.Message, taken []time.Time, most int) {
	r.report.Messages += len(taken)
	if len(taken) > most {
		r.violate("customer %d: %s was taken %d times", c.number, template, len(taken))
	}
	if d == nil {
		if len(taken) > 0 {
			r.violate("customer %d: %s was taken, and the ledger has no message", c.number, template)
		}
		return
	}
	switch d.State {
	case messaging.StateAccepted:
		if len(taken) == 0 {
			r.violate("customer %d: message %d is accepted, and the service never took it", c.number, d.ID)
		}
	case messaging.StateInDoubt: // taken or not
	default:
		if len(taken) > 0 {
			r.violate("customer %d: message %d is %s (%s), and the service took it", c.number, d.ID, d.State, d.Reason)
		}
	}
}

func idOf(d *messaging.Message) messaging.MessageID {
	if d == nil {
		return 0
	}
	return d.ID
}

// auditEvents: every answered webhook is stored once, and nothing else is stored.
func (r *round) auditEvents(ctx context.Context) (err error) {
	s, err := r.daemons[0].ledger(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	stored := map[string]int{}
	for before := messaging.EventID(0); ; {
		rows, err := s.Events(ctx, store.EventFilter{Limit: 1000, Before: before})
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			break
		}
		for i := range rows {
			stored[rows[i].DedupeKey]++
			before = rows[i].ID
		}
	}
	for _, c := range r.shop.all() {
		for key, p := range c.webhooks() {
			n := stored[key]
			delete(stored, key)
			if !p.answered.IsZero() {
				r.report.Webhooks++
			}
			if n > 1 || n == 0 && !p.answered.IsZero() {
				r.violate("customer %d: the webhook %s was answered at %s and is stored %d times", c.number, key, p.answered.Format(time.TimeOnly), n)
			}
		}
	}
	if len(stored) > 0 {
		r.violate("%d events are stored that nobody posted", len(stored))
	}
	return nil
}

// auditRuns: each part was uploaded at most once, and as its state says, and each minute had one run of the job that fires then.
func (r *round) auditRuns(ctx context.Context) (err error) {
	s, err := r.daemons[0].ledger(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	runs, err := s.Runs(ctx, store.RunFilter{Limit: 1000})
	if err != nil {
		return err
	}
	slots, err := slotsOf(ctx, s)
	if err != nil {
		return err
	}
	r.report.Slots = len(slots)
	for slot, n := range slots {
		if n != 1 {
			r.violate("%d runs of the slot %s", n, slot)
		}
	}
	for _, slot := range r.slots() {
		if slots[slot] == 0 {
			r.violate("no run of the slot %s", slot)
		}
	}
	times := map[string]int{} // by what was uploaded: no two runs have the same list
	for _, c := range r.service.box.Campaigns() {
		times[c.SHA256]++
		r.report.Uploads++
		if since, quiet := r.nights.quietFor(false, c.CreatedAt); quiet && since > r.shop.patience() && c.Name != ticks {
			r.violate("a file was taken %s after quiet hours had begun", since)
		}
	}
	for i := range runs {
		parts, err := s.Parts(ctx, runs[i].ID)
		if err != nil {
			return err
		}
		for _, p := range parts {
			n := times[p.SHA256]
			switch {
			case n > 1:
				r.violate("part %d of run %d was taken %d times", p.Number, p.RunID, n)
			case p.State == messaging.PartAccepted && n == 0:
				r.violate("part %d of run %d is accepted, and the service never took it", p.Number, p.RunID)
			case p.State != messaging.PartAccepted && p.State != messaging.PartInDoubt && n > 0:
				r.violate("part %d of run %d is %s, and the service took it", p.Number, p.RunID, p.State)
			}
		}
	}
	return nil
}

// auditLogs: no daemon ever broke.
func (r *round) auditLogs() error {
	for _, d := range r.daemons {
		if err := r.auditLog(d); err != nil {
			return err
		}
	}
	return nil
}

func (r *round) auditLog(d *daemon) (err error) {
	f, err := os.Open(d.log())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if text := lines.Text(); strings.Contains(text, "panic") || strings.Contains(text, "DATA RACE") {
			r.violate("the daemon's log: %s", text)
		}
	}
	return lines.Err()
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
