package connectors

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/connectors/problems"
)

// CombinedKeys are the keys of kinds any_of and all_of.
type CombinedKeys struct {
	AnyOf  []*Verify `yaml:"any_of" doc:"Verifiers of which the first that applies to a request decides; the strongest comes first."`
	Prefer []string  `yaml:"prefer" doc:"For any_of: the names that are accepted, in this order; the others are not. Without it all are." example:"[v3]"`
	AllOf  []*Verify `yaml:"all_of" doc:"Verifiers that must all accept a request."`
	When   *When     `yaml:"when" doc:"For a member of any_of: what the request must look like for this verifier to apply."`
}

// preferred are the members of any_of that are accepted.
func (v *Verify) preferred() []*Verify {
	if len(v.Prefer) == 0 {
		return v.AnyOf
	}
	var out []*Verify
	for _, name := range v.Prefer {
		for _, one := range v.AnyOf {
			if one.Name == name {
				out = append(out, one)
			}
		}
	}
	return out
}

func anyOfWords(v *Verify) string { return joinWords(v.preferred(), ", else ") }

func allOfWords(v *Verify) string { return joinWords(v.AllOf, " and ") }

func joinWords(list []*Verify, by string) string {
	words := make([]string, len(list))
	for i, one := range list {
		words[i] = one.verifierWords()
	}
	return strings.Join(words, by)
}

func anyOfNeed(v *Verify) []Need {
	if accepted := v.preferred(); len(accepted) > 0 && accepted[0].kind() != nil {
		return accepted[0].kind().need(accepted[0])
	}
	return signedNeed(v)
}

// anyOf is decided by the first of its members that the request carries. A right weaker one does
// not help a request whose stronger one is wrong: otherwise an attacker would choose.
type anyOf struct {
	named
	members  []verifier
	excluded []verifier // by prefer
}

func (a *anyOf) carried(r *Request) bool {
	return slices.ContainsFunc(a.members, func(m verifier) bool { return m.carried(r) })
}

// precheck stops at a member that looks at the body: whether the request carries it, and so whether
// a later one counts at all, is not known yet.
func (a *anyOf) precheck(r *Request) string {
	for _, m := range a.members {
		reason := m.precheck(r)
		switch {
		case reason == "":
			return ""
		case m.carried(r):
			return m.called() + ": " + reason
		}
	}
	return a.none(r)
}

func (a *anyOf) check(r *Request) string {
	for _, m := range a.members {
		if m.carried(r) {
			return prefixed(m.called(), m.check(r))
		}
	}
	return a.none(r)
}

// prefixed is a member's reason, with its name before it.
func prefixed(name, reason string) string {
	if reason == "" {
		return ""
	}
	return name + ": " + reason
}

// none says that the request carries none of the members.
func (a *anyOf) none(r *Request) string {
	names := make([]string, len(a.members))
	for i, m := range a.members {
		names[i] = m.called()
	}
	reasons := []string{"the request carries nothing that is accepted here: " + strings.Join(names, ", ")}
	for _, m := range a.excluded {
		if m.carried(r) {
			reasons = append(reasons, "it carries "+m.called()+", which verify.prefer does not list")
		}
	}
	return strings.Join(reasons, "; ")
}

func (a *anyOf) sign(r *Request, out *signing) error { return a.members[0].sign(r, out) }

func (a *anyOf) traits() traits {
	var out traits
	for _, m := range a.members {
		t := m.traits()
		out.path, out.open = out.path || t.path, out.open || t.open
	}
	return out
}

// allOf wants every one of its members.
type allOf struct {
	named
	members []verifier
}

func (a *allOf) carried(r *Request) bool {
	return !slices.ContainsFunc(a.members, func(m verifier) bool { return !m.carried(r) })
}

func (a *allOf) precheck(r *Request) string {
	for _, m := range a.members {
		if reason := m.precheck(r); reason != "" {
			return prefixed(m.called(), reason)
		}
	}
	return ""
}

func (a *allOf) check(r *Request) string {
	for _, m := range a.members {
		if reason := m.check(r); reason != "" {
			return prefixed(m.called(), reason)
		}
	}
	return ""
}

// sign begins with the members that change the URL or the body: another one may sign it.
func (a *allOf) sign(r *Request, out *signing) error {
	for _, first := range []bool{true, false} {
		for _, m := range a.members {
			if m.traits().alters != first {
				continue
			}
			if err := m.sign(r, out); err != nil {
				return err
			}
			r.URL, r.Body = out.url, out.body
		}
	}
	return nil
}

func (a *allOf) traits() traits {
	out := traits{open: true}
	for _, m := range a.members {
		t := m.traits()
		out.body, out.time, out.path, out.open = out.body || t.body, out.time || t.time, out.path || t.path, out.open && t.open
	}
	return out
}

// conditional is a verifier that a request only carries when it looks as the condition says.
type conditional struct {
	verifier
	when condition
}

func (c *conditional) carried(r *Request) bool { return c.when.holds(r) && c.verifier.carried(r) }

// precheck leaves a condition on the body aside.
func (c *conditional) precheck(r *Request) string {
	if !c.when.holdsHead(r) {
		return "the request does not look as its condition says"
	}
	return c.verifier.precheck(r)
}

func (c *conditional) sign(r *Request, out *signing) error {
	c.when.imitate(out.header)
	return c.verifier.sign(r, out)
}

