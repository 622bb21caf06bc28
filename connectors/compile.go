package connectors

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/asjson"
	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/phones"

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

// emptyObject says that an empty body is an object without fields.
const emptyObject = "object"

const (
	defaultMaxBody = 1 << 20
	// mostMaxBody is the most a connector may take: what fits into memory many times over.
	mostMaxBody         = 64 << 20
	defaultDedupeWindow = 7 * 24 * time.Hour
	shortestSecret      = 16 // characters; below it a warning
)

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
	items      []*expr          // nil: the whole body is one
	item, root *rawjson.Program // the same for connectors without batches
	event      eventRule
	refusals   []refusalRule
	skips      []*rule
	mapper     *mapper
	reply      reply
	window     time.Duration
	warnings   []string
	secrets    []string // for samples

	lookups       []lookupRule
	lookupProgram *rawjson.Program // of their conditions and addresses
}

// eventRule is a compiled EventRule and Dedupe.
type eventRule struct {
	types   []*expr
	kind    string
	kinds   []kindRule
	aliases map[string]string
	ids     []idPart
	times   []*expr
	unit    string
	zone    *time.Location
	dedupe  []*expr // nil: event.id alone
	content bool    // an id comes from what is not signed, so topic and payload make a key, too
}

type kindRule struct {
	when []*rule
	kind string
}

type refusalRule struct {
	topic   string // pattern; "" for all
	when    []*rule
	because string
}

// An idPart is one part of an id: the first of its expressions that has a value.
type idPart struct {
	exprs    []*expr
	optional bool
}

// text is the part's value, and whether it tells items of one request apart.
func (p *idPart) text(v *view) (text string, tells bool) {
	for _, e := range p.exprs {
		if text := e.text(v); text != "" {
			return text, e.tells
		}
	}
	return "", false
}

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
}

func (k *compiler) compile() *Connector {
	c := &k.config
	con := &Connector{name: k.name, config: *c, options: k.options, window: c.Dedupe.Window.D()}
	if con.window == 0 {
		con.window = defaultDedupeWindow
	}
	k.item = rawjson.NewProgram()
	k.root = k.item
	batch := len(c.Items) > 0 && !slices.Equal(c.Items, []string{"."})
	if batch {
		k.root = rawjson.NewProgram()
	}
	if u, err := url.Parse(c.Address); c.Address != "" && (err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") || u.RawQuery != "") {
		k.add("address", "is no whole URL without a query", "write it as it was registered at the sender: https://hooks.example.com/in/shop")
	}
	con.methods = k.methods()
	con.body = k.body()
	if batch {
		con.items = k.items()
	}
	con.event = k.eventRule()
	for i := range c.RefuseIf {
		con.refusals = append(con.refusals, k.refusal(fmt.Sprintf("refuse_if[%d]", i), &c.RefuseIf[i]))
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
	for _, s := range k.connectorSecrets() {
		con.secrets = append(con.secrets, s.text)
	}
	con.item, con.root = k.item, k.root
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
			e.from = fromRoot
			e.link(k.item, k.root)
			out = append(out, e)
		}
	}
	return out
}

func (k *compiler) methods() []string {
	if len(k.config.Methods) == 0 {
		return []string{http.MethodPost}
	}
	var out []string
	for i, m := range k.config.Methods {
		m = strings.ToUpper(m)
		if !slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodGet}, m) {
			k.unknown(fmt.Sprintf("methods[%d]", i), m, "method of webhooks", []string{"POST", "PUT", "PATCH", "GET"})
			continue
		}
		out = append(out, m)
	}
	return out
}

