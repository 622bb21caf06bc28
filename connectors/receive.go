package connectors

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/connectors/problems"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// A Request is one call to a connector's URL, read whole.
type Request struct {
	Method   string
	URL      string // as the sender called it: public URL, path and query; some senders sign it
	Path     string
	RawQuery string
	Header   http.Header
	Body     []byte
	Remote   netip.Addr // of the sender, proxies already seen through
	Now      time.Time

	// Proven says that who sends it is known in another way, such as a token of the API: handshakes, the address and signatures
	// are not asked for.
	Proven bool

	test     bool               // the sender says that it is one (Config.TestHeader)
	claims   bool               // Body are the claims of the token that it was: JSON, whatever the connector says of its bodies
	readings *[]mapping.Reading // for Inspect
}

// Received is what a request led to.
type Received struct {
	Reply     Reply
	Handshake string // its name when the request only tried out the URL; then nothing else is set
	Events    []messaging.Event
	Skipped   []Skip

	// Empty is how many bodies of the request have no event, nor one that a rule skipped: 1 where the whole request has none.
	Empty int

	// Unverified says why the request would have been rejected, were the connector's verify not
	// in mode monitor; "" otherwise.
	Unverified string
}

// A Skip is an item of the body that became no event, by a rule of the connector.
type Skip struct {
	Topic  string
	Reason string
}

// A Reply is the answer to a request that was taken.
type Reply struct {
	Status      int
	ContentType string // "" with an empty body
	Body        []byte
	Header      map[string]string
}

// Rejected is why a request was not taken. Reason is for the operator and never holds a secret
// or a signature that would have been right; Public is for the caller and says nothing.
type Rejected struct {
	Status int    // HTTP status to answer
	Stage  string // size, method, address, verify, content, body, map
	Reason string
	Public string
	Allow  []string // with status 405: the methods that are taken
}

func (r *Rejected) Error() string { return r.Stage + ": " + r.Reason }

// The stages at which a request can end.
const (
	StageSize    = "size"
	StageMethod  = "method"
	StageAddress = "address"
	StageVerify  = "verify"
	StageContent = "content"
	StageBody    = "body"
	StageMap     = "map"
)

const publicWords = "rejected"

func reject(status int, stage, reason string) *Rejected {
	return &Rejected{Status: status, Stage: stage, Reason: reason, Public: publicWords}
}

// only is the one value of a header; differing values of what should be one are an attack or
// a broken proxy, and which of them counts must not be left to chance.
func only(h http.Header, name string) (value, reason string) {
	values := h[name]
	if len(values) == 0 {
		return "", ""
	}
	for _, other := range values[1:] {
		if other != values[0] {
			return "", "the header " + name + " came twice with different values"
		}
	}
	return values[0], ""
}

// address is the URL as the sender knows it: the one it was given, where the config says
// it, with the query that came.
func (c *Connector) address(r Request) string {
	if c.config.Address == "" {
		return r.URL
	}
	if r.RawQuery == "" {
		return c.config.Address
	}
	return c.config.Address + "?" + r.RawQuery
}

// Receive takes a request: it answers a handshake, or verifies the request and makes events of
// it. The error is always a *Rejected. It does not change the request, and keeps parts of its
// body in the events.
func (c *Connector) Receive(r Request) (Received, error) {
	r.URL = c.address(r)
	if int64(len(r.Body)) > c.body.max {
		return Received{}, reject(http.StatusRequestEntityTooLarge, StageSize,
			fmt.Sprintf("the body has %d bytes, more than %d", len(r.Body), c.body.max))
	}
	if r.Proven {
		return c.take(&r, Received{})
	}
	for i := range c.handshakes {
		if h := &c.handshakes[i]; h.when.holds(&r) {
			return Received{Reply: h.reply.answer(&r), Handshake: h.name}, nil
		}
	}
	if rejected := c.method(&r); rejected != nil {
		return Received{}, rejected
	}
	if rejected := c.verify.address(&r); rejected != nil {
		return Received{}, rejected
	}
	r.test = c.saysTest(r.Header)
	out := Received{}
	if reason := c.verify.check(&r); reason != "" {
		if !c.verify.monitor {
			return Received{}, reject(http.StatusUnauthorized, StageVerify, reason)
		}
		out.Unverified = reason
	}
	return c.take(&r, out)
}

