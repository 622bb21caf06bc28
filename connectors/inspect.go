package connectors

import (
	"slices"
	"strings"
)

// An Origin is a field of an event and where its value came from.
type Origin struct {
	Field string `json:"field"`          // the target, as in map: "cart.total"
	Path  string `json:"path"`           // the expression that had the value, as written
	Value string `json:"value"`          // what it said, not longer than a line
	Used  bool   `json:"used,omitempty"` // of several paths that said something for the field, this one counts
}

// Inspect is Receive for people: besides what came of the request it says for each event, in
// their order, which path filled which field. Fields that were worked out of others (a first
// name of a name) are not in it.
func (c *Connector) Inspect(r Request) (Received, [][]Origin, error) {
	r.origins = &[][]Origin{}
	got, err := c.Receive(r)
	for _, origins := range *r.origins {
		for i := range origins {
			same := func(o Origin) bool { return o.Field == origins[i].Field }
			origins[i].Used = slices.ContainsFunc(origins[:i], same) && !slices.ContainsFunc(origins[i+1:], same)
		}
	}
	return got, *r.origins, err
}

// came notes for Inspect that the expression at source filled target with text; for everybody
// else it is one comparison.
func (v *view) came(t *target, source, text string) {
	if v.origins == nil {
		return
	}
	all := *v.origins
	last := len(all) - 1
	text = short(strings.Join(strings.Fields(text), " "))
	all[last] = append(all[last], Origin{Field: t.name, Path: source, Value: text})
}
