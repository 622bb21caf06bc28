package mapping

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nudgewire/nudgewire/connectors/problems"
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

// An Expr is one compiled expression of the path language.
type Expr struct {
	Source   string // as written
	From     exprFrom
	Name     string // of a header or parameter, or the literal
	Path     path
	Lead     *lead // nil, or where the value leads to
	slot     int   // of the path's leading names in the program of its text; set by link
	Pieces   []Piece
	Pipes    []pipe
	Country  *Expr // for phones: where the country of this very number is
	When     *Rule // nil, or what must hold for the expression to say anything
	says     Saying
	Group    string // of a path to items: its leading names
	Distinct bool   // of a part of an id or a dedupe key: it may distinguish the items of one request
}

// eventGroup is the path of the names under which an item lay, where items has several paths.
const eventGroup = "event.group"

type exprFrom int

const (
	FromItem exprFrom = iota
	FromRoot
	FromHeader
	FromQuery
	fromLiteral
	FromPieces
	FromEvent // event.type, event.kind, event.id: only in conditions and dedupe keys; event.group everywhere
)

// A Piece of a joined text is a literal or, if that is nil, an expression.
type Piece struct {
	Literal string
	Expr    *Expr
}

// A path is the way to a value: first member names only, then steps of any kind.
type path struct {
	Names []string
	Steps []step
}