func (k *compiler) anyOf(v *verifyRule) verifier {
	out := &anyOf{named: v.named}
	byName := map[string]verifier{}
	var names []string
	for i, one := range v.AnyOf {
		at := fmt.Sprintf("%s.any_of[%d]", v.path, i)
		m := k.member(at, one, v)
		if m == nil {
			continue
		}
		if len(v.Prefer) > 0 && !slices.Contains(v.Prefer, m.called()) { // nothing is accepted by it that one could be warned of
			k.List = slices.DeleteFunc(k.List, func(p problems.Problem) bool { return p.Warning && strings.HasPrefix(p.Path, at+".") })
		}
		if byName[m.called()] != nil {
			k.Add(at+".name", fmt.Sprintf("two verifiers are called %q", m.called()), "give each its own name")
		}
		byName[m.called()] = m
		names = append(names, m.called())
		out.members = append(out.members, m)
	}
	if len(v.Prefer) > 0 {
		out.excluded = slices.DeleteFunc(out.members, func(m verifier) bool { return slices.Contains(v.Prefer, m.called()) })
		out.members = nil
		for i, n := range v.Prefer {
			if byName[n] == nil {
				k.Unknown(fmt.Sprintf("%s.prefer[%d]", v.path, i), n, "verifier of this connector", names)
				continue
			}
			out.members = append(out.members, byName[n])
		}
	}
	k.adviseWeaker(v.path, out.members)
	if len(out.members) > 0 {
		return out
	}
	if !k.Failed() {
		k.Add(v.path+".any_of", "holds no verifier that can be used", "write the verifiers as a list, the strongest first")
	}
	return nil
}

func (k *compiler) allOf(v *verifyRule) verifier {
	out := &allOf{named: v.named}
	if len(v.AllOf) < 2 {
		k.Add(v.path+".all_of", "wants at least two verifiers", "write the verifiers as a list")
	}
	for i, one := range v.AllOf {
		if m := k.member(fmt.Sprintf("%s.all_of[%d]", v.path, i), one, v); m != nil {
			out.members = append(out.members, m)
		}
	}
	coverBatches(out.members)
	return out
}

// coverBatches lets a signature of a batch's first item pass for all of them where another verifier
// checks the request, too.
func coverBatches(members []verifier) {
	firstOnly := func(m verifier) *signed {
		if c, ok := m.(*conditional); ok {
			m = c.verifier
		}
		if s, ok := m.(*signed); ok && s.firstOnly {
			return s
		}
		return nil
	}
	if !slices.ContainsFunc(members, func(m verifier) bool { return firstOnly(m) == nil }) {
		return
	}
	for _, m := range members {
		if s := firstOnly(m); s != nil {
			s.firstOnly = false
		}
	}
}

// member compiles a verifier inside any_of or all_of.
func (k *compiler) member(path string, v *Verify, outer *verifyRule) verifier {
	switch {
	case v == nil:
		k.Add(path, "is empty", "write kind: and what belongs to it")
		return nil
	case v.Kind == "none":
		k.Add(path+".kind", "none beside other verifiers would make them worthless", "remove it")
		return nil
	case len(v.AllowIPs) > 0 || v.Mode != "":
		k.Add(path, "allow_ips and mode belong to verify as a whole", "move them up")
	}
	m := k.verifier(path, v, outer.secrets, outer.body)
	if m == nil || v.When == nil {
		return m
	}
	return &conditional{verifier: m, when: k.condition(path+".when", v.When)}
}

// adviseWeaker warns of members that show less than others: whoever copied a request takes the
// headers of the stronger one off, and the weaker one decides.
func (k *compiler) adviseWeaker(path string, members []verifier) {
	for _, weak := range members {
		has := weak.traits()
		for _, strong := range members {
			t := strong.traits()
			what := "does not cover the body, as %s does"
			switch {
			case t.body && !has.body:
			case t.time && !has.time:
				what = "has no time, as %s has, so a copied request passes for ever"
			default:
				continue
			}
			k.Warn(path+".any_of", weak.called()+" "+fmt.Sprintf(what, strong.called())+"; whoever removes the headers of "+strong.called()+" is judged by "+weak.called(),
				"accept the stronger one alone, if the sender sends it: prefer: ["+strong.called()+"]")
			break
		}
	}
}

// What a verifier shows of a part of the request.
const (
	coversNothing = iota // nothing of the request: whoever can satisfy it can write anything
	coversOther          // something of the request, but not this part
	coversPart
)

// covers says whether a successful check shows that the part (url, header:NAME, or a field of the body as bodyPart writes it) is the sender's.
func covers(v verifier, part string) int {
	switch v := v.(type) {
	case *conditional:
		return covers(v.verifier, part)
	case *allOf: // one that covers it is enough
		best := coversNothing
		for _, m := range v.members {
			best = max(best, covers(m, part))
		}
		return best
	case *anyOf: // one that does not is enough for an attacker
		if slices.ContainsFunc(v.members, func(m verifier) bool { return covers(m, part) == coversOther }) {
			return coversOther
		}
		return coversNothing
	}
	switch t := v.traits(); {
	case !t.body && !t.partly:
		return coversNothing
	case slices.Contains(t.parts, part), t.body && strings.HasPrefix(part, anyBodyPart):
		return coversPart
	default:
		return coversOther
	}
}
