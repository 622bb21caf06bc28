package drift

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/connectors/mapping"
)

// What differs.
type What string

// What may be found, the worst first.
const (
	Gone    What = "gone"    // nearly all events had it, and none of the last ones has it
	Changed What = "changed" // it is of another type
	New     What = "new"     // no event had it before
)

var whats = []What{Gone, Changed, New}

// nearlyAll is which share of events had a field whose end is told, in hundredths.
const nearlyAll = 90

// mostFound is how many findings of a kind are kept.
const mostFound = 200

// A Finding is a field that is not what it was.
type Finding struct {
	What    What      `json:"what"`
	Path    string    `json:"path"`
	Was     Type      `json:"was,omitempty"`
	Is      Type      `json:"is,omitempty"` // of what is gone: null or empty, where that stands there now
	Since   time.Time `json:"since"`        // of what is gone, when the last event with it came; else when the first came that shows it
	With    int64     `json:"with"`         // events that had it, of the Of before; of what is new, events that have it
	Of      int64     `json:"of"`
	Without int64     `json:"without"`         // events since then without it, or where it is of another type
	Below   bool      `json:"below,omitempty"` // what it lies in is found so, too
	Near    []string  `json:"near,omitempty"`  // fields of now that may be what it became, the likeliest first
}

// Judge finds what of the events counted last differs from those before them.
func Judge(c Counts) (all []Finding) {
	types := map[string][]Field{}
	for f := range c.Fields {
		types[f.Path] = append(types[f.Path], f)
	}
	j := judge{c, types}
	found := map[string]What{}
	for path := range types {
		if f, is := j.path(path); is {
			all = append(all, f)
			found[path] = f.What
		}
	}
	for i := range all {
		f := &all[i]
		for at := parent(f.Path); at != ""; at = parent(at) {
			if what := found[at]; what == f.What || what == Changed {
				f.Below = true
			}
		}
	}
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(slices.Index(whats, a.What), slices.Index(whats, b.What)), strings.Compare(a.Path, b.Path))
	})
	return all[:min(len(all), mostFound)]
}

type judge struct {
	Counts
	types map[string][]Field
}

// path looks at one place.
func (j *judge) path(path string) (Finding, bool) {
	var all Tally // of the types that say something, as one
	var was, is Field
	for _, f := range j.types[path] {
		if !f.Type.says() {
			continue
		}
		t := j.Fields[f]
		if all.Events == 0 {
			all, was, is = t, f, f
			continue
		}
		all.Events += t.Events
		if t.First < all.First {
			all.First, all.FirstAt = t.First, t.FirstAt
		}
		if t.Last > all.Last {
			all.Last, all.LastAt = t.Last, t.LastAt
		}
		if better := cmp.Or(cmp.Compare(t.Events, j.Fields[was].Events), strings.Compare(string(was.Type), string(f.Type))); better > 0 {
			was = f
		}
		if later := cmp.Or(cmp.Compare(t.Last, j.Fields[is].Last), strings.Compare(string(is.Type), string(f.Type))); later > 0 {
			is = f
		}
	}
	if all.Events == 0 {
		return Finding{}, false
	}
	if f, found := j.gone(path, was, all); found {
		return f, true
	}
	if f, found := j.changed(path, is); found {
		return f, true
	}
	return j.came(path, is, all)
}

// gone is a place that had something in nearly all events since it first had, and in none of the last.
func (j *judge) gone(path string, was Field, all Tally) (Finding, bool) {
	of, without := all.Last-all.First+1, j.Events-all.Last
	with := min(all.Events, of) // several types in one event count once
	if of < Ground || without < Enough || with*100 < of*nearlyAll {
		return Finding{}, false
	}
	f := Finding{What: Gone, Path: path, Was: was.Type, Since: moment(all.LastAt), With: with, Of: of, Without: without}
	for _, one := range j.types[path] {
		if !one.Type.says() && j.Fields[one].Last > all.Last {
			f.Is = one.Type
		}
	}
	f.Near = j.near(path, was.Type, all.Last)
	return f, true
}

