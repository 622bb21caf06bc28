package messaging

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// An ErrorClass is what the service's words for a message that it did not send mean for what happens
// next. docs/errors.md holds the table.
type ErrorClass string

// The classes.
const (
	ErrorUnknown        ErrorClass = ""                // no rule matches: the message ends, and a person reads it
	ErrorNoPoints       ErrorClass = "no_points"       // the account has no points: sending waits until it has
	ErrorRecipientLimit ErrorClass = "recipient_limit" // this contact got enough: not before a day has passed
	ErrorOptOut         ErrorClass = "opt_out"         // this contact wants no messages: blocked
	ErrorTemplate       ErrorClass = "template"        // this template is not usable now: it is paused
	ErrorPermanent      ErrorClass = "permanent"       // this message can never be sent: it ends
	ErrorRetry          ErrorClass = "retry"           // the service asks to try later
)

// ErrorClasses lists the classes that a rule may name.
var ErrorClasses = []ErrorClass{ErrorNoPoints, ErrorRecipientLimit, ErrorOptOut, ErrorTemplate, ErrorPermanent, ErrorRetry}

// Words names the class for people: "unknown" for the zero value.
func (c ErrorClass) Words() string {
	if c == ErrorUnknown {
		return "unknown"
	}
	return string(c)
}

// ErrorClassWords names every class, the unknown one first.
func ErrorClassWords() []string {
	out := []string{ErrorUnknown.Words()}
	for _, c := range ErrorClasses {
		out = append(out, c.Words())
	}
	return out
}

// An ErrorClassList names classes with commas between them, "no_points,unknown". "" is every class.
type ErrorClassList string

// Has reports whether the list names the class.
func (l ErrorClassList) Has(c ErrorClass) bool {
	return l == "" || slices.Contains(strings.Split(string(l), ","), c.Words())
}

// Words is the list for people, "" for every class.
func (l ErrorClassList) Words() string { return strings.ReplaceAll(string(l), ",", ", ") }

// recipientRest is how long a contact rests of whom the service says that he got enough.
const recipientRest = 24 * time.Hour

// laterRest is how long a message waits that the service took and then failed with words that ask to try later.
const laterRest = time.Hour

// GoesAgain reports whether a message that failed with words of this class is sent once more by itself, and
// after how long a rest. What the account or the template keeps back waits for that as well.
func (c ErrorClass) GoesAgain() (rest time.Duration, again bool) {
	switch c {
	case ErrorNoPoints, ErrorTemplate:
		return 0, true
	case ErrorRecipientLimit:
		return recipientRest, true
	case ErrorRetry:
		return laterRest, true
	default:
		return 0, false
	}
}

// Rest is how long what failed with words of the class rests before a person's order sends it again: wait, or for 0
// what the class has where the order names it.
func (c ErrorClass) Rest(wait time.Duration, named bool) time.Duration {
	if wait == 0 && named {
		wait, _ = c.GoesAgain()
	}
	return wait
}

// An ErrorRule gives a class to the service's words.
type ErrorRule struct {
	Match string     `yaml:"match" validate:"required" example:"insufficient points" doc:"A part of the service's words, or /a regular expression/ over them; upper and lower case are the same. The first rule that matches counts; behind yours stand those that come with nudgewire (docs/errors.md)."`
	Class ErrorClass `yaml:"class" validate:"required,oneof=no_points recipient_limit opt_out template permanent retry" example:"no_points" doc:"What the words mean: no_points, recipient_limit, opt_out, template, permanent or retry."`
}

// defaultErrorRules stand behind those of the config. The service's document shows one text, that of points;
// the others are words that services of this kind use, and only such as leave no doubt.
var defaultErrorRules = []ErrorRule{
	{"insufficient points", ErrorNoPoints},
	{`/(not enough|no|insufficient) (points|credits?|balance|funds)\b/`, ErrorNoPoints},
	{`/(has|have) (opted out|unsubscribed)/`, ErrorOptOut},
	{`/template .*(paused|disabled)/`, ErrorTemplate},
	{"healthy ecosystem engagement", ErrorRecipientLimit},
	{`/(frequency cap|limit per (recipient|contact|user)|(recipient|contact|user)('s)? limit)/`, ErrorRecipientLimit},
	{`/not (on|registered (on|with)) (the|this) network/`, ErrorPermanent},
	{`/invalid (phone|recipient)( number)?\b/`, ErrorPermanent},
}

// ErrorRules are compiled rules. The zero value, and nil, hold those that come with nudgewire.
type ErrorRules struct{ own []errorMatcher }

