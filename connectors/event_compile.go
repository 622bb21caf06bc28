package connectors

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/internal/nearest"
)

// rules are conditions that must all hold; none at all is a mistake.
func (k *compiler) rules(path string, texts []string, hint string) []*mapping.Rule {
	if len(texts) == 0 {
		k.Add(path, "is empty, so the rule would hold for everything", hint)
	}
	var out []*mapping.Rule
	for i, text := range texts {
		if r := k.Rule(fmt.Sprintf("%s[%d]", path, i), text); r != nil {
			out = append(out, r)
		}
	}
	return out
}

func (k *compiler) rejectRule(path string, rule *RejectRule) rejectRule {
	return rejectRule{topic: rule.Topic, because: rule.Because, when: k.rules(path+".when", rule.When, "write a condition")}
}

func (k *compiler) eventRule() eventRule {
	rule := &k.config.Event
	out := eventRule{kind: rule.Kind, aliases: map[string]string{}, unit: rule.TimeUnit}
	if out.unit == "" {
		out.unit = mapping.UnitAuto
	}
	if out.kind != "" {
		k.kind("event.kind", out.kind)
	}
	for i, one := range rule.Type {
		at := fmt.Sprintf("event.type[%d]", i)
		out.types = append(out.types, k.PathRule(at, at, one, mapping.TakesText)...)
	}
	for i, one := range rule.Kinds {
		at := fmt.Sprintf("event.kinds[%d]", i)
		k.kind(at+".kind", one.Kind)
		out.kinds = append(out.kinds, kindRule{kind: one.Kind, when: k.rules(at+".when", one.When, "write a condition, or event.kind for all events")})
	}
	for _, a := range rule.Aliases {
		k.kind("event.aliases."+a.Key, a.Value)
		if strings.Contains(a.Key, "*") {
			out.likes = append(out.likes, likeAlias{a.Key, a.Value})
		} else {
			out.aliases[a.Key] = a.Value
		}
	}
	for i, text := range rule.ID {
		at := fmt.Sprintf("event.id[%d]", i)
		switch text {
		case "body_hash":
			continue // what counts anyway where nothing else does
		case "what_is_read":
			out.mapped = true
			continue
		}
		bare, optional := strings.CutSuffix(text, "?")
		part := idPart{optional: optional}
		for alternative := range strings.SplitSeq(bare, " else ") {
			if e := k.Linked(at, strings.TrimSpace(alternative)); e != nil {
				e.Distinct = k.distinguishes(e, out.types)
				part.exprs = append(part.exprs, e)
			}
		}
		out.ids = append(out.ids, part)
	}
	for i, text := range rule.Time {
		if e := k.Linked(fmt.Sprintf("event.time[%d]", i), text); e != nil {
			out.times = append(out.times, e)
		}
	}
	for i, text := range k.config.Dedupe.Key {
		e, err := mapping.ParseExprAbout(text, true)
		if err != nil {
			k.Syntax(fmt.Sprintf("dedupe.key[%d]", i), err)
			continue
		}
		k.Link(e)
		e.Distinct = k.distinguishes(e, out.types) || e.From == mapping.FromEvent && e.Name == "event.id"
		out.dedupe = append(out.dedupe, e)
	}
	return out
}

// distinguishes reports whether e may distinguish the items of one request, where there are several: what is around them and
// their topics are the same for many.
func (k *compiler) distinguishes(e *mapping.Expr, topics []*mapping.Expr) bool {
	if slices.ContainsFunc(topics, func(t *mapping.Expr) bool {
		return t.Source == e.Source || slices.ContainsFunc(t.Pieces, func(p mapping.Piece) bool { return p.Expr != nil && p.Expr.Source == e.Source })
	}) {
		return false
	}
	return e.From == mapping.FromItem || e.From == mapping.FromRoot && k.Root == k.Item || slices.ContainsFunc(e.Pieces, func(p mapping.Piece) bool { return p.Expr != nil && k.distinguishes(p.Expr, topics) })
}

