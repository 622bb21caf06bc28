package server

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/nudgewire/nudgewire"
)

// Jobs lists the jobs of the config in force.
func (c *Client) Jobs(ctx context.Context) (v []JobView, err error) {
	return v, c.do(ctx, http.MethodGet, "/v1/jobs", nil, nil, &v)
}

// Forecast reads a job's source and says what a run would do. It takes as long as that takes:
// only ctx ends it.
func (c *Client) Forecast(ctx context.Context, job string) (v ForecastView, err error) {
	patient := &Client{http.Client{Transport: c.http.Transport}}
	return v, patient.do(ctx, http.MethodPost, "/v1/jobs/"+url.PathEscape(job)+"/forecast", nil, nil, &v)
}

// RunJob fires a job by hand.
func (c *Client) RunJob(ctx context.Context, job string, o RunOrder) (v RunView, err error) {
	return v, c.do(ctx, http.MethodPost, "/v1/jobs/"+url.PathEscape(job)+"/run", nil, o, &v)
}

// Runs lists runs, newest first; q.Trigger is the job's name.
func (c *Client) Runs(ctx context.Context, q ListQuery) (v []RunView, err error) {
	return v, c.do(ctx, http.MethodGet, "/v1/runs", q.values(), nil, &v)
}

// Run is one run with its parts.
func (c *Client) Run(ctx context.Context, id nudgewire.RunID) (v RunView, err error) {
	return v, c.do(ctx, http.MethodGet, "/v1/runs/"+strconv.FormatInt(int64(id), 10), nil, nil, &v)
}

// OrderRun approves, pauses, resumes, cancels or retries a run, and gives it as it is then; for
// retry, the new one.
func (c *Client) OrderRun(ctx context.Context, id nudgewire.RunID, word string, o RunOrder) (v RunView, err error) {
	return v, c.do(ctx, http.MethodPost, "/v1/runs/"+strconv.FormatInt(int64(id), 10)+"/"+word, nil, o, &v)
}

// Blocks lists blocked contacts.
func (c *Client) Blocks(ctx context.Context, q ListQuery) (v []BlockView, err error) {
	return v, c.do(ctx, http.MethodGet, "/v1/blocks", q.values(), nil, &v)
}

// Block blocks contacts.
func (c *Client) Block(ctx context.Context, r BlockRequest) (v BlockAnswer, err error) {
	return v, c.do(ctx, http.MethodPost, "/v1/blocks", nil, r, &v)
}

// Allow ends a contact's block.
func (c *Client) Allow(ctx context.Context, phone string) (v BlockView, err error) {
	return v, c.do(ctx, http.MethodDelete, "/v1/blocks/"+url.PathEscape(phone), nil, nil, &v)
}
