package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/server"
)

type livePage struct {
	list
	Filter     liveFilter
	Rows       []liveItem
	Stream     string // address of what moves it
	Connectors []string
	Triggers   []string
	States     []string
	Shared     bool // other nodes share the data
}

var liveStates = []string{"planned", "skipped", "cancelling", "repeated", "rejected", "accepted", "in_doubt", "waiting", "dropped", "sent", "delivered", "read", "failed"}

func liveFilterOf(r *http.Request) liveFilter {
	q := r.URL.Query()
	return liveFilter{q.Get("text"), q.Get("trigger"), q.Get("connector"), q.Get("state")}
}

// live shows the newest events, and moves where scripts may.
func (c *Console) live(r *http.Request) (page, error) {
	l, q, err := c.newList(r, "text", "trigger", "connector", "state")
	if err != nil {
		return page{}, err
	}
	v := livePage{list: l, Filter: liveFilterOf(r), States: liveStates, Stream: streamPath + "?" + r.URL.RawQuery}
	q.Connector, q.Limit = v.Filter.Connector, 10*perPage
	events, err := c.Ask.Events(r.Context(), q)
	if err != nil {
		return page{}, err
	}
	for i := range events {
		e := &events[i]
		one := liveItem{At: e.ReceivedAt, Kind: "event", Event: e.ID, Connector: v.Filter.Connector, What: e.Event, Phone: e.Phone}
		for _, d := range e.Decisions {
			one.Said = append(one.Said, liveSaid{d.Trigger, string(d.Outcome)})
		}
		if v.Filter.holds(&one) && len(v.Rows) < perPage {
			v.Rows = append(v.Rows, one)
		}
	}
	status, err := c.Ask.Status(r.Context())
	if err != nil {
		return page{}, err
	}
	v.Shared = len(status.Nodes) > 1
	if d := status.Daemon; d != nil {
		v.Connectors, v.Triggers = d.Connectors, d.Triggers
	}
	return page{Name: "live", Title: "Live", Here: "/live", Data: v}, nil
}

// How the stream goes. It ends by itself after a while: the browser asks for the next one, and is asked who it is, so that it sees
// no more than this long what it may not see any more.
const (
	liveEvery   = 500 * time.Millisecond
	liveAtOnce  = 40 // rows, the newest; the others are skipped
	liveFor     = 30 * time.Second
	livePatient = 10 * time.Second // for a browser that does not read
)

// A liveTold is what the stream says at a time.
type liveTold struct {
	HTML    string `json:"html,omitempty"` // rows, the newest first
	Skipped int64  `json:"skipped,omitempty"`
}

const streamPath = "/live/stream"

// stream sends what happens as server-sent events, until the browser goes, its time is over, or the daemon stops.
func (c *Console) stream(w http.ResponseWriter, r *http.Request) {
	who, known := server.WhoOf(r.Context())
	if !known || !who.May(server.Read) {
		http.Error(w, "sign in", http.StatusUnauthorized)
		return
	}
	seen, _ := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64) // none is from now on
	seen, leave, full := c.Live.watch(string(who.From)+" "+who.Name, seen)
	if full {
		http.Error(w, "too many are watching", http.StatusServiceUnavailable)
		return
	}
	defer leave()
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Time{}) // what has no deadline, as in tests, has none to lift
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	ctx, cancel := context.WithTimeout(r.Context(), liveFor)
	defer cancel()
	every := time.NewTicker(liveEvery)
	defer every.Stop()
	filter := liveFilterOf(r)
	text := []byte("retry: 500\n\n: begun\n\n")
	for {
		_ = conn.SetWriteDeadline(time.Now().Add(livePatient))
		if _, err := w.Write(text); err != nil {
			return
		}
		if conn.Flush() != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-c.Live.ended:
			return
		case <-every.C:
		}
		items, lost := c.Live.since(seen)
		seen += int64(len(items)) + lost
		told, err := c.tell(ctx, items, lost, filter)
		if err != nil {
			c.Log.Error("console", zap.String("page", "live"), zap.Error(err))
			return
		}
		if told == nil {
			text = []byte(":\n\n") // so that a browser that is gone is noticed
			continue
		}
		text = fmt.Appendf(nil, "id: %d\ndata: %s\n\n", seen, told)
	}
}

// tell makes rows of what happened for who asks; nil where nothing is for them.
func (c *Console) tell(ctx context.Context, items []liveItem, lost int64, filter liveFilter) ([]byte, error) {
	items, err := shownTo(ctx, items)
	if err != nil {
		return nil, err
	}
	told := liveTold{Skipped: lost}
	var rows []liveItem
	for i := len(items) - 1; i >= 0; i-- {
		switch {
		case !filter.holds(&items[i]):
		case len(rows) == liveAtOnce:
			told.Skipped++
		default:
			rows = append(rows, items[i])
		}
	}
	if len(rows) == 0 && told.Skipped == 0 {
		return nil, nil
	}
	var out bytes.Buffer
	if err := c.templates().part(&out, "live", "liveRows", rows); err != nil {
		return nil, err
	}
	told.HTML = plain.Lines(out.String())
	return json.Marshal(told) //nolint:wrapcheck // it is text and a number
}

// shownTo are items as who asks may see them: phones are masked where they are for every answer. Filters see them so, too.
func shownTo(ctx context.Context, items []liveItem) (out []liveItem, err error) {
	if len(items) == 0 {
		return nil, nil
	}
	text, err := server.Shown(ctx, items)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return nil, fmt.Errorf("what happens, as it is shown: %w", err)
	}
	return out, nil
}

// part writes one template of a page by itself.
func (p *pages) part(w io.Writer, page, name string, v any) error {
	if err := p.byName[page].ExecuteTemplate(w, name, v); err != nil {
		return fmt.Errorf("make a part of the page %s: %w", page, err)
	}
	return nil
}
