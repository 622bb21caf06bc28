package connectors

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/rawjson"
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
func Compile(name string, c Config, opt Options) (*Connector, []Problem) {
	var all complaints
	merged, ok := withPreset(name, c, &all)
	if !ok {
		return nil, all.list
	}
	if opt.MaxBody <= 0 {
		opt.MaxBody = defaultMaxBody
	}
	k := &compiler{complaints: &all, name: name, config: merged, own: c, options: opt}
	con := k.compile()
	if all.failed() {
		return nil, all.list
	}
	for _, p := range all.list {
		con.warnings = append(con.warnings, p.String())
	}
	return con, all.list
}

// withPreset is the entry laid over the preset it starts from.
func withPreset(name string, c Config, all *complaints) (Config, bool) {
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
			all.add("", fmt.Sprintf("%q is no preset, and the entry does not say how requests are verified", name), hint)
			return c, false
		}
		return c, true
	}
	base, ok := Preset(wanted)
	if !ok {
		all.unknown("preset", wanted, "preset", PresetNames())
		return c, false
	}
	return c.over(base), true
}

// A compiler holds what the steps of one Compile share.
type compiler struct {
	*complaints
	name    string
	config  Config // with the preset under it
	own     Config // what the user wrote
	options Options
	item    *rawjson.Program
	root    *rawjson.Program
	words   []string // the secrets of verifiers
	bare    bool     // something reads the item itself
	places  bool     // something reads the item by places in a list
}

// program finds fields in bodies as the entry says that they are named.
func (k *compiler) program() *rawjson.Program {
	p := rawjson.NewProgram()
	p.Loose = k.config.Body.LooseNames
	return p
}

func (k *compiler) compile() *Connector {
	c := &k.config
	con := &Connector{name: k.name, config: *c, options: k.options, window: cmp.Or(c.Dedupe.Window.D(), defaultDedupeWindow)}
	k.item = k.program()
	k.root = k.item
	con.whole = slices.Equal(c.Items, []string{"."})
	batch := len(c.Items) > 0 && !con.whole
	if batch {
		k.root = k.program()
	}
	if u, err := url.Parse(c.Address); c.Address != "" && (err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") || u.RawQuery != "") {
		k.add("address", "is no whole URL without a query", "write it as it was registered at the sender: https://hooks.example.com/in/shop")
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
		if r := k.rule(fmt.Sprintf("skip_if[%d]", i), text); r != nil {
			con.skips = append(con.skips, r)
		}
	}
	con.mapper = k.mapper()
	con.reply = compileReply(c.Reply, "reply", k.complaints)
	for i := range c.Handshake {
		con.handshakes = append(con.handshakes, k.handshake(fmt.Sprintf("handshake[%d]", i), &c.Handshake[i]))
	}
	k.lookups(con)
	con.verify = k.verification(&con.body)
	con.event.token = con.body.token
	for _, s := range k.connectorSecrets() {
		con.secrets = append(con.secrets, s.text)
	}
	con.item, con.root = k.item, k.root
	con.kinds = map[string]bool{}
	for _, kind := range kindsOf(c) {
		con.kinds[kind] = true
	}
	con.bare, con.whole = k.bare && batch, con.whole || k.places
	con.event.zone = con.mapper.location
	k.judgeUnsigned(con)
	return con
}

// items are the paths to the parts of a batch, from the top of the body.
func (k *compiler) items() []*expr {
	var out []*expr
	for i, text := range k.config.Items {
		at := fmt.Sprintf("items[%d]", i)
		e := k.expr(at, text)
		switch {
		case e == nil:
		case e.from != fromItem:
			k.add(at, "is no path into the body", pathHint)
		default:
			e.from, e.group = fromRoot, strings.Join(e.path.names, ".")
			e.link(k.item, k.root)
			out = append(out, e)
		}
	}
	return out
}
