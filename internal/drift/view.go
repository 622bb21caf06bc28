package drift

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/units"
)

// What a view may say beside what Judge finds.
const (
	Topic     What = "unknown_topic" // its kind is none that the preset knows, and no trigger listens to it
	NotEnough What = "not_enough"    // too few events came to say anything
)

// A View is what a sender changed.
type View struct {
	Connector string    `json:"connector" kind:"ours"`
	Kind      string    `json:"kind" kind:"text"`
	What      What      `json:"what"`
	Path      string    `json:"path,omitempty" kind:"text"` // of the field, with [] for the entries of lists
	Was       Type      `json:"was,omitempty"`
	Is        Type      `json:"is,omitempty"`
	Since     time.Time `json:"since,omitzero"`
	With      int64     `json:"with"`                          // events that had it, of those in of
	Of        int64     `json:"of"`                            // events that were there before it changed
	Without   int64     `json:"without"`                       // events since that are not like them
	Near      []string  `json:"near,omitempty" kind:"text"`    // fields that may be what it became
	ReadBy    []string  `json:"read_by,omitempty" kind:"text"` // the fields and triggers that read it
	Instead   string    `json:"instead,omitempty" kind:"text"` // another place of the same field, which is there and is read in its stead
	Todo      bool      `json:"todo"`                          // something is decided or sent by it, and nothing is read in its stead
	YAML      string    `json:"yaml,omitempty" kind:"ours"`    // to paste, for all of its kind that is to do
	Edits     []string  `json:"edits,omitempty" kind:"ours"`   // what is to be edited by hand

	reads []Read
}

// Query narrows the list.
type Query struct {
	Connector string `json:"connector"` // "" for all
}

// AcceptRequest names what is taken as it is now.
type AcceptRequest struct {
	Connector string `json:"connector"`
	Kind      string `json:"kind,omitempty"` // "" for all of the connector
}

// Drifts tell what senders changed.
type Drifts struct {
	Records
	// Reads are what the config reads in the events of a kind; known is false for a connector that it does not have.
	Reads func(connector, kind string) (reads []Read, known bool)
	// Topics are the kinds that nobody knows.
	Topics func(context.Context) ([]View, error)
	Now    func() time.Time
}

// List is all that differs, what is to be done first.
func (d Drifts) List(ctx context.Context, q Query) ([]View, error) {
	all, err := d.fields(ctx, true)
	if err != nil {
		return nil, err
	}
	if d.Topics != nil {
		topics, err := d.Topics(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, topics...)
	}
	if q.Connector != "" {
		all = slices.DeleteFunc(all, func(v View) bool { return v.Connector != q.Connector })
	}
	sortViews(all)
	if all == nil {
		all = []View{}
	}
	return all, nil
}

var order = []What{Gone, Changed, Topic, New, NotEnough}

func sortViews(all []View) {
	rank := func(v *View) int {
		switch {
		case v.Todo:
			return 0
		case len(v.ReadBy) > 0:
			return 1
		default:
			return 2
		}
	}
	slices.SortStableFunc(all, func(a, b View) int {
		return cmp.Or(cmp.Compare(rank(&a), rank(&b)), cmp.Compare(slices.Index(order, a.What), slices.Index(order, b.What)),
			cmp.Compare(a.Connector, b.Connector), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Path, b.Path))
	})
}

// Todo is what somebody has to do something about.
func (d Drifts) Todo(ctx context.Context) ([]View, error) {
	if d.Reads == nil {
		return nil, nil
	}
	all, err := d.fields(ctx, false)
	all = slices.DeleteFunc(all, func(v View) bool { return !v.Todo })
	sortViews(all)
	return all, err
}

// fields are the views of fields; with young also of kinds of which too few events came.
func (d Drifts) fields(ctx context.Context, young bool) (all []View, err error) {
	kinds, err := d.found(ctx)
	if err != nil {
		return nil, err
	}
	now := d.Now()
	for i := range kinds {
		k := &kinds[i]
		if len(k.Found) == 0 && !young {
			continue
		}
		var reads []Read
		if d.Reads != nil {
			var known bool
			if reads, known = d.Reads(k.connector, k.kind); !known {
				continue
			}
		}
		views := k.views(reads, now)
		if young && len(views) == 0 && k.events < Ground+Enough && now.Sub(k.at) < Week {
			views = []View{{Connector: k.connector, Kind: k.kind, What: NotEnough, Of: k.events}}
		}
		all = append(all, views...)
	}
	return all, nil
}

