package connectors

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/internal/secret"
)

// Snippet is a piece of config.yaml to start from: the connector, and a trigger that listens
// to it. The variables it names hold the secrets.
func (i Info) Snippet() string {
	return i.Entry() + "    defaults: {country: GB}   # for phone numbers without a country code\n" + i.Starter()
}

// Entry is the connector's part of config.yaml. Each line that needs a value from its owner names a variable, or has an address to be
// replaced, and says behind # what that is; a line that may be left out is a comment.
func (i Info) Entry() string {
	var b strings.Builder
	variable := Variable(i.Name)
	b.WriteString("connectors:\n  " + i.Name + ":\n")
	if i.Preset != "" && i.Preset != i.Name {
		b.WriteString("    preset: " + i.Preset + "\n")
	}
	for _, n := range i.Needs {
		switch n.Key {
		case "secret":
			b.WriteString("    secret: ${" + variable + "_SECRET}   # " + n.Is + "\n")
		case "verify_token":
			b.WriteString("    verify_token: ${" + variable + "_VERIFY_TOKEN}   # " + n.Is + "\n")
		default:
			b.WriteString("    verify: {key: {public_keys: [\"${" + variable + "_PUBLIC_KEY}\"]}}   # " + n.Is + "\n")
		}
	}
	if needed := i.lookUpKeys(); needed != "" {
		b.WriteString(needed)
	} else if i.LooksUp {
		b.WriteString("    # token: ${" + variable + "_TOKEN}   # fetches from the sender what its webhooks leave out, such as the phone\n")
	}
	return b.String()
}

// lookUpKeys are the keys without which no event that the starter listens to has a phone; "" where it has one without them.
func (i Info) lookUpKeys() string {
	c := i.compiled()
	if c == nil {
		return ""
	}
	_, needs := c.neverPhone(i.starterKind())
	if needs == nil {
		return ""
	}
	var b strings.Builder
	variable := Variable(i.Name)
	for _, key := range needs.missing {
		switch {
		case key == "api_url":
			b.WriteString("    api_url: https://YOUR-ACCOUNT.example.com   # your account's address at the sender\n")
		case key == "token":
			b.WriteString("    token: ${" + variable + "_TOKEN}   # fetches the phone from the sender, whose webhooks leave it out\n")
		default:
			keys := "client_id: \"${" + variable + "_CLIENT_ID}\", client_secret: \"${" + variable + "_CLIENT_SECRET}\""
			if needs.made.Auth.OAuth.Grant == GrantRefresh {
				keys += ", refresh_token: \"${" + variable + "_REFRESH_TOKEN}\""
			}
			b.WriteString("    oauth: {" + keys + "}   # fetches the phone from the sender, whose webhooks leave it out\n")
		}
	}
	return b.String()
}

// compiled is a connector of the preset, without keys; nil where there is none.
func (i Info) compiled() *Connector {
	if i.Preset == "" {
		return nil
	}
	c, _ := Compile(i.Name, Config{Preset: i.Preset, Verify: &Verify{Kind: "none"}, VerifyToken: secret.New(i.Name)}, Options{})
	return c
}

// Variable is the beginning of the names of a connector's variables: SHOP_DE for shop-de.
func Variable(name string) string {
	name = strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	if name != "" && name[0] >= '0' && name[0] <= '9' { // no variable begins with a digit
		name = "_" + name
	}
	return name
}

// Starter is a trigger to start from, as YAML. It is safe to paste: it decides and sends nothing,
// waits, ends a cart's reminder with the order, and writes to nobody twice within a week where
// the kind has nothing of its own to distinguish one matter from the next.
func (i Info) Starter() string {
	kind := i.starterKind()
	if kind == "" {
		return ""
	}
	family, what, _ := strings.Cut(kind, ".")
	name := strings.NewReplacer(".", "-", "_", "-").Replace(i.Name + "-" + kind)
	on := i.Name + "." + kind
	if created := "cart.created"; kind == "cart.updated" && slices.Contains(i.Kinds, created) {
		on = "[" + i.Name + "." + created + ", " + on + "]"
	}
	c := i.compiled()
	carries := func(field string) bool { return c == nil || !c.NeverCarries(kind, field) }
	var b strings.Builder
	say := func(key, value, why string) {
		fmt.Fprintf(&b, "    %-52s # %s\n", key+": "+value, why)
	}
	b.WriteString("triggers:\n  " + name + ":\n    on: " + on + "\n")
	switch shop := family == "cart" || family == "order"; {
	case len(i.Consent) > 0 && shop && !carries("contact.accepts_marketing"):
		say("consent", "required", "only those who agreed, as other events of theirs say")
	case len(i.Consent) > 0 && shop:
		say("if", "customer.accepts_marketing", "only those who agreed")
	case len(i.Consent) > 0:
		say("# if", "customer.accepts_marketing", "where a request, or what is looked up, says so")
	}
	switch {
	case family == "cart":
		say("wait", "45m", "begins anew with each change of the cart")
		i.endOfCart(say)
	case what == "updated":
		say("wait", "15m", "begins anew with each change, so that a burst of them is one message")
	default:
		say("wait", "5m", "a moment in which a mistake can still be undone")
	}
	if !slices.Contains(i.Keyed, family) {
		say("cooldown", "7d", "nobody gets it twice within a week, however often it happens")
	}
	variables := ""
	if carries("contact.first_name") {
		variables = `, variables: ['{{ customer.first_name | default: "there" }}']`
	}
	b.WriteString("    send: {template: your_template, language: en" + variables + "}\n")
	say("mode", "shadow", `decides and sends nothing; live when "nudgewire why" reads right`)
	return b.String()
}

func (i Info) endOfCart(say func(key, value, why string)) {
	var ends []string
	for _, end := range []string{"order.created", "cart.converted"} {
		if slices.Contains(i.Kinds, end) {
			ends = append(ends, i.Name+"."+end)
		}
	}
	if len(ends) > 0 {
		all := ends[0]
		if len(ends) > 1 { // not every order names its cart, and not every cart that was bought names a person
			all = "[" + strings.Join(ends, ", ") + "]"
		}
		say("cancel_on", all, "who buys meanwhile is not reminded")
		say("stop_on", all, "also where the order names another cart of the same person, or none")
		return
	}
	say("# cancel_on", "YOUR_SHOP.order.created", "the connector that reports orders: who buys is not reminded")
}

// keyed are the families of kinds whose events may name what they are about: package triggers keeps
// to those names, and to the phone for all others.
var keyed = []string{"cart", "order", "deal", "form"}

// keyedOf are those that a config's mapping gives an id.
func keyedOf(c *Config) []string {
	var out []string
	for _, l := range append(slices.Clone(c.before), c.layers()...) {
		for _, entry := range l.Mapping {
			if family, ok := strings.CutSuffix(entry.Key, ".id"); ok && slices.Contains(keyed, family) {
				out = appendNew(out, family)
			}
		}
	}
	return out
}

// starterKind is a kind that somebody may want to write about: that of a sample, else the first
// one. Nobody is written to because he left.
func (i Info) starterKind() string {
	candidates := make([]string, 0, len(i.Samples)+len(i.Kinds))
	for _, s := range i.Samples {
		candidates = append(candidates, s.Kind)
	}
	for _, kind := range append(candidates, i.Kinds...) {
		_, what, _ := strings.Cut(kind, ".")
		switch what {
		case "unsubscribed", "email_unsubscribed", "email_subscribed", "deleted", "cancelled", "refunded", "converted":
		default:
			if kind != "" && kind != UnknownKind {
				return kind
			}
		}
	}
	return ""
}
