package duerules

import (
	"fmt"
	"math"
	"time"

	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// Rules are those of one config, by trigger and by job. They are made once and never changed, and
// are safe for many. They are messaging.DueRules.
type Rules struct {
	// Guessed, where it is set before the first question, is told of each answer that stands on the zone
	// of those of whom nothing is known.
	Guessed func()

	// Earlier gives the rules of an earlier config, nil where nobody knows them; it is set before the first question. What
	// waits of a name that is in the config no more is held back by the rules that it was planned under.
	Earlier func(version string) *Rules

	triggers, jobs map[string]*policy // nil for one that has no rules
	defaults       *policy
	account        *account            // of the section api
	accounts       map[string]*account // of the others, by name
	purse          *Purse              // what may be spent; nil for no budget
	any            bool                // there is one of all these
	zones          *hours.Zones
	zone           *time.Location // on whose calendar rates count
}

var _ messaging.DueRules = (*Rules)(nil)

// A policy is what a trigger or a job says, whatever the category of its messages.
type policy struct {
	quiet   *quiet // nil for none
	limits  []limit
	consent bool // recorded consent is required
	rate    Rate // of a trigger
}

// quietFor are the quiet hours that hold for a category; nil for none.
func (p *policy) quietFor(c messaging.Category) *quiet {
	if p == nil || c != messaging.Marketing {
		return nil
	}
	return p.quiet
}

// asks reports whether consent is required for a category.
func (p *policy) asks(c messaging.Category) bool {
	return p != nil && p.consent && c == messaging.Marketing
}

// back is how far back the limits of a category look; 0 where there is none.
func (p *policy) back(c messaging.Category) (back time.Duration) {
	if p == nil {
		return 0
	}
	for i := range p.limits {
		if l := &p.limits[i]; l.category == c {
			back = max(back, l.back())
		}
	}
	return back
}

// paced reports whether a rate holds for the messages, whatever their category.
func (p *policy) paced() bool { return p != nil && !p.rate.IsZero() }

// New has no rules yet but those of the account. Otherwise is the zone of contacts of whom nothing is known, and of the
// calendar of rates.
func New(otherwise *time.Location, a Account) *Rules {
	r := &Rules{triggers: map[string]*policy{}, jobs: map[string]*policy{}, accounts: map[string]*account{}, zones: hours.NewZones(otherwise), zone: otherwise}
	r.account = r.accountOf(a)
	return r
}

// Account adds the limit of a further account.
func (r *Rules) Account(name string, a Account) { r.accounts[name] = r.accountOf(a) }

// accountOf is what the keys say; without a limit for nothing.
func (r *Rules) accountOf(a Account) *account {
	u := a.UniqueContacts
	if u.IsZero() {
		return &account{}
	}
	r.any = true
	return &account{limit: u, most: u.Most - int64(math.Ceil(float64(u.Most)*float64(a.Reserve)-1e-9))}
}

// by is the account that a message is sent by.
func (r *Rules) by(d *messaging.Message) *account {
	if d.Account != "" {
		if a, ok := r.accounts[d.Account]; ok {
			return a
		}
	}
	return r.account
}

// Defaults are rules that hold, beside those of its own, for what waits of a name that is in the config no more.
func (r *Rules) Defaults(k Keys, holidays hours.Holidays) { r.defaults = r.policyOf(k, holidays) }

// Trigger adds the rules of a trigger.
func (r *Rules) Trigger(name string, k Keys, holidays hours.Holidays) {
	r.triggers[name] = r.policyOf(k, holidays)
}

// Rate adds the rate of a trigger, after Trigger.
func (r *Rules) Rate(trigger string, rate Rate) {
	if rate.IsZero() {
		return
	}
	r.any = true
	if r.triggers[trigger] == nil {
		r.triggers[trigger] = &policy{}
	}
	r.triggers[trigger].rate = rate
}

// Job adds the rules of a job.
func (r *Rules) Job(name string, k Keys, holidays hours.Holidays) {
	r.jobs[name] = r.policyOf(k, holidays)
}

// policyOf is what the keys say; nil for nothing.
func (r *Rules) policyOf(k Keys, holidays hours.Holidays) *policy {
	p := &policy{consent: k.Consent == ConsentRequired}
	if len(k.QuietHours.Windows) > 0 || holidays.Len() > 0 {
		p.quiet = &quiet{
			rule: k.QuietHours.Rule(holidays),
			drop: k.QuietHours.OnHit == Drop, maxDefer: k.QuietHours.MaxDefer.D(),
		}
	}
	for _, one := range k.Limit.All {
		l := limit{Limit: one.Count, category: one.Category, drop: one.OnHit == Drop, maxDefer: one.MaxDefer.D()}
		if l.category == "" {
			l.category = messaging.Marketing
		}
		p.limits = append(p.limits, l)
	}
	if p.quiet == nil && len(p.limits) == 0 && !p.consent {
		return nil
	}
	r.any = true
	return p
}

// Any reports whether there is a rule at all, or may be one of an earlier config.
func (r *Rules) Any() bool { return r != nil && (r.any || r.Earlier != nil) }

// A bound is every policy that holds for a message. The zero value is none.
type bound struct {
	own, also *policy // nil for one that has no rules
	unknown   string  // why nobody can say which rules hold; then it waits
}

// of is what holds for a message. What a person sends by hand, or to try a trigger, has no rules: that person decided.
func (r *Rules) of(d *messaging.Message) bound {
	if d.Trigger == messaging.ByHand || d.Test != "" {
		return bound{}
	}
	return r.named(d.EventID == 0, d.Trigger, d.Config)
}

// named is what holds for messages of a trigger or job: what today's config says of that name. Where it does not have
// it, a missing rule is no permission: then the config that planned them says it, and today's defaults beside it.
func (r *Rules) named(job bool, name, planned string) bound {
	if p, known := r.own(job, name); known {
		return bound{own: p}
	}
	if r.Earlier == nil {
		return bound{own: r.defaults}
	}
	if before := r.Earlier(planned); before != nil {
		if p, known := before.own(job, name); known {
			return bound{own: p, also: r.defaults}
		}
	}
	return bound{also: r.defaults, unknown: fmt.Sprintf(
		"%s is gone from the config, and what config %s said of it is not known any more, so nobody can say when and to whom it may be sent: put it back, or cancel what waits", name, planned)}
}

func (r *Rules) own(job bool, name string) (p *policy, known bool) {
	if job {
		p, known = r.jobs[name]
	} else {
		p, known = r.triggers[name]
	}
	return p, known
}

// asks reports whether consent is required for a category.
func (b bound) asks(c messaging.Category) bool { return b.own.asks(c) || b.also.asks(c) }

// back is how far back the limits of a category look; 0 where there is none.
func (b bound) back(c messaging.Category) time.Duration { return max(b.own.back(c), b.also.back(c)) }

// all are the policies that there are.
func (b bound) all(yield func(*policy) bool) {
	if b.own != nil && !yield(b.own) {
		return
	}
	if b.also != nil {
		yield(b.also)
	}
}

// Needs implements messaging.DueRules.
func (r *Rules) Needs(d *messaging.Message) messaging.DueNeeds {
	b := r.of(d)
	n := messaging.DueNeeds{Sends: b.back(d.Category), Consent: b.asks(d.Category), Window: b.own.paced()}
	if a := r.by(d); a.holds(d) {
		n.Account = a.limit.Per
	}
	if r.purse.holds(d) {
		n.Budget = r.purse
	}
	return n
}

// stamp is a moment as a contact reads it: on the clock of its place.
func stamp(t time.Time, z *hours.Zone) string {
	return fmt.Sprintf("%s in %s", t.In(z.Location()).Format("2006-01-02 15:04"), z)
}
