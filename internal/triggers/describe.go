package triggers

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A Sentence is what one key of a trigger means, for people who do not read YAML.
type Sentence struct {
	Key   string `json:"key"`             // of the trigger
	About string `json:"about,omitempty"` // one of Abouts; "" for a key of a job
	Text  string `json:"text"`            // one sentence or a few
}

// Abouts are what sentences are about, in the order in which they are read.
var Abouts = []string{"When", "What", "To whom, and how often", "If something changes, or goes wrong"}

// aboutKeys are the keys of each of Abouts.
var aboutKeys = [][]string{
	{"mode", "on", "if", "max_age", "wait", "cancel_on", "stop_on", "quiet_hours", "rate", "expires"},
	{"send", "steps", "account", "keep_variables"},
	{"consent", "limit", "cooldown", "on_repeat"},
	{"on_doubt", "on_change", "was"},
}

// Tell reads a trigger back in sentences, in the order in which things happen; nil for a trigger that the config does
// not have. A key without a sentence changes nothing that happens by default.
func (s *Set) Tell(name string) []Sentence {
	for _, r := range s.rules {
		if r.Name == name {
			return s.tell(r)
		}
	}
	return nil
}

func (s *Set) tell(r *rule) (out []Sentence) {
	say := func(key, format string, args ...any) {
		one := Sentence{Key: key, Text: fmt.Sprintf(format, args...)}
		if i := slices.IndexFunc(aboutKeys, func(keys []string) bool { return slices.Contains(keys, key) }); i >= 0 {
			one.About = Abouts[i]
		}
		out = append(out, one)
	}
	switch r.Mode {
	case Shadow:
		say("mode", "It only decides, and sends nothing (mode: shadow).")
	case Off:
		say("mode", "It is off: it does not listen.")
	}
	say("on", "It begins with %s.", either(r.On))
	if len(r.If) > 0 {
		say("if", "It goes on only if %s.", conditionsWords(r.If))
	}
	if r.maxAge > 0 {
		say("max_age", "An event that happened more than %s ago sends nothing.", units.Spell(r.maxAge))
	}
	if r.steps == nil {
		say("wait", "%s", r.delay.sentence("the event happened", s.home.String()))
	}
	if len(r.CancelOn) > 0 {
		say("cancel_on", "While it waits it is cancelled by %s. If that comes first, it is remembered for %s.", endedBy(r.CancelOn), units.Spell(r.remember))
	}
	matter := r.matterWords()
	if len(r.StopOn) > 0 {
		say("stop_on", "Everything of it that waits for a contact ends with %s.", endedBy(r.StopOn))
	}
	if !r.delay.none() || r.steps != nil || !r.category.Urgent() {
		say("on_repeat", "%s", r.repeatWords(matter))
	}
	say("cooldown", "%s", r.cooldownWords(matter))
	say("consent", "%s", r.Keys.Consent.Sentence(r.category))
	quiet, limit := r.Keys.Sentences(r.category)
	say("quiet_hours", "%s", quiet)
	say("limit", "%s", limit)
	say("rate", "%s", r.Rate.Sentence())
	if r.expires > 0 {
		say("expires", "If it could not be sent within %s of its time, it is dropped.", units.Spell(r.expires))
	} else {
		say("expires", "It is sent however late it is.")
	}
	if r.steps == nil {
		say("send", "It sends %s as %s.", r.Send.sentence(s.speaks), r.category)
	} else {
		say("steps", "%s", r.stepsWords(s))
	}
	d := messaging.Message{Category: r.category}
	switch d.InDoubt(r.OnDoubt) {
	case messaging.DoubtResend:
		say("on_doubt", "If nobody knows whether the service took it, it is sent again, three times at the most.")
	case messaging.DoubtDrop:
		say("on_doubt", "If nobody knows whether the service took it, it is let be.")
	default:
		say("on_doubt", "If nobody knows whether the service took it, a person decides.")
	}
	if r.Account != "" {
		say("account", "It goes by the account %s of the service.", r.Account)
	}
	if r.forget {
		say("keep_variables", "What was filled in is not kept once it was sent.")
	}
	if r.Was != "" {
		say("was", "It was %s before, and what waits and is remembered of that is its own.", r.Was)
	}
	switch r.OnChange {
	case Migrate:
		say("on_change", "When this trigger is edited, what waits is planned anew, and cancelled where the trigger would not plan it any more.")
	case Cancel:
		say("on_change", "When this trigger is edited, what waits is cancelled.")
	default:
		say("on_change", "When this trigger is edited, what waits stays as it was planned.")
	}
	return out
}

// either is events in a row: "cart.created or cart.updated from shopify".
func either(refs []string) string {
	var said []string
	for i, text := range refs {
		connector, kind, _ := strings.Cut(text, ".")
		rest, open := strings.CutSuffix(kind, "*")
		switch {
		case text == "*" || open && rest == "":
			kind = "any event"
		case open:
			kind = "any " + strings.TrimSuffix(rest, ".") + " event"
		}
		if rest := refs[i+1:]; len(rest) == 0 || !strings.HasPrefix(rest[0], connector+".") {
			kind += " from " + connector
			if connector == "*" {
				kind = strings.TrimSuffix(kind, "*") + "any connector"
			}
		}
		said = append(said, kind)
	}
	if last := len(said) - 1; last > 0 {
		return strings.Join(said[:last], ", ") + " or " + said[last]
	}
	return strings.Join(said, "")
}

