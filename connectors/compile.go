package connectors

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/connectors/optout"
	"github.com/nudgewire/nudgewire/connectors/problems"
	"github.com/nudgewire/nudgewire/internal/nearest"
)

// emptyObject says that an empty body is an object without fields.
const emptyObject = "object"

const (
	defaultMaxBody = 1 << 20
	// maxMaxBody is the most a connector may take: what fits into memory many times over.
	maxMaxBody          = 64 << 20
	defaultDedupeWindow = 7 * 24 * time.Hour
	minSecret           = 16 // characters; below it a warning
)

// Compile makes a Connector of a config entry. The problems hold errors and warnings; the
// Connector is nil when there is an error among them.
func Compile(name string, c Config, opt Options) (*Connector, []problems.Problem) {
	var all problems.Complaints
	merged, ok := withPreset(name, c, &all)
	if !ok {
		return nil, all.List
	}
	if opt.MaxBody <= 0 {
		opt.MaxBody = defaultMaxBody
	}
	k := &compiler{Compiler: &mapping.Compiler{Complaints: &all, Loose: merged.Body.LooseNames}, name: name, config: merged, own: c, options: opt}
	con := k.compile()
	if all.Failed() {
		return nil, all.List
	}
	for _, p := range all.List {
		con.warnings = append(con.warnings, p.String())
	}
	return con, all.List
}

// withPreset is the entry laid over the preset it starts from.
func withPreset(name string, c Config, all *problems.Complaints) (Config, bool) {
	wanted := c.Preset
	if wanted == "" {
		if base, ok := Preset(name); ok {
			c.Preset = name
			return c.over(base), true
		}
		if c.Verify == nil {
			hint := `write "preset:" with one of ` + strings.Join(PresetNames(), ", ") + `, or describe the sender: verify, event, map`
			if near := nearest.Of(name, PresetNames()); near != "" {
				hint = fmt.Sprintf(`did you mean the preset %q? Name the entry so, or write preset: %s`, near, near)
			}
			all.Add("", fmt.Sprintf("%q is no preset, and the entry does not say how requests are verified", name), hint)
			return c, false
		}
		return c, true
	}
	base, ok := Preset(wanted)
	if !ok {
		all.Unknown("preset", wanted, "preset", PresetNames())
		return c, false
	}
	return c.over(base), true
}

// A compiler holds what the steps of one Compile share.
type compiler struct {
	*mapping.Compiler
	name    string
	config  Config // with the preset under it
	own     Config // what the user wrote
	options Options
	words   []string // the secrets of verifiers
}

func (k *compiler) compile() *Connector {
	c := &k.config
	con := &Connector{name: k.name, config: *c, options: k.options, window: cmp.Or(c.Dedupe.Window.D(), defaultDedupeWindow)}
	k.Item = k.NewProgram()
	k.Root = k.Item
	con.whole = slices.Equal(c.Items, []string{"."})
	batch := len(c.Items) > 0 && !con.whole
	if batch {
		k.Root = k.NewProgram()
	}
	if u, err := url.Parse(c.Address); c.Address != "" && (err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") || u.RawQuery != "") {
		k.Add("address", "is no whole URL without a query", "write it as it was registered at the sender: https://hooks.example.com/in/shop")
	}
	if con.methods = c.Methods; len(c.Methods) == 0 {
		con.methods = []string{http.MethodPost}
	}
	con.body = k.body()
	if batch {
		con.items = k.items()
	}
	con.event = k.eventRule()
	for i := range c.RejectIf {
		con.rejects = append(con.rejects, k.rejectRule(fmt.Sprintf("reject_if[%d]", i), &c.RejectIf[i]))
	}
	for i := range c.Requires {
		con.requires = append(con.requires, k.requirement(fmt.Sprintf("requires[%d]", i), &c.Requires[i]))
	}
	for i, text := range c.SkipIf {
		if r := k.Rule(fmt.Sprintf("skip_if[%d]", i), text); r != nil {
			con.skips = append(con.skips, r)
		}
	}
	con.mapper = k.Mapper(k.mapperRules(), append(slices.Clone(c.before), c.layers()...))
	con.reply = compileReply(c.Reply, "reply", k.Complaints)
	for i := range c.Handshake {
		con.handshakes = append(con.handshakes, k.handshake(fmt.Sprintf("handshake[%d]", i), &c.Handshake[i]))
	}
	k.lookups(con)
	con.verify = k.verification(&con.body)
	con.event.token = con.body.token
	for _, s := range k.connectorSecrets() {
		con.secrets = append(con.secrets, s.text)
	}
	con.item, con.root = k.Item, k.Root
	con.kinds = map[string]bool{}
	for _, kind := range kindsOf(c) {
		con.kinds[kind] = true
	}
	con.bare, con.whole = k.Bare && batch, con.whole || k.Places
	con.event.zone = con.mapper.Location
	k.judgeUnsigned(con)
	return con
}

// mapperRules are the entry's own, and the config's where it says nothing.
func (k *compiler) mapperRules() mapping.MapperRules {
	d := k.config.Defaults
	return mapping.MapperRules{
		Country: strings.ToUpper(cmp.Or(d.Country, k.options.Country)), Language: cmp.Or(d.Language, k.options.Language), Zone: d.Timezone,
		Spelling: k.config.Phones, Answer: optout.Compile(k.config.OptOut).Says, TimeZone: k.config.Event.TimeZone,
	}
}

// items are the paths to the parts of a batch, from the top of the body.
func (k *compiler) items() []*mapping.Expr {
	var out []*mapping.Expr
	for i, text := range k.config.Items {
		at := fmt.Sprintf("items[%d]", i)
		e := k.Expr(at, text)
		switch {
		case e == nil:
		case e.From != mapping.FromItem:
			k.Add(at, "is no path into the body", mapping.PathHint)
		default:
			e.From, e.Group = mapping.FromRoot, strings.Join(e.Path.Names, ".")
			e.Link(k.Item, k.Root)
			out = append(out, e)
		}
	}
	return out
}