// kind complains about what cannot be a kind, and warns of what is nearly a canonical one.
func (k *compiler) kind(path, kind string) {
	if !isKind(kind) {
		k.Add(path, fmt.Sprintf("%q is no kind", kind), "write small words joined by dots, such as order.created")
		return
	}
	known := make([]string, len(canonicalKinds))
	for i, one := range canonicalKinds {
		known[i] = one.Kind
	}
	if slices.Contains(known, kind) {
		return
	}
	if near := nearest.Of(kind, known); near != "" && nearlySame(near, kind) {
		k.Warn(path, fmt.Sprintf("%q is not one of the common kinds", kind), fmt.Sprintf("did you mean %q?", near))
	}
}

// nearlySame reports whether two kinds are of the same family: "order.create" is a slip for
// "order.created", but "user.created" is a word of its own beside "order.created".
func nearlySame(a, b string) bool {
	family, _, _ := strings.Cut(a, ".")
	return strings.HasPrefix(b, family+".")
}

// judgeUnsigned finds what an event is made of that its verifier does not cover. Ids are backed by a key of the content, and so
// only warned of where the user wrote them; of all else check warns, whoever wrote it.
func (k *compiler) judgeUnsigned(con *Connector) {
	warn := func(path string, e *mapping.Expr, told bool) bool {
		part := unsignedPart(e, con.verify.verifier)
		if part != "" && told {
			k.Warn(path, "comes from "+part+", which is not signed: whoever copied a request can change it",
				"take it from the body if it is there, or add "+part+" to verify.parts if the sender signs it")
		}
		return part != ""
	}
	types := map[string]bool{}
	for i, e := range con.event.types {
		types[e.Source] = true
		con.event.believed = cmp.Or(con.event.believed, unsignedPart(e, con.verify.verifier))
		warn(fmt.Sprintf("event.type[%d]", i), e, len(con.requires) == 0)
	}
	if con.event.believed != "" {
		k.judgeTopic(con)
	}
	k.judgeFields(con)
	for i := range con.event.ids {
		for _, e := range con.event.ids[i].exprs {
			// The topic is part of the content key, too.
			con.event.backed = warn(fmt.Sprintf("event.id[%d]", i), e, len(k.own.Event.ID) > 0) && !types[e.Source] || con.event.backed
		}
	}
	for i, e := range con.event.dedupe {
		con.event.backed = warn(fmt.Sprintf("dedupe.key[%d]", i), e, len(k.own.Dedupe.Key) > 0) && !types[e.Source] || con.event.backed
	}
	for i, e := range con.event.times {
		warn(fmt.Sprintf("event.time[%d]", i), e, len(k.own.Event.Time) > 0)
	}
	for i, rule := range con.event.kinds {
		for j, r := range rule.when {
			warn(fmt.Sprintf("event.kinds[%d].when[%d]", i, j), r.Left, true)
		}
	}
	for _, l := range con.mapper.Layers {
		at := "map."
		if l.Pattern != "" {
			at = "map_for." + l.Pattern + "."
		}
		for _, a := range l.Fields {
			for _, e := range a.Paths {
				warn(at+mapping.Targets[a.Target].Name, e, true)
			}
		}
	}
}

// judgeTopic is about a topic that is not signed: where bodies are held against it, no word goes around that; where they are not,
// kinds whose consequence cannot be undone are refused, which it warns of.
func (k *compiler) judgeTopic(con *Connector) {
	if len(con.requires) > 0 {
		con.event.reserve(con.Kinds())
	}
	for _, a := range k.config.Event.Aliases {
		if irreversible(a.Value) && !slices.ContainsFunc(con.requires, func(q requirement) bool { return q.about(a.Key) }) {
			k.Warn("event.aliases."+a.Key, a.Value+" cannot be undone, and only "+con.event.believed+" says it, which is not signed: such requests are refused",
				"say under requires what the body of "+a.Key+" has")
		}
	}
}

// unsignedPart is the part of the request beside its body that e reads and p, which signs the body, does
// not cover; "" for none.
func unsignedPart(e *mapping.Expr, p verifier) string {
	switch e.From {
	case mapping.FromHeader:
		if covers(p, "header:"+http.CanonicalHeaderKey(e.Name)) == coversOther {
			return "header:" + e.Name
		}
	case mapping.FromQuery:
		if covers(p, "url") == coversOther {
			return "url"
		}
	case mapping.FromPieces:
		for _, piece := range e.Pieces {
			if piece.Expr != nil {
				if part := unsignedPart(piece.Expr, p); part != "" {
					return part
				}
			}
		}
	}
	return ""
}