// endedBy are events that end something, those without a condition first: "order.created from shopify, or message.received from any connector if …".
func endedBy(all []EventIf) string {
	var plain, said []string
	for _, one := range all {
		if event, condition := one.Parts(); condition == "" {
			plain = append(plain, event)
		} else {
			said = append(said, either([]string{event})+" if "+conditionWords(condition))
		}
	}
	if len(plain) > 0 {
		said = append([]string{either(plain)}, said...)
	}
	return strings.Join(said, ", or ")
}

// A comparison of a name with one value is what most conditions are.
var comparison = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_.\[\]]*)\s*(>=|<=|==|!=|>|<)\s*("[^"]*"|[A-Za-z0-9_.]+)$`)

var comparisonWords = map[string]string{">=": "is at least", "<=": "is at most", "==": "is", "!=": "is not", ">": "is more than", "<": "is less than"}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)

// conditionsWords are conditions of which all have to hold.
func conditionsWords(texts []string) string {
	said := make([]string, len(texts))
	for i, text := range texts {
		said[i] = conditionWords(text)
	}
	return strings.Join(said, ", and ")
}

// conditionWords are a condition in words, where it is a simple one; else as it is written.
func conditionWords(text string) string {
	text = strings.TrimSpace(text)
	if c := comparison.FindStringSubmatch(text); c != nil {
		return c[1] + " " + comparisonWords[c[2]] + " " + c[3]
	}
	if plainName.MatchString(text) {
		return text + " is true"
	}
	return text
}

// One value, with what stands in its place where it is empty.
var oneValue = regexp.MustCompile(`^\{\{\s*([^{}|]*?)\s*(?:\|\s*default:\s*("[^"]*")\s*)?\}\}$`)

// valueOf is a variable in words: `customer.first_name or "there"`.
func valueOf(text string) string {
	v := oneValue.FindStringSubmatch(text)
	switch {
	case v == nil:
		return fmt.Sprintf("%q", text)
	case v[2] != "":
		return v[1] + " or " + v[2]
	default:
		return v[1]
	}
}

// none reports whether nothing is waited for.
func (d *delay) none() bool { return d.moment == nil && d.daily == nil && d.days == 0 && d.length == 0 }

// sentence says how long is waited from a moment on: "the event happened".
func (d *delay) sentence(from, home string) string {
	switch {
	case d.moment != nil:
		return "It waits until the moment " + d.source + "."
	case d.daily != nil:
		return "It waits until the next " + d.daily.String() + " on the contact's clock; where that is not known, on the clock of " + home + "."
	case d.days > 0 && d.at != nil:
		return "It waits for " + units.Count(d.days, "day") + " of the calendar from when " + from + ", until " + d.at.String() + " on the contact's clock."
	case d.days > 0:
		return "It waits for " + units.Count(d.days, "day") + " of the calendar from when " + from + "."
	case d.length > 0:
		return "It waits for " + units.Spell(d.length) + ", counted from when " + from + "."
	default:
		return "It is sent at once."
	}
}

// stepsWords are the messages of a sequence.
func (r *rule) stepsWords(s *Set) string {
	var said []string
	for i := range r.steps {
		step, from := &r.Steps[i], "the event happened"
		if i > 0 {
			from = "the step before it was due"
		}
		words := fmt.Sprintf("Step %d of %d: %s", i+1, len(r.steps), r.steps[i].delay.sentence(from, s.home.String()))
		if len(step.If) > 0 {
			words += " It goes on only if then " + conditionsWords(step.If) + "."
		}
		said = append(said, words+" It sends "+step.Send.sentence(s.speaks)+" as "+string(r.category)+".")
	}
	return strings.Join(said, " ")
}

// matterWords is what two events share that are the same matter: "cart".
func (r *rule) matterWords() string {
	if r.key != nil {
		name := strings.TrimSpace(r.Key)
		if family, isID := strings.CutSuffix(name, ".id"); isID && slices.Contains(families, family) {
			return family
		}
		return "value of " + name
	}
	families := slices.DeleteFunc(slices.Clone(r.families), func(f string) bool { return f == "" })
	if len(families) == 0 {
		return "phone"
	}
	return strings.Join(families, " or ")
}

func (r *rule) repeatWords(matter string) string {
	switch r.OnRepeat.Mode {
	case messaging.Ignore:
		return "While it waits, another event of the same " + matter + " changes nothing."
	case messaging.Parallel:
		return "Another event of the same " + matter + " queues a message of its own."
	}
	words := "While it waits, another event of the same " + matter + " takes its place and the wait begins anew"
	var bounds []string
	if r.OnRepeat.Max > 0 {
		bounds = append(bounds, fmt.Sprintf("at most %d times", r.OnRepeat.Max))
	}
	if r.OnRepeat.Within > 0 {
		bounds = append(bounds, "within "+units.Spell(r.OnRepeat.Within)+" of the first")
	}
	if len(bounds) > 0 {
		words += ", " + strings.Join(bounds, " and ")
	}
	return words + "."
}

