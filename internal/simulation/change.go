package simulation

import (
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// The kinds of a Change.
const (
	New   = "new"   // it is sent where nothing was
	Gone  = "gone"  // nothing is sent where something was
	Moved = "moved" // it goes at another time, with other words or with the same
	Text  = "text"  // it goes at the same time, with other words
)

// A Change is a message that one config sends and the other does not, or at another time, or with other words.
type Change struct {
	Phone   messaging.Phone   `json:"phone"`
	Trigger string            `json:"trigger,omitempty" kind:"ours"` // "" for a row of a list
	Step    int               `json:"step,omitempty"`                // of its steps, from 1; 0 for a trigger without
	Event   messaging.EventID `json:"event,omitempty"`               // because of which
	Job     string            `json:"job,omitempty" kind:"ours"`     // of a row of a list
	Run     messaging.RunID   `json:"run,omitempty"`                 // whose list it is
	Row     int64             `json:"row,omitempty"`                 // of the rows that could go then, from 1
	Kind    string            `json:"change" kind:"ours"`
	Was     *Version          `json:"was,omitempty"`
	Is      *Version          `json:"is,omitempty"`
	Reason  string            `json:"reason,omitempty" kind:"text"`  // why it is gone
	Assumed []string          `json:"assumed,omitempty" kind:"ours"` // what nobody can know
}

// A Version is a message as one config sends it.
type Version struct {
	Due       time.Time `json:"due"`
	Template  string    `json:"template" kind:"ours"` // or campaign, or "text"
	Language  string    `json:"language,omitempty" kind:"text"`
	Variables []string  `json:"variables,omitempty" kind:"text"` // of a text: itself
	Reads     string    `json:"reads,omitempty" kind:"text"`     // what the phone shows, where the config declares the template's text
	Points    float64   `json:"points,omitempty"`                // by the price of its account
	unknown   bool      // its words are not kept any more
	assumed   bool      // of a row of a list that the config would read otherwise: what it says is not known
}

// versionOf is a message as it was sent, by the prices and templates of a config.
func versionOf(m *messaging.Message, r *Rules) *Version {
	kind, name := m.Send.Content()
	v := &Version{Due: m.DueAt, Template: name, Language: m.Send.Language, Variables: m.Send.Variables}
	if kind == "text" {
		v.Template, v.Variables = kind, []string{m.Send.Text}
	}
	if r.Points != nil {
		v.Points = r.Points(m.Account, m.Category, m.Phone)
	}
	if v.unknown = m.Send.Forget; !v.unknown && kind != "text" {
		v.Reads = r.Templates.Reads(m.Send, m.Account)
	}
	return v
}

// tolerance is how far a real send may be from its time before it counts as moved: nothing of a config, but a full queue, another try.
const tolerance = time.Minute

// compare is the kind of the change from v to is, "" for none. tolerance is how far apart two times may be that are the same.
func (v *Version) compare(is *Version, tolerance time.Duration) string {
	switch {
	case v == nil && is == nil:
		return ""
	case v == nil:
		return New
	case is == nil:
		return Gone
	case v.Due.Sub(is.Due).Abs() > tolerance:
		return Moved
	case v.Template != is.Template:
		return Text
	case v.assumed || is.assumed:
		return ""
	case v.Language != is.Language, !v.unknown && !is.unknown && !slices.Equal(v.Variables, is.Variables):
		return Text
	default:
		return ""
	}
}

// A Total counts messages of a trigger, of a job, or of a day.
type Total struct {
	Name  string `json:"name" kind:"ours"`
	Was   int64  `json:"was"` // sent
	Is    int64  `json:"is"`
	New   int64  `json:"new"`
	Gone  int64  `json:"gone"`
	Moved int64  `json:"moved"`
	Text  int64  `json:"text"`

	WasPoints float64 `json:"was_points,omitempty"`
	IsPoints  float64 `json:"is_points,omitempty"`
}

func (t *Total) count(c *Change) {
	switch c.Kind {
	case New:
		t.New++
	case Gone:
		t.Gone++
	case Moved:
		t.Moved++
	case Text:
		t.Text++
	}
}
