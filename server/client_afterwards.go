package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/nudgewire/nudgewire"
)

func ofRun(id nudgewire.RunID, rest string) string {
	return "/v1/runs/" + strconv.FormatInt(int64(id), 10) + rest
}

// ForecastRetry says what a retry of a run would send; inDoubt asks for parts in doubt, too.
func (c *Client) ForecastRetry(ctx context.Context, id nudgewire.RunID, inDoubt bool) (v RetryView, err error) {
	q := url.Values{}
	if inDoubt {
		q.Set("in_doubt", "true")
	}
	patient := &Client{http.Client{Transport: c.http.Transport}} // a long run is read row by row
	return v, patient.do(ctx, http.MethodGet, ofRun(id, "/retry"), q, nil, &v)
}

// ResolvePart says what became of a part in doubt, and gives the run as it is then.
func (c *Client) ResolvePart(ctx context.Context, id nudgewire.RunID, number int, w PartWord) (v RunView, err error) {
	return v, c.do(ctx, http.MethodPost, ofRun(id, "/parts/"+strconv.Itoa(number)+"/resolve"), nil, w, &v)
}

// Rows calls each for every row of a run while the answer comes in, and gives what could not be
// told, in words: files that are gone or were changed. An answer that was cut short is an
// error.
func (c *Client) Rows(ctx context.Context, id nudgewire.RunID, each func(*RowView) error) (problems []string, err error) {
	u := url.URL{Scheme: "http", Host: "nudgewire", Path: ofRun(id, "/rows")}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask the daemon: %w", err)
	}
	patient := http.Client{Transport: c.http.Transport}
	res, err := patient.Do(req)
	if err != nil {
		if errors.Is(err, ErrNoDaemon) {
			return nil, ErrNoDaemon
		}
		return nil, fmt.Errorf("ask the daemon: %w", err)
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	if res.StatusCode >= http.StatusBadRequest {
		text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
		if err != nil {
			return nil, fmt.Errorf("read the daemon's answer: %w", err)
		}
		e := &Error{Status: res.StatusCode}
		if err := json.Unmarshal(text, e); err != nil || e.Words == "" {
			e.Words = res.Status
		}
		return nil, e
	}
	dec := json.NewDecoder(bufio.NewReaderSize(res.Body, 1<<16))
	for {
		var line rowLine
		if err := dec.Decode(&line); err != nil {
			return problems, fmt.Errorf("the daemon's answer was cut short: %w", err)
		}
		switch {
		case line.Row != nil:
			if err := each(line.Row); err != nil {
				return problems, err
			}
		case line.Problem != "":
			problems = append(problems, line.Problem)
		case line.End:
			return problems, nil
		}
	}
}
