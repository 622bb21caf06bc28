package console

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

// What can be done about jobs, their runs, and the parts of these.
var jobActions = map[string]action{
	"run-job":      {server.RunJob.Scope, (*Console).confirmRunJob, (*Console).runJob},
	"approve":      {server.ApproveRun.Scope, (*Console).confirmApprove, (*Console).approve},
	"pause":        {server.PauseRun.Scope, nil, order(server.PauseRun, "is paused")},
	"go-on":        {server.ResumeRun.Scope, (*Console).confirmGoOn, order(server.ResumeRun, "goes on")},
	"cancel-run":   {server.CancelRun.Scope, (*Console).confirmCancelRun, order(server.CancelRun, "was cancelled")},
	"retry-run":    {server.RetryRun.Scope, (*Console).confirmRetryRun, (*Console).retryRun},
	"resolve-part": {server.ResolvePart.Scope, (*Console).confirmPart, (*Console).resolvePart},
}

func (f form) run() messaging.RunID { return messaging.RunID(f.number("run")) }

func runPath(id messaging.RunID) string { return fmt.Sprintf("/runs/%d", id) }

// confirmRunJob reads the list first: what would be sent is said before it is.
func (c *Console) confirmRunJob(ctx context.Context, f form) (confirmPage, error) {
	job := f.Get("job")
	v, err := server.ForecastJob.Call(ctx, c.Ask, job)
	p := confirmPage{
		Title: "Run " + job + " now?", Words: []string{"This is what it would do with its list as it is at this moment. Nothing was sent."}, Tally: &v.Tally,
		Nothing: v.Nothing != "", Yes: "Send to " + units.Count(v.Tally.Kept, "phone"), Danger: true,
	}
	if v.Nothing != "" {
		p.Words = append(p.Words, sentence("Nothing would be sent: "+v.Nothing))
	}
	if v.Repeats != 0 {
		p.Fields = append(p.Fields, field{Name: "repeats", Label: "Send the same list once more", Note: v.Repeat, Check: strconv.FormatInt(int64(v.Repeats), 10), Required: true})
	}
	if len(v.Awaiting) > 0 {
		p.Fields = append(p.Fields, field{Name: "approve", Label: "Approve it, too", Note: "Otherwise it waits to be approved: " + strings.Join(v.Awaiting, "; "), Check: "yes"})
	}
	return p, err
}

func (c *Console) runJob(ctx context.Context, f form) (did, error) {
	v, err := server.RunJob.Call(ctx, c.Ask, server.JobOrder{Job: f.Get("job"), Approve: f.Get("approve") == "yes", Repeats: messaging.RunID(f.number("repeats"))})
	return did{fmt.Sprintf("Run %d of %s has begun", v.ID, v.Job), runPath(v.ID)}, err
}

// order is a word about a run; done is what it is then.
func order(word *server.Operation[messaging.RunID, server.RunView], done string) func(*Console, context.Context, form) (did, error) {
	return func(c *Console, ctx context.Context, f form) (did, error) {
		v, err := word.Call(ctx, c.Ask, f.run())
		return did{words: fmt.Sprintf("Run %d of %s %s", v.ID, v.Job, done)}, err
	}
}

// confirmGoOn says how many more get it, and of a run that its canary stopped what the canary found.
func (c *Console) confirmGoOn(ctx context.Context, f form) (confirmPage, error) {
	v, err := server.ShowRun.Call(ctx, c.Ask, f.run())
	more := units.Count(v.Unsent(), "more phone")
	p := confirmPage{
		Title: fmt.Sprintf("Let run %d of %s go on?", f.run(), v.Job), Words: []string{sentence(v.Reason), "It goes on at once, to " + more + "."},
		Yes: "Send to " + more, Danger: true,
	}
	switch {
	case v.Before == messaging.RunAwaiting:
		p.Words[1], p.Yes, p.Danger = "It waits to be approved then, and sends nothing before.", "Let it wait for approval", false
	case v.Restored() != "":
		p.Words = append(p.Words, sentence(v.Restored())+".")
	case v.Overruling() != "":
		p.Words[1] = "Its canary is overruled: " + more + " get it, and nothing looks at the first ones again."
	case v.Tally.Rows == 0:
		p.Words[1], p.Yes = "Its list is read then, and is sent where no guard holds it.", "Let it go on"
	}
	return p, err
}

