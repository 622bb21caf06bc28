package connectors

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Worth says, before the body is read, how many bytes of it are worth reading. r has no body yet;
// announced is how long it is to be, -1 when nobody said.
//
// A request that may be proven is worth max_body, and no is nil. One whose headers and URL show
// that no body could prove it, but which may still try out the URL, is worth what handshakes have,
// and no is the refusal for a longer one. Any other is worth nothing, and no says why: it is what
// Receive would have said.
func (c *Connector) Worth(r *Request, announced int64) (limit int64, no *Refused) {
	handshakes := slices.ContainsFunc(c.handshakes, func(h handshake) bool { return h.when.could(r, announced) })
	if no = c.hopeless(r); no == nil {
		return c.body.max, nil
	}
	if handshakes {
		return longestHandshake, no
	}
	return 0, no
}

// hopeless is why no body could make an event of the request; nil when one may.
func (c *Connector) hopeless(r *Request) *Refused {
	if refused := c.method(r); refused != nil {
		return refused
	}
	if refused := c.verify.address(r); refused != nil {
		return refused
	}
	if c.verify.monitor {
		return nil
	}
	if reason := c.verify.precheck(r); reason != "" {
		return refuse(http.StatusUnauthorized, StageVerify, reason)
	}
	return nil
}

func (c *Connector) method(r *Request) *Refused {
	if slices.Contains(c.methods, r.Method) {
		return nil
	}
	for i := range c.handshakes {
		if c.handshakes[i].when.wrongToken(r) {
			return refuse(http.StatusForbidden, StageVerify, "the verify token differs: it must be the same word at the sender and in verify_token")
		}
	}
	refused := refuse(http.StatusMethodNotAllowed, StageMethod,
		fmt.Sprintf("the method is %s, and events come by %s", short(r.Method), strings.Join(c.methods, " or ")))
	refused.Allow = c.methods
	return refused
}

// Proves reports whether requests must prove where they come from: not with kind none, and not in
// mode monitor.
func (c *Connector) Proves() bool { return !c.verify.monitor && !c.verify.traits().open }

// rateUnproven is how many requests a second a connector takes that proves nothing.
const rateUnproven = 10

// Rate is how many requests a second are taken; 0 is as many as come.
func (c *Connector) Rate() float64 {
	if rate := c.config.Rate.PerSecond(); rate > 0 || c.Proves() {
		return rate
	}
	return rateUnproven
}

// could reports whether the condition may hold once the body is there.
func (c *condition) could(r *Request, announced int64) bool {
	if (len(c.form) > 0 || len(c.json) > 0) && (announced == 0 || announced > longestHandshake) {
		return false
	}
	return c.holdsHead(r)
}
