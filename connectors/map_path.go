package connectors

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The path language, for people who write presets:
//
//	customer.phone               a member of a member
//	"utm source".first           a name with spaces, dots or brackets, in quotes
//	line_items[0].title          a position in a list, from 0; [-1] is the last
//	entry[*].changes[*].value    every one of a list
//	phones[primary=true].value   the first of a list whose member has that value
//	fields[label~=phone].value   the first whose member contains it, case aside; [label~=phone|tel] either of them
//	fields[type=tel].value       likewise the first member of an object that has that value
//	answers[~=phone].full        the first member of an object whose name contains it
//	field.id -> fields[id].title the entry of another list, from the top of the body, whose id is what stands before
//	answers[field.id -> fields[id].title ~= phone].text  a list by what another one says of its entries
//	.                            the whole item
//	header:X-Shopify-Topic       a header of the request
//	query:source                 a parameter of the URL
//	root:meta.topic              a path from the top of the body, where items are parts of it
//	event.group                  the names that led to the item, where items has several paths
//	'text'                       the text itself
//	{meta.action}.{meta.entity}  texts joined
//	total | minor                a value through a function; see pipes
//
// It has no arithmetic and no conditions on purpose: what needs them is a trigger's business.

// An expr is one compiled expression of the path language.
type expr struct {
	source   string // as written
	from     exprFrom
	name     string // of a header or parameter, or the literal
	path     path
	lead     *lead // nil, or where the value leads to
	slot     int   // of the path's leading names in the program of its text; set by link
	pieces   []piece
	pipes    []pipe
	country  *expr // for phones: where the country of this very number is
	when     *rule // nil, or what must hold for the expression to say anything
	says     saying
	group    string // of a path to items: its leading names
	distinct bool   // of a part of an id or a dedupe key: it may distinguish the items of one request
}

// eventGroup is the path of the names under which an item lay, where items has several paths.
const eventGroup = "event.group"

type exprFrom int

const (
	fromItem exprFrom = iota
	fromRoot
	fromHeader
	fromQuery
	fromLiteral
	fromPieces
	fromEvent // event.type, event.kind, event.id: only in conditions and dedupe keys; event.group everywhere
)

// A piece of a joined text is a literal or, if that is nil, an expression.
type piece struct {
	literal string
	expr    *expr
}

// A path is the way to a value: first member names only, then steps of any kind.
type path struct {
	names []string
	steps []step
}

// A lead goes on in a list, which begins at the top of the body (in several lists, where [*] leads to them): to the first entry whose member has the text that led there.
type lead struct {
	list *expr
	key  []string
	rest []step
}

type stepKind int

const (
	stepName stepKind = iota
	stepIndex
	stepEvery
	stepEqual
	stepContains
)

type step struct {
	kind  stepKind
	name  string   // stepName
	index int      // stepIndex
	where []string // names down to the member that a filter compares; none for the names of an object's members
	lead  *lead    // nil, or where that member leads to, which is compared then
	value []string // what it is compared with: one of them
}

// A syntaxFault is the position where an expression stops making sense.
type syntaxFault struct {
	At   int // byte offset in the expression
	Msg  string
	Hint string
}

func (f *syntaxFault) Error() string { return f.Msg }

const pathHint = `write a path such as customer.phone, items[0].title or phones[primary=true].value; a header as header:X-Name; a text of its own as 'text'`

const bracesHint = "write {path} for a value of the item"

// parseExpr reads one expression. The error is a *syntaxFault.
func parseExpr(text string) (*expr, error) { return parseExprAbout(text, false) }

// parseExprAbout reads one expression; in those about an event, event.type, event.kind and
// event.id are what was found out already (root:event.type is still the body's). event.group is known before all else.
func parseExprAbout(text string, event bool) (*expr, error) {
	p := &exprParser{text: text, event: event}
	e, err := p.expr()
	if err != nil {
		return nil, err
	}
	e.source = text
	return e, nil
}

type exprParser struct {
	text  string
	at    int
	event bool
}

func (p *exprParser) fault(format string, args ...any) error {
	return &syntaxFault{At: min(p.at, len(p.text)), Msg: fmt.Sprintf(format, args...), Hint: pathHint}
}

func (p *exprParser) space() {
	for p.at < len(p.text) && p.text[p.at] == ' ' {
		p.at++
	}
}