func (k *compiler) body() bodyReader {
	b := &k.config.Body
	out := bodyReader{content: contentAuto, form: asjson.Form{Repeated: "last"}, max: k.options.MaxBody}
	sorts := []string{contentJSON, contentForm, contentMultipart, contentXML, contentText}
	if b.Content != "" {
		out.content = k.oneOf("body.content", b.Content, "sort of body", append([]string{contentAuto}, sorts...))
	}
	for i, a := range b.Accept {
		out.accept = append(out.accept, k.oneOf(fmt.Sprintf("body.accept[%d]", i), a, "sort of body", sorts))
	}
	if b.Empty != "" {
		out.empty = k.oneOf("body.empty", b.Empty, "meaning of an empty body", []string{"refuse", emptyObject}) == emptyObject
	}
	if b.FormNesting != "" {
		out.form.Flat = k.oneOf("body.form_nesting", b.FormNesting, "form nesting", []string{"brackets", "flat"}) == "flat"
	}
	if b.Repeated != "" {
		out.form.Repeated = k.oneOf("body.repeated", b.Repeated, "choice among repeated fields", []string{"first", "last", "all"})
	}
	for i, text := range b.JSONIn {
		e := k.expr(fmt.Sprintf("body.json_in[%d]", i), text)
		if e == nil {
			continue
		}
		if e.from != fromItem || len(e.path.steps) > 0 || len(e.path.names) == 0 || len(e.pipes) > 0 {
			k.add(fmt.Sprintf("body.json_in[%d]", i), "is no plain name of a field", "write names joined by dots: rawRequest or data.payload")
			continue
		}
		out.jsonIn = append(out.jsonIn, e.path.names)
	}
	switch size := b.MaxBytes.Bytes(); {
	case size < 0 || size > mostMaxBody:
		k.add("body.max_bytes", "is more than 64MiB, which a webhook never needs", "write a size up to 64MiB")
	case size > 0:
		out.max = size
	}
	return out
}

// oneOf is word if it is known, else the first known one after a complaint.
func (k *compiler) oneOf(path, word, what string, known []string) string {
	if slices.Contains(known, word) {
		return word
	}
	k.unknown(path, word, what, known)
	return known[0]
}

// expr parses without linking; nil after a complaint.
func (k *compiler) expr(path, text string) *expr {
	e, err := parseExpr(text)
	if err != nil {
		k.syntax(path, err)
		return nil
	}
	return e
}

// linked parses an expression over items; nil after a complaint.
func (k *compiler) linked(path, text string) *expr {
	e := k.expr(path, text)
	if e != nil {
		e.link(k.item, k.root)
	}
	return e
}

func (k *compiler) rule(path, text string) *rule {
	r, err := parseRule(text)
	if err != nil {
		k.syntax(path, err)
		return nil
	}
	r.left.link(k.item, k.root)
	return r
}

// rules are conditions that must all hold; none at all is a mistake.
func (k *compiler) rules(path string, texts []string, hint string) []*rule {
	if len(texts) == 0 {
		k.add(path, "is empty, so the rule would hold for everything", hint)
	}
	var out []*rule
	for i, text := range texts {
		if r := k.rule(fmt.Sprintf("%s[%d]", path, i), text); r != nil {
			out = append(out, r)
		}
	}
	return out
}

func (k *compiler) refusal(path string, rule *RefuseRule) refusalRule {
	if strings.TrimSpace(rule.Because) == "" {
		k.add(path+".because", "is missing: the refusal would say nothing", "write what is wrong with such an item")
	}
	return refusalRule{topic: rule.Topic, because: rule.Because, when: k.rules(path+".when", rule.When, "write a condition")}
}

func (k *compiler) eventRule() eventRule {
	rule := &k.config.Event
	out := eventRule{kind: rule.Kind, aliases: map[string]string{}, unit: rule.TimeUnit}
	if out.unit == "" {
		out.unit = unitAuto
	}
	k.oneOf("event.time_unit", out.unit, "unit of time", []string{unitAuto, unitSeconds, unitMillis, unitRFC3339, unitHTTP})
	if out.kind != "" {
		k.kind("event.kind", out.kind)
	}
	for i, one := range rule.Type {
		at := fmt.Sprintf("event.type[%d]", i)
		out.types = append(out.types, k.pathRule(at, at, one, takesText)...)
	}
	for i, one := range rule.Kinds {
		at := fmt.Sprintf("event.kinds[%d]", i)
		k.kind(at+".kind", one.Kind)
		out.kinds = append(out.kinds, kindRule{kind: one.Kind, when: k.rules(at+".when", one.When, "write a condition, or event.kind for all events")})
	}
	for _, a := range rule.Aliases {
		k.kind("event.aliases."+a.Key, a.Value)
		out.aliases[a.Key] = a.Value
	}
	for i, text := range rule.ID {
		at := fmt.Sprintf("event.id[%d]", i)
		if text == "body_hash" {
			continue // what counts anyway where nothing else does
		}
		bare, optional := strings.CutSuffix(text, "?")
		part := idPart{optional: optional}
		for alternative := range strings.SplitSeq(bare, " else ") {
			if e := k.linked(at, strings.TrimSpace(alternative)); e != nil {
				e.tells = k.tells(e, out.types)
				part.exprs = append(part.exprs, e)
			}
		}
		out.ids = append(out.ids, part)
	}
	for i, text := range rule.Time {
		if e := k.linked(fmt.Sprintf("event.time[%d]", i), text); e != nil {
			out.times = append(out.times, e)
		}
	}
	for i, text := range k.config.Dedupe.Key {
		e, err := parseExprAbout(text, true)
		if err != nil {
			k.syntax(fmt.Sprintf("dedupe.key[%d]", i), err)
			continue
		}
		e.link(k.item, k.root)
		e.tells = k.tells(e, out.types) || e.from == fromEvent && e.name == "event.id"
		out.dedupe = append(out.dedupe, e)
	}
	return out
}

