package connectors

import (
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// A proof is one way in which requests show where they come from.
type proof interface {
	// carried reports whether the request brings this sort of proof at all, right or wrong.
	carried(r *Request) bool
	// hopeless is why no body could make check say yes; "" when one may. The request has no body yet.
	hopeless(r *Request) string
	// check is why the request is not proven, for the operator; "" when it is.
	check(r *Request) string
	// sign puts into header and url what makes check say yes.
	sign(r *Request, out *signing) error
	// called is the name to speak of it by.
	called() string
}

// A signing is a request being given its proof.
type signing struct {
	header http.Header
	url    string
}

// gate is a connector's whole verification: addresses, proof, mode.
type gate struct {
	proof   proof
	allow   []netip.Prefix
	monitor bool
}

func (g *gate) address(r *Request) *Refused {
	if len(g.allow) == 0 {
		return nil
	}
	if !r.Remote.IsValid() {
		return refuse(http.StatusForbidden, StageAddress, "the sender's address is not known, and only some are allowed (verify.allow_ips)")
	}
	remote := r.Remote.Unmap().WithZone("")
	for _, p := range g.allow {
		if p.Contains(remote) {
			return nil
		}
	}
	return refuse(http.StatusForbidden, StageAddress, "the address "+remote.String()+" is not in verify.allow_ips")
}

// anyOf is decided by the first of its proofs that the request carries. A right weaker proof
// does not help a request whose stronger one is wrong: otherwise an attacker would choose.
type anyOf struct {
	name     string
	proofs   []proof
	excluded []proof // by prefer
}

func (a *anyOf) called() string { return a.name }

func (a *anyOf) carried(r *Request) bool {
	for _, p := range a.proofs {
		if p.carried(r) {
			return true
		}
	}
	return false
}

// hopeless stops at a proof that stands in the body: whether the request carries it, and so whether
// a later one counts at all, is not known yet.
func (a *anyOf) hopeless(r *Request) string {
	for _, p := range a.proofs {
		reason := p.hopeless(r)
		switch {
		case reason == "":
			return ""
		case p.carried(r):
			return p.called() + ": " + reason
		}
	}
	return a.none(r)
}

func (a *anyOf) check(r *Request) string {
	for _, p := range a.proofs {
		if p.carried(r) {
			if reason := p.check(r); reason != "" {
				return p.called() + ": " + reason
			}
			return ""
		}
	}
	return a.none(r)
}

// none says that the request carries none of the proofs.
func (a *anyOf) none(r *Request) string {
	names := make([]string, len(a.proofs))
	for i, p := range a.proofs {
		names[i] = p.called()
	}
	var reason strings.Builder
	reason.WriteString("the request carries none of the accepted proofs: " + strings.Join(names, ", "))
	for _, p := range a.excluded {
		if p.carried(r) {
			reason.WriteString("; it carries " + p.called() + ", which verify.prefer does not list")
		}
	}
	return reason.String()
}

func (a *anyOf) sign(r *Request, out *signing) error { return a.proofs[0].sign(r, out) }

// allOf wants every one of its proofs.
type allOf struct {
	name   string
	proofs []proof
}

func (a *allOf) called() string { return a.name }

func (a *allOf) carried(r *Request) bool {
	for _, p := range a.proofs {
		if !p.carried(r) {
			return false
		}
	}
	return true
}

func (a *allOf) hopeless(r *Request) string {
	for _, p := range a.proofs {
		if reason := p.hopeless(r); reason != "" {
			return p.called() + ": " + reason
		}
	}
	return ""
}

func (a *allOf) check(r *Request) string {
	for _, p := range a.proofs {
		if reason := p.check(r); reason != "" {
			return p.called() + ": " + reason
		}
	}
	return ""
}

// sign lets each proof see what the ones before it did: one of them may change the URL that
// another one signs.
func (a *allOf) sign(r *Request, out *signing) error {
	order := make([]proof, 0, len(a.proofs))
	for _, p := range a.proofs {
		if t, ok := p.(*token); ok && (t.from == tokenQuery || t.from == tokenPath) {
			order = append([]proof{p}, order...)
			continue
		}
		order = append(order, p)
	}
	for _, p := range order {
		if err := p.sign(r, out); err != nil {
			return err
		}
		r.URL = out.url
	}
	return nil
}

// noProof takes everything. It must be written out to be had.
type noProof struct{ name string }

func (n *noProof) called() string              { return n.name }
func (*noProof) carried(*Request) bool         { return true }
func (*noProof) hopeless(*Request) string      { return "" }
func (*noProof) check(*Request) string         { return "" }
func (*noProof) sign(*Request, *signing) error { return nil }

// conditional is a proof that a request only carries when it looks as condition says.
type conditional struct {
	proof
	when condition
}

func (c *conditional) carried(r *Request) bool {
	return c.when.holds(r) && c.proof.carried(r)
}

// hopeless asks the proof alone where the condition looks at the body.
func (c *conditional) hopeless(r *Request) string {
	if !c.when.holdsHead(r) {
		return "the request does not look as its condition says"
	}
	return c.proof.hopeless(r)
}

func (c *conditional) sign(r *Request, out *signing) error {
	c.when.imitate(out.header)
	return c.proof.sign(r, out)
}

// ago says how far t is from now, for reasons; no more than the longest duration, 292 years.
func ago(now, t time.Time) string {
	if t.After(now) {
		return t.Sub(now).Round(time.Second).String() + " in the future"
	}
	return now.Sub(t).Round(time.Second).String() + " old"
}
