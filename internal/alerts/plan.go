package alerts

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/netguard"
	"github.com/nudgewire/nudgewire/internal/secret"
)

// A Kind is how a receiver is reached.
type Kind string

// The kinds.
const (
	Webhook Kind = "webhook"
	Slack   Kind = "slack"
	Email   Kind = "email"
)

// A Receiver is told troubles.
type Receiver struct {
	ID           string // the same as long as it is the same place
	Name         string // for people
	Kind         Kind
	URL          secret.Secret // of a webhook, and of Slack
	To           []string      // of e-mail
	AllowPrivate bool
}

// A Watch is one condition for one receiver.
type Watch struct {
	Receiver string // its ID
	Condition
}

// A Plan is what the config says about alerts.
type Plan struct {
	Receivers []Receiver
	Watches   []Watch
	Mail      *Mail
}

// A Problem is something wrong in the config, at the path of the entry or key.
type Problem struct {
	Path, Msg, Hint string
	Warning         bool
}

// Compile makes a plan of the sections alerts and mail.
func Compile(entries []Entry, m *Mail) (*Plan, []Problem) {
	c := compiler{plan: Plan{Mail: m}}
	c.mail(m)
	mailed := false
	for i := range entries {
		e := &entries[i]
		at := fmt.Sprintf("alerts[%d]", i)
		c.url(at+".webhook", e.Webhook, e.AllowPrivate)
		c.url(at+".slack", e.Slack, e.AllowPrivate)
		var to []string
		for k, one := range e.Email {
			if a, ok := c.address(fmt.Sprintf("%s.email[%d]", at, k), one); ok {
				to = append(to, a)
			}
		}
		mailed = mailed || len(e.Email) > 0
		if len(e.Email) > 0 && m == nil {
			c.bad(at+".email", "needs the section mail, which says by which server", "write mail: {smtp: smtp.example.com:587, from: nudgewire@example.com, username: …, password: ${SMTP_PASSWORD}}")
		}
		several := 0
		for _, r := range []Receiver{{Kind: Webhook, URL: e.Webhook, AllowPrivate: e.AllowPrivate}, {Kind: Slack, URL: e.Slack, AllowPrivate: e.AllowPrivate}, {Kind: Email, To: to}} {
			if r.URL.IsZero() && len(r.To) == 0 {
				continue
			}
			several++
			r.Name = e.Name
			if several > 1 && r.Name != "" {
				r.Name += " by " + string(r.Kind)
			}
			c.watch(at, c.receiver(at, r), e.When)
		}
		if several == 0 && e.Webhook.IsZero() && e.Slack.IsZero() && len(e.Email) == 0 {
			c.bad(at, "tells nobody", "add webhook: ${OPS_URL}, slack: ${SLACK_URL} or email: [ops@example.com]")
		}
	}
	if m != nil && !mailed {
		c.problems = append(c.problems, Problem{Path: "mail", Msg: "no alert is sent by e-mail", Hint: "add email: [ops@example.com] to an entry of alerts, or remove it", Warning: true})
	}
	return &c.plan, c.problems
}

type compiler struct {
	plan     Plan
	problems []Problem
}

func (c *compiler) bad(path, msg, hint string) {
	c.problems = append(c.problems, Problem{Path: path, Msg: msg, Hint: hint})
}

// receiver finds the receiver that r is, or adds it, and gives its ID.
func (c *compiler) receiver(at string, r Receiver) string {
	sum := sha256.Sum256([]byte(string(r.Kind) + "\x00" + r.URL.Reveal() + "\x00" + strings.Join(slices.Sorted(slices.Values(r.To)), ",")))
	r.ID = hex.EncodeToString(sum[:8])
	if i := slices.IndexFunc(c.plan.Receivers, func(other Receiver) bool { return other.ID == r.ID }); i >= 0 {
		known := &c.plan.Receivers[i]
		known.AllowPrivate = known.AllowPrivate || r.AllowPrivate
		if r.Name != "" && known.Name != r.Name && !c.taken(r.Name) {
			known.Name = r.Name
		}
		return r.ID
	}
	named := r.Name != ""
	if !named {
		r.Name = string(r.Kind) + " " + r.where()
	}
	if c.taken(r.Name) {
		if named {
			c.bad(at+".name", fmt.Sprintf("%q is the name of another receiver already", r.Name), "give each a name of its own")
		}
		base := r.Name
		for n := 2; c.taken(r.Name); n++ {
			r.Name = fmt.Sprintf("%s (%d)", base, n)
		}
	}
	c.plan.Receivers = append(c.plan.Receivers, r)
	return r.ID
}