// changed is a place where each of the last events that had it has a type that it never had in the events before.
func (j *judge) changed(path string, is Field) (Finding, bool) {
	now := j.Fields[is]
	var was Field
	var old Tally
	for _, f := range j.types[path] {
		if t := j.Fields[f]; f != is && f.Type.says() {
			if t.Events > old.Events || t.Events == old.Events && f.Type < was.Type {
				was = f
			}
			old = Tally{Events: old.Events + t.Events, Last: max(old.Last, t.Last)}
		}
	}
	if now.First <= Ground || old.Events < Ground || now.Events < Enough || j.Events-old.Last < Enough {
		return Finding{}, false
	}
	return Finding{
		What: Changed, Path: path, Was: was.Type, Is: is.Type, Since: moment(now.FirstAt), With: min(old.Events, now.First-1), Of: now.First - 1, Without: now.Events,
		Near: j.near(path, was.Type, now.First-1),
	}, true
}

// came is a place that had nothing in the events before.
func (j *judge) came(path string, is Field, all Tally) (Finding, bool) {
	for _, f := range j.types[path] {
		if !f.Type.says() && j.Fields[f].First < all.First {
			return Finding{}, false // it was there, and empty
		}
	}
	if all.First <= Ground || all.Events < Enough {
		return Finding{}, false
	}
	return Finding{What: New, Path: path, Is: is.Type, Since: moment(all.FirstAt), With: min(all.Events, j.Events-all.First+1), Of: all.First - 1}, true
}

func moment(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }

// mostNear is how many fields are named as what another may have become.
const mostNear = 3

// Points for a field that may be what another became.
const (
	sameName   = 4
	likeName   = 3
	sinceThen  = 2
	sameParent = 1
	within     = 3

	leastNear = 3
)

// near are fields of the last events, of a type, that may be what a place became which was as it was up to an event.
func (j *judge) near(path string, t Type, upTo int64) (names []string) {
	type candidate struct {
		path   string
		points int
	}
	var all []candidate
	for f, tally := range j.Fields {
		if f.Path == path || f.Type != t || j.Events-tally.Last >= Enough {
			continue
		}
		points := alike(lastName(path), lastName(f.Path))
		if tally.First > upTo {
			points += sinceThen
		}
		if parent(f.Path) == parent(path) {
			points += sameParent
		}
		if parent(f.Path) == path {
			points += within
		}
		if points >= leastNear {
			all = append(all, candidate{f.Path, points})
		}
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.points, a.points), cmp.Compare(len(a.path), len(b.path)), strings.Compare(a.path, b.path))
	})
	for _, one := range all[:min(len(all), mostNear)] {
		names = append(names, one.path)
	}
	return names
}

// synonyms are words that senders have for the same.
var synonyms = [][]string{
	{"phone", "mobile", "cell", "cellphone", "tel", "telephone", "msisdn", "whatsapp", "handset"},
	{"email", "mail"},
	{"total", "amount", "price", "sum", "value", "subtotal"},
	{"url", "link", "href", "uri"},
	{"id", "uuid", "guid", "number", "no", "ref", "reference", "key"},
	{"first", "given", "forename"},
	{"last", "family", "surname"},
	{"consent", "optin", "accepts", "subscribed", "marketing", "permission"},
	{"items", "lines", "products", "articles"},
	{"title", "name", "label"},
	{"language", "lang", "locale"},
	{"country", "region"},
	{"created", "updated", "occurred", "time", "timestamp", "date"},
	{"event", "type", "topic", "kind", "action"},
}

// alike is how much two names seem to mean the same.
func alike(a, b string) int {
	one, other := wordsOf(a), wordsOf(b)
	if slices.Equal(one, other) {
		return sameName
	}
	for _, x := range one {
		for _, y := range other {
			if x == y || slices.ContainsFunc(synonyms, func(group []string) bool { return slices.Contains(group, x) && slices.Contains(group, y) }) {
				return likeName
			}
		}
	}
	return 0
}

// cut is where the last name of a path begins, with what leads to it; 0 where it is the only one.
func cut(path string) int {
	quoted, at := false, 0
	for i := 0; i < len(path); i++ {
		switch {
		case path[i] == '\\' && quoted:
			i++
		case path[i] == '"':
			quoted = !quoted
		case path[i] == '.' && !quoted:
			at = i
		}
	}
	return at
}

// parent is the path of what a place lies in; "" for the top.
func parent(path string) string {
	if of, is := strings.CutSuffix(path, mapping.Entries("")); is {
		return of
	}
	return path[:cut(path)]
}

// lastName is the last name of a path.
func lastName(path string) string {
	for strings.HasSuffix(path, mapping.Entries("")) {
		path = strings.TrimSuffix(path, mapping.Entries(""))
	}
	return strings.Trim(path[cut(path):], `."`)
}
