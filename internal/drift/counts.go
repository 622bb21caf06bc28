package drift

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// mostFields is how many fields of a kind are counted: a sender that makes names up fills no disk.
const mostFields = 800

// A Tally says which of some events had a field. Events are numbered from 1, in the order in which they were counted.
type Tally struct {
	Events      int64 // that had it
	First, Last int64 // their first and last number
	FirstAt     int64 // when those came, in seconds since 1970
	LastAt      int64
}

// join adds the tally of later events.
func (t Tally) join(later Tally) Tally {
	if t.Events == 0 {
		return later
	}
	t.Events += later.Events
	t.Last, t.LastAt = later.Last, later.LastAt
	return t
}

// Counts are the fields of some events of one kind.
type Counts struct {
	Events int64
	Fields map[Field]Tally
}

// Add counts one more event. A field that neither these counts nor those before know is left out where there are too many.
func (c *Counts) Add(fields []Field, at time.Time, before *Counts) {
	if c.Fields == nil {
		c.Fields = map[Field]Tally{}
	}
	c.Events++
	for _, f := range fields {
		t, known := c.Fields[f]
		if !known && before != nil {
			_, known = before.Fields[f]
		}
		if !known && len(c.Fields)+before.fields() >= mostFields {
			continue
		}
		c.Fields[f] = t.join(Tally{1, c.Events, c.Events, at.Unix(), at.Unix()})
	}
}

func (c *Counts) fields() int {
	if c == nil {
		return 0
	}
	return len(c.Fields)
}

// Then are the counts with those of later events behind them.
func (c Counts) Then(later Counts) Counts {
	out := Counts{Events: c.Events + later.Events, Fields: make(map[Field]Tally, max(len(c.Fields), len(later.Fields)))}
	for f, t := range c.Fields {
		out.Fields[f] = t
	}
	for f, t := range later.Fields {
		t.First += c.Events
		t.Last += c.Events
		out.Fields[f] = out.Fields[f].join(t)
	}
	return out
}

// key is a field as a text.
func (f Field) key() string { return f.Path + " " + string(f.Type) }

// encode is what is stored of the fields.
func (c *Counts) encode() (string, error) {
	all := make(map[string][5]int64, len(c.Fields))
	for f, t := range c.Fields {
		all[f.key()] = [5]int64{t.Events, t.First, t.Last, t.FirstAt, t.LastAt}
	}
	text, err := json.Marshal(all)
	return string(text), err
}

// decodeCounts reads what encode wrote.
func decodeCounts(events int64, text string) (Counts, error) {
	all := map[string][5]int64{}
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return Counts{}, fmt.Errorf("counts of fields: %w", err)
	}
	c := Counts{Events: events, Fields: make(map[Field]Tally, len(all))}
	for key, n := range all {
		at := strings.LastIndexByte(key, ' ')
		if at < 0 {
			return Counts{}, fmt.Errorf("counts of fields: %q has no type", key)
		}
		c.Fields[Field{key[:at], Type(key[at+1:])}] = Tally{n[0], n[1], n[2], n[3], n[4]}
	}
	return c, nil
}

// now are the places that say something in the last events.
func (c *Counts) now() (paths []string) {
	for f, t := range c.Fields {
		if f.Type.says() && c.Events-t.Last < Enough {
			paths = append(paths, f.Path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