func (c *compiler) taken(name string) bool {
	return slices.ContainsFunc(c.plan.Receivers, func(other Receiver) bool { return other.Name == name })
}

// where says where a receiver is, without its secrets.
func (r *Receiver) where() string {
	if r.Kind == Email {
		return strings.Join(r.To, ", ")
	}
	u, err := url.Parse(r.URL.Reveal())
	if err != nil {
		return ""
	}
	return u.Host
}

func (c *compiler) watch(at, receiver string, when []Condition) {
	for i, one := range when {
		w := Watch{receiver, one}
		if slices.ContainsFunc(c.plan.Watches, func(other Watch) bool {
			return other.Receiver == receiver && other.Condition.String() == one.String()
		}) {
			c.problems = append(c.problems, Problem{Path: fmt.Sprintf("%s.when[%d]", at, i), Msg: fmt.Sprintf("%q is told to the same receiver already", one), Hint: "remove one of the two", Warning: true})
			continue
		}
		c.plan.Watches = append(c.plan.Watches, w)
	}
}

// url looks at an address. What is wrong with it is told without its text, which is a secret.
func (c *compiler) url(at string, s secret.Secret, private bool) {
	if s.IsZero() {
		return
	}
	if f := netguard.Check(s.Reveal(), private); f != nil {
		c.bad(at, f.Msg, f.Hint)
	}
}

// address reads an e-mail address: nothing else may come from it into the head of an e-mail.
func (c *compiler) address(at, text string) (string, bool) {
	a, err := mail.ParseAddress(text)
	if err != nil || strings.ContainsAny(a.Address, "\r\n") {
		c.bad(at, fmt.Sprintf("%q is not an e-mail address", text), "write it like ops@example.com")
		return "", false
	}
	return a.Address, true
}

func (c *compiler) mail(m *Mail) {
	if m == nil {
		return
	}
	if m.SMTP != "" {
		host, port, err := net.SplitHostPort(m.SMTP)
		switch {
		case err != nil || host == "" || port == "" || strings.Trim(port, "0123456789") != "":
			c.bad("mail.smtp", fmt.Sprintf("%q is not a server with its port", m.SMTP), "write it like smtp.example.com:587")
		case !m.AllowPrivate && !netguard.PublicHost(host): // delivery refuses it
			c.bad("mail.smtp", "leads into a private network", "set mail.allow_private: true if that is meant")
		}
	}
	if m.From != "" {
		c.address("mail.from", m.From)
	}
	switch {
	case m.TLS == Off && (m.Username != "" || !m.Password.IsZero()):
		c.bad("mail.tls", "a password is not sent in the clear", "write tls: starttls, or tls: tls where the port is 465; or remove username and password")
	case m.Username == "" && !m.Password.IsZero():
		c.bad("mail.password", "there is no username beside it", "write username, too")
	case m.Username != "" && m.Password.IsZero():
		c.bad("mail.username", "there is no password beside it", "write password: ${SMTP_PASSWORD}")
	}
}

// A Window is a share of failures and the time that it is counted over.
type Window struct {
	Subject string // of its trouble; "" for the usual one
	Above   float64
	Over    time.Duration
}

// Windows are those that the plan names, each once.
func (p *Plan) Windows() (out []Window) {
	for _, w := range p.Watches {
		one := Window{w.Window(), w.Above, w.Over}
		if w.Over > 0 && !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out
}

// UsesUsual reports whether a condition is met by the usual window of failed_rate.
func (p *Plan) UsesUsual() bool {
	return slices.ContainsFunc(p.Watches, func(w Watch) bool {
		return w.Code == "" || w.Code == messaging.TroubleFailedRate && w.Over == 0
	})
}
