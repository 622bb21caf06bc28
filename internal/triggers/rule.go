package triggers

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// A Rule is one trigger as it is written in config.yaml. Compile checks what needs more than
// the shape of the YAML.
type Rule struct {
	Name string `yaml:"-"` // the key under "triggers:"

	On             []string           `yaml:"on" doc:"Events that may queue a message: connector.kind, *.kind, connector.*, or a list of these." example:"shopify.cart.updated"`
	If             []string           `yaml:"if" doc:"Conditions; all of them have to hold." example:"cart.total >= 50"`
	Wait           Wait               `yaml:"wait" doc:"How long after the event to send: a duration, calendar days {days: 3, at: a time of day}, {until: a time of day} or {until: an expression that gives a time}." example:"45m"`
	CancelOn       []EventIf          `yaml:"cancel_on" doc:"Events that cancel what waits for the same key, also when they arrive first. EVENT if CONDITION asks for a condition of the event." example:"shopify.order.created"`
	StopOn         []EventIf          `yaml:"stop_on" doc:"Events that end everything of this trigger that waits for the same phone, whatever the key: a purchase, a reply. Remembered as those of cancel_on are. EVENT if CONDITION asks for a condition of the event." example:"*.message.received if message.text matches \"(?i)^no\""`
	Key            string             `yaml:"key" doc:"What two events have in common that are about the same cart or order: the correlation key. Default: the identifier of the cart, order, deal or form that the event is about, else the phone." example:"cart.id"`
	OnRepeat       OnRepeat           `yaml:"on_repeat" doc:"What a second event with the same key does while the message of the first one waits: restart, ignore or parallel; or {mode: restart, max: 20, within: 24h}." example:"restart"`
	Cooldown       Cooldown           `yaml:"cooldown" doc:"How long after its message the same key gets no other: once (it never does), none, or a duration. Default: once; none where the key is the phone, but 1h for changes of a contact (contact.updated)." example:"3d"`
	Expires        Lifetime           `yaml:"expires" doc:"Past due by more than this, a message is dropped; off for never. Default: 24h, for authentication 10m." example:"6h"`
	MaxAge         Lifetime           `yaml:"max_age" doc:"An event that happened longer ago than this sends nothing. Default: off." example:"72h"`
	RememberCancel units.Duration     `yaml:"remember_cancel" validate:"min=1m,max=90d" doc:"How long a cancelling event is remembered, for those that arrive after it. Default: 24h." example:"48h"`
	Send           Send               `yaml:"send" doc:"What to send: a template, a campaign or a text."`
	Steps          []Step             `yaml:"steps" doc:"Several messages instead of one: a list of steps, each with its own wait, if and send; docs/sequences.md. In the place of wait and send."`
	Category       messaging.Category `yaml:"category" validate:"oneof=marketing utility authentication" doc:"The messaging network's class of the message. Default: defaults.category."`
	Keep           *bool              `yaml:"keep_variables" doc:"false: once the message was sent, or cannot be any more, nothing keeps what was filled in, nor what its event said. Default: false for category authentication, else true." example:"false"`
	OnChange       OnChange           `yaml:"on_change" validate:"oneof=pin migrate cancel" doc:"What an edit of this trigger does to what waits of it. pin: nothing; migrate: it is planned anew from its event; cancel: it is cancelled. Default: pin." example:"migrate"`
	Account        string             `yaml:"account" doc:"The account of the service that sends it: a name under accounts, or api. Default: that of the event's connector, else api." example:"brand-b"`
	Was            string             `yaml:"was" doc:"The name that this trigger had before: what waits, its halts and all that is remembered of the old name become its own. See docs/config-files.md." example:"cart-reminder"`
	OnDoubt        messaging.OnDoubt  `yaml:"on_doubt" validate:"oneof=hold resend drop" example:"hold" doc:"What is done about a message of which nobody knows whether the service took it: hold leaves it to a person (messages resolve), resend sends it again, three times at the most, and drop lets it be. Unless set: authentication resends, the others hold."`
	Rate           duerules.Rate      `yaml:"rate" doc:"Most of its messages that leave in a window, whatever their category: all of them may go at once, and then none until it ends. A day, week or month is that of defaults.timezone." example:"5000 per day"`
	Mode           Mode               `yaml:"mode" validate:"oneof=live shadow off" doc:"live sends; shadow decides and sends nothing; off does not listen. What waits when it stops being live is paused, and can still be cancelled. Default: live."`

	duerules.Keys `yaml:",inline"`
}

// OnChange is what an edit of a trigger does to what waits of it.
type OnChange string

// The values of OnChange. "" is Pin.
const (
	Pin     OnChange = "pin"     // it keeps the content and the time that it was planned with
	Migrate OnChange = "migrate" // it is planned anew, from the event that it was planned because of
	Cancel  OnChange = "cancel"  // it is cancelled
)

// A Mode is whether a trigger acts, only decides, or sleeps. "" is Live.
type Mode string

// The modes of a trigger.
const (
	Live   Mode = "live"
	Shadow Mode = "shadow"
	Off    Mode = "off"
)

