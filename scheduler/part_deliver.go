package scheduler

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/backoff"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/pace"
	"github.com/nudgewire/nudgewire/internal/units"
)

const (
	firstRetry = 5 * time.Second  // after an upload that was surely not taken
	lastRetry  = 10 * time.Minute // and never later than this
	giveUp     = 24 * time.Hour   // of trying, after which a part is not tried again
	firstFall  = time.Second      // after a part that changed the second time while it was cut
	lastFall   = time.Minute      // and never later than this
	maxDoubts  = 2                // uploads in a row without a readable answer: then a person should look

	finishTries = 12 // of storing an outcome once we are being stopped, half a minute in all
)

// A stop is why a run pauses after what it did last. The zero value is none.
type stop struct {
	by     messaging.RunStop
	reason string
}

// deliver takes what is left of the list to where it goes, one part after the other, and ends the run.
func (w *working) deliver(ctx context.Context) error {
	w.begun = w.Now()
	if w.run.Deliver == messaging.DeliverPerMessage {
		if w.run.RetryOf != 0 {
			return w.enqueueRetries(ctx)
		}
		return w.handOver(ctx)
	}
	if err := w.recover(ctx); err != nil {
		return err
	}
	m := newMeter(w.run, nil, w.OnProgress, w.Now)
	for doubts := 0; ; {
		parts, err := w.Store.Parts(ctx, w.run.ID) // a person may have spoken about one in doubt meanwhile
		if err != nil {
			return err
		}
		m.sent(settled(parts))
		p := w.next(parts)
		if p == nil {
			state, reason := verdict(parts)
			return w.change(ctx, state, reason, nil)
		}
		halt, err := w.fileCanary(ctx, parts)
		if err != nil {
			return err
		}
		if halt.by != "" {
			return w.pause(ctx, halt)
		}
		left, halt, err := w.take(ctx, p, parts)
		if err != nil {
			return err
		}
		if !left {
			continue
		}
		if doubts++; p.State != messaging.PartInDoubt {
			doubts = 0
		}
		if parts, err = w.Store.Parts(ctx, w.run.ID); err != nil {
			return err
		}
		more := slices.ContainsFunc(parts, func(p messaging.Part) bool { return p.State == messaging.PartWaiting })
		if doubts == maxDoubts && more {
			halt = stop{messaging.StopDoubt, fmt.Sprintf("%d uploads in a row got no readable answer; resume when the service is well", doubts)}
		}
		if halt.by != "" && more { // else nothing is left that could be kept at home
			m.sent(settled(parts))
			return w.pause(ctx, halt)
		}
	}
}

// next is the part whose turn it is; nil for none. One that the service did not take keeps those behind it waiting, and one whose rows were put
// off does not.
func (w *working) next(parts []messaging.Part) (next *messaging.Part) {
	for i := range parts {
		p := &parts[i]
		switch {
		case p.State != messaging.PartWaiting:
		case p.Attempt > 0 || !p.RetryAt.After(w.Now()):
			return p
		case next == nil || p.RetryAt.Before(next.RetryAt):
			next = p
		}
	}
	return next
}