// A lead goes on in a list, which begins at the top of the body (in several lists, where [*] leads to them): to the first entry whose member has the text that led there.
type lead struct {
	list *Expr
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

const PathHint = `write a path such as customer.phone, items[0].title or phones[primary=true].value; a header as header:X-Name; a text of its own as 'text'`

const bracesHint = "write {path} for a value of the item"

// ParseExpr reads one expression. The error is a *SyntaxFault.
func ParseExpr(text string) (*Expr, error) { return ParseExprAbout(text, false) }

// ParseExprAbout reads one expression; in those about an event, event.type, event.kind and
// event.id are what was found out already (root:event.type is still the body's). event.group is known before all else.
func ParseExprAbout(text string, event bool) (*Expr, error) {
	p := &ExprParser{Text: text, event: event}
	e, err := p.expr()
	if err != nil {
		return nil, err
	}
	e.Source = text
	return e, nil
}

type ExprParser struct {
	Text  string
	at    int
	event bool
}

func (p *ExprParser) fault(format string, args ...any) error {
	return &problems.SyntaxFault{At: min(p.at, len(p.Text)), Msg: fmt.Sprintf(format, args...), Hint: PathHint}
}

func (p *ExprParser) space() {
	for p.at < len(p.Text) && p.Text[p.at] == ' ' {
		p.at++
	}
}

func (p *ExprParser) expr() (*Expr, error) {
	p.space()
	e := &Expr{slot: -1}
	rest := p.Text[p.at:]
	var err error
	switch {
	case rest == "":
		return nil, p.fault("an empty path")
	case rest[0] == '\'':
		e.From = fromLiteral
		e.Name, err = p.quoted('\'')
	case rest[0] == '{':
		e.From = FromPieces
		e.Pieces, err = p.Joined(false)
	case problems.HasPrefixFold(rest, "header:"):
		e.From = FromHeader
		e.Name, err = p.word("header:", "a header's name")
	case problems.HasPrefixFold(rest, "query:"):
		e.From = FromQuery
		e.Name, err = p.word("query:", "a parameter's name")
	case problems.HasPrefixFold(rest, "root:"):
		p.at += len("root:")
		e.From = FromRoot
		e.Path, err = p.path()
	case p.event && slices.Contains(aboutEvent, wordOf(rest)), wordOf(rest) == eventGroup:
		e.From, e.Name = FromEvent, wordOf(rest)
		p.at += len(e.Name)
	default:
		e.Path, err = p.path()
		if err == nil && strings.HasPrefix(strings.TrimLeft(p.Text[p.at:], " "), "->") {
			e.Lead, err = p.lead()
		}
	}
	if err != nil {
		return nil, err
	}
	return e, p.pipes(e)
}

// lead reads "-> fields[id].title": a list, the member of its entries that is compared, and what of the entry is meant.
func (p *ExprParser) lead() (*lead, error) {
	p.at += strings.Index(p.Text[p.at:], "->") + len("->")
	p.space()
	p.at += len(p.Text[p.at:]) - len(strings.TrimPrefix(p.Text[p.at:], "root:"))
	open := keyBracket(p.Text[p.at:])
	if open <= 0 {
		return nil, &problems.SyntaxFault{At: min(p.at, len(p.Text)), Msg: "no list with the name that is compared behind ->", Hint: leadHint}
	}
	list, err := (&ExprParser{Text: p.Text[p.at : p.at+open]}).path()
	if err != nil {
		return nil, &problems.SyntaxFault{At: p.at, Msg: fmt.Sprintf("%q is no list", p.Text[p.at:p.at+open]), Hint: leadHint}
	}
	p.at += open + 1
	end := closing(p.Text, p.at)
	if end < 0 {
		return nil, p.fault("a [ that is never closed")
	}
	key, err := (&ExprParser{Text: p.Text[p.at:end]}).path()
	if err != nil || len(key.Names) == 0 || len(key.Steps) > 0 {
		return nil, &problems.SyntaxFault{At: p.at, Msg: fmt.Sprintf("%q is no name to compare", p.Text[p.at:end]), Hint: leadHint}
	}
	out := &lead{list: &Expr{From: FromRoot, Path: list, slot: -1}, key: key.Names}
	if p.at = end + 1; p.at < len(p.Text) && p.Text[p.at] == '.' {
		p.at++
		rest, err := p.path()
		if err != nil {
			return nil, err
		}
		for _, name := range rest.Names {
			out.rest = append(out.rest, step{kind: stepName, name: name})
		}
		out.rest = append(out.rest, rest.Steps...)
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
func (p *ExprParser) quoted(quote byte) (string, error) {
	start := p.at
	var b strings.Builder
	for p.at++; p.at < len(p.Text); p.at++ {
		c := p.Text[p.at]
		if c != quote {
			b.WriteByte(c)
			continue
		}
		if p.at+1 < len(p.Text) && p.Text[p.at+1] == quote {
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

func (p *ExprParser) word(prefix, what string) (string, error) {
	p.at += len(prefix)
	word := wordOf(p.Text[p.at:])
	if word == "" {
		return "", p.fault("%s should follow %s", what, prefix)
	}
	p.at += len(word)
	return word, nil
}

// Joined reads "{path} text {path}" up to the end; about says whether the paths may name event.type
// and the like.
func (p *ExprParser) Joined(about bool) ([]Piece, error) {
	var pieces []Piece
	literal := func(start int) {
		if p.at > start {
			pieces = append(pieces, Piece{Literal: p.Text[start:p.at]})
		}
	}
	start := p.at
	for p.at < len(p.Text) {
		switch p.Text[p.at] {
		case '{':
			literal(start)
			end := strings.IndexByte(p.Text[p.at:], '}')
			if end < 0 {
				return nil, &problems.SyntaxFault{At: p.at, Msg: "a { that is never closed", Hint: bracesHint}
			}
			e, err := ParseExprAbout(p.Text[p.at+1:p.at+end], about)
			if err != nil {
				p.at += 1 + faultAt(err)
				return nil, p.fault("%s", err)
			}
			pieces = append(pieces, Piece{Expr: e})
			p.at += end + 1
			start = p.at
		case '}':
			return nil, &problems.SyntaxFault{At: p.at, Msg: "a } without its {", Hint: bracesHint}
		default:
			p.at++
		}
	}
	literal(start)
	return pieces, nil
}

func faultAt(err error) int {
	if f, ok := errors.AsType[*problems.SyntaxFault](err); ok {
		return f.At
	}
	return 0
}

// path reads names, positions and filters. "." alone is the whole.
func (p *ExprParser) path() (path, error) {
	var out path
	if p.at < len(p.Text) && p.Text[p.at] == '.' {
		p.at++
		if p.at < len(p.Text) && p.Text[p.at] != ' ' && p.Text[p.at] != '[' && p.Text[p.at] != '|' {
			p.at--
			return out, p.fault("a path does not begin with a dot")
		}
	}
	for first := true; ; first = false {
		if p.at >= len(p.Text) || p.Text[p.at] == ' ' || p.Text[p.at] == '|' {
			return out, nil
		}
		var s step
		var err error
		switch c := p.Text[p.at]; {
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
		if s.kind == stepName && len(out.Steps) == 0 {
			out.Names = append(out.Names, s.name)
		} else {
			out.Steps = append(out.Steps, s)
		}
	}
}

func (p *ExprParser) rune() rune {
	r, _ := utf8.DecodeRuneInString(p.Text[p.at:])
	return r
}

func (p *ExprParser) name() (step, error) {
	if p.at < len(p.Text) && p.Text[p.at] == '"' {
		name, err := p.quoted('"')
		return step{kind: stepName, name: name}, err
	}
	start := p.at
	for p.at < len(p.Text) && strings.IndexByte(".[]|\"'{} ", p.Text[p.at]) < 0 {
		p.at++
	}
	if p.at == start {
		return step{}, p.fault("a name should be here")
	}
	return step{kind: stepName, name: p.Text[start:p.at]}, nil
}

// bracket reads [n], [*], [name=value] and [name~=value].
func (p *ExprParser) bracket() (step, error) {
	open := p.at
	p.at++
	end := closing(p.Text, p.at)
	if end < 0 {
		p.at = open
		return step{}, p.fault("a [ that is never closed")
	}
	inside := p.Text[p.at:end]
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
	sub := &ExprParser{Text: where}
	e, err := sub.expr()
	if err != nil || e.From != FromItem || len(e.Path.Steps) > 0 || len(e.Path.Names) == 0 || len(e.Pipes) > 0 {
		err := p.fault("%q is no name to filter by", where)
		return step{}, err
	}
	s.where, s.lead = e.Path.Names, e.Lead
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

func (p *ExprParser) pipes(e *Expr) error {
	for {
		p.space()
		if p.at >= len(p.Text) {
			return nil
		}
		if p.Text[p.at] != '|' {
			return p.fault("%q behind the end of the path", p.rune())
		}
		p.at++
		p.space()
		start := p.at
		for p.at < len(p.Text) && p.Text[p.at] != '|' {
			p.at++
		}
		call := strings.TrimSpace(p.Text[start:p.at])
		one, fault := parsePipe(call)
		if fault != nil {
			fault.At += start
			return fault
		}
		e.Pipes = append(e.Pipes, one)
	}
}