func (p *exprParser) expr() (*expr, error) {
	p.space()
	e := &expr{slot: -1}
	rest := p.text[p.at:]
	var err error
	switch {
	case rest == "":
		return nil, p.fault("an empty path")
	case rest[0] == '\'':
		e.from = fromLiteral
		e.name, err = p.quoted('\'')
	case rest[0] == '{':
		e.from = fromPieces
		e.pieces, err = p.joined(false)
	case hasPrefixFold(rest, "header:"):
		e.from = fromHeader
		e.name, err = p.word("header:", "a header's name")
	case hasPrefixFold(rest, "query:"):
		e.from = fromQuery
		e.name, err = p.word("query:", "a parameter's name")
	case hasPrefixFold(rest, "root:"):
		p.at += len("root:")
		e.from = fromRoot
		e.path, err = p.path()
	case p.event && slices.Contains(aboutEvent, wordOf(rest)), wordOf(rest) == eventGroup:
		e.from, e.name = fromEvent, wordOf(rest)
		p.at += len(e.name)
	default:
		e.path, err = p.path()
		if err == nil && strings.HasPrefix(strings.TrimLeft(p.text[p.at:], " "), "->") {
			e.lead, err = p.lead()
		}
	}
	if err != nil {
		return nil, err
	}
	return e, p.pipes(e)
}

// lead reads "-> fields[id].title": a list, the member of its entries that is compared, and what of the entry is meant.
func (p *exprParser) lead() (*lead, error) {
	p.at += strings.Index(p.text[p.at:], "->") + len("->")
	p.space()
	p.at += len(p.text[p.at:]) - len(strings.TrimPrefix(p.text[p.at:], "root:"))
	open := keyBracket(p.text[p.at:])
	if open <= 0 {
		return nil, &syntaxFault{At: min(p.at, len(p.text)), Msg: "no list with the name that is compared behind ->", Hint: leadHint}
	}
	list, err := (&exprParser{text: p.text[p.at : p.at+open]}).path()
	if err != nil {
		return nil, &syntaxFault{At: p.at, Msg: fmt.Sprintf("%q is no list", p.text[p.at:p.at+open]), Hint: leadHint}
	}
	p.at += open + 1
	end := closing(p.text, p.at)
	if end < 0 {
		return nil, p.fault("a [ that is never closed")
	}
	key, err := (&exprParser{text: p.text[p.at:end]}).path()
	if err != nil || len(key.names) == 0 || len(key.steps) > 0 {
		return nil, &syntaxFault{At: p.at, Msg: fmt.Sprintf("%q is no name to compare", p.text[p.at:end]), Hint: leadHint}
	}
	out := &lead{list: &expr{from: fromRoot, path: list, slot: -1}, key: key.names}
	if p.at = end + 1; p.at < len(p.text) && p.text[p.at] == '.' {
		p.at++
		rest, err := p.path()
		if err != nil {
			return nil, err
		}
		for _, name := range rest.names {
			out.rest = append(out.rest, step{kind: stepName, name: name})
		}
		out.rest = append(out.rest, rest.steps...)
	}
	return out, nil
}

// keyBracket is where the bracket with the name that is compared begins: those before it, [*] and [0], lead to the list. -1 for none.
func keyBracket(text string) int {
	for at := 0; ; at++ {
		next := strings.IndexByte(text[at:], '[')
		if next < 0 {
			return -1
		}
		if at += next; at+1 < len(text) && strings.IndexByte("*-0123456789", text[at+1]) < 0 {
			return at
		}
	}
}

const leadHint = "write field.id -> form.fields[id].title: the value, a list from the top of the body, the name in its entries, and what is meant of the entry"

// aboutEvent are what conditions and dedupe keys may name of what was found out already.
var aboutEvent = []string{"event.type", "event.kind", "event.id"}

// wordOf is what text begins with, up to a blank or a pipe.
func wordOf(text string) string {
	if i := strings.IndexAny(text, " |"); i >= 0 {
		return text[:i]
	}
	return text
}

// quoted reads a text in quotes, in which a doubled quote means one.
func (p *exprParser) quoted(quote byte) (string, error) {
	start := p.at
	var b strings.Builder
	for p.at++; p.at < len(p.text); p.at++ {
		c := p.text[p.at]
		if c != quote {
			b.WriteByte(c)
			continue
		}
		if p.at+1 < len(p.text) && p.text[p.at+1] == quote {
			b.WriteByte(c)
			p.at++
			continue
		}
		p.at++
		return b.String(), nil
	}
	p.at = start
	return "", p.fault("a quote that is never closed")
}

func (p *exprParser) word(prefix, what string) (string, error) {
	p.at += len(prefix)
	word := wordOf(p.text[p.at:])
	if word == "" {
		return "", p.fault("%s should follow %s", what, prefix)
	}
	p.at += len(word)
	return word, nil
}

// joined reads "{path} text {path}" up to the end; about says whether the paths may name event.type
// and the like.
func (p *exprParser) joined(about bool) ([]piece, error) {
	var pieces []piece
	literal := func(start int) {
		if p.at > start {
			pieces = append(pieces, piece{literal: p.text[start:p.at]})
		}
	}
	start := p.at
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case '{':
			literal(start)
			end := strings.IndexByte(p.text[p.at:], '}')
			if end < 0 {
				return nil, &syntaxFault{At: p.at, Msg: "a { that is never closed", Hint: bracesHint}
			}
			e, err := parseExprAbout(p.text[p.at+1:p.at+end], about)
			if err != nil {
				p.at += 1 + faultAt(err)
				return nil, p.fault("%s", err)
			}
			pieces = append(pieces, piece{expr: e})
			p.at += end + 1
			start = p.at
		case '}':
			return nil, &syntaxFault{At: p.at, Msg: "a } without its {", Hint: bracesHint}
		default:
			p.at++
		}
	}
	literal(start)
	return pieces, nil
}

