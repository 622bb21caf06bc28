package connectors

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/nudgewire/nudgewire"
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

	origins *[][]Origin // for Inspect
}

// Received is what a request led to.
type Received struct {
	Reply     Reply
	Handshake string // its name when the request only tried out the URL; then nothing else is set
	Events    []nudgewire.Event
	Skipped   []Skip

	// Empty says that there is not even an empty list where the events of a batch would lie: the
	// body is not what the sender is known to send.
	Empty bool

	// Unproven says why the request would have been refused, were the connector's proof not
	// in mode monitor; "" otherwise.
	Unproven string
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

// Refused is why a request was not taken. Reason is for the operator and never holds a secret
// or a signature that would have been right; Public is for the caller and tells nothing.
type Refused struct {
	Status int    // HTTP status to answer
	Stage  string // size, method, address, verify, content, body, map
	Reason string
	Public string
	Allow  []string // with status 405: the methods that are taken
}

func (r *Refused) Error() string { return r.Stage + ": " + r.Reason }

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

const publicRefusal = "refused"

func refuse(status int, stage, reason string) *Refused {
	return &Refused{Status: status, Stage: stage, Reason: reason, Public: publicRefusal}
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
