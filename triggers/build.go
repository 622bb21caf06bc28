package triggers

import (
	"fmt"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/expressions"
)

// A rule is a Rule compiled.
type rule struct {
	Rule
	category nudgewire.Category
	forget   bool // keep_variables: false
	on       []pattern
	cancelOn []pattern
	clauses  []*expressions.Condition
	key      *expressions.Expression // nil for the natural key
	families []string                // whose identifiers are keys: one, or more where "on" has several
	until    *until                  // nil for a plain wait
	expires  time.Duration
	maxAge   time.Duration
	remember time.Duration
	send     sending
}

// The defaults of a rule that says nothing.
const defaultRemember = 24 * time.Hour

var defaultExpires = map[nudgewire.Category]time.Duration{
	nudgewire.Marketing: 24 * time.Hour, nudgewire.Utility: 24 * time.Hour,
	nudgewire.Authentication: 10 * time.Minute, // a login code that comes later is of no use
}

// A builder compiles rules and gathers their problems.
type builder struct {
	env      Env
	name     string // of the rule at hand
	problems []Problem
}

func (b *builder) report(path string, offset int, hint, format string, args ...any) {
	b.problems = append(b.problems, Problem{Trigger: b.name, Path: path, Offset: offset, Msg: fmt.Sprintf(format, args...), Hint: hint})
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
	if r.Mode == "" {
		r.Mode = Live
	}
	if r.OnRepeat.Mode == "" {
		r.OnRepeat.Mode = nudgewire.Restart
	}
	r.category = b.category(given.Category)
	r.forget = r.category == nudgewire.Authentication
	if given.Keep != nil {
		r.forget = !*given.Keep
	}
	for i, text := range given.If {
		c, faults := expressions.CompileCondition(text)
		b.faults(fmt.Sprintf("if[%d]", i), faults)
		r.clauses = append(r.clauses, c)
	}
	r.until = b.wait(given.Wait)
	r.expires = given.Expires.or(expiresOf(r.category))
	r.maxAge = given.MaxAge.or(0)
	r.send = b.send(given.Send)
	if len(given.On) == 0 {
		b.report("on", 0, "name an event, as in on: shopify.cart.updated", "the trigger listens to nothing")
	}
	if len(given.CancelOn) > 0 && given.Wait == (Wait{}) {
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
	r.cancelOn = b.patterns("cancel_on", given.CancelOn)
	r.families = familiesOf(r.on)
	if given.Key != "" {
		r.key = b.keyOf(given.Key)
	}
	if r.remember = given.RememberCancel.D(); r.remember == 0 {
		r.remember = defaultRemember
	}
	return r
}

func expiresOf(c nudgewire.Category) time.Duration {
	if d, ok := defaultExpires[c]; ok {
		return d
	}
	return defaultExpires[nudgewire.Marketing]
}

func (b *builder) category(own nudgewire.Category) nudgewire.Category {
	for _, c := range []nudgewire.Category{own, b.env.Category} {
		if c != "" {
			return c
		}
	}
	return nudgewire.Marketing
}

func (b *builder) keyOf(text string) *expressions.Expression {
	key, faults := expressions.Compile(text)
	b.faults("key", faults)
	if !key.Kind().Scalar() {
		b.report("key", 0, "name one value, as in cart.id", "%s is %s", strings.TrimSpace(text), key.Words())
	}
	return key
}