// views are what is told of a kind.
func (k *kindFound) views(reads []Read, now time.Time) (all []View) {
	for i := range k.Found {
		f := &k.Found[i]
		if now.Sub(f.Since) >= Week {
			continue
		}
		v := View{
			Connector: k.connector, Kind: k.kind, What: f.What, Path: f.Path, Was: f.Was, Is: f.Is, Since: f.Since.UTC(), With: f.With, Of: f.Of, Without: f.Without, Near: f.Near,
		}
		k.fillReaders(&v, reads)
		if f.Below && len(v.ReadBy) == 0 {
			continue // what it lies in is told
		}
		all = append(all, v)
	}
	var todo []View
	for i := range all {
		if all[i].Todo {
			todo = append(todo, all[i])
		}
	}
	m := mendOf(todo, reads, k.Now)
	for i := range all {
		if all[i].Todo {
			all[i].YAML, all[i].Edits = m.yaml(k.connector, k.kind), m.rules
		}
	}
	return all
}

// ofTrigger stands before the name of a trigger that reads a field.
const ofTrigger = "trigger "

// fillReaders fills in who reads the field, and whether that is to be done something about.
func (k *kindFound) fillReaders(v *View, reads []Read) {
	add := func(who string) {
		if !slices.Contains(v.ReadBy, who) {
			v.ReadBy = append(v.ReadBy, who)
		}
	}
	for i := range reads {
		r := &reads[i]
		if !r.at(v.Path) {
			continue
		}
		add(r.Field)
		for _, name := range r.Triggers {
			add(ofTrigger + name)
		}
		if !r.Acts || v.What == New || v.What == Changed && !r.Raw && scalar(v.Was) && scalar(v.Is) { // a map reads "12" as 12
			continue
		}
		if instead := k.instead(r, v.Path, reads); instead != "" {
			v.Instead = instead
			continue
		}
		v.Todo = true
		v.reads = append(v.reads, *r)
	}
	if v.Todo {
		v.Instead = ""
	}
}

func scalar(t Type) bool { return t == Text || t == Number || t == Boolean }

// instead is another place of the field that a read fills, where the last events have something; "" for none.
func (k *kindFound) instead(of *Read, path string, reads []Read) string {
	for i := range reads {
		r := &reads[i]
		if r.Field != of.Field || of.Raw || r.Path == "" || r.Source == of.Source || r.at(path) { // a text that joins several needs all of them
			continue
		}
		if slices.ContainsFunc(k.Now, r.at) {
			return r.Path
		}
	}
	return ""
}

// Accept takes what a connector sends now for what it is to send: what differs from before is over. It gives what that was.
func (d Drifts) Accept(ctx context.Context, in AcceptRequest) ([]View, error) {
	all, err := d.fields(ctx, false)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(v View) bool { return v.Connector != in.Connector || in.Kind != "" && v.Kind != in.Kind })
	sortViews(all)
	if len(all) == 0 {
		of := in.Connector
		if in.Kind != "" {
			of += "/" + in.Kind
		}
		return nil, refusal.Newf(http.StatusNotFound, `"nudgewire connectors drift" shows what differs`, "nothing of %q differs from the week before", of)
	}
	if err := d.drop(ctx, in.Connector, in.Kind); err != nil {
		return nil, err
	}
	return all, nil
}

// Words say it in a line.
func (v *View) Words() string {
	switch v.What {
	case Gone:
		words := fmt.Sprintf("%s.%s: %s was in %s of %s, and is in none of the %s since %s",
			v.Connector, v.Kind, v.Path, units.Number(v.With), units.Count(v.Of, "event"), units.Number(v.Without), v.Since.Format("2006-01-02 15:04 MST"))
		if v.Is != "" {
			words = strings.Replace(words, "is in none", fmt.Sprintf("is %s in each", v.Is), 1)
		}
		return words
	case Changed:
		return fmt.Sprintf("%s.%s: %s was %s in %s of %s, and is %s since %s (%s)",
			v.Connector, v.Kind, v.Path, v.Was, units.Number(v.With), units.Count(v.Of, "event"), v.Is, v.Since.Format("2006-01-02 15:04 MST"), units.Count(v.Without, "event"))
	case New:
		return fmt.Sprintf("%s.%s: %s (%s) is new since %s: in %s, and in none of the %s before",
			v.Connector, v.Kind, v.Path, v.Is, v.Since.Format("2006-01-02 15:04 MST"), units.Count(v.With, "event"), units.Number(v.Of))
	case Topic:
		return fmt.Sprintf("%s.%s: %s of a kind that its preset does not know", v.Connector, v.Kind, units.Count(v.Without, "event"))
	default:
		return fmt.Sprintf("%s.%s: %s so far, and %d are needed to say anything", v.Connector, v.Kind, units.Count(v.Of, "event"), Ground+Enough)
	}
}
