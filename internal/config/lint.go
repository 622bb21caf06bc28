package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// lint warns of what is allowed and likely not meant. It says nothing about sections that have
// faults: these come first.
func (c *Config) lint(k *checker) {
	k.known = k.doc.Problems().Faults()
	c.lintSections(k)
	c.lintListen(k)
	c.lintAccounts(k)
	c.lintConnectors(k)
	for i := range c.in.Triggers {
		e := &c.in.Triggers[i]
		at := yamlpos.Join("triggers", e.Key)
		k.lintLists(at, &e.Value)
		k.lintTimes(at, &e.Value)
		c.lintCancel(k, at, &e.Value)
		c.lintReach(k, at, &e.Value)
		c.lintPhone(k, at, &e.Value)
		k.lintBurst(at, &e.Value)
		c.lintConsent(k, at, &e.Value)
		k.lintDoubt(at, &e.Value)
		c.lintLimited(k, at, &e.Value)
		k.lintContradictions(at, &e.Value)
		k.lintLimitOfSteps(at, &e.Value)
		k.lintWaits(at, &e.Value)
		c.lintCancelKey(k, at, &e.Value)
		c.lintSamples(k, at, &e.Value, c.lintCarried(k, at, &e.Value))
		k.lintUtility(at, &e.Value)
	}
	c.lintTwins(k)
	c.lintTemplates(k)
	c.lintDeclared(k)
	c.lintDue(k)
	c.lintAlerts(k)
}

// lintFiles warns of lists on this machine that are not there: a name is soon mistyped, and the first run would be the one to say it.
func (c *Config) lintFiles() {
	if c.StandIns() > 0 {
		return // this is not the machine of the daemon
	}
	k := checker{doc: c.doc, known: c.doc.Problems().Faults()}
	for i := range c.in.Jobs {
		e := &c.in.Jobs[i]
		if key := e.Value.Source.NoFile(c.folder); key != "" {
			k.lint("file-not-there", yamlpos.Join("jobs", e.Key)+".source."+key, "no file has such a name now", "a relative name begins at the folder of the config; all is well where the file comes later")
		}
	}
}

// lint warns at the value at path, unless a fault is known there.
func (k *checker) lint(code yamlpos.Code, path, msg, hint string) {
	k.found(yamlpos.Problem{Code: code, Path: path, Msg: msg, Hint: hint, Warning: true}, 0)
}

// lintKey warns at the key of the value at path.
func (k *checker) lintKey(code yamlpos.Code, path, msg, hint string) {
	for _, p := range k.known {
		if within(p.Path, path) || within(path, p.Path) {
			return
		}
	}
	k.doc.AddKey(yamlpos.Problem{Code: code, Path: path, Msg: msg, Hint: hint, Warning: true})
}

func (c *Config) lintSections(k *checker) {
	if len(c.in.Connectors) == 0 && len(c.in.Jobs) == 0 && !k.topLevelFault() {
		k.lint("nothing-comes-in", "connectors", "there are no connectors: nobody can post webhooks", "write connectors: {shopify: {secret: ${SHOPIFY_WEBHOOK_SECRET}}}")
	}
	if len(c.in.Triggers) == 0 && (len(c.in.Jobs) == 0 || len(c.in.Connectors) > 0) && !k.topLevelFault() {
		what := "nothing is sent"
		if len(c.in.Jobs) > 0 {
			what = "none of them sends a message; jobs do"
		}
		k.lint("nothing-is-sent", "triggers", "there are no triggers: events are stored and "+what, `"nudgewire init other.yaml" writes one to start from`)
	}
	if c.Defaults.Country == "" {
		for _, e := range c.in.Connectors {
			if e.Value.Defaults.Country == "" && k.doc.Node("defaults.country") == nil {
				k.lintKey("no-country", "defaults.country", "is not set: phone numbers without a country code cannot be read", "set it to where most customers are, such as country: GB")
				break
			}
		}
	}
	if c.Tracking.FinalStatus == messaging.StatusRead && c.Tracking.GiveUp.D() > 30*24*time.Hour {
		k.lint("give-up-long", "tracking.give_up", "with final_status: read, every unread message is asked about for that long", "30d is plenty")
	}
}

