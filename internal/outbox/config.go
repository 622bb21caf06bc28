package outbox

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/netguard"
	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/units"
)

// An Entry of webhooks_out: is a receiver and what it wants to know.
type Entry struct {
	Name         string          `yaml:"name" example:"crm" doc:"What commands call it, and what its changes wait under. Unless set: the host of url. A new name is a new receiver."`
	URL          secret.Secret   `yaml:"url" validate:"required" example:"${CRM_STATUS_URL}" doc:"Address that gets a POST for each change; docs/webhooks-out.md has the body."`
	Secret       secret.Secret   `yaml:"secret" example:"${CRM_STATUS_SECRET}" doc:"What webhooks are signed with, as Standard Webhooks say: whsec_ and 24 to 64 bytes in base64."`
	Secrets      []secret.Secret `yaml:"secrets" example:"[${NEW_SECRET}, ${OLD_SECRET}]" doc:"Several secrets in place of secret, while the receiver changes from one to the other: each signs."`
	On           []string        `yaml:"on" validate:"required" example:"[message.*, run.done]" doc:"What it is told: kinds, or all about one thing by message.*, run.* or decision.*; docs/webhooks-out.md lists them."`
	GiveUp       units.Duration  `yaml:"give_up" validate:"min=1m,max=14d" default:"3d" doc:"A change that it has not taken for this long is set aside; webhooks replay sends it again."`
	AllowPrivate bool            `yaml:"allow_private" doc:"Let url lead into this machine or its private network, and by http://."`
}

// A Receiver is one to be told.
type Receiver struct {
	Name         string
	URL          secret.Secret
	Kinds        []string
	GiveUp       time.Duration
	AllowPrivate bool
	signers      []*standardwebhooks.Webhook
}

// A Plan is all receivers, in the order of the file. nil is none.
type Plan struct {
	Receivers []Receiver
	wants     map[[2]string][]string
}

// Tells are the names of the receivers that want to know of a change; about and word are the halves of its kind.
func (p *Plan) Tells(about, word string) []string {
	if p == nil {
		return nil
	}
	return p.wants[[2]string{about, word}]
}

// A Problem is a fault, or with Warning what is valid and likely not meant, at a path of the config.
type Problem struct {
	Path, Msg, Hint string
	Warning         bool
}

// Compile makes the plan of the section webhooks_out, and says what is wrong with it.
func Compile(entries []Entry) (*Plan, []Problem) {
	p := &Plan{wants: map[[2]string][]string{}}
	var problems []Problem
	for i := range entries {
		e := &entries[i]
		at := fmt.Sprintf("webhooks_out[%d]", i)
		bad := func(path, msg, hint string) {
			problems = append(problems, Problem{Path: at + path, Msg: msg, Hint: hint})
		}
		warn := func(path, msg, hint string) {
			problems = append(problems, Problem{Path: at + path, Msg: msg, Hint: hint, Warning: true})
		}
		r := Receiver{Name: e.Name, URL: e.URL, GiveUp: e.GiveUp.D(), AllowPrivate: e.AllowPrivate}
		if f := netguard.Check(e.URL.Reveal(), e.AllowPrivate); f != nil && !e.URL.IsZero() { // without one, it is said already
			bad(".url", f.Msg, f.Hint)
		}
		if u, err := url.Parse(e.URL.Reveal()); r.Name == "" && err == nil {
			r.Name = u.Hostname()
		}
		switch {
		case r.Name == "":
		case slices.ContainsFunc(p.Receivers, func(other Receiver) bool { return other.Name == r.Name }):
			path, hint := ".name", "give each a name of its own"
			if e.Name == "" {
				path, hint = "", "two receivers on one host: give each a name, such as name: crm"
			}
			bad(path, fmt.Sprintf("%q is the name of another receiver already", r.Name), hint)
		case strings.TrimSpace(r.Name) != r.Name || len(r.Name) > mostName || strings.ContainsFunc(r.Name, func(c rune) bool { return c < ' ' || c == 0x7f }):
			bad(".name", "is not a name: it is long, or has blanks around it or control characters in it", "write a short word, such as crm")
		}
		secrets, where := e.Secrets, ".secrets[%d]"
		switch {
		case !e.Secret.IsZero() && len(e.Secrets) > 0:
			bad(".secrets", "stands beside secret", "put both into secrets: [new, old]")
		case !e.Secret.IsZero():
			secrets, where = []secret.Secret{e.Secret}, ".secret"
		case len(e.Secrets) == 0:
			bad("", "has no secret, so a receiver could not tell its webhooks from anybody's", "add secret: ${CRM_STATUS_SECRET}; printf 'whsec_%s' \"$(openssl rand -base64 32)\" makes one")
		}
		for k, s := range secrets {
			path := where
			if strings.Contains(where, "%d") {
				path = fmt.Sprintf(where, k)
			}
			signer, err := signerOf(s.Reveal())
			if err != nil {
				bad(path, err.Error(), "printf 'whsec_%s' \"$(openssl rand -base64 32)\" makes one")
				continue
			}
			r.signers = append(r.signers, signer)
		}
		for k, pattern := range e.On {
			path := fmt.Sprintf(".on[%d]", k)
			kinds := messaging.KindsOf(pattern)
			if len(kinds) == 0 {
				hint := "docs/webhooks-out.md lists the kinds; message.* is all about messages"
				if near := nearest.Of(pattern, append([]string{"message.*", "run.*", "decision.*"}, messaging.ChangeKinds...)); near != "" {
					hint = "did you mean " + near + "?"
				}
				bad(path, fmt.Sprintf("%q is no kind of change", pattern), hint)
			}
			fresh := 0
			for _, kind := range kinds {
				if !slices.Contains(r.Kinds, kind) {
					r.Kinds, fresh = append(r.Kinds, kind), fresh+1
				}
			}
			if len(kinds) > 0 && fresh == 0 {
				warn(path, fmt.Sprintf("%s is in what stands before it already", pattern), "remove it")
			}
			if pattern == "decision.*" {
				warn(path, "is a webhook for every decision, the skipped ones too: as many as events times triggers", "name those that you need, such as decision.planned")
			}
		}
		for _, kind := range r.Kinds {
			about, word, _ := strings.Cut(kind, ".")
			p.wants[[2]string{about, word}] = append(p.wants[[2]string{about, word}], r.Name)
		}
		p.Receivers = append(p.Receivers, r)
	}
	return p, problems
}

const mostName = 100

// Sizes of a secret in bytes, as Standard Webhooks say.
const leastSecret, mostSecret = 24, 64

func signerOf(text string) (*standardwebhooks.Webhook, error) {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "whsec_"))
	if err != nil || !strings.HasPrefix(text, "whsec_") {
		return nil, fmt.Errorf("is not a secret of Standard Webhooks: whsec_ and base64")
	}
	if len(raw) < leastSecret || len(raw) > mostSecret {
		return nil, fmt.Errorf("has %d bytes; Standard Webhooks want %d to %d", len(raw), leastSecret, mostSecret)
	}
	return standardwebhooks.NewWebhook(text)
}