// take waits for the turn of a part, and takes it to its end. left says that its file did leave, or was to: of some parts nobody
// may go now. halt is why the run should pause after it.
func (w *working) take(ctx context.Context, p *messaging.Part, parts []messaging.Part) (left bool, halt stop, err error) {
	if p.Attempt == 0 && p.RetryAt.After(w.Now()) {
		if err := w.awaitTurn(ctx, p); err != nil {
			return false, stop{}, err
		}
	}
	budget := w.Line(w.run.Account).Budget
	admitted := budget == nil
	for falls := 0; ; {
		if p.Attempt > 0 {
			err = w.await(ctx, p.RetryAt)
		} else {
			err = w.await(ctx, time.Time{})
		}
		if err == nil {
			err = w.quietHours(ctx)
		}
		if err != nil {
			return false, stop{}, err
		}
		if !admitted { // and nobody has halted it while it waited for that
			if err := budget.Wait(ctx, pace.Upload, time.Time{}); err != nil {
				return false, stop{}, err
			}
			admitted = true
			continue
		}
		now, file, err := w.claim(ctx, *p, parts, fewer(w.aheadOfCanary(parts), p.Rows, falls))
		if no, full := errors.AsType[*noRoomError](err); full {
			if err := w.awaitRoom(ctx, no); err != nil {
				return false, stop{}, err
			}
			continue
		}
		if no, spent := errors.AsType[*noBudgetError](err); spent {
			if err := w.awaitBudget(ctx, no); err != nil {
				return false, stop{}, err
			}
			continue
		}
		if errors.Is(err, errChanged) {
			if falls++; falls > 1 { // the same may be in its way at once again
				err = w.await(ctx, w.Now().Add(backoff.Next(falls-1, firstFall, lastFall, w.Jitter())))
			} else {
				err = nil
			}
			if err == nil {
				continue
			}
		}
		if err != nil {
			return false, stop{}, err
		}
		*p = now
		if p.Attempt == 1 {
			w.begun = w.Now()
		}
		if w.run.Waits == messaging.WaitLimits || w.run.Waits == messaging.WaitAt || w.run.Waits == messaging.WaitBudget {
			if err := w.waits(ctx, "", time.Time{}, ""); err != nil {
				return false, stop{}, err
			}
		}
		if file == nil {
			return false, stop{}, nil
		}
		halt, err = w.upload(ctx, p, file)
		return true, halt, err
	}
}

// fewer is how many rows a part has at the most that was cut so often and not claimed, because something had changed: half as many each time after
// the first. most is how many it may have at first, of rows; 0 for as many as fit.
func fewer(most, rows int64, falls int) int64 {
	if falls < 2 {
		return most
	}
	if most == 0 || most > rows {
		most = rows
	}
	return max(1, most>>(falls-1))
}

// pause stops the run for now, and says why.
func (w *working) pause(ctx context.Context, halt stop) error {
	return w.change(ctx, messaging.RunPaused, halt.reason, func(r *messaging.Run) {
		r.Stopped, r.Before, r.Owner, r.LeaseEnd = halt.by, messaging.RunUploading, "", time.Time{}
	})
}

// settled counts the rows that are with the service and the parts that need nothing more.
func settled(parts []messaging.Part) (rows int64, done int) {
	for _, p := range parts {
		if p.State != messaging.PartWaiting && p.State != messaging.PartUploading {
			done++
		}
		if p.State == messaging.PartAccepted {
			rows += p.Rows
		}
	}
	return rows, done
}

// recover settles parts that a crash left uploading: their files may have arrived, so they are in doubt.
func (w *working) recover(ctx context.Context) error {
	parts, err := w.Store.Parts(ctx, w.run.ID)
	for i := range parts {
		p := &parts[i]
		if p.State != messaging.PartUploading || err != nil {
			continue
		}
		p.State, p.Reason = messaging.PartInDoubt, "nudgewire stopped before it could store how its upload ended"
		p.UpdatedAt = w.Now().UTC()
		err = w.finishPart(ctx, *p)
		w.log.Warn("a part was cut off by a stop", zap.Int("part", p.Number), zap.String("state", string(p.State)))
	}
	return err
}

// await sleeps until at, and while the job is halted. It keeps the lease and listens for a
// person's word meanwhile.
func (w *working) await(ctx context.Context, at time.Time) error {
	for {
		if err := w.keep(ctx); err != nil {
			return err
		}
		left := at.Sub(w.Now())
		if w.held() {
			left = max(left, time.Second)
		}
		if left <= 0 {
			return ctx.Err()
		}
		if err := w.Sleep(ctx, min(left, w.Heed)); err != nil {
			return err
		}
	}
}

// upload sends one claimed part. halt is why the run should pause after it.
func (w *working) upload(ctx context.Context, p *messaging.Part, file *cutting) (halt stop, err error) {
	// A file cut half-way may be acted upon, so an upload outlives the end of ctx by the grace
	// period. The lease is kept meanwhile: another process must not take it for dead.
	sending, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	stopping := context.AfterFunc(ctx, func() {
		t := time.AfterFunc(w.Grace, cut)
		context.AfterFunc(sending, func() { t.Stop() })
	})
	defer stopping()
	done := make(chan struct{})
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		w.hold(sending, done)
	}()
	answer, err := w.send(sending, *p, file)
	close(done)
	<-kept
	return w.settle(ctx, p, answer, err)
}