// take makes events of a request that is who it says. The error is a *Rejected.
func (c *Connector) take(r *Request, out Received) (Received, error) {
	r = c.body.opened(r)
	if rejected := c.body.demand(r); rejected != nil {
		return Received{}, rejected
	}
	doc, rejected := c.body.read(r)
	if rejected != nil {
		return Received{}, rejected
	}
	if err := c.events(r, doc, &out); err != nil {
		return Received{}, err
	}
	if r.test {
		for i := range out.Events {
			asTest(&out.Events[i])
		}
	}
	if len(out.Events)+len(out.Skipped) == 0 {
		out.Empty = max(1, out.Empty)
	}
	out.Reply = c.reply.answer(r)
	return out, nil
}

// saysTest reports whether a request calls itself a test of the sender.
func (c *Connector) saysTest(h http.Header) bool {
	return slices.ContainsFunc(c.config.TestHeader, func(e yamlpos.Entry[string]) bool { return strings.EqualFold(mapping.HeaderText(h, e.Key), e.Value) })
}

// asTest makes of an event one that its sender calls a test: of a kind that nothing listens to, without a word on consent, and with keys
// of its own, so that no event of the shop is taken for a repetition of it.
func asTest(e *messaging.Event) {
	e.Kind, e.DedupeKey = messaging.TestKinds+e.Kind, boundedKey("test:"+e.DedupeKey)
	if e.ContentKey != "" {
		e.ContentKey = "test:" + e.ContentKey
	}
	e.Contact.AcceptsMarketing, e.Contact.Consent, e.Contact.AcceptsEmail, e.Contact.EmailConsent = false, false, false, false
}

// Worth says, before the body is read, how many bytes of it are worth reading. r has no body yet;
// announced is how long it is to be, -1 when nobody said.
//
// A request that may be verified is worth max_body, and no is nil. One whose headers and URL show
// that no body could verify it, but which may still try out the URL, is worth what handshakes have,
// and no is the answer to a longer one. Any other is worth nothing, and no says why: it is what
// Receive would have said.
func (c *Connector) Worth(r *Request, announced int64) (limit int64, no *Rejected) {
	handshakes := slices.ContainsFunc(c.handshakes, func(h handshake) bool { return h.when.could(r, announced) })
	if no = c.hopeless(r); no == nil {
		return c.body.max, nil
	}
	if handshakes {
		return maxHandshake, no
	}
	return 0, no
}

// hopeless is why no body could make an event of the request; nil when one may.
func (c *Connector) hopeless(r *Request) *Rejected {
	if rejected := c.method(r); rejected != nil {
		return rejected
	}
	if rejected := c.verify.address(r); rejected != nil {
		return rejected
	}
	if c.verify.monitor {
		return nil
	}
	if reason := c.verify.precheck(r); reason != "" {
		return reject(http.StatusUnauthorized, StageVerify, reason)
	}
	return nil
}

func (c *Connector) method(r *Request) *Rejected {
	if slices.Contains(c.methods, r.Method) {
		return nil
	}
	for i := range c.handshakes {
		if c.handshakes[i].when.wrongToken(r) {
			return reject(http.StatusForbidden, StageVerify, "the verify token differs: it must be the same word at the sender and in verify_token")
		}
	}
	rejected := reject(http.StatusMethodNotAllowed, StageMethod,
		fmt.Sprintf("the method is %s, and events come by %s", problems.Short(r.Method), strings.Join(c.methods, " or ")))
	rejected.Allow = c.methods
	return rejected
}
