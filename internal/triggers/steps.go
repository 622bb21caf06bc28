package triggers

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/expressions"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/nearest"
)

// A step is a Step compiled.
type step struct {
	delay delay
	texts []string
	send  sending
}

// maxSteps bounds a sequence. One person who is written to more often because of one cart is a mistake.
const maxSteps = 20

// steps compiles the steps of a rule.
func (b *builder) steps(r *rule) {
	if len(r.Rule.Steps) == 0 {
		b.report("steps", 0, "write a list of steps, each with a send", "there is no step")
		return
	}
	for _, extra := range []struct {
		key     string
		written bool
	}{{"wait", r.Wait != (Wait{})}, {"send", r.Rule.Send.named()}} {
		if extra.written {
			b.report(extra.key, 0, "move it into a step: each has its own", "%s stands beside steps", extra.key)
		}
	}
	if n := len(r.Rule.Steps); n > maxSteps {
		b.report(fmt.Sprintf("steps[%d]", maxSteps), 0, "split them into several triggers", "a sequence has at most %d steps, and here are %d", maxSteps, n)
	}
	for i := range r.Rule.Steps {
		given := &r.Rule.Steps[i]
		b.within = fmt.Sprintf("steps[%d].", i)
		if i > 0 && given.Wait == (Wait{}) && len(given.If) == 0 {
			b.warn("", "give it a wait, as in wait: 3d, or an if", "follows the step before it at once")
			b.problems[len(b.problems)-1].Path = strings.TrimSuffix(b.within, ".")
		}
		s := step{delay: b.delay(given.Wait), send: b.send(given.Send)}
		for j, text := range given.If {
			b.stepCondition(r, fmt.Sprintf("if[%d]", j), text, i > 0)
			s.texts = append(s.texts, strings.TrimSpace(text))
		}
		r.steps = append(r.steps, s)
		b.within = ""
	}
}

// named reports whether a send says anything.
func (given *Send) named() bool {
	return given.Template+given.Campaign+given.Text+given.Language != "" || len(given.Variables) > 0 || given.Header != nil
}

// notKept is what of an event is gone at once with keep_variables: false (messaging.Plan.Forget).
var notKept = []string{"cart", "order", "deal", "form", "raw"}

func (b *builder) stepCondition(r *rule, path, text string, later bool) {
	compile := expressions.CompileCondition
	if later {
		compile = expressions.CompileStep
	}
	c, faults := compile(text)
	b.faults(path, faults)
	if c == nil || len(faults) > 0 {
		return
	}
	if r.forget {
		for _, name := range c.Roots() {
			if slices.Contains(notKept, name) {
				b.report(path, 0, "put the condition into the trigger's if, which is looked at on arrival, or set keep_variables: true", "%s is not kept until the step falls due (keep_variables: false)", name)
				break
			}
		}
	}
	for name, words := range wordsOfPrevious {
		for _, m := range comparedWith[name].FindAllStringSubmatchIndex(text, -1) {
			word := text[m[2]:m[3]]
			if word == "" || slices.Contains(words, word) {
				continue
			}
			hint := "it is one of " + strings.Join(words, ", ")
			if near := nearest.Of(word, words); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
			b.report(path, m[2], hint, "previous.%s is never %q", name, word)
		}
	}
}

// wordsOfPrevious are all words that a member of previous may be: the states of a message, its status once the service took it, and the
// classes of its words.
var wordsOfPrevious = func() map[string][]string {
	all := map[string][]string{}
	for _, s := range messaging.States {
		all["status"] = append(all["status"], string(s))
	}
	for _, s := range messaging.Statuses {
		if !slices.Contains(all["status"], string(s)) {
			all["status"] = append(all["status"], string(s))
		}
	}
	for _, c := range messaging.ErrorClasses {
		all["error_class"] = append(all["error_class"], string(c))
	}
	return all
}()

// comparedWith finds the words that a member of previous is compared with.
var comparedWith = func() map[string]*regexp.Regexp {
	all := map[string]*regexp.Regexp{}
	for name := range wordsOfPrevious {
		all[name] = regexp.MustCompile(`previous\.` + name + `\s*(?:==|!=)\s*["']([^"']*)["']`)
	}
	return all
}()

// sequence plans every step of a rule: each falls due so long after the step before it. A step that cannot
// be filled in is left out, and the others go on.
func (m *matching) sequence(r *rule, w messaging.Proposal) messaging.Proposal {
	var before time.Time
	for i := range r.steps {
		s := &r.steps[i]
		due, expires, trouble := r.due(&s.delay, m.event, m.scope, m.zones, before, m.now)
		var send messaging.Send
		if trouble == "" {
			before = due
			send, trouble = s.send.fill(m.scope)
		}
		if trouble != "" {
			w.LeftOut = append(w.LeftOut, fmt.Sprintf("step %d is left out: %s", i+1, trouble))
			continue
		}
		d := m.message(r, w.Correlation.Key, send, due, expires)
		d.Step = i + 1
		w.Steps = append(w.Steps, messaging.PlannedStep{
			Message: d, Rule: messaging.StepRule{Of: len(r.steps), If: s.texts, Wait: s.delay.String()},
		})
	}
	if len(w.Steps) == 0 {
		return skipped(w, strings.Join(w.LeftOut, "; "))
	}
	w.Message, w.Guessed = w.Steps[0].Message, m.guessed(&r.steps[w.Steps[0].Message.Step-1].send)
	w.Decision.Outcome = messaging.Planned
	if r.Mode == Shadow {
		w.Decision.Outcome = messaging.Shadowed
		w.Decision.Reason = "mode: shadow; it would send " + sequenceWords(&w)
	}
	return w
}

// sequenceWords are the steps of a proposal in words, and those that were left out.
func sequenceWords(w *messaging.Proposal) string {
	var says []string
	for i := range w.Steps {
		d := &w.Steps[i].Message
		says = append(says, fmt.Sprintf("%s: %s %s", StepWords(d.Step, w.Steps[i].Rule.Of), d.Send.What(), dueWords(d.DueAt, w.Decision.At)))
	}
	return strings.Join(append(says, w.LeftOut...), "; ")
}

// StepWords name a step: "step 2 of 3"; "step 2" where it is not known of how many, "" for no step.
func StepWords(step, of int) string {
	switch {
	case step == 0:
		return ""
	case of == 0:
		return fmt.Sprintf("step %d", step)
	default:
		return fmt.Sprintf("step %d of %d", step, of)
	}
}
