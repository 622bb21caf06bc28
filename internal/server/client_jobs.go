package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// Jobs lists the jobs of the config.
func (c *Client) Jobs(ctx context.Context) ([]JobView, error) {
	return get[[]JobView](ctx, c, "/jobs", nil)
}

// Forecast reads a job's source and says what a run would do.
func (c *Client) Forecast(ctx context.Context, job string) (ForecastView, error) {
	return post[ForecastView](ctx, c.patient(), "/jobs/"+url.PathEscape(job)+"/forecast", nil)
}

// RunJob fires a job by hand.
func (c *Client) RunJob(ctx context.Context, job string, o RunOrder) (RunView, error) {
	return post[RunView](ctx, c, "/jobs/"+url.PathEscape(job)+"/run", o)
}

// Runs lists runs, newest first; q.Trigger is the job's name.
func (c *Client) Runs(ctx context.Context, q ListQuery) ([]RunView, error) {
	return get[[]RunView](ctx, c, "/runs", q.Values())
}

// Run is one run with its parts.
func (c *Client) Run(ctx context.Context, id messaging.RunID) (RunView, error) {
	return get[RunView](ctx, c, numbered("runs", id, ""), nil)
}

// OrderRun approves, pauses, resumes, cancels or retries a run, and gives it as it is then; for
// retry, the new one.
func (c *Client) OrderRun(ctx context.Context, id messaging.RunID, word string, o RunOrder) (RunView, error) {
	return post[RunView](ctx, c, numbered("runs", id, "/"+word), o)
}

// ForecastRetry says what a retry of a run would send.
func (c *Client) ForecastRetry(ctx context.Context, id messaging.RunID, o RunOrder) (RetryView, error) {
	q := url.Values{}
	if o.InDoubt {
		q.Set("in_doubt", "true")
	}
	if o.Classes != "" {
		q.Set("classes", o.Classes)
	}
	for name, d := range map[string]time.Duration{"min_wait_ns": o.MinWait, "deadline_ns": o.Deadline} {
		if d != 0 {
			q.Set(name, strconv.FormatInt(int64(d), 10))
		}
	}
	return get[RetryView](ctx, c.patient(), numbered("runs", id, "/retry"), q)
}

// ResolvePart says what became of a part in doubt, and gives the run as it is then.
func (c *Client) ResolvePart(ctx context.Context, id messaging.RunID, number int, w PartWord) (RunView, error) {
	return post[RunView](ctx, c, numbered("runs", id, "/parts/"+strconv.Itoa(number)+"/resolve"), w)
}

// Rows calls each for every row of a run while the answer comes in. An answer that was cut short is an error.
func (c *Client) Rows(ctx context.Context, id messaging.RunID, each func(*RowView) error) (err error) {
	res, err := c.patient().request(ctx, http.MethodGet, numbered("runs", id, "/rows"), nil, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	dec := json.NewDecoder(bufio.NewReaderSize(res.Body, 1<<16))
	for {
		var line rowLine
		if err := dec.Decode(&line); err != nil {
			return fmt.Errorf("the daemon's answer was cut short: %w", err)
		}
		switch {
		case line.Row != nil:
			if err := each(line.Row); err != nil {
				return err
			}
		case line.End:
			return nil
		}
	}
}

// Blocks lists blocked contacts.
func (c *Client) Blocks(ctx context.Context, q ListQuery) ([]BlockView, error) {
	return get[[]BlockView](ctx, c, "/blocks", q.Values())
}

// ErrorTexts lists what the service said about messages that it did not send, the newest first.
func (c *Client) ErrorTexts(ctx context.Context, q ListQuery) ([]ErrorTextView, error) {
	return get[[]ErrorTextView](ctx, c, "/errors", q.Values())
}

// Block blocks contacts.
func (c *Client) Block(ctx context.Context, r BlockRequest) (BlockAnswer, error) {
	return post[BlockAnswer](ctx, c, "/blocks", r)
}

// Allow ends a contact's block.
func (c *Client) Allow(ctx context.Context, phone string) (BlockView, error) {
	return ask[BlockView](ctx, c, http.MethodDelete, "/blocks/"+url.PathEscape(phone), nil, nil)
}
