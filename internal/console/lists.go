package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

// perPage is how long a page of a list is.
const perPage = 50

// A span is how far back a list goes, as the address has it.
type span struct {
	Key, Words string
	length     time.Duration
}

var spans = []span{
	{"", "any time", 0},
	{"1h", "the last hour", time.Hour},
	{"24h", "the last 24 hours", 24 * time.Hour},
	{"7d", "the last 7 days", 7 * 24 * time.Hour},
	{"30d", "the last 30 days", 30 * 24 * time.Hour},
}

// A list is what all lists of the console have: their filters, and the address of the next page.
type list struct {
	Query  url.Values
	Spans  []span
	Older  string // address of the next page; "" when this is the last
	Newest string // address of the first page; "" when this is it
	Narrow bool   // a filter is set
	Export string // address of the whole list as a file; "" for none
	Looked string // how many were looked at, where that were not all: there may be more that match
}

// newList reads the filters that every list has. what is asked for besides is named by keys.
func (c *Console) newList(r *http.Request, keys ...string) (list, server.ListQuery, error) {
	in := r.URL.Query()
	l := list{Query: in, Spans: spans}
	q := server.ListQuery{Limit: perPage + 1}
	i := slices.IndexFunc(spans, func(s span) bool { return s.Key == in.Get("since") })
	if i < 0 {
		return l, q, &refusal.Error{Status: http.StatusBadRequest, Words: "since is not a time span of this list", Hint: "write 1h, 24h, 7d or 30d"}
	}
	if spans[i].length > 0 {
		q.Since = c.Now().Add(-spans[i].length)
	}
	if text := in.Get("before"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			return l, q, &refusal.Error{Status: http.StatusBadRequest, Words: "before is not a number", Hint: "follow the link Older of a list"}
		}
		q.Before, l.Newest = n, with(r.URL, "before", "")
	}
	l.Narrow = l.Asks(append(keys, "since")...)
	return l, q, nil
}

// Asks reports whether one of the filters is set.
func (l list) Asks(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return l.Query.Get(key) != "" })
}

// idsOf are the numbers of rows.
func idsOf[T any](rows []T, id func(*T) int64) []int64 {
	out := make([]int64, len(rows))
	for i := range rows {
		out[i] = id(&rows[i])
	}
	return out
}

// cut takes off the row that was asked for beyond the page, and notes how to get there. id is the number of a row.
func cut[T any](l *list, r *http.Request, rows []T, id func(*T) int64) []T {
	if len(rows) <= perPage {
		return rows
	}
	rows = rows[:perPage]
	l.Older = with(r.URL, "before", strconv.FormatInt(id(&rows[perPage-1]), 10))
	return rows
}

// mostLooked is how many events or messages a page of a list looks at, where no index knows what is asked for: to find that few match, or none, it would walk
// through all that was ever stored.
const mostLooked = 50_000

// A numbered list is asked by pages, and gives the numbers of its rows.
type numbered func(server.ListQuery) (ids []int64, err error)

// bounded bounds what a page looks at, where it might walk far. newest lists without the filters.
func (l *list) bounded(q *server.ListQuery, newest numbered) error {
	if !q.Walks() {
		return nil
	}
	ids, err := newest(server.ListQuery{Limit: 1, Since: q.Since, Before: q.Before})
	if err == nil && len(ids) > 0 && ids[0] > mostLooked {
		q.DownTo = ids[0] - mostLooked + 1
	}
	return err
}

// further notes how to look on below the bound, where the page is not full and there is anything.
func (l *list) further(r *http.Request, q server.ListQuery, newest numbered) error {
	if l.Older != "" || q.DownTo == 0 {
		return nil
	}
	ids, err := newest(server.ListQuery{Limit: 1, Since: q.Since, Before: q.DownTo})
	if err == nil && len(ids) > 0 {
		l.Older, l.Looked = with(r.URL, "before", strconv.FormatInt(q.DownTo, 10)), units.Number(mostLooked)
	}
	return err
}

// number is a number in the page's path.
func number(r *http.Request, what string) (int64, error) {
	n, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil || n < 1 {
		return 0, &refusal.Error{Status: http.StatusNotFound, Words: "that is not the number of " + what, Hint: "lists show the numbers"}
	}
	return n, nil
}