// tells reports whether e may tell the items of one request apart: what stands around them and
// their topics are the same for many.
func (k *compiler) tells(e *expr, topics []*expr) bool {
	if k.root == k.item {
		return true // one item
	}
	if slices.ContainsFunc(topics, func(t *expr) bool {
		return t.source == e.source || slices.ContainsFunc(t.pieces, func(p piece) bool { return p.expr != nil && p.expr.source == e.source })
	}) {
		return false
	}
	return e.from == fromItem || slices.ContainsFunc(e.pieces, func(p piece) bool { return p.expr != nil && k.tells(p.expr, topics) })
}

// kind complains about what cannot be a kind, and warns of what is nearly a canonical one.
func (k *compiler) kind(path, kind string) {
	if !isKind(kind) {
		k.add(path, fmt.Sprintf("%q is no kind", kind), "write small words joined by dots, such as order.created")
		return
	}
	known := make([]string, len(canonicalKinds))
	for i, one := range canonicalKinds {
		known[i] = one.Kind
	}
	if near := nearest.Of(kind, known); near != "" && !slices.Contains(known, kind) && nearlySame(near, kind) {
		k.warn(path, fmt.Sprintf("%q is not one of the common kinds", kind), fmt.Sprintf("did you mean %q?", near))
	}
}

// nearlySame reports whether two kinds are of the same family: "order.create" is a slip for
// "order.created", but "user.created" is a word of its own beside "order.created".
func nearlySame(a, b string) bool {
	family, _, _ := strings.Cut(a, ".")
	return strings.HasPrefix(b, family+".")
}

func (k *compiler) mapper() *mapper {
	d := k.config.Defaults
	m := &mapper{country: strings.ToUpper(d.Country), language: d.Language, zone: d.Timezone}
	if m.country == "" {
		m.country = strings.ToUpper(k.options.Country)
	} else if !phones.IsCountry(m.country) {
		k.add("defaults.country", fmt.Sprintf("%q is no country", d.Country), "write its two letters, such as GB, DE or IN")
	}
	if m.language == "" {
		m.language = k.options.Language
	}
	m.location = zone(k.config.Event.TimeZone)
	layers := append(slices.Clone(k.config.before), k.config.layers()...)
	if len(layers) > mostLayers {
		k.add("map_for", fmt.Sprintf("has more than %d entries together with its preset", mostLayers), "join some of them with *")
		return m
	}
	for _, l := range layers {
		m.layers = append(m.layers, mapLayer{pattern: l.pattern, fields: k.assignments(l.path, l.mapping)})
	}
	return m
}

// zone is the time zone of that name; UTC for none, and for one that its rule has refused.
func zone(name string) *time.Location {
	location, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC
	}
	return location
}

func (k *compiler) assignments(path string, mapping Mapping) []assignment {
	var out []assignment
	for _, entry := range mapping {
		at := path + "." + entry.Key
		i := targetIndex(entry.Key)
		if i < 0 {
			hint := "the targets are those of docs/connectors/own.md: contact.…, cart.…, order.…, deal.…, form.…"
			if near := nearest.Of(entry.Key, targetNames()); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
			k.add(at, fmt.Sprintf("%q is nothing that can be mapped", entry.Key), hint)
			continue
		}
		a := assignment{target: i}
		kind := targets[i].kind
		switch {
		case entry.Value.Each != nil && kind != takesItems && kind != takesAnswers:
			k.add(at, "takes one value, not a list", "write a path; each: is for cart.items, order.items and form.answers")
			continue
		case entry.Value.Each == nil && kind == takesItems:
			k.add(at, "wants each: with the path to the lines", "write {each: line_items, title: title, quantity: quantity, price: price}")
			continue
		case entry.Value.Each != nil:
			a.each = k.eachList(at, entry.Value.Each)
		}
		for j, p := range entry.Value.Paths {
			a.paths = append(a.paths, k.pathRule(fmt.Sprintf("%s[%d]", at, j), at, p, kind)...)
		}
		out = append(out, a)
	}
	return out
}