// Send is what a trigger asks to send, with {{ }} still in it.
type Send struct {
	Template  string   `yaml:"template" doc:"Name of an approved template." example:"cart_reminder"`
	Language  string   `yaml:"language" doc:"Language code of the template; may hold {{ }}. Default: defaults.language." example:"en"`
	Variables []string `yaml:"variables" doc:"The template's variables in order; {{ }} holds an expression, with | default: \"…\"." example:"{{ customer.first_name | default: \"there\" }}"`
	Header    *Header  `yaml:"header" doc:"Media above the template's text."`
	Campaign  string   `yaml:"campaign" doc:"Identifier of a campaign that the service fills in by itself." example:"417"`
	Text      string   `yaml:"text" doc:"A plain text; {{ }} holds an expression. Needs api.text_path."`
}

// Sends are the messages of a rule: the one, or those of its steps. The key is where each stands.
func (r *Rule) Sends() iter.Seq2[string, *Send] {
	return func(yield func(string, *Send) bool) {
		if len(r.Steps) == 0 {
			yield("send", &r.Send)
			return
		}
		for i := range r.Steps {
			if !yield(fmt.Sprintf("steps[%d].send", i), &r.Steps[i].Send) {
				return
			}
		}
	}
}

// Delays are the waits of a rule, as Sends are its messages.
func (r *Rule) Delays() iter.Seq2[string, Wait] {
	return func(yield func(string, Wait) bool) {
		if len(r.Steps) == 0 {
			yield("wait", r.Wait)
			return
		}
		for i := range r.Steps {
			if !yield(fmt.Sprintf("steps[%d].wait", i), r.Steps[i].Wait) {
				return
			}
		}
	}
}

// A Header is a template's media: one address, which must come out as an absolute http or
// https URL.
type Header struct {
	Image    string `yaml:"image" doc:"Address of an image; may hold {{ }}." example:"{{ cart.items[0].image }}"`
	Video    string `yaml:"video" doc:"Address of a video; may hold {{ }}."`
	Document string `yaml:"document" doc:"Address of a document; may hold {{ }}."`
	Filename string `yaml:"filename" doc:"Name under which a document is shown; may hold {{ }}." example:"invoice.pdf"`
}

// Step is one message of a sequence.
type Step struct {
	Wait Wait     `yaml:"wait" doc:"How long after the step before, or after the event for the first step; as the trigger's wait." example:"3d"`
	If   []string `yaml:"if" doc:"Conditions, looked at when the step falls due; all of them have to hold. They see the event and, from the second step on, previous.status, previous.error_class and previous.sent_at." example:"previous.status != \"failed\""`
	Send Send     `yaml:"send" doc:"What to send, as in the trigger's send."`
}

// Wait is how long a message waits: For after the event, so many calendar Days after it at a time of day, or
// Until a time of day ("09:00", in the contact's zone) or a moment that an expression gives.
type Wait struct {
	For   time.Duration
	Days  int
	At    string // with Days; "" is the time of day of the event
	Until string
}

// maxDays bounds a wait in calendar days: what is planned further ahead is a slip of the finger.
const maxDays = 3660

// Clock is the time of day that is waited for, in minutes since midnight, and its text; ok is false where there
// is none.
func (w Wait) Clock() (minute int, text string, ok bool) {
	text = strings.TrimSpace(w.Until + w.At) // never both
	c, err := hours.ParseClock(text)
	return c.Minute(), text, err == nil
}

// DecodeYAML reads 45m, {days: 3, at: "10:00"} or {until: …}.
func (w *Wait) DecodeYAML(n *yamlpos.Node) {
	if n.Kind() == yamlpos.Mapping {
		n.UnknownKeys("until", "days", "at")
		until, days, at := n.Get("until"), n.Get("days"), n.Get("at")
		switch {
		case until != nil && (days != nil || at != nil):
			n.Report("says until and days", `keep one of them: {until: "09:00"} or {days: 3, at: "09:00"}`)
		case until != nil:
			until.Decode(&w.Until)
		case days != nil:
			w.decodeDays(days, at)
		case at != nil:
			n.Report("says a time of day and no days", `write {days: 1, at: "`+at.Text()+`"}, or {until: "`+at.Text()+`"} for the next time that it is so late`)
		case len(n.Fields()) == 0:
			n.Report("does not say until when", `write {until: "09:00"}, {until: 'cart.expires_at - 2h'} or a duration`)
		}
		return
	}
	if _, err := hours.ParseClock(n.Text()); err == nil && n.Kind() == yamlpos.Scalar {
		n.Report(strconv.Quote(n.Text())+" is a time of day, not a duration", `to wait for it, write {until: "`+n.Text()+`"}`)
		return
	}
	var d units.Duration
	n.Decode(&d)
	w.For = d.D()
}

func (w *Wait) decodeDays(days, at *yamlpos.Node) {
	if days.Decode(&w.Days); days.Usable() && (w.Days < 1 || w.Days > maxDays) {
		days.Report(strconv.Quote(days.Text())+" is no number of calendar days", `write 1 or more, as in {days: 3, at: "10:00"}; for the same day write {until: "10:00"}`)
	}
	if at == nil {
		return
	}
	if at.Decode(&w.At); at.Usable() {
		if _, err := hours.ParseClock(w.At); err != nil {
			at.Report(err.Error(), hours.ClockHint)
		}
	}
}

