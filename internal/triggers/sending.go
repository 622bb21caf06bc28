package triggers

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/nudgewire/nudgewire/internal/expressions"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/netguard"
	"github.com/nudgewire/nudgewire/internal/plain"
)

// A sending is Send compiled.
type sending struct {
	template  string
	campaign  string
	language  *expressions.Template
	variables []*expressions.Template
	media     string // image, video, document; "" for no header
	address   *expressions.Template
	filename  *expressions.Template
	text      *expressions.Template
}

func (b *builder) template(path, text string) *expressions.Template {
	t, faults := expressions.CompileTemplate(text)
	b.faults(path, faults)
	return t
}

// textsOf reports whether every account that the rule may send by can send texts, and names the first that cannot.
func (b *builder) textsOf(r *rule) (refused string, allowed bool) {
	can := func(account string) bool {
		account = messaging.AccountKey(account)
		if account == "" {
			return b.env.TextAllowed
		}
		return b.env.Texts[account]
	}
	if r.Account != "" {
		return r.Account, can(r.Account)
	}
	known := false
	for _, name := range slices.Sorted(maps.Keys(b.env.Connectors)) {
		if !slices.ContainsFunc(r.on, func(p pattern) bool { return p.connector == "*" || p.connector == name }) {
			continue
		}
		known = true
		if account := b.env.Connectors[name].Account; !can(account) {
			return account, false
		}
	}
	return "", known || b.env.TextAllowed
}

func (b *builder) send(given Send) sending {
	for _, p := range given.Faults(Owner{Noun: "trigger", Sees: "event", Knows: expressions.IsName}, b.texts) {
		if b.refused != "" && b.refused != messaging.DefaultAccount {
			p.Hint = strings.ReplaceAll(p.Hint, "api.text_path", "accounts."+b.refused+".text_path")
		}
		p.Trigger, p.Path = b.name, b.within+strings.TrimSuffix("send."+p.Path, ".")
		b.problems = append(b.problems, p)
	}
	s := sending{template: given.Template, campaign: given.Campaign}
	if given.Text != "" {
		s.text = b.template("send.text", given.Text)
	}
	for i, text := range given.Variables {
		s.variables = append(s.variables, b.template(fmt.Sprintf("send.variables[%d]", i), text))
	}
	if s.template != "" {
		language := cmp.Or(given.Language, b.env.Language)
		if language == "" {
			b.report("send.template", 0, "set send.language or defaults.language", "the template's language is not known")
		}
		s.language = b.template("send.language", language)
	}
	if h := given.Header; h != nil {
		for _, m := range h.Media() {
			s.media, s.address = m.Kind, b.template("send.header."+m.Kind, m.Address)
		}
		if h.Filename != "" {
			s.filename = b.template("send.header.filename", h.Filename)
		}
	}
	return s
}

// Fetchable is why the messaging service cannot fetch an address; nil where its text says nothing
// against it. No name is resolved. What may hold a password is not repeated.
func Fetchable(text string) error {
	shown := strconv.Quote(plain.Crop(text, 100))
	if strings.Contains(text, "@") {
		shown = "the address"
	}
	u, err := url.Parse(text)
	if err != nil {
		return fmt.Errorf("%s is not a web address", shown)
	}
	if u.User != nil {
		return errors.New("the address has a user name or password in it, which the service would be given")
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return fmt.Errorf("%s is not an absolute http or https address", shown)
	}
	if !netguard.PublicHost(u.Hostname()) {
		return fmt.Errorf("%s cannot be fetched from outside: its host is not one of the public internet", shown)
	}
	return nil
}
