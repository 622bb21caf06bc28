package expressions

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/expr-lang/expr/ast"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A Person is a contact as an audience sees it: what is known of it, and what was counted of its past.
type Person struct {
	Phone       messaging.Phone `expr:"phone"`
	Name        string          `expr:"name"`
	Email       string          `expr:"email"`
	Language    string          `expr:"language"`
	Country     string          `expr:"country"`
	Timezone    string          `expr:"timezone"`
	Tags        messaging.Tags  `expr:"tags"`
	Orders      int             `expr:"orders"`        // that were placed or paid, each once
	LastOrderAt time.Time       `expr:"last_order_at"` // missing where there was none
	FirstSeenAt time.Time       `expr:"first_seen_at"`
	LastSeenAt  time.Time       `expr:"last_seen_at"`
	Consent     string          `expr:"consent"` // to messages of marketing: given, withdrawn; missing where nothing is recorded

	Spent messaging.Sums // what was paid, by currency

	// Past has what each question of the audience is answered with, in their order: an int, an Amount, a bool or an *Occurrence, nil for none, or
	// Undecided.
	Past []any
}

// An Occurrence is the newest event of a contact that an audience asks for.
type Occurrence struct {
	At  time.Time     `expr:"at"`
	Age time.Duration `expr:"age"` // until now
}

// Undecided is why nobody can answer a question about a contact: a sum in several currencies, or of what cannot be read.
type Undecided string

// A PastQuestion is what an audience asks of the past of each contact.
type PastQuestion struct {
	Function string        // count, last, sum, messaged, replied or received
	Of       string        // of count, last and sum the events, as under "on"; of received the name of a trigger or a job
	Value    *Expression   // of sum: what of an event is added
	Within   time.Duration // counted back from now; 0 for all that is kept
	Offset   int           // where Of begins in the text
}

// An Audience chooses contacts.
type Audience struct {
	condition Condition
	Past      []PastQuestion
}

// CompileAudience reads the expression that chooses the contacts of a list.
func CompileAudience(text string) (*Audience, []Fault) {
	node, bad := parse(text, pastNames()...)
	if bad != nil {
		return nil, []Fault{*bad}
	}
	out := &Audience{}
	c := &compiler{text: text, past: &out.Past}
	out.condition = Condition{source: strings.TrimSpace(text), test: c.flag(node), paths: c.paths}
	return out, c.faults
}

// Has reports whether a contact belongs to the audience. why says what could not be decided: then it does not.
func (a *Audience) Has(p *Person, now time.Time, home *time.Location) (has bool, why string) {
	s := scopes.Get().(*Scope)
	defer s.Free()
	s.event, s.person, s.now, s.home = &nothing, p, now, home
	s.begin()
	answer, known := a.condition.test(s).(bool)
	if known && s.unread == "" {
		return answer, ""
	}
	return false, s.why()
}

// nothing is the event of whoever is asked about without one.
var nothing messaging.Event

// Amount is the value as a number; ok is false where there is none, and why says what is there instead, "" for nothing.
func (e *Expression) Amount(s *Scope) (n messaging.Amount, ok bool, why string) {
	s.begin()
	v := e.of.eval(s)
	if n, ok = amountOf(v); ok && s.unread == "" {
		return n, n.Reported(), ""
	}
	if v != nil && !ok {
		return n, false, "it is " + wordsFor(v) + ", not a number"
	}
	return n, false, s.unread
}

// personRoots are the names of an audience.
var personRoots = func() map[string]root {
	r := root{objectShape[Person]("a contact"), func(s *Scope) any { return s.person }}
	for name, f := range r.shape.fields { // of what no event said nobody knows anything
		read := f.read
		f.read = func(object any) any {
			if v := read(object); filled(v) || f.shape.kind == KindWhole {
				return v
			}
			return nil
		}
		r.shape.fields[name] = f
	}
	return map[string]root{"customer": r, "contact": r, "now": roots["now"]}
}()

var occurrenceShape = objectShape[Occurrence]("an event")

// A pastForm is a function about the past of a contact.
type pastForm struct {
	form  string
	named bool // its first argument names events, a trigger or a job
	adds  bool // its second argument says what is added
	gives *shape
}