// Schema describes a wait to editors.
func (Wait) Schema() map[string]any {
	text := map[string]any{"type": "string"}
	return anyOf(units.Duration(0).Schema(), map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"until"},
		"properties": map[string]any{"until": text},
	}, map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"days"},
		"properties": map[string]any{"days": map[string]any{"type": "integer", "minimum": 1, "maximum": maxDays}, "at": text},
	})
}

// OnRepeat is messaging.OnRepeat as YAML writes it: a word, or its parts.
type OnRepeat struct{ messaging.OnRepeat }

var repeatModes = []string{string(messaging.Restart), string(messaging.Ignore), string(messaging.Parallel)}

// DecodeYAML reads restart, or {mode: restart, max: 20, within: 24h}; the mode may be left out.
func (o *OnRepeat) DecodeYAML(n *yamlpos.Node) {
	o.Mode = messaging.Restart
	if n.Kind() != yamlpos.Mapping {
		var w repeatWord
		n.Decode(&w)
		o.Mode = messaging.RepeatMode(w.Mode)
		return
	}
	var parts struct {
		Mode   repeatWord     `yaml:"mode"`
		Max    int            `yaml:"max" validate:"min=0"`
		Within units.Duration `yaml:"within"`
	}
	n.Decode(&parts)
	if parts.Mode.Mode != "" {
		o.Mode = messaging.RepeatMode(parts.Mode.Mode)
	}
	o.Max, o.Within = parts.Max, parts.Within.D()
	if o.Mode != messaging.Restart && (o.Max != 0 || o.Within != 0) {
		n.Report("max and within bound restarts, and mode is "+string(o.Mode), "remove them")
	}
}

// repeatWord is one of the modes.
type repeatWord struct{ Mode string }

func (w *repeatWord) UnmarshalText(text []byte) error {
	for _, m := range repeatModes {
		if string(text) == m {
			w.Mode = m
			return nil
		}
	}
	return wrongWord(string(text), repeatModes, "")
}

// Schema describes it to editors.
func (OnRepeat) Schema() map[string]any {
	word := map[string]any{"enum": repeatModes}
	return anyOf(word, map[string]any{
		"type": "object", "additionalProperties": false,
		"properties": map[string]any{"mode": word, "max": map[string]any{"type": "integer", "minimum": 0}, "within": units.Duration(0).Schema()},
	})
}

// Cooldown is messaging.Cooldown as YAML writes it. The zero value leaves the choice to the key.
type Cooldown struct{ messaging.Cooldown }

// UnmarshalText reads once, none or a duration.
func (c *Cooldown) UnmarshalText(text []byte) error {
	switch word := messaging.CooldownMode(text); word {
	case messaging.CooldownOnce, messaging.CooldownNone:
		c.Mode = word
		return nil
	}
	d, err := units.ParseDuration(string(text))
	if err != nil {
		return wrongWord(string(text), []string{"once", "none"}, " or a duration such as 3d")
	}
	if d == 0 {
		c.Mode = messaging.CooldownNone
		return nil
	}
	c.Mode, c.For = messaging.CooldownFor, d.D()
	return nil
}

// String is the cooldown as it is read.
func (c Cooldown) String() string { return cooldownWords(c.Cooldown) }

func cooldownWords(c messaging.Cooldown) string {
	if c.Mode == messaging.CooldownFor {
		return units.Duration(c.For).String()
	}
	return string(c.Mode)
}

// Schema describes it to editors.
func (Cooldown) Schema() map[string]any {
	return anyOf(map[string]any{"enum": []string{"once", "none"}}, units.Duration(0).Schema())
}

// A Lifetime is a duration that can be switched off. The zero value was not written.
type Lifetime struct {
	Set bool
	Off bool
	For time.Duration
}

// UnmarshalText reads a duration, or off; 0 is off, too.
func (l *Lifetime) UnmarshalText(text []byte) error {
	l.Set = true
	switch strings.ToLower(string(text)) {
	case "off", "never", "0":
		l.Off = true
		return nil
	}
	d, err := units.ParseDuration(string(text))
	l.For, l.Off = d.D(), err == nil && d == 0
	return err
}

// or is the duration, 0 for off, and otherwise where nothing was written.
func (l Lifetime) or(otherwise time.Duration) time.Duration {
	switch {
	case !l.Set:
		return otherwise
	case l.Off:
		return 0
	default:
		return l.For
	}
}

// Lives is how long past due a message of the rule may be; 0 is for ever.
func (r *Rule) Lives() time.Duration { return r.Expires.or(defaultExpires(r.Category)) }

// Schema describes it to editors.
func (Lifetime) Schema() map[string]any {
	return anyOf(map[string]any{"enum": []any{"off", "never", false}}, units.Duration(0).Schema())
}

func anyOf(schemas ...map[string]any) map[string]any {
	ways := make([]any, len(schemas))
	for i, s := range schemas {
		ways[i] = s
	}
	return map[string]any{"anyOf": ways}
}