func (r *rule) cooldownWords(matter string) string {
	switch r.Cooldown.Mode {
	case messaging.CooldownNone:
		return "The same " + matter + " may get this message again and again."
	case messaging.CooldownFor:
		return "The same " + matter + " gets no other message of this trigger for " + units.Spell(r.Cooldown.For) + "."
	case messaging.CooldownOnce:
		return "The same " + matter + " gets this message once."
	}
	if matter == "phone" {
		return "The same phone may get this message again and again."
	}
	return "The same " + matter + " gets this message once. An event that names none goes by its phone, which may get it again."
}

// what names what is sent: `template "x"`.
func (given *Send) what() string {
	return messaging.Send{Template: given.Template, Campaign: given.Campaign}.What()
}

// says is what a phone shows of it, in the language of most contacts, with names where variables stand: `Hi [customer.first_name or "there"]`.
func (given *Send) says(texts messaging.Templates, account, language string) string {
	t := texts.Named(given.Template, messaging.AccountKey(account))
	if t == nil || len(t.Languages) == 0 {
		return given.Text
	}
	language = cmp.Or(given.Language, language)
	if _, declared := t.Languages.Get(language); !declared {
		language = t.Languages[0].Key
	}
	variables := slices.Clone(given.Variables)
	for i, v := range variables {
		if oneValue.MatchString(v) {
			variables[i] = "[" + valueOf(v) + "]"
		}
	}
	return t.Filled(language, variables)
}

// sentence is what is sent: `the template "x" in en, with cart.url`.
func (given *Send) sentence(language string) string {
	var words string
	switch {
	case given.Template != "":
		words = `the template "` + given.Template + `"`
		if language = cmp.Or(given.Language, language); language != "" {
			words += " in " + language
		}
	case given.Campaign != "":
		words = `campaign "` + given.Campaign + `"`
	default:
		words = `the text "` + given.Text + `"`
	}
	var values []string
	for _, v := range given.Variables {
		values = append(values, valueOf(v))
	}
	if given.Header != nil {
		for _, m := range given.Header.Media() {
			values = append(values, "the "+m.Kind+" "+valueOf(m.Address))
		}
	}
	if len(values) > 0 {
		words += " (" + strings.Join(values, ", ") + ")"
	}
	return words
}

// A Stage is one station of a trigger on its way from the event to the phone.
type Stage struct {
	Kind  string // begins, waits or sends
	Words string // `cart.updated from shopify`, `45 minutes`, `template "cart_reminder"`
	If    string // what must hold then; "" for nothing
	Ends  string // of a wait: the events that end it; "" for none
	Says  string // of what is sent: what a phone shows, with the names of variables; "" where no text is declared
}

// Stages are a trigger as a line of time, with the texts that templates are declared with; nil for a trigger that the config does not have.
func (s *Set) Stages(name string, texts messaging.Templates) []Stage {
	i := slices.IndexFunc(s.rules, func(r *rule) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	r := s.rules[i]
	out := []Stage{{Kind: "begins", Words: either(r.On), If: conditionsWords(r.If)}}
	ends := ""
	all := slices.Concat(r.CancelOn, r.StopOn)
	slices.Sort(all)
	if all = slices.Compact(all); len(all) > 0 {
		ends = endedBy(all)
	}
	add := func(w Wait, given *Send, conditions []string) {
		if words := w.words(); words != "none" {
			if w.For > 0 {
				words = units.Spell(w.For)
			}
			out = append(out, Stage{Kind: "waits", Words: words, Ends: ends})
		}
		out = append(out, Stage{Kind: "sends", Words: given.what(), If: conditionsWords(conditions), Says: given.says(texts, r.Account, s.speaks)})
	}
	if len(r.Steps) == 0 {
		add(r.Wait, &r.Send, nil)
	}
	for i := range r.Steps {
		add(r.Steps[i].Wait, &r.Steps[i].Send, r.Steps[i].If)
	}
	return out
}

// A Summary is a trigger in a line.
type Summary struct{ On, Wait, Sends string }

// Summary is a trigger of the config in a line; empty for another.
func (s *Set) Summary(name string) Summary {
	for _, r := range s.rules {
		if r.Name != name {
			continue
		}
		var waits, sends []string
		for _, w := range r.Delays() {
			waits = append(waits, w.words())
		}
		for _, given := range r.Sends() {
			sends = append(sends, given.what())
		}
		return Summary{strings.Join(r.On, ", "), strings.Join(waits, ", then "), strings.Join(sends, ", then ")}
	}
	return Summary{}
}

// words are a wait in short.
func (w Wait) words() string {
	switch {
	case w.Until != "":
		return "until " + w.Until
	case w.Days > 0 && w.At != "":
		return units.Count(w.Days, "day") + " at " + w.At
	case w.Days > 0:
		return units.Count(w.Days, "day")
	case w.For > 0:
		return units.Duration(w.For).String()
	default:
		return "none"
	}
}
