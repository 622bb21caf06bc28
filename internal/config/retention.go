package config

import (
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// Retention says how long what is no longer needed is kept.
type Retention struct {
	Payloads         triggers.Lifetime `yaml:"payloads" default:"30d" doc:"How long what a webhook carried is kept, as it was posted; off for ever. What has not ended keeps it longer: a message that waits or is in doubt, an event that waits for a look-up."`
	Facts            triggers.Lifetime `yaml:"facts" default:"90d" doc:"How long what mapping read of it is kept: contact, cart, order; off for ever. Never shorter than payloads, in which the same stands; what has not ended keeps it longer."`
	Decisions        triggers.Lifetime `yaml:"decisions" default:"90d" doc:"How long it is kept why a trigger decided as it did, with the values that conditions saw; off for ever. Which message an event led to stays until the event goes."`
	Messages         triggers.Lifetime `yaml:"messages" default:"400d" doc:"How long messages are kept after their end, sent or not; off for ever. What has not ended is never removed."`
	Events           triggers.Lifetime `yaml:"events" example:"400d" doc:"How long events are kept: who, what kind, when; off for ever. One that a message is kept of stays with it. Unless set: as long as messages."`
	Phones           triggers.Lifetime `yaml:"phones" example:"180d" doc:"How long the phone of a message that has ended is kept whole, and what else tells whose it was: its key, what was filled in. From then on its phone is masked (4477*****99), nothing finds it by its phone, and it is not sent again; so is the phone of its event. off for as long as the message. Unless set: 180d, or as long as a rule looks back, or as long as anything else is kept in which phones stand."`
	Attempts         triggers.Lifetime `yaml:"attempts" default:"90d" doc:"How long it is kept what the service answered to each attempt, and what rules said when a message was due; off for as long as the message. That an attempt came in doubt stays with the message."`
	WebhooksOut      triggers.Lifetime `yaml:"webhooks_out" default:"7d" doc:"How long webhooks out are kept once they are delivered or given up, so that they can be sent again (webhooks replay); off for ever."`
	Runs             triggers.Lifetime `yaml:"runs" default:"730d" doc:"How long runs of jobs are kept after their end, with their parts and counts; off for ever. One whose messages or rows are kept stays with them, as does the newest of each job."`
	RejectedRequests triggers.Lifetime `yaml:"rejected_requests" default:"30d" doc:"How long traces of webhooks that were not taken are kept; off for as long as there is room for them."`

	Lists units.Duration `yaml:"lists" validate:"min=1h,max=3650d" default:"30d" doc:"How long what the rows of a list said is kept after their run has ended, and which were excluded and why. Counts, hashes and answers stay, and for 100 days, or as long as a rule looks back, which phone was in which part. What a run that has not ended, or has a part in doubt, reads of them stays."`
}

// leastKept is the shortest age: what is younger may still be under way.
const leastKept = time.Hour

// mostKept is beyond any law; whoever wants more wants off.
const mostKept = 3650 * 24 * time.Hour

// retention settles how long each kind is kept, and reports ages that contradict each other, or what the rules of the
// config have to remember. A written age that cannot be is a fault; one that was not written follows.
func (c *Config) retention(k *checker) {
	r := &c.Retention
	bad := func(at, msg, hint string) { k.found(yamlpos.Problem{Path: at, Msg: msg, Hint: hint}, 0) }
	if !r.Events.Set {
		r.Events = r.Messages
	}
	for _, one := range []struct {
		key  string
		kept *triggers.Lifetime
		with string // what it goes with at the latest
		most triggers.Lifetime
		why  string
	}{
		{"messages", &r.Messages, "events", r.Events, "a message is found through its event"},
		{"events", &r.Events, "", triggers.Lifetime{Off: true}, ""},
		{"payloads", &r.Payloads, "events", r.Events, "what an event carried goes with it"},
		{"facts", &r.Facts, "events", r.Events, "what was mapped from an event goes with it"},
		{"decisions", &r.Decisions, "events", r.Events, "what was decided about an event goes with it"},
		{"attempts", &r.Attempts, "messages", r.Messages, "the attempts at a message go with it"},
		{"webhooks_out", &r.WebhooksOut, "", triggers.Lifetime{Off: true}, ""},
		{"rejected_requests", &r.RejectedRequests, "", triggers.Lifetime{Off: true}, ""},
		{"runs", &r.Runs, "", triggers.Lifetime{Off: true}, ""},
	} {
		at := "retention." + one.key
		switch written := k.written(at); {
		case written && !one.kept.Off && one.kept.For < leastKept:
			bad(at, fmt.Sprintf("%s is shorter than %s", units.Duration(one.kept.For), units.Duration(leastKept)), "write days, such as 30d")
		case written && one.key == "runs" && !one.kept.Off && one.kept.For < privacy.RowsKept:
			bad(at, fmt.Sprintf("%s is shorter than %s: limits look back at whom lists reached", units.Duration(one.kept.For), units.Duration(privacy.RowsKept)), "write 100d or more, such as 730d")
		case written && !one.kept.Off && one.kept.For > mostKept:
			bad(at, fmt.Sprintf("%s is longer than %s", units.Duration(one.kept.For), units.Duration(mostKept)), "write off to keep it for ever")
		case written && longer(*one.kept, one.most) && !(one.kept.Off && one.key == "attempts"):
			bad(at, fmt.Sprintf("%s is longer than %s are kept, %s: %s", keptWords(*one.kept), one.with, keptWords(one.most), one.why),
				fmt.Sprintf("set retention.%s to %s, or this to %s or less", one.with, keptWords(*one.kept), keptWords(one.most)))
		}
		if longer(*one.kept, one.most) {
			*one.kept = one.most
		}
	}
	c.facts(k)
	c.phones(k)
	c.remembers(k)
}

// facts settles how long facts are kept: no shorter than the payloads that they were mapped from, in which the same stands.
func (c *Config) facts(k *checker) {
	r := &c.Retention
	const at = "retention.facts"
	switch {
	case !longer(r.Payloads, r.Facts):
	case !k.written(at):
		r.Facts = r.Payloads
	case !k.written("retention.payloads"):
		r.Payloads = r.Facts
	default:
		k.found(yamlpos.Problem{
			Path: at,
			Msg:  fmt.Sprintf("%s is shorter than payloads are kept, %s: the same stands in them", keptWords(r.Facts), keptWords(r.Payloads)),
			Hint: fmt.Sprintf("set this to %[1]s or more, or retention.payloads to %[2]s or less", keptWords(r.Payloads), keptWords(r.Facts)),
		}, 0)
	}
}

// phonesKept is how long phones are kept whole at the least where no age is written.
const phonesKept = 180 * 24 * time.Hour

// phones settles how long phones are kept whole: with the message at the latest, and nothing in which they stand for longer.
// Where it is not written it follows all of that, and the rules (remembers), so that an older config stays what it was.
func (c *Config) phones(k *checker) {
	r := &c.Retention
	written := r.Phones.Set
	if !written {
		r.Phones = triggers.Lifetime{For: phonesKept, Set: true}
	}
	bad := func(at, msg, hint string) { k.found(yamlpos.Problem{Path: at, Msg: msg, Hint: hint}, 0) }
	const at = "retention.phones"
	switch {
	case !written:
	case !r.Phones.Off && r.Phones.For < leastKept:
		bad(at, fmt.Sprintf("%s is shorter than %s", units.Duration(r.Phones.For), units.Duration(leastKept)), "write days, such as 180d")
	case !r.Phones.Off && longer(r.Phones, r.Messages):
		bad(at, fmt.Sprintf("%s is longer than messages are kept, %s: a phone goes with its message", keptWords(r.Phones), keptWords(r.Messages)),
			fmt.Sprintf("set retention.messages to %s, or this to %s or less", keptWords(r.Phones), keptWords(r.Messages)))
	}
	lists := triggers.Lifetime{For: r.Lists.D()}
	for _, one := range []struct {
		key  string
		kept *triggers.Lifetime
	}{
		{"payloads", &r.Payloads}, {"facts", &r.Facts}, {"decisions", &r.Decisions}, {"attempts", &r.Attempts}, {"webhooks_out", &r.WebhooksOut}, {"rejected_requests", &r.RejectedRequests}, {"lists", &lists},
	} {
		path := "retention." + one.key
		switch {
		case !longer(*one.kept, r.Phones):
		case !written && one.kept.Off:
			r.Phones.Off = true
		case !written:
			r.Phones.For = one.kept.For
		case k.written(path):
			bad(path, fmt.Sprintf("%s is longer than phones are kept whole, %s: phones stand in it", keptWords(*one.kept), keptWords(r.Phones)),
				fmt.Sprintf("set retention.phones to %s or more, or this to %s or less", keptWords(*one.kept), keptWords(r.Phones)))
		default:
			*one.kept = r.Phones
		}
	}
	r.Lists = units.Duration(lists.For)
	if longer(r.Phones, r.Messages) {
		r.Phones = r.Messages
	}
}

// longer reports whether one age is longer than another.
func longer(a, b triggers.Lifetime) bool { return !b.Off && (a.Off || a.For > b.For) }

func keptWords(l triggers.Lifetime) string {
	if l.Off {
		return "off"
	}
	return units.Duration(l.For).String()
}

// remembers reports rules that look further back than what they look at is kept. cooldown: once is none of them: the store
// remembers it for ever.
func (c *Config) remembers(k *checker) {
	for i := range c.in.Connectors {
		e := &c.in.Connectors[i]
		if r := c.Receivers[e.Key]; r != nil {
			c.looksBack(k, yamlpos.Join("connectors", e.Key), "dedupe.window", r.DedupeWindow(), "events", c.Retention.Events, "a webhook that comes again would be taken for new")
		}
	}
	limit := func(at string, d *messaging.Message) {
		needs := c.Due.Needs(d)
		if k.doc.Node(at+".limit") == nil {
			at = "defaults"
		}
		c.looksBack(k, at, "limit", needs.Sends, "messages", c.Retention.Messages, "the limit would forget what was sent")
		c.looksBack(k, "limits", "unique_contacts", needs.Account, "messages", c.Retention.Messages, "the account's limit would forget who was reached")
	}
	for i := range c.in.Triggers {
		e := &c.in.Triggers[i]
		at := yamlpos.Join("triggers", e.Key)
		if e.Value.Cooldown.Mode == messaging.CooldownFor {
			where := at
			if k.doc.Node(at+".cooldown") == nil {
				where = "defaults"
			}
			c.looksBack(k, where, "cooldown", e.Value.Cooldown.For, "messages", c.Retention.Messages, "the cooldown would forget its message")
		}
		limit(at, &messaging.Message{EventID: 1, Trigger: e.Key, Category: e.Value.Category, Account: messaging.AccountKey(e.Value.Account)})
	}
	for i := range c.in.Jobs {
		e := &c.in.Jobs[i]
		at, category := yamlpos.Join("jobs", e.Key), messaging.Category(e.Value.Category)
		if category == "" {
			category = c.Defaults.Category
		}
		c.looksBack(k, at, "exclude.messaged_within", e.Value.Exclude.MessagedWithin.D(), "messages", c.Retention.Messages, "who was messaged before that would not be known")
		limit(at, &messaging.Message{Trigger: e.Key, Category: category})
		if a := c.audience(e.Key); a != nil {
			for _, q := range a.Past {
				switch {
				case q.Value != nil:
					c.looksBack(k, at, "source.contacts", q.Within, "facts", c.Retention.Facts, "what was said before that would not be known")
				case slices.Contains(triggers.OfMessages, q.Function):
					c.looksBack(k, at, "source.contacts", q.Within, "messages", c.Retention.Messages, "who was messaged before that would not be known")
				default:
					c.looksBack(k, at, "source.contacts", q.Within, "events", c.Retention.Events, "what came before that would not be known")
				}
			}
		}
	}
}

// audience is that of a job that compiled; nil where its rows come from elsewhere.
func (c *Config) audience(job string) *triggers.Audience {
	for _, one := range c.Jobs {
		if one.Name == job {
			return one.Audience()
		}
	}
	return nil
}

// looksBack reports one rule that looks back longer than what it looks at is kept: at the age where that is written, else
// at the rule. Phones that nobody wrote an age for are kept as long as it looks back.
func (c *Config) looksBack(k *checker, at, key string, back time.Duration, kind string, kept triggers.Lifetime, then string) {
	rule := at + "." + key
	if phones := &c.Retention.Phones; !phones.Off && back > phones.For && (kept.Off || back <= kept.For) {
		if k.doc.Node("retention.phones") == nil {
			phones.For = back
		} else {
			k.found(yamlpos.Problem{
				Path: "retention.phones",
				Msg:  fmt.Sprintf("%s is shorter than %s looks back, %s: %s", keptWords(*phones), rule, units.Duration(back), then),
				Hint: fmt.Sprintf("set retention.phones to %s or more", units.Duration(back)),
			}, 0)
		}
	}
	if kept.Off || back <= kept.For {
		return
	}
	hint := fmt.Sprintf("set retention.%s to %s or more", kind, units.Duration(back))
	for _, path := range []string{"retention." + kind, "retention.messages"} {
		if k.doc.Node(path) != nil {
			k.found(yamlpos.Problem{Path: path, Msg: fmt.Sprintf("%s is shorter than %s looks back, %s: %s", keptWords(kept), rule, units.Duration(back), then), Hint: hint}, 0)
			return
		}
	}
	k.found(yamlpos.Problem{Path: below(at, key), Msg: fmt.Sprintf("%s is longer than %s are kept, %s: %s", units.Duration(back), kind, keptWords(kept), then), Hint: hint}, 0)
}
