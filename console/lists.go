package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/nudgewire/nudgewire/server"
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
}

// newList reads the filters that every list has. what is asked for besides is named by keys.
func (c *Console) newList(r *http.Request, keys ...string) (list, server.ListQuery, error) {
	in := r.URL.Query()
	l := list{Query: in, Spans: spans}
	q := server.ListQuery{Limit: perPage + 1}
	i := slices.IndexFunc(spans, func(s span) bool { return s.Key == in.Get("since") })
	if i < 0 {
		return l, q, &server.Error{Status: http.StatusBadRequest, Words: "the list cannot begin there", Hint: "since is 1h, 24h, 7d or 30d"}
	}
	if spans[i].length > 0 {
		q.Since = c.Now().Add(-spans[i].length)
	}
	if text := in.Get("before"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			return l, q, &server.Error{Status: http.StatusBadRequest, Words: "before is not a number", Hint: "follow the link Older of a list"}
		}
		q.Before, l.Newest = n, with(r.URL, "before", "")
	}
	for _, key := range append(keys, "since") {
		l.Narrow = l.Narrow || in.Get(key) != ""
	}
	return l, q, nil
}

// exported is the address of all that a list shows and goes on with, as a file.
func exported(of string, q server.ListQuery) string {
	q.Limit, q.Before = 0, 0
	v := q.Values()
	v.Set("format", "csv")
	return server.Base + "/" + of + "/export?" + v.Encode()
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

// number is a number in the page's path.
func number(r *http.Request, what string) (int64, error) {
	n, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil || n < 1 {
		return 0, &server.Error{Status: http.StatusNotFound, Words: "that is not the number of " + what, Hint: "lists show the numbers"}
	}
	return n, nil
}
