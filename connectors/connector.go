package connectors

import (
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// Options are what a connector needs to know of the rest of the config.
type Options struct {
	PublicURL string // server.public_url; Request.URL must already be made with it
	Country   string // defaults.country, for connectors without one
	Language  string
	Timezone  string // not given to contacts: a number's own zones are better than a guess for all
	MaxBody   int64  // server.max_body in bytes; 0 means 1 MiB
}

// A Connector is a compiled Config: everything about one sender. It is safe for concurrent
// use and never changes.
type Connector struct {
	name    string
	config  Config
	options Options

	methods    []string
	handshakes []handshake
	verify     verification
	body       bodyReader
	items      []*mapping.Expr  // nil: the whole body is one, or each object of its list
	whole      bool             // a list is one event, too
	bare       bool             // an item may be a bare value, such as an id
	item, root *rawjson.Program // the same for connectors without batches
	event      eventRule
	rejects    []rejectRule
	requires   []requirement
	skips      []*mapping.Rule
	mapper     *mapping.Mapper
	reply      reply
	window     time.Duration
	warnings   []string
	secrets    []string // for samples
	kinds      map[string]bool

	lookups       []lookupRule
	ownLookups    bool             // they are the user's
	lookupProgram *rawjson.Program // of their conditions and addresses
}

// Name is the entry's name under connectors:.
func (c *Connector) Name() string { return c.name }

// HeedsOptOuts reports whether what its sender says of contacts who want no messages is carried out.
func (c *Connector) HeedsOptOuts() bool { return !c.config.OptOut.Off }

// BringsStops reports whether its sender brings what people write, so that it is of use without a trigger: who says STOP is blocked.
func (c *Connector) BringsStops() bool { return c.HeedsOptOuts() && c.kinds[mapping.ReceivedKind] }

// SilentAfter is how long the sender may be silent before somebody should look; 0 for ever.
func (c *Connector) SilentAfter() time.Duration { return c.config.SilentAfter.D() }

// Preset is the preset that the connector starts from; "" for none.
func (c *Connector) Preset() string { return c.config.Preset }

// Warnings are what Compile found unwise.
func (c *Connector) Warnings() []string { return slices.Clone(c.warnings) }

// Believes says what of its requests is believed though the sender does not sign it, where bodies are held against that; "" for
// nothing. Where they are not, Warnings says it.
func (c *Connector) Believes() string {
	if c.event.believed == "" || len(c.requires) == 0 {
		return ""
	}
	return c.event.believed + " is not signed, and names the topic: whoever copied a request can post it again under another topic that its body fits. " +
		"Nothing that cannot be undone is done by that alone. Keep copies and logs of requests from strangers, and change the secret when one got out"
}

// Kinds are the kinds of event the connector is known to make. Others may come.
func (c *Connector) Kinds() []string { return kindsOf(&c.config) }

// Topics are the kinds that the sender's own words stand for: checkouts/update is cart.updated. No event has such a word for its kind.
func (c *Connector) Topics() map[string]string {
	made := kindsOf(&Config{Event: c.config.Event})
	out := map[string]string{}
	for _, a := range c.config.Event.Aliases {
		if !slices.Contains(made, a.Key) {
			out[a.Key] = a.Value
		}
	}
	return out
}

// Knows reports whether a kind is one that the connector is known to make, or may be: a sender that a preset describes makes
// those of the preset and of kinds:.
func (c *Connector) Knows(kind string) bool {
	return c.config.Open || c.config.Preset == "" || c.kinds[kind]
}

// Open reports whether any kind may come, because somebody chooses the shape of the requests.
func (c *Connector) Open() bool { return c.config.Open }

// MaxBody is the longest body that is taken, in bytes.
func (c *Connector) MaxBody() int64 { return c.body.max }

// DedupeWindow is how long an event's DedupeKey is to be remembered.
func (c *Connector) DedupeWindow() time.Duration { return c.window }

// TakesPath reports whether the connector's URL has one more part: its token.
func (c *Connector) TakesPath() bool { return c.verify.traits().path }

// Verifies reports whether requests must show where they come from: not with kind none, and not in
// mode monitor.
func (c *Connector) Verifies() bool { return !c.verify.monitor && !c.verify.traits().open }

// rateUnverified is how many requests a second a connector takes that verifies nothing.
const rateUnverified = 10

// Rate is how many requests a second are taken; 0 is as many as come.
func (c *Connector) Rate() float64 {
	if rate := c.config.Rate.PerSecond(); rate > 0 || c.Verifies() {
		return rate
	}
	return rateUnverified
}

// TopicHeader is the header that the sender's word for what happened travels in; "" when it
// is in the body.
func (c *Connector) TopicHeader() string {
	for _, at := range c.config.Event.Type {
		if name, ok := strings.CutPrefix(at.Path, "header:"); ok {
			return name
		}
	}
	return ""
}

// TellsConsent reports whether its sender says who agreed to messages.
func (c *Connector) TellsConsent() bool {
	return len(consentOf(&c.config, "contact.accepts_marketing")) > 0
}

// NeverCarries reports whether no event of a kind ever has a field, such as order.total or cart.items.image: nothing of the connector's map,
// which is all that fills events, leads to it. It is false where nobody can know: where somebody chooses the shape of the requests, and of a
// kind that the preset does not know.
func (c *Connector) NeverCarries(kind, field string) bool {
	if c.config.Open || !c.Knows(kind) || kind == mapping.ReceivedKind && field == "message.says" {
		return false
	}
	topics, all := c.topicsOf(kind)
	for _, source := range mapping.FilledFrom(field) {
		if c.mapper.MayFill(source, kind, topics, all) {
			return false
		}
	}
	return mapping.IsField(field)
}

// Carries are the fields that the connector's map may fill of an event of a kind.
func (c *Connector) Carries(kind string) (fields []string) {
	for _, t := range mapping.MapTargets() {
		if !c.NeverCarries(kind, t.Name) {
			fields = append(fields, t.Name)
		}
	}
	return fields
}
