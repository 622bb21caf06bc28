package mapping

import (
	"fmt"
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// A Saying is which word of consent a path may say. A box that somebody may tick says given, and left empty it says nothing;
// a flag such as do-not-disturb says withdrawn, and unset it says nothing; what states a subscription says both.
type Saying int

const (
	SaysBoth Saying = iota
	SaysGiven
	SaysWithdrawn
)

// Sayings are what is written behind says: in a map.
var Sayings = map[string]Saying{"": SaysBoth, "given": SaysGiven, "withdrawn": SaysWithdrawn, "both": SaysBoth}

// The words of senders, with _ for spaces and dashes. Those of unsaidWords state that nobody was asked, or has not answered.
var (
	yesWords = wordSet("true yes y 1 on subscribed opted_in opt_in optin single_opt_in double_opt_in confirmed_opt_in confirmed granted given " +
		"accepted accepts agreed allowed consented")
	noWords     = wordSet("false no n 0 off unsubscribed opted_out opt_out optout denied declined refused revoked withdrawn redacted")
	unsaidWords = wordSet("not_subscribed never_subscribed pending unconfirmed unknown unspecified not_set none null nil undefined invalid cleaned")
)

func wordSet(text string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(text) {
		out[w] = true
	}
	return out
}

var oneSpelling = strings.NewReplacer(" ", "_", "-", "_")

// consentWord reads one word: given or withdrawn, "" for not said. read is false for what is no word of consent.
func consentWord(text string, says Saying) (word messaging.Consent, read bool) {
	text = oneSpelling.Replace(strings.ToLower(strings.TrimSpace(text)))
	yes, no := yesWords[text], noWords[text]
	switch {
	case yes && says == SaysWithdrawn, no && says == SaysBoth:
		return messaging.ConsentWithdrawn, true
	case yes:
		return messaging.ConsentGiven, true
	default:
		return "", no || text == "" || unsaidWords[text]
	}
}

// ConsentOf is the consent that a word states, as a field does that states a person's subscription: "yes", "SUBSCRIBED", "opted out".
// said is false for what states none.
func ConsentOf(text string) (word messaging.Consent, said bool) {
	word, _ = consentWord(text, SaysBoth)
	return word, word != ""
}

// consent reads what the event says of its contact's consent, in three words: given, withdrawn, and not said, which
// changes nothing that is recorded. Of several paths a flag that withdraws counts first, then one that gives: who ticks
// a box has the last word over a record of before.
func consent(e *messaging.Event, v *View, t *target, paths []*Expr) {
	accepts, known := t.consent(e)
	var found messaging.Consent
	unread := false
	for _, p := range paths {
		text, named := p.consentText(v)
		word, read := consentWord(text, p.says)
		if !read || !named {
			v.Unreadable(p.Source, text, IsNo[TakesConsent])
			v.Bar(t.Name)
			unread = true
			continue
		}
		if text != "" {
			v.came(t, p.Source, text, text)
		}
		switch {
		case word == messaging.ConsentWithdrawn && p.says == SaysWithdrawn:
			*accepts, *known = false, true
			return
		case word == messaging.ConsentGiven, word != "" && found == "":
			found = word
		}
	}
	if found != "" && (!unread || found == messaging.ConsentWithdrawn) { // what cannot be read may be a no
		*accepts, *known = found == messaging.ConsentGiven, true
	}
}

// consentText is what a path says. named is false where a table of | map does not have the word: it may mean anything, also
// where it reads as a yes or a no.
func (e *Expr) consentText(v *View) (text string, named bool) {
	text = e.Text(v)
	if text == "" && (e.From == FromItem || e.From == FromRoot) && (e.When == nil || e.When.Holds(v)) {
		if raw := e.Raw(v); raw != "" && (raw[0] == '{' || raw[0] == '[') && raw[rawjson.SkipSpace(raw, 1)] != raw[0]+2 {
			return raw, false // an object or a list of several is no word
		}
	}
	for i := range e.Pipes {
		if e.Pipes[i].table == nil || text == "" {
			continue
		}
		before := *e
		before.Pipes = e.Pipes[:i]
		if from := before.Text(v); !e.Pipes[i].has(from) {
			return from, false
		}
	}
	return text, true
}

// saying reads says: of a path.
func (k *Compiler) saying(path string, p PathRule, kind targetKind) Saying {
	says, ok := Sayings[p.Says]
	switch {
	case !ok:
		k.Add(path+".says", fmt.Sprintf("%q is neither given, withdrawn nor both", p.Says),
			"given for a box to tick, withdrawn for a flag such as do-not-disturb, both for what states a subscription")
	case p.Says != "" && kind != TakesConsent:
		k.Add(path+".says", "belongs to a consent", "remove it, or map consent or email_consent")
	}
	return says
}