// hold renews the lease every third of it until done.
func (w *working) hold(ctx context.Context, done <-chan struct{}) {
	every := time.NewTicker(w.Lease / 3)
	defer every.Stop()
	for {
		select {
		case <-done:
			return
		case <-every.C:
			if _, err := w.Store.Renew(ctx, w.run.ID, w.Owner, w.Now().Add(w.Lease).UTC()); err != nil && ctx.Err() == nil {
				w.log.Warn("keeping the claim during an upload", zap.Error(err))
			}
		}
	}
}

func (w *working) send(ctx context.Context, p messaging.Part, file *cutting) (apiclient.Answer, error) {
	name := w.run.CampaignName
	if nth := file.nth; nth > 1 || w.run.Tally.Parts > 1 {
		name = fmt.Sprintf("%s (%d of %d)", name, nth, max(nth, w.run.Tally.Parts))
	}
	called := fmt.Sprintf("%s-part-%04d.csv", fileName(w.run.Job), p.Number)
	return w.create(ctx, w.run.Account, name, w.run.TemplateID, called, bytes.NewReader(file.file.Bytes()), p.Bytes)
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

func fileName(text string) string {
	name := strings.Trim(notInNames.ReplaceAllString(strings.ReplaceAll(text, ":", ""), "-"), ".-")
	if name == "" {
		return "_"
	}
	return name
}

// settle turns the outcome of an upload into the part's state, and stores it.
func (w *working) settle(ctx context.Context, p *messaging.Part, answer apiclient.Answer, sent error) (halt stop, err error) {
	now := w.Now().UTC()
	p.RetryAt, p.Reason = time.Time{}, ""
	var call *apiclient.CallError
	if errors.As(sent, &call) {
		p.HTTPStatus = call.HTTPStatus
	}
	if sent != nil {
		p.Reason = sent.Error()
	}
	switch apiclient.OutcomeOf(sent) {
	case apiclient.Accepted:
		p.State, p.HTTPStatus = messaging.PartAccepted, answer.HTTPStatus
		p.CampaignID, p.MessageIDs, p.Phones, p.Answer = answer.CampaignID, answer.MessageIDs, answer.Phones, answer.Raw
	case apiclient.NotAccepted:
		p.State = messaging.PartWaiting
		wait := backoff.Next(p.Attempt, firstRetry, lastRetry, w.Jitter())
		if call != nil {
			wait = max(wait, call.RetryAfter)
		}
		p.RetryAt = now.Add(wait)
		if p.RetryAt.Sub(w.begun) > giveUp {
			p.State, p.RetryAt = messaging.PartRejected, time.Time{}
			p.Reason = fmt.Sprintf("given up after %s: %s", units.Count(p.Attempt, "attempt"), p.Reason)
		}
	case apiclient.Rejected:
		p.State, halt = refusal(call, w.run.Account)
	default:
		p.State = messaging.PartInDoubt
	}
	return halt, w.finish(ctx, p)
}

// refusal is what becomes of a part that the service refused, and of its run: the next part would meet
// the same no. What was refused because of the account, the key or the size goes again once that is mended;
// what was refused for its own sake does not. The API document shows errors by their status alone, so
// words do not count.
func refusal(call *apiclient.CallError, account string) (messaging.PartState, stop) {
	section, of := "api", "the account"
	if account != "" {
		section, of = "accounts."+account, "account "+account
	}
	switch words, status := call.Error(), call.HTTPStatus; {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return messaging.PartWaiting, stop{messaging.StopKey, "the service refuses the API key; resume after correcting " + section + ".key"}
	case status == http.StatusPaymentRequired:
		return messaging.PartWaiting, stop{messaging.StopRejection, words + "; resume once " + of + " has points"}
	case status >= 300 && status < 400, status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status == http.StatusGone:
		return messaging.PartWaiting, stop{messaging.StopRejection, words + "; resume after correcting " + section + ".base_url, or the template"}
	case status == http.StatusRequestEntityTooLarge:
		return messaging.PartWaiting, stop{messaging.StopSize, words + "; set max_size of the job lower, reload, and resume: what is left is cut anew"}
	default:
		return messaging.PartRejected, stop{messaging.StopRejection, words + "; resume sends the parts after it, and jobs retry then sends this one again"}
	}
}

// finish stores a part's outcome. What is known must not be lost, and a part left uploading ends in
// doubt: so it tries until the store takes it. Once we are being stopped it tries for half a minute.
func (w *working) finish(ctx context.Context, p *messaging.Part) error {
	p.UpdatedAt = w.Now().UTC()
	going := ctx
	ctx = context.WithoutCancel(ctx)
	for try, last := 1, 0; ; try++ {
		err := w.finishPart(ctx, *p)
		if err == nil { // the ids are the store's now, and may be many
			p.Followed, p.MessageIDs, p.Phones = p.Followed+int64(len(p.MessageIDs)), nil, nil
		}
		if err == nil || errors.Is(err, messaging.ErrMoved) {
			return err
		}
		if going.Err() != nil {
			last++
		}
		w.log.Error("storing how a part ended; it is tried until it can be", zap.Int("part", p.Number), zap.Error(err))
		if last == finishTries {
			return err
		}
		if slept := w.Sleep(ctx, backoff.Next(min(try, finishTries), 100*time.Millisecond, 5*time.Second, w.Jitter())); slept != nil {
			return err
		}
	}
}

// finishPart stores how an upload ended, with the ids that its answer names. What cannot be made a
// message of them now is made one after the next upload, or at the next start.
func (w *working) finishPart(ctx context.Context, p messaging.Part) error {
	if err := w.Store.FinishPart(ctx, p); err != nil {
		return err
	}
	if err := w.Store.FollowRest(ctx); err != nil {
		w.log.Error("following the messages of an upload", zap.Int("part", p.Number), zap.Error(err))
	}
	return nil
}

// verdict is how a run ends by its parts.
func verdict(parts []messaging.Part) (messaging.RunState, string) {
	var accepted, doubt, gone int
	first := ""
	for _, p := range parts {
		switch p.State {
		case messaging.PartAccepted:
			accepted++
		case messaging.PartExcluded:
			gone++ // nothing of it is to be sent
		case messaging.PartInDoubt:
			doubt++
			if first == "" {
				first = fmt.Sprintf("part %d is in doubt: %s", p.Number, p.Reason)
			}
		default:
			if first == "" {
				first = fmt.Sprintf("part %d was not accepted: %s", p.Number, p.Reason)
			}
		}
	}
	all := len(parts) - gone
	count := ""
	if all > 1 {
		count = fmt.Sprintf("%d of %d parts %s accepted", accepted, all, verb(int64(accepted), "was", "were"))
	}
	switch {
	case all == 0:
		return messaging.RunDone, "nobody is left to send to: all rows were excluded since it was built"
	case accepted == all:
		return messaging.RunDone, ""
	case accepted == 0 && doubt == 0:
		return messaging.RunFailed, first
	default:
		return messaging.RunPartial, joinWords(count, first)
	}
}

// Untracked says what is not known of who was reached by a run that uploads files and is done; ""
// where every message is followed.
func Untracked(r *messaging.Run, parts []messaging.Part) string {
	var rows, followed int64
	for i := range parts {
		if p := &parts[i]; p.State == messaging.PartAccepted {
			rows, followed = rows+p.Rows, followed+max(p.Followed, int64(len(p.MessageIDs)))
		}
	}
	switch {
	case r.State != messaging.RunDone, r.Deliver != messaging.DeliverCSV, followed >= rows:
		return ""
	case followed == 0:
		return "Upload accepted. The service returned no message ids; see its dashboard for delivery."
	default:
		return fmt.Sprintf("Upload accepted. The service returned %s for %s; see its dashboard for the others.", units.Count(followed, "message id"), units.Count(rows, "row"))
	}
}

// handOver hands the rows of the list over as messages, and goes on behind the last that the store has.
func (w *working) handOver(ctx context.Context) error {
	before, err := w.Store.HandedOver(ctx, w.run.ID)
	if err != nil {
		return err
	}
	m := newMeter(w.run, nil, w.OnProgress, w.Now)
	var rows []messaging.Message
	var halt stop
	first := before + 1
	columns := layoutOf(w.run.Columns)
	flush := func() error {
		if len(rows) == 0 {
			return nil
		}
		var err error
		if halt, err = w.enqueueBatch(ctx, first, rows); err != nil {
			return fmt.Errorf("hand rows over: %w", err)
		}
		if halt.by != "" {
			return errStopped
		}
		first += int64(len(rows))
		rows = nil
		m.sent(first-1, 0)
		return w.await(ctx, time.Time{})
	}
	all := messaging.RowRanges{{First: 1, Last: w.run.Tally.Kept}}
	if err := w.await(ctx, time.Time{}); err != nil {
		return err
	}
	err = w.Store.ListRows(ctx, w.run.ID, all.From(first), func(row *messaging.ListRow) error {
		if rows = append(rows, w.message(columns, row)); len(rows) < batchRows {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	switch {
	case halt.by != "":
		return w.pause(ctx, halt)
	case err != nil:
		return err
	}
	return w.change(ctx, messaging.RunDone, "", nil)
}

// enqueueBatch hands rows over, once there is room, in the windows of the job's rate, and past its canary. halt is why the run
// should pause before the next of them.
func (w *working) enqueueBatch(ctx context.Context, first int64, rows []messaging.Message) (halt stop, err error) {
	for {
		some := rows
		if w.watched() {
			switch ahead := w.brakes().Canary.First.of(w.run.Tally.Kept) - (first - 1); {
			case ahead <= 0:
				if halt, err := w.canary(ctx, first-1); err != nil || halt.by != "" {
					return halt, err
				}
				continue // by another canary, or by none, if the job has changed
			case ahead < int64(len(rows)):
				some = rows[:ahead]
			}
		}
		if len(rows) == 0 {
			return stop{}, nil
		}
		if err := w.room(ctx); err != nil {
			return stop{}, err
		}
		done, since, err := w.enqueueNow(ctx, first, some)
		if err != nil {
			return stop{}, err
		}
		first, rows = first+int64(done), rows[done:]
		if done == len(some) {
			continue
		}
		if err := w.nextWindow(ctx, since); err != nil {
			return stop{}, err
		}
	}
}

// enqueueNow hands over as many of the rows as the job's rate lets go, and asks right before who may not get them any
// more: such a row is dropped with the reason. The store's claim asks once more who is blocked.
func (w *working) enqueueNow(ctx context.Context, first int64, rows []messaging.Message) (done int, since time.Time, err error) {
	w.leaving.Lock()
	defer w.leaving.Unlock()
	phones, turns := make([]messaging.Phone, len(rows)), w.turns()
	for i := range rows {
		phones[i] = rows[i].Phone
		w.due(&rows[i], turns)
	}
	answers, err := w.mayGo(ctx, &w.run, w.brakes(), phones, func(i int) messaging.Category { return rows[i].Category }, atTurn)
	if err != nil {
		return 0, since, err
	}
	for i := range answers {
		if v := &answers[i]; v.never() {
			rows[i].State, rows[i].Reason, rows[i].DroppedBy = messaging.StateDropped, v.Reason, v.Rule
			if v.forgotten {
				rows[i].Phone, rows[i].SentAs = forgottenPhone, ""
			}
		}
	}
	window, err := w.window(ctx)
	switch {
	case err != nil:
		return 0, since, err
	case window == nil:
		return len(rows), since, w.Store.Enqueue(ctx, w.run.ID, first, rows)
	}
	return w.Store.EnqueueAtRate(ctx, w.run.ID, first, rows, *window)
}

// due has a row wait from now on, or until its turn: it may have waited for its window before it is handed over.
func (w *working) due(d *messaging.Message, turns *turns) {
	now := w.Now().UTC()
	d.State, d.Reason, d.DueAt, d.CreatedAt, d.UpdatedAt = messaging.StateWaiting, "", turns.due(d.Phone, now), now, now
	if w.run.Expires > 0 {
		d.ExpiresAt = d.DueAt.Add(w.run.Expires)
	}
}

// message is one row as the ordinary store takes it.
func (w *working) message(columns layout, row *messaging.ListRow) messaging.Message {
	d := messaging.Message{
		Trigger: w.run.Job, Key: messaging.RowKey(w.run.ID, row.Number), Account: w.run.Account,
		Phone: cmp.Or(row.Phone, forgottenPhone), SentAs: row.Given, Category: w.run.Category,
		Send: w.run.Send, Config: w.run.Config,
	}
	columns.fill(&d, row)
	return d
}