// An errorMatcher matches words that plainWords made.
type errorMatcher struct {
	ErrorRule
	part string         // "" where expr is set
	expr *regexp.Regexp // nil where part is set
}

var defaultErrorMatchers = func() (all []errorMatcher) {
	for _, r := range defaultErrorRules {
		m, msg, _ := r.compile()
		if msg != "" {
			panic("default rule for errors " + r.Match + ": " + msg)
		}
		all = append(all, m)
	}
	return all
}()

// An ErrorRuleFault is what is wrong with the rule at Index, or, as a Warning, likely not meant.
type ErrorRuleFault struct {
	Index     int
	Msg, Hint string
	Warning   bool
}

// CompileErrorRules makes rules of those of a config, and says what is wrong with them. A rule with a fault
// is left out.
func CompileErrorRules(own []ErrorRule) (*ErrorRules, []ErrorRuleFault) {
	s := &ErrorRules{}
	var faults []ErrorRuleFault
	for i, r := range own {
		m, msg, hint := r.compile()
		if msg != "" {
			faults = append(faults, ErrorRuleFault{Index: i, Msg: msg, Hint: hint})
			continue
		}
		if m.expr == nil {
			for j, earlier := range s.own {
				if earlier.matches(m.part) {
					faults = append(faults, ErrorRuleFault{
						Index: i, Msg: fmt.Sprintf("is never reached: %q matches the same words before it", s.own[j].Match),
						Hint: "move it up, or remove one of them", Warning: true,
					})
					break
				}
			}
		}
		s.own = append(s.own, m)
	}
	return s, faults
}

// leastMatch is how many characters a text to look for has at the least: a shorter one stands in nearly
// every sentence.
const leastMatch = 3

func (r ErrorRule) compile() (m errorMatcher, msg, hint string) {
	m.ErrorRule = r
	body, isExpr := strings.CutPrefix(strings.TrimSpace(r.Match), "/")
	if !isExpr {
		m.part = plainWords(r.Match)
		if len([]rune(m.part)) < leastMatch {
			return m, fmt.Sprintf("%q stands in nearly every text", r.Match), "write at least three characters of the service's words, such as insufficient points"
		}
		return m, "", ""
	}
	body, closed := strings.CutSuffix(body, "/")
	switch {
	case !closed:
		return m, fmt.Sprintf("%q begins with / and does not end with one", r.Match), "write /a regular expression/, or take the / away"
	case body == "":
		return m, "is an empty regular expression", "write one that finds the service's words, such as /insufficient (points|credits)/"
	}
	if _, err := regexp.Compile(body); err != nil {
		why := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		return m, "is no regular expression: " + why, `put a \ before ( ) [ ] . * + ? that stand for themselves, or write the plain text without the / around it`
	}
	expr, err := regexp.Compile("(?i)" + body)
	if err != nil {
		return m, "is no regular expression: " + err.Error(), "make it shorter"
	}
	if expr.MatchString("") {
		return m, "matches every text", "name words that must be there"
	}
	m.expr = expr
	return m, "", ""
}

func (m *errorMatcher) matches(plain string) bool {
	if m.expr != nil {
		return m.expr.MatchString(plain)
	}
	return strings.Contains(plain, m.part)
}

// plainWords is text in lower case with single spaces.
func plainWords(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }

// An ErrorMatch says which rule gave words their class.
type ErrorMatch struct {
	Class ErrorClass
	Rule  string // its match; "" where none matches
	Own   int    // the rule's place in the config, from 0; -1 for one that comes with nudgewire, or none
}

// Match finds the first rule that matches the service's words.
func (s *ErrorRules) Match(words string) ErrorMatch {
	none := ErrorMatch{Own: -1}
	if words == "" {
		return none
	}
	plain := plainWords(words)
	if s != nil {
		if i := slices.IndexFunc(s.own, func(m errorMatcher) bool { return m.matches(plain) }); i >= 0 {
			return ErrorMatch{s.own[i].Class, s.own[i].ErrorRule.Match, i}
		}
	}
	if i := slices.IndexFunc(defaultErrorMatchers, func(m errorMatcher) bool { return m.matches(plain) }); i >= 0 {
		return ErrorMatch{defaultErrorMatchers[i].Class, defaultErrorMatchers[i].ErrorRule.Match, -1}
	}
	return none
}

// Class is the class of the service's words.
func (s *ErrorRules) Class(words string) ErrorClass { return s.Match(words).Class }

// Now is the class of words by these rules; what they do not know has the class that it had then.
func (s *ErrorRules) Now(words string, then ErrorClass) ErrorClass {
	return cmp.Or(s.Class(words), then)
}