func (c *Config) lintConnectors(k *checker) {
	for i := range c.in.Connectors {
		e := &c.in.Connectors[i]
		at := yamlpos.Join("connectors", e.Key)
		if c.Receivers[e.Key] == nil {
			continue
		}
		switch h := e.Value.History; {
		case h == "true":
			k.lint("history-goes-on", at+".history", "all that "+e.Key+" posts is history: stored, and sends nothing", "when the past is in, remove it, or write until when it is so: history: 2026-12-01 18:00")
		case h.Over(time.Now(), c.Defaults.Timezone):
			k.lint("history-over", at+".history", string(h)+" has passed: what "+e.Key+" posts is no history any more", "remove it")
		}
		if c.Server.PublicURL == "" && signsURL(e.Key, &e.Value) && !k.topLevelFault() {
			k.lintKey("public-url-unset", at, "its sender signs the URL, and server.public_url is not set", "set it to the address as registered there; behind a proxy nothing would verify otherwise")
		}
		if len(c.in.Triggers) > 0 && !c.Receivers[e.Key].BringsStops() && !slices.ContainsFunc(c.in.Triggers, func(t yamlpos.Entry[triggers.Rule]) bool {
			return listens(t.Value.On, e.Key) || listens(triggers.Events(t.Value.CancelOn), e.Key) || listens(triggers.Events(t.Value.StopOn), e.Key)
		}) {
			k.lintKey("connector-unheard", at, "no trigger listens to it: its events are stored and send nothing", "remove it, or name it in a trigger's on")
		}
	}
}

// signsURL reports whether a connector's requests are proven by a signature over the URL, in
// the entry's own words or its preset's.
func signsURL(name string, c *connectors.Config) bool {
	if c.Verify != nil && (c.Verify.Kind != "" || len(c.Verify.AnyOf)+len(c.Verify.AllOf) > 0) {
		return signed(c.Verify)
	}
	if c.Preset != "" {
		name = c.Preset
	}
	base, _ := connectors.Preset(name)
	return signed(base.Verify)
}

func signed(v *connectors.Verify) bool {
	if v == nil {
		return false
	}
	return slices.Contains(v.Parts, "url") || slices.ContainsFunc(v.AnyOf, signed) || slices.ContainsFunc(v.AllOf, signed)
}

// listens reports whether one of the events is a connector's.
func listens(events []string, connector string) bool {
	return slices.ContainsFunc(events, func(ref string) bool {
		c, _, _ := strings.Cut(ref, ".")
		return c == connector || c == "*"
	})
}

// lintLists warns of entries that stand twice, and of events that cancel what they cause.
func (k *checker) lintLists(at string, r *triggers.Rule) {
	type list struct {
		key   string
		items []string
	}
	lists := []list{{"on", r.On}, {"if", r.If}, {"cancel_on", triggers.Texts(r.CancelOn)}, {"stop_on", triggers.Texts(r.StopOn)}}
	for i := range r.Steps {
		lists = append(lists, list{fmt.Sprintf("steps[%d].if", i), r.Steps[i].If})
	}
	for _, l := range lists {
		for i, item := range l.items {
			if slices.Index(l.items, item) < i {
				k.lint("twice-in-list", fmt.Sprintf("%s.%s[%d]", at, l.key, i), "is here twice", "remove one of the two")
			}
		}
	}
	for i, one := range r.StopOn {
		item, condition := one.Parts()
		for _, on := range r.On {
			if condition != "" {
				continue // it is the condition that tells the two apart
			}
			if item == on {
				k.lint("queues-and-stops", fmt.Sprintf("%s.stop_on[%d]", at, i), item+" both queues a message and stops what waits", "take it out of on or out of stop_on")
			} else if overlap(item, on) {
				k.lint("queues-and-stops", fmt.Sprintf("%s.stop_on[%d]", at, i), fmt.Sprintf("some events are %s as well as %s: they stop what waits and queue the next", item, on), "name the events of stop_on one by one")
			}
		}
	}
	for i, one := range r.CancelOn {
		item, condition := one.Parts()
		for _, on := range r.On {
			if condition != "" {
				continue
			}
			if item == on {
				k.lint("queues-and-cancels", fmt.Sprintf("%s.cancel_on[%d]", at, i), item+" both queues a message and cancels it", "take it out of on or out of cancel_on")
			} else if overlap(item, on) {
				k.lint("queues-and-cancels", fmt.Sprintf("%s.cancel_on[%d]", at, i), fmt.Sprintf("some events are %s as well as %s: they cancel a message and queue the next", item, on), "name the events of on one by one")
			}
		}
	}
	for i, on := range r.On {
		if on == "*" || on == "*.*" {
			k.lint("hears-everything", fmt.Sprintf("%s.on[%d]", at, i), "hears every event of every connector", "name what it is about, such as shopify.cart.updated, shopify.* or *.order.paid")
		}
	}
}