var pastForms = map[string]pastForm{
	"count":    {`count("*.order.paid", 90d)`, true, false, wholeShape},
	"last":     {`last("*.order.paid", 365d)`, true, false, occurrenceShape},
	"sum":      {`sum("*.order.paid", order.total, 365d)`, true, true, amountShape},
	"messaged": {"messaged(14d)", false, false, flagShape},
	"replied":  {"replied(30d)", false, false, flagShape},
	"received": {`received("abandoned-cart", 7d)`, true, false, flagShape},
}

// spentForm is how spent is written.
const spentForm = `spent("GBP")`

// pastCall compiles a function about the past; is is false where name is none.
func (c *compiler) pastCall(n ast.Node, name string, args []ast.Node) (t typed, is bool) {
	if c.past == nil {
		return t, false
	}
	if name == "spent" {
		return c.spent(n, args), true
	}
	f, is := pastForms[name]
	if !is {
		return t, false
	}
	q := PastQuestion{Function: name}
	left := args
	if f.named {
		text, ok := firstText(left)
		if !ok {
			return c.report(n, "write "+f.form, "%s takes a name in quotes first", name), true
		}
		q.Of, q.Offset = text.Value, text.Location().From
		left = left[1:]
	}
	if f.adds {
		if len(left) == 0 {
			return c.report(n, "write "+f.form, "%s takes what is added", name), true
		}
		inner := &compiler{text: c.text}
		value := inner.expr(left[0])
		c.faults = append(c.faults, inner.faults...)
		if len(inner.faults) > 0 {
			return unknown, true
		}
		if !value.shape.number() && value.shape.kind != KindAny {
			return c.report(left[0], "write "+f.form, "%s adds numbers, and %s is %s", name, describe(left[0]), value.shape.words()), true
		}
		q.Value = &Expression{value, inner.paths}
		left = left[1:]
	}
	switch {
	case len(left) == 1:
		within, ok := c.span(left[0])
		if !ok || within <= 0 {
			return c.report(left[0], "write "+f.form, "%s is no length of time to look back", describe(left[0])), true
		}
		q.Within = within
	case len(left) > 1 || name != "last":
		return c.report(n, "write "+f.form, "%s takes a length of time to look back", name), true
	}
	*c.past = append(*c.past, q)
	at := len(*c.past) - 1
	read := func(s *Scope) any {
		switch v := s.person.Past[at].(type) {
		case Undecided:
			return s.unfit(string(v))
		case *Occurrence:
			if v == nil {
				return nil
			}
			return v
		default:
			return v
		}
	}
	return typed{shape: f.gives, eval: read, path: &path{name: describe(n), read: read}}, true
}

// spent is what was paid in a currency.
func (c *compiler) spent(n ast.Node, args []ast.Node) typed {
	text, ok := firstText(args)
	if !ok || len(args) != 1 {
		return c.report(n, "write "+spentForm, "spent takes a currency in quotes")
	}
	return typed{shape: amountShape, eval: func(s *Scope) any {
		for _, one := range s.person.Spent {
			if strings.EqualFold(one.Currency, text.Value) {
				return one.Amount
			}
		}
		return messaging.AmountOf(0)
	}}
}

// span is a length of time that is written out.
func (c *compiler) span(n ast.Node) (time.Duration, bool) {
	t := c.node(n)
	if _, isName := n.(*ast.IdentifierNode); !isName || t.shape.kind != KindSpan {
		return 0, false
	}
	d, ok := t.eval(nil).(time.Duration)
	return d, ok
}

func firstText(args []ast.Node) (*ast.StringNode, bool) {
	if len(args) == 0 {
		return nil, false
	}
	text, is := args[0].(*ast.StringNode)
	return text, is
}

func (c *compiler) unknownOfPerson(n *ast.IdentifierNode) typed {
	hint := "names begin with customer; functions are " + strings.Join(pastNames(), ", ")
	switch _, isField := personRoots["customer"].shape.fields[n.Value]; {
	case isField:
		hint = fmt.Sprintf("did you mean %q?", "customer."+n.Value)
	case slices.Contains(pastNames(), n.Value):
		hint = "it is a function: write " + n.Value + "(…)"
	case IsName(n.Value):
		hint = "an audience asks no event: count and sum what events said, as in " + pastForms["sum"].form
	}
	return c.report(n, hint, "unknown name %q", n.Value)
}

// pastNames are the functions of an audience beside those of every expression.
func pastNames() []string {
	names := []string{"spent"}
	for name := range pastForms {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
