package report

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/tally"
)

// An HourCount is how often one kind of thing happened. What a query does not tell apart is empty.
type HourCount struct {
	At      time.Time // when the hour, or the day, begins
	About   string    // connector, trigger or job
	What    string    // see What in HourQuery
	Name    string    // of the connector, trigger or job
	Detail  string    // kind of an event, outcome of a decision, template of a message; "other" for those beyond the room of an hour
	Country string    // of a message, by its phone
	Class   string    // of rejected and failed: the class of the error; of dropped and cancelled: a Rule or EndedBy; of delivered: see ArrivalTime
	N       int64
}

// An HourQuery says which counts are read, and what tells them apart.
type HourQuery struct {
	From, Until time.Time // hours that begin in this time

	About, Name string   // "" for all
	What        []string // event, duplicate, refused, decision, queued, shadowed, again, accepted, message_points (in thousandths, as all points), uploaded, uploaded_points, rejected, in_doubt, cancelled, dropped, delivered, read, failed, expired, tested, test_points; nil for all

	By   By
	Zone *time.Location // whose days ByDay means; nil is UTC. An hour belongs to the day in which it begins

	Names, Details, Countries, Classes bool // whether these tell counts apart
}

// By is how long the time is that counts are added up for.
type By int

// The lengths of time.
const (
	ByAll By = iota
	ByHour
	ByDay
)

// Hours reads counts by the hour. They come in the order of their times; what is alike at one time may come in any order.
func (r Records) Hours(ctx context.Context, q HourQuery) (out []HourCount, err error) {
	if q.By != ByDay {
		err = r.hours(ctx, &q, q.From, q.Until, 0, func(c HourCount) { out = append(out, c) })
		return out, store.Wrap(err, "counts by the hour")
	}
	if q.Zone == nil {
		q.Zone = time.UTC
	}
	// While the clock of the zone does not change, its days are as long as those of UTC, and begin as much earlier or later. A day in
	// which it changes comes in two pieces.
	place := map[HourCount]int{}
	for from := q.From.In(q.Zone); from.Before(q.Until) && err == nil; {
		until := q.Until
		if _, change := from.ZoneBounds(); !change.IsZero() && change.Before(until) {
			until = change
		}
		_, offset := from.Zone()
		err = r.hours(ctx, &q, from, until, time.Duration(offset)*time.Second, func(c HourCount) {
			n := c.N
			c.N = 0
			i, known := place[c]
			if !known {
				i = len(out)
				place[c] = i
				out = append(out, c)
			}
			out[i].N += n
		})
		from = until.In(q.Zone)
	}
	return out, store.Wrap(err, "counts by the day")
}

// hours reads counts of a time in which a day begins by so much before that of UTC.
func (r Records) hours(ctx context.Context, q *HourQuery, from, until time.Time, offset time.Duration, each func(HourCount)) error {
	var which engine.Select
	which.And("hour >= ?", tally.FirstHour(from))
	which.And("hour < ?", tally.FirstHour(until))
	which.When(q.About != "", "about = ?", q.About)
	which.When(q.Name != "", "name = ?", q.Name)
	if len(q.What) > 0 {
		marks, args := strings.Repeat(", ?", len(q.What))[2:], make([]any, len(q.What))
		for i, what := range q.What {
			args[i] = what
		}
		which.And("what IN ("+marks+")", args...)
	}
	shift := int64(offset.Truncate(time.Hour) / time.Hour)
	if offset < 0 && offset%time.Hour != 0 {
		shift--
	}
	group := []string{"about", "what"}
	columns := append([]string{}, group...)
	column := func(asked bool, name, otherwise string) {
		if asked {
			group = append(group, name)
			columns = append(columns, name)
		} else {
			columns = append(columns, otherwise)
		}
	}
	column(q.Names, "name", "''")
	column(q.Details, "detail", "''")
	column(q.Countries, "country", "''")
	column(q.Classes, "class", "''")
	switch at := fmt.Sprintf("(hour + %d) / 24", shift); q.By {
	case ByHour:
		column(true, "hour", "")
	case ByDay:
		column(true, at, "")
	default:
		columns = append(columns, "CAST(0 AS BIGINT)")
	}
	query := which.SQL(strings.Join(columns, ", ")+", CAST(sum(value) AS BIGINT)", "hourly_counts", "", 0) + " GROUP BY " + strings.Join(group, ", ")
	if q.By != ByAll {
		query += " ORDER BY " + group[len(group)-1]
	}
	return r.Rows(ctx, query, which.Args, func(row *engine.Row) error {
		c := HourCount{About: row.Text(), What: row.Text(), Name: row.Text(), Detail: row.Text(), Country: row.Text(), Class: row.Text()}
		switch at := row.Int(); q.By {
		case ByHour:
			c.At = time.Unix(at*3600, 0).UTC()
		case ByDay:
			day := time.Unix(at*86400, 0).UTC()
			c.At = time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, q.Zone)
		}
		c.N = row.Int()
		each(c)
		return row.Err
	})
}

// HoursSince is the first hour that has a count. Data that is older than this kind of count has none of the time before; ok is false
// where nothing was counted yet.
func (r Records) HoursSince(ctx context.Context) (since time.Time, ok bool, err error) {
	hour, err := store.List(ctx, r.Store, `SELECT hour FROM hourly_counts ORDER BY hour LIMIT 1`, nil, engine.Number[int64])
	if err != nil || len(hour) == 0 {
		return since, false, store.Wrap(err, "since when there are counts by the hour")
	}
	return time.Unix(hour[0]*3600, 0).UTC(), true, nil
}