// confirmApprove shows what would be sent, by its rows and as things are now.
func (c *Console) confirmApprove(ctx context.Context, f form) (confirmPage, error) {
	v, err := server.ShowRun.Call(ctx, c.Ask, f.run())
	if err != nil {
		return confirmPage{}, err
	}
	now, err := server.ForecastRun.Call(ctx, c.Ask, f.run())
	if err != nil {
		return confirmPage{}, err
	}
	to := units.Count(now.Tally.Kept, "phone")
	p := confirmPage{
		Title: fmt.Sprintf("Approve run %d of %s?", f.run(), v.Job), Words: []string{sentence(v.Reason), "It goes out at once, to " + to + "."},
		Forecast: &now, Yes: "Send to " + to, Danger: true,
	}
	switch {
	case now.Nothing != "":
		p.Words[1], p.Yes = sentence("Nothing would be sent: "+now.Nothing), "Approve it"
	case now.Halted != "":
		p.Words[1] = fmt.Sprintf("It goes out to %s once it is held back no more: %s", to, sentence(now.Halted))
	}
	if v.Approvals != nil {
		p.Words[1] = fmt.Sprintf("It goes out when %d people approved it, to %s.", v.Approvals.Need, to)
		p.Yes = "Approve it"
	}
	return p, nil
}

// approve may be one of several that a run needs.
func (c *Console) approve(ctx context.Context, f form) (did, error) {
	v, err := server.ApproveRun.Call(ctx, c.Ask, f.run())
	if v.State == messaging.RunAwaiting && v.Approvals != nil {
		return did{words: fmt.Sprintf("You approved run %d of %s, which waits for more people: %s", v.ID, v.Job, v.Approvals.Words)}, err
	}
	if v.Halted != "" {
		return did{words: fmt.Sprintf("Run %d of %s was approved, and waits: %s", v.ID, v.Job, v.Halted)}, err
	}
	return did{words: fmt.Sprintf("Run %d of %s was approved, and goes out now", v.ID, v.Job)}, err
}

func (c *Console) confirmCancelRun(ctx context.Context, f form) (confirmPage, error) {
	v, err := server.ShowRun.Call(ctx, c.Ask, f.run())
	p := confirmPage{
		Title: fmt.Sprintf("Cancel run %d of %s?", f.run(), v.Job), Words: []string{"What was not sent yet is sent to nobody. What went out stays, and is followed to its end. That is not taken back."},
		Yes: "Cancel the run", Danger: true,
	}
	if len(v.Messages) > 0 {
		p.Counts = []countsTable{{"Its messages now", "State", byCount(v.Messages)}}
	}
	return p, err
}

func (c *Console) confirmRetryRun(ctx context.Context, f form) (confirmPage, error) {
	v, err := server.ForecastRetry.Call(ctx, c.Ask, server.RetryOrder{Run: f.run()})
	p := confirmPage{
		Title: fmt.Sprintf("Send what run %d of %s could not?", f.run(), v.Job), Words: []string{"A new run sends once more what surely did not arrive. What may have arrived stays as it is."},
		Tally: &v.Tally, Nothing: v.Tally.Kept == 0, Yes: "Send to " + units.Count(v.Tally.Kept, "phone"), Danger: true,
	}
	if len(v.Causes) > 0 {
		t := countsTable{Caption: "Why they ended", What: "Why"}
		for _, one := range v.Causes {
			t.Rows = append(t.Rows, counted{one.Reason, one.Count})
		}
		p.Counts = []countsTable{t}
	}
	return p, err
}

func (c *Console) retryRun(ctx context.Context, f form) (did, error) {
	v, err := server.RetryRun.Call(ctx, c.Ask, server.RetryOrder{Run: f.run()})
	return did{fmt.Sprintf("Run %d sends once more what run %d could not", v.ID, f.run()), runPath(v.ID)}, err
}

func (c *Console) confirmPart(_ context.Context, f form) (confirmPage, error) {
	return confirmPage{
		Title:  fmt.Sprintf("What became of part %d of run %d?", f.number("part"), f.run()),
		Words:  []string{"The service may have taken the file: its answer got lost. Look in the service's own list of campaigns. Sent again, everybody in it may get it twice."},
		Fields: resolution("What became of it", resolutions[:2]), Yes: "Resolve it", Danger: true,
	}, nil
}

func (c *Console) resolvePart(ctx context.Context, f form) (did, error) {
	number := int(f.number("part"))
	_, err := server.ResolvePart.Call(ctx, c.Ask, server.PartWord{Run: f.run(), Part: number, As: messaging.Resolution(f.Get("as")), Reason: f.Get("reason")})
	return did{words: fmt.Sprintf("Part %d was resolved", number)}, err
}