func faultAt(err error) int {
	if f, ok := errors.AsType[*syntaxFault](err); ok {
		return f.At
	}
	return 0
}

// path reads names, positions and filters. "." alone is the whole.
func (p *exprParser) path() (path, error) {
	var out path
	if p.at < len(p.text) && p.text[p.at] == '.' {
		p.at++
		if p.at < len(p.text) && p.text[p.at] != ' ' && p.text[p.at] != '[' && p.text[p.at] != '|' {
			p.at--
			return out, p.fault("a path does not begin with a dot")
		}
	}
	for first := true; ; first = false {
		if p.at >= len(p.text) || p.text[p.at] == ' ' || p.text[p.at] == '|' {
			return out, nil
		}
		var s step
		var err error
		switch c := p.text[p.at]; {
		case c == '[':
			s, err = p.bracket()
		case c == '.' && !first:
			p.at++
			s, err = p.name()
		case first:
			s, err = p.name()
		default:
			return out, p.fault("%q should be a dot, a bracket or the end", p.rune())
		}
		if err != nil {
			return out, err
		}
		if s.kind == stepName && len(out.steps) == 0 {
			out.names = append(out.names, s.name)
		} else {
			out.steps = append(out.steps, s)
		}
	}
}

func (p *exprParser) rune() rune {
	r, _ := utf8.DecodeRuneInString(p.text[p.at:])
	return r
}

func (p *exprParser) name() (step, error) {
	if p.at < len(p.text) && p.text[p.at] == '"' {
		name, err := p.quoted('"')
		return step{kind: stepName, name: name}, err
	}
	start := p.at
	for p.at < len(p.text) && strings.IndexByte(".[]|\"'{} ", p.text[p.at]) < 0 {
		p.at++
	}
	if p.at == start {
		return step{}, p.fault("a name should be here")
	}
	return step{kind: stepName, name: p.text[start:p.at]}, nil
}

// bracket reads [n], [*], [name=value] and [name~=value].
func (p *exprParser) bracket() (step, error) {
	open := p.at
	p.at++
	end := closing(p.text, p.at)
	if end < 0 {
		p.at = open
		return step{}, p.fault("a [ that is never closed")
	}
	inside := p.text[p.at:end]
	defer func() { p.at = end + 1 }()
	if inside == "*" {
		return step{kind: stepEvery}, nil
	}
	if n, err := strconv.Atoi(inside); err == nil {
		return step{kind: stepIndex, index: n}, nil
	}
	eq := strings.IndexByte(inside, '=')
	if eq <= 0 {
		err := p.fault("[%s] is neither a position such as [0], nor [*], nor a filter such as [type=phone]", inside)
		return step{}, err
	}
	s := step{kind: stepEqual}
	where, value := inside[:eq], inside[eq+1:]
	if strings.HasSuffix(where, "~") {
		s.kind, where = stepContains, where[:len(where)-1]
		value = strings.ToLower(value)
	}
	where, value = strings.TrimSpace(where), strings.TrimSpace(value)
	if n := len(value); n >= 2 && (value[0] == '\'' || value[0] == '"') && value[n-1] == value[0] {
		s.value = []string{value[1 : n-1]}
	} else {
		s.value = strings.Split(value, "|")
	}
	if where == "" && s.kind == stepContains {
		return s, nil
	}
	sub := &exprParser{text: where}
	e, err := sub.expr()
	if err != nil || e.from != fromItem || len(e.path.steps) > 0 || len(e.path.names) == 0 || len(e.pipes) > 0 {
		err := p.fault("%q is no name to filter by", where)
		return step{}, err
	}
	s.where, s.lead = e.path.names, e.lead
	return s, nil
}

// closing finds the ] that ends a bracket, quotes left aside; -1 for none.
func closing(text string, at int) int {
	quote, depth := byte(0), 0
	for ; at < len(text); at++ {
		switch c := text[at]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '\'' || c == '"') && text[at-1] == '=':
			quote = c
		case c == '[':
			depth++
		case c == ']' && depth > 0:
			depth--
		case c == ']':
			return at
		}
	}
	return -1
}

func (p *exprParser) pipes(e *expr) error {
	for {
		p.space()
		if p.at >= len(p.text) {
			return nil
		}
		if p.text[p.at] != '|' {
			return p.fault("%q behind the end of the path", p.rune())
		}
		p.at++
		p.space()
		start := p.at
		for p.at < len(p.text) && p.text[p.at] != '|' {
			p.at++
		}
		call := strings.TrimSpace(p.text[start:p.at])
		one, fault := parsePipe(call)
		if fault != nil {
			fault.At += start
			return fault
		}
		e.pipes = append(e.pipes, one)
	}
}