// overlap reports whether one event can be meant by both, each of which is a connector and a
// kind, or a * for the connector or the rest of the kind.
func overlap(a, b string) bool {
	of, kind, _ := strings.Cut(a, ".")
	other, otherKind, _ := strings.Cut(b, ".")
	if of != other && of != "*" && other != "*" {
		return false
	}
	begins, open := strings.CutSuffix(kind, "*")
	otherBegins, otherOpen := strings.CutSuffix(otherKind, "*")
	switch {
	case a == "*", b == "*":
		return true
	case open && otherOpen:
		return strings.HasPrefix(begins, otherBegins) || strings.HasPrefix(otherBegins, begins)
	case open:
		return strings.HasPrefix(otherKind, begins)
	case otherOpen:
		return strings.HasPrefix(kind, otherBegins)
	default:
		return kind == otherKind
	}
}

// Bounds beyond which a time is likely a slip.
const (
	longWait     = 90 * 24 * time.Hour
	shortExpires = 30 * time.Second
	shortAge     = time.Minute
)

// lintTimes warns of times that make no sense together.
func (k *checker) lintTimes(at string, r *triggers.Rule) {
	for key, w := range r.Delays() {
		if w.For > longWait {
			k.lint("wait-long", at+"."+key, fmt.Sprintf("%s is a very long wait", span(w.For)), "check the unit: m is minutes, d is days")
		}
		if w.Days > int(longWait/(24*time.Hour)) {
			k.lint("wait-long", at+"."+key, fmt.Sprintf("%d days is a very long wait", w.Days), "check the number")
		}
	}
	if r.Expires.Set && !r.Expires.Off && r.Expires.For < shortExpires {
		k.lint("expires-soon", at+".expires", fmt.Sprintf("%s leaves hardly a moment to send: a busy minute drops the message", span(r.Expires.For)), "give it some minutes")
	}
	if r.Cooldown.Mode == messaging.CooldownFor && r.Cooldown.For < r.Wait.For {
		k.lint("cooldown-short", at+".cooldown", fmt.Sprintf("a cooldown of %s is over before the wait of %s is", span(r.Cooldown.For), span(r.Wait.For)), "make it longer than the wait")
	}
	if r.MaxAge.Set && !r.MaxAge.Off && r.MaxAge.For < shortAge {
		k.lint("max-age-short", at+".max_age", fmt.Sprintf("%s is less than senders need to repeat a webhook that was lost", span(r.MaxAge.For)), "give it hours")
	}
	if len(r.CancelOn) > 0 && r.Wait.For > 0 && r.OnRepeat.Mode == messaging.Parallel && r.Key == "" {
		k.lint("on-repeat-ends-all", at+".on_repeat", "every event waits for itself, and one cancelling event ends them all", "restart is what carts want")
	}
}

// lintCancel warns of reminders about carts that nothing ends when the cart is bought.
func (c *Config) lintCancel(k *checker, at string, r *triggers.Rule) {
	waits := len(r.Steps) > 1 || held(r)
	if r.Mode != triggers.Live || r.Category != messaging.Marketing || !waits || len(r.CancelOn)+len(r.StopOn) > 0 {
		return
	}
	for _, on := range r.On {
		if connector, kind, _ := strings.Cut(on, "."); strings.HasPrefix(kind, "cart.") {
			k.lintKey("nothing-cancels", at, "nothing cancels it: who buys while it waits is reminded all the same", fmt.Sprintf("add cancel_on: %s.order.created", connector))
			return
		}
	}
}

// held reports whether the first message of a rule waits.
func held(r *triggers.Rule) bool {
	for _, w := range r.Delays() {
		return w != (triggers.Wait{})
	}
	return false
}

// lintBurst warns of marketing that leaves at once when something changes: one edit at the sender
// makes several events, and one person is edited again and again.
func (k *checker) lintBurst(at string, r *triggers.Rule) {
	calm := r.Key != "" || held(r) || r.Cooldown.Mode == messaging.CooldownOnce || r.Cooldown.Mode == messaging.CooldownFor
	if r.Mode != triggers.Live || r.Category != messaging.Marketing || calm {
		return
	}
	for i, on := range r.On {
		if strings.HasSuffix(on, ".updated") {
			k.lint("burst", fmt.Sprintf("%s.on[%d]", at, i), "sends at once when something changes, and one edit at the sender often makes several events", "add wait: 15m, which begins anew with each change, and cooldown: 7d")
			return
		}
	}
}

// lintReach warns of *.kind that no connector here can send.
func (c *Config) lintReach(k *checker, at string, r *triggers.Rule) {
	for _, l := range []struct {
		key   string
		items []string
	}{{"on", r.On}, {"cancel_on", triggers.Events(r.CancelOn)}, {"stop_on", triggers.Events(r.StopOn)}} {
		for i, ref := range l.items {
			kind, ok := strings.CutPrefix(ref, "*.")
			if !ok || kind == "*" {
				continue
			}
			if !c.anySends(kind) {
				k.lint("kind-unsent", fmt.Sprintf("%s.%s[%d]", at, l.key, i), "no connector of this config sends "+kind, "see the kinds of each in docs/connectors/README.md")
			}
		}
	}
}

