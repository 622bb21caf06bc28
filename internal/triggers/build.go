package triggers

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/expressions"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A rule is a Rule compiled.
type rule struct {
	Rule
	category messaging.Category
	forget   bool // keep_variables: false
	on       []pattern
	cancelOn []pattern
	clauses  []*expressions.Condition
	key      *expressions.Expression // nil for the natural key
	families []string                // whose identifiers are keys: one, or more where "on" has several
	stopOn   []pattern
	delay    delay
	steps    []step // nil for a trigger with one message
	expires  time.Duration
	maxAge   time.Duration
	remember time.Duration
	send     sending
	until    time.Time // of an earlier rule: what it cancels was first planned by then
}

// defaultRemember is how long a cancelling event is remembered where the rule does not say.
const defaultRemember = 24 * time.Hour

func defaultExpires(c messaging.Category) time.Duration {
	if c == messaging.Authentication {
		return 10 * time.Minute // a login code that comes later is of no use
	}
	return 24 * time.Hour
}

// A builder compiles rules and gathers their problems.
type builder struct {
	env      Env
	name     string // of the rule at hand
	within   string // what of it the paths are in: "steps[0]."
	texts    bool   // every account that the rule may send by sends texts; else refused is one that does not
	refused  string
	problems []Problem
}

func (b *builder) report(path string, offset int, hint, format string, args ...any) {
	b.problems = append(b.problems, Problem{Trigger: b.name, Path: b.within + path, Offset: offset, Msg: fmt.Sprintf(format, args...), Hint: hint})
}

func (b *builder) warn(path, hint, format string, args ...any) {
	b.report(path, 0, hint, format, args...)
	b.problems[len(b.problems)-1].Warning = true
}

func (b *builder) faults(path string, found []expressions.Fault) {
	for _, f := range found {
		b.report(path, f.Offset, f.Hint, "%s", f.Msg)
	}
}

func (b *builder) rule(given Rule) *rule {
	r := b.listening(given)
	r.Mode = cmp.Or(r.Mode, Live)
	r.OnRepeat.Mode = cmp.Or(r.OnRepeat.Mode, messaging.Restart)
	r.category = cmp.Or(given.Category, b.env.Category, messaging.Marketing)
	r.forget = r.category == messaging.Authentication
	if given.Keep != nil {
		r.forget = !*given.Keep
	}
	for i, text := range given.If {
		c, faults := expressions.CompileCondition(text)
		b.faults(fmt.Sprintf("if[%d]", i), faults)
		r.clauses = append(r.clauses, c)
	}
	r.expires = given.Expires.or(defaultExpires(r.category))
	r.maxAge = given.MaxAge.or(0)
	b.refused, b.texts = b.textsOf(r)
	if given.Steps != nil {
		b.steps(r)
	} else {
		r.delay = b.delay(given.Wait)
		r.send = b.send(given.Send)
	}
	if len(given.On) == 0 {
		b.report("on", 0, "name an event, as in on: shopify.cart.updated", "the trigger listens to nothing")
	}
	if len(given.CancelOn) > 0 && given.Wait == (Wait{}) && given.Steps == nil {
		b.warn("cancel_on", "give it a wait, as in wait: 45m", "there is hardly anything to cancel: without a wait the message leaves at once")
	}
	return r
}

// listening compiles the part of a rule that says what it listens to and what its key is: all that
// cancelling needs.
func (b *builder) listening(given Rule) *rule {
	b.name = given.Name
	r := &rule{Rule: given}
	r.on = b.patterns("on", given.On)
	r.cancelOn = b.endings("cancel_on", given.CancelOn)
	r.stopOn = b.endings("stop_on", given.StopOn)
	r.families = familiesOf(r.on)
	if given.Key != "" {
		r.key = b.keyOf(given.Key)
	}
	r.remember = cmp.Or(given.RememberCancel.D(), defaultRemember)
	return r
}

func (b *builder) keyOf(text string) *expressions.Expression {
	key, faults := expressions.Compile(text)
	b.faults("key", faults)
	if !key.Kind().Scalar() {
		b.report("key", 0, "name one value, as in cart.id", "%s is %s", strings.TrimSpace(text), key.Words())
	}
	return key
}
