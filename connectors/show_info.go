package connectors

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/connectors/mapping"
)

// An Info is a connector as people see it who are about to set it up: everything that can be
// said without its secret.
type Info struct {
	Name     string
	Title    string
	Preset   string // that it starts from; for a preset its own name
	Docs     string
	Setup    string
	Verified string
	Duties   string // what the operator has to do; "" for nothing
	Kinds    []string
	Open     bool                // any other kind may come, because somebody chooses the shape of the requests
	Words    map[string][]string // by kind: what the sender calls it, or the conditions that make it
	Consent  []string            // paths of consent with which word each may say, the ones asked first before the others

	EmailConsent []string // paths of permission to be sent e-mail, likewise
	Keyed        []string // families of kinds whose events name what they are about
	Lookups      []string // addresses that are asked for what a webhook leaves out, as written
	Verifier     string   // what verifies requests, in words
	Needs        []Need   // what the config must say
	Sender       Sender
	Address      string   // the whole URL, where the config says it
	LooksUp      bool     // it can fetch what a webhook leaves out, when the config has a token for that
	Samples      []Sample // as Connector.Samples, with SECRET for the secret

	query string // parameter of the URL that holds the token; "" for none
	path  bool   // the token is the last part of the URL
	must  bool   // the token can only be in the URL
	signs bool   // the URL itself is signed
}

// A Need is a key that an entry must set.
type Need struct {
	Key string `json:"key"` // "secret"
	Is  string `json:"is"`  // what it is, in words
}

// Info is what there is to say of the connector.
func (c *Connector) Info() Info {
	info := infoOf(c.name, &c.config)
	info.Preset = c.config.Preset
	return info
}

func infoOf(name string, c *Config) Info {
	info := Info{
		Name: name, Title: cmp.Or(c.Title, name), Preset: name, Docs: c.Docs, Setup: strings.TrimSpace(c.Setup), Verified: strings.TrimSpace(c.Verified), Duties: strings.TrimSpace(c.Duties),
		Address: c.Address, LooksUp: len(c.Enrich) > 0, Kinds: kindsOf(c), Verifier: c.Verify.verifierWords(), Sender: c.Sender,
		Open: c.Open, Words: wordsOf(c), Consent: consentOf(c, "contact.accepts_marketing"), EmailConsent: consentOf(c, "contact.accepts_email"), Lookups: lookupsOf(c), Keyed: keyedOf(c),
		Samples: samplesOf(c, sampleTime, 1, "SECRET"),
	}
	info.look(c.Verify)
	info.Needs = needsOf(c)
	return info
}

// wordsOf is what a sender calls each kind: its topics as they are, and the conditions of the
// rules that look further.
func wordsOf(c *Config) map[string][]string {
	out := map[string][]string{}
	for _, a := range c.Event.Aliases {
		out[a.Value] = append(out[a.Value], a.Key)
	}
	for _, r := range c.Event.Kinds {
		out[r.Kind] = append(out[r.Kind], strings.Join(r.When, " and "))
	}
	return out
}

// sayingWords follow a path of consent: which word it may say.
var sayingWords = map[mapping.Saying]string{
	mapping.SaysGiven: " (a box: left empty it says nothing)", mapping.SaysWithdrawn: " (withdraws; unset it says nothing)", mapping.SaysBoth: " (states it: its no withdraws)",
}

// consentOf is where a sender's word about consent is, over all kinds, of the target named.
func consentOf(c *Config, name string) []string {
	var out []string
	for _, l := range append(slices.Clone(c.before), c.layers()...) {
		for _, entry := range l.Mapping {
			if i := mapping.TargetIndex(entry.Key); i < 0 || mapping.Targets[i].Name != name {
				continue
			}
			for _, p := range entry.Value.Paths {
				out = appendNew(out, p.Path+sayingWords[mapping.Sayings[p.Says]])
			}
		}
	}
	return out
}

func lookupsOf(c *Config) []string {
	var out []string
	for _, e := range c.Enrich {
		at, _, _ := strings.Cut(e.Get, "?")
		if strings.HasPrefix(at, "/") {
			at = strings.TrimSuffix(c.APIURL, "/") + at
		}
		out = appendNew(out, at)
	}
	return out
}

// look finds what a verifier has to do with the URL.
func (i *Info) look(v *Verify) {
	if v == nil {
		return
	}
	switch {
	case v.From == fromQueryPlace:
		i.query, i.must = v.Field, true
	case v.From == fromPathPlace:
		i.path, i.must = true, true
	}
	i.signs = i.signs || slices.Contains(v.Parts, "url")
	for _, one := range v.AllOf {
		i.look(one)
	}
	for _, one := range v.preferred() {
		i.look(one)
	}
	if len(v.preferred()) > 1 {
		i.must = false
	}
}

// TokenPlaceholder is in URLs where the connector's secret belongs.
const TokenPlaceholder = "YOUR_SECRET"

// URL is the address to paste at the sender, below the public address base. Where the token
// travels in it, TokenPlaceholder is in its position.
func (i Info) URL(base string) string {
	if !i.must {
		return strings.TrimSuffix(base, "/") + "/hooks/" + i.Name
	}
	return i.tokenURL(base)
}

// TokenURL is an address with the token in it for senders that can set no headers; "" where
// that is not taken, or where URL has it anyway.
func (i Info) TokenURL(base string) string {
	if i.must || (i.query == "" && !i.path) {
		return ""
	}
	return i.tokenURL(base)
}

func (i Info) tokenURL(base string) string {
	url := strings.TrimSuffix(base, "/") + "/hooks/" + i.Name
	if i.path {
		return url + "/" + TokenPlaceholder
	}
	return url + "?" + i.query + "=" + TokenPlaceholder
}

// SignsURL reports whether the sender signs the URL, so that the daemon must know how it is
// called (server.public_url, or the connector's address).
func (i Info) SignsURL() bool { return i.signs }

func needsOf(c *Config) []Need {
	var out []Need
	if kind := c.Verify.kind(); kind != nil {
		out = kind.need(c.Verify)
	}
	for _, h := range c.Handshake {
		for _, q := range h.When.Query {
			if q.Value == verifyTokenWord {
				out = append(out, Need{"verify_token", "a word of your own that the sender repeats when it tries out the URL"})
			}
		}
	}
	return out
}