// pathRule is one or two expressions: a path, a default text, or both.
func (k *compiler) pathRule(path, target string, p PathRule, kind targetKind) []*expr {
	var out []*expr
	if p.Path != "" {
		e := k.linked(path, p.Path)
		if e == nil {
			return nil
		}
		if e.minor() && kind != takesAmount {
			k.add(path, "| minor is for amounts", "use it for cart.total, order.total and deal.amount")
		}
		if p.Country != "" {
			if kind != takesPhone {
				k.add(path+".country", "belongs to a phone", "remove it from "+target)
			}
			e.country = k.linked(path+".country", p.Country)
		}
		if p.When != "" {
			e.when = k.rule(path+".when", p.When)
		}
		out = append(out, e)
	} else if !p.hasDefault && p.Default == "" {
		k.add(path, "is empty", pathHint)
	}
	if p.Default != "" {
		out = append(out, &expr{source: p.Default, from: fromLiteral, name: p.Default, slot: -1})
	}
	return out
}

func (k *compiler) eachList(path string, rule *EachRule) *eachList {
	from := k.linked(path+".each", rule.Each)
	if from == nil {
		return nil
	}
	if from.from != fromItem && from.from != fromRoot {
		k.add(path+".each", "is no path into the body", pathHint)
		return nil
	}
	l := &eachList{from: from, program: rawjson.NewProgram()}
	for i, texts := range [len(eachParts)][]string{
		rule.ID, rule.SKU, rule.Title, rule.Quantity, rule.Price, rule.URL, rule.Image, rule.Name, rule.Value,
	} {
		for j, text := range texts {
			e := k.expr(fmt.Sprintf("%s.%s[%d]", path, eachParts[i], j), text)
			if e == nil {
				continue
			}
			e.link(l.program, k.root)
			l.parts[i] = append(l.parts[i], e)
		}
	}
	return l
}

func (k *compiler) handshake(path string, rule *Handshake) handshake {
	return handshake{
		name:  rule.Name,
		when:  k.condition(path+".when", &rule.When),
		reply: compileReply(&rule.Reply, path+".reply", k.complaints),
	}
}

// verifyTokenWord stands in a condition for the connector's verify_token.
const verifyTokenWord = "$verify_token"

func (k *compiler) condition(path string, w *When) condition {
	var c condition
	for _, m := range w.Method {
		c.methods = append(c.methods, strings.ToUpper(m))
	}
	value := func(at, text string) string {
		switch text {
		case "*":
			return ""
		case verifyTokenWord:
			if k.config.VerifyToken.IsZero() {
				k.add("verify_token", "is missing: the sender repeats it when it tries out the URL", "set verify_token: ${NAME} to the word you gave the sender")
			}
			return k.config.VerifyToken.Reveal()
		case "":
			k.add(at, "is empty", `write the value, or "*" for any`)
		}
		return text
	}
	for _, q := range w.Query {
		c.query = append(c.query, wanted{q.Key, value(path+".query."+q.Key, q.Value), q.Value == verifyTokenWord})
	}
	for _, h := range w.Header {
		c.header = append(c.header, wanted{name: http.CanonicalHeaderKey(h.Key), value: value(path+".header."+h.Key, h.Value)})
	}
	if w.Form != nil {
		c.form = w.Form.Only
	}
	if w.JSON != nil {
		want := func(field string, paths []string) {
			for i, text := range paths {
				if e := k.expr(fmt.Sprintf("%s.json.%s[%d]", path, field, i), text); e != nil {
					c.json = append(c.json, e)
				}
			}
		}
		want("has", w.JSON.Has)
		want("only", w.JSON.Only)
		c.only = len(w.JSON.Only)
		c.alone = standAlone(c.json...)
	}
	if len(c.methods)+len(c.query)+len(c.header)+len(c.form)+len(c.json) == 0 {
		k.add(path, "would take every request for a handshake", "write method, query, header, form or json")
	}
	return c
}