// lintPhone warns of events that never name a phone, by the data of their connector.
func (c *Config) lintPhone(k *checker, at string, r *triggers.Rule) {
	for i, on := range r.On {
		connector, kind, _ := strings.Cut(on, ".")
		from := c.Receivers[connector]
		if from == nil || strings.Contains(on, "*") || !from.Knows(kind) || r.Mode == triggers.Off {
			continue
		}
		if hint := from.NoPhone(kind); hint != "" {
			k.lint("phone-never-carried", fmt.Sprintf("%s.on[%d]", at, i), on+" never carries a phone here, and nothing is sent without one", hint)
		}
	}
}

// anySends reports whether a connector can send a kind; one whose kinds are not known can.
func (c *Config) anySends(kind string) bool {
	if len(c.Receivers) < len(c.in.Connectors) || len(c.in.Connectors) == 0 {
		return true // some did not compile: what they send is not known
	}
	begins, open := strings.CutSuffix(kind, "*")
	for _, r := range c.Receivers {
		kinds := r.Kinds()
		if len(kinds) == 0 || r.Open() || slices.Contains(kinds, kind) {
			return true
		}
		if open && slices.ContainsFunc(kinds, func(k string) bool { return strings.HasPrefix(k, begins) }) {
			return true
		}
	}
	return false
}

func span(d time.Duration) string { return units.Duration(d).String() }

// lintLimited warns of an expiry that ends the wait for a contact that has got enough, where the config has words for that. Short lives are
// meant often; without such a rule nobody has said that the wait matters.
func (c *Config) lintLimited(k *checker, at string, r *triggers.Rule) {
	rest, _ := messaging.ErrorRecipientLimit.GoesAgain()
	named := func(one messaging.ErrorRule) bool { return one.Class == messaging.ErrorRecipientLimit }
	if !slices.ContainsFunc(c.in.Errors, named) || !r.Expires.Set || r.Expires.Off || r.Expires.For > rest || r.Mode == triggers.Off ||
		r.Category != messaging.Marketing && r.Category != "" {
		return
	}
	k.lint("expires-before-limit", at+".expires", fmt.Sprintf("a contact that has got enough (recipient_limit) is asked again after %s, and the message is dropped before", span(rest)),
		"without expires it waits for that; where it is worth nothing later, this is right")
}

// lintDoubt warns of marketing that is sent again when nobody knows whether it was taken.
func (k *checker) lintDoubt(at string, r *triggers.Rule) {
	if r.OnDoubt == messaging.DoubtResend && r.Mode != triggers.Off && (r.Category == messaging.Marketing || r.Category == "") {
		k.lint("resend-in-doubt", at+".on_doubt", "marketing that is sent again in doubt may reach a person twice", "write hold and look at messages resolve, or drop to let it be")
	}
}

// lintConsent warns of marketing that does not ask whether the customer agreed to messages, and of a question about e-mail in its
// place. A tag, the payload, consent: required or a subscription that it listens to may say it, too.
func (c *Config) lintConsent(k *checker, at string, r *triggers.Rule) {
	if r.Consent == duerules.ConsentRequired || r.Mode != triggers.Live || (r.Category != messaging.Marketing && r.Category != "") {
		return
	}
	email := -1
	for i, clause := range r.If {
		for _, word := range []string{"accepts_marketing", ".tags", "raw."} {
			if strings.Contains(clause, word) {
				return
			}
		}
		if strings.Contains(clause, "accepts_email") {
			email = i
		}
	}
	if !slices.ContainsFunc(r.On, func(on string) bool { return !strings.HasSuffix(on, ".contact.subscribed") }) {
		return // that is the consent
	}
	const hint = "add customer.accepts_marketing, or consent: required: consent to messages on the phone"
	if email >= 0 {
		k.lint("consent-is-email", fmt.Sprintf("%s.if[%d]", at, email), "permission to be sent e-mail is no consent to messages", hint)
		return
	}
	for i := range c.in.Connectors {
		e := &c.in.Connectors[i]
		if listens(r.On, e.Key) && c.Receivers[e.Key] != nil && c.Receivers[e.Key].TellsConsent() {
			k.lintKey("consent-unasked", at, "does not ask whether the customer agreed to messages, and "+e.Key+" says it", hint)
			return
		}
	}
	k.lintKey("consent-unasked", at, "is marketing and does not ask whether the customer agreed to messages",
		"add consent: required, and record who agreed (docs/consent.md); or say category: utility if it is an answer that somebody waits for")
}
