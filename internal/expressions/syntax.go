package expressions

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
)

// Bounds of one expression. They are far beyond what a person writes and keep a generated
// config from becoming a load; the first also bounds how deep the parser can recurse.
const (
	maxExpression = 2000 // bytes
	maxNodes      = 300
)

// parse reads an expression into a tree whose identifiers may also be durations ("2h"). The
// offsets in the tree count characters; see byteOffset. taken are functions of the parser's own that are ours here.
func parse(text string, taken ...string) (ast.Node, *Fault) {
	if strings.TrimSpace(text) == "" {
		return nil, &Fault{0, "the expression is empty", ""}
	}
	if len(text) > maxExpression {
		return nil, &Fault{0, fmt.Sprintf("the expression is %d bytes long; at most %d are read", len(text), maxExpression), ""}
	}
	if i := strings.Index(text, "{{"); i >= 0 && outsideQuotes(text, i) {
		return nil, &Fault{i, "{{ }} does not belong here", "an expression is written without it; templates alone have it"}
	}
	if i := strings.IndexAny(text, "“”„‘’«»"); i >= 0 && outsideQuotes(text, i) {
		return nil, &Fault{i, "a typographic quote is no quote here", `write plain quotes: "text"`}
	}
	covered, durations := hideDurations(text)
	config := conf.CreateNew()
	config.MaxNodes = maxNodes
	for _, name := range taken {
		config.Functions[name] = &builtin.Function{Name: name}
	}
	tree, err := parser.ParseWithConfig(covered, config)
	if err != nil {
		return nil, syntaxFault(text, err)
	}
	if len(durations) > 0 {
		ast.Walk(&tree.Node, &uncover{text: text, durations: durations})
	}
	return tree.Node, nil
}

// uncover puts the durations back where hideDurations left names.
type uncover struct {
	text      string
	durations []literal
}

func (u *uncover) Visit(node *ast.Node) {
	name, ok := (*node).(*ast.IdentifierNode)
	if !ok {
		return
	}
	at := byteOffset(u.text, name.Location().From)
	for _, d := range u.durations {
		if d.from == at {
			name.Value = d.word
		}
	}
}

// byteOffset turns the parser's count of characters into bytes.
func byteOffset(text string, runes int) int {
	at := 0
	for ; runes > 0 && at < len(text); runes-- {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at
}

func outsideQuotes(text string, at int) bool {
	for i := 0; i < at; {
		switch text[i] {
		case '\'', '"', '`', '/':
			i = skipQuoted(text, i)
			if i > at {
				return false
			}
		default:
			i++
		}
	}
	return true
}

// syntaxFault says the parser's error in the words of somebody who writes a rule.
func syntaxFault(text string, err error) *Fault {
	var e *file.Error
	if !errors.As(err, &e) {
		return &Fault{0, err.Error(), ""}
	}
	f := &Fault{Offset: byteOffset(text, e.From), Msg: e.Message}
	token, isToken := strings.CutPrefix(e.Message, "unexpected token ")
	kind, word, _ := strings.Cut(strings.TrimSuffix(token, ")"), "(")
	word = strings.Trim(word, `"`)
	switch {
	case isToken && kind == "EOF", e.Message == "unexpected end of expression":
		f.Offset, f.Msg, f.Hint = len(text), "the expression ends too early", "something is missing after its last word, or a bracket is not closed"
	case isToken && word == "=" && strings.HasPrefix(text[f.Offset:], "=>"):
		f.Msg, f.Hint = `"=>" is not understood here`, `write ">="`
	case isToken && word == "=":
		f.Msg, f.Hint = `a single "=" compares nothing`, `write "==" to compare`
	case isToken && meant[word] != "":
		f.Msg, f.Hint = fmt.Sprintf("%q is not understood here", word), "write "+meant[word]
	case isToken && word == ">" && strings.HasSuffix(text[:f.Offset], "<"):
		f.Offset, f.Msg, f.Hint = f.Offset-1, `"<>" is not understood here`, `write "!="`
	case isToken && word == ":" && strings.HasSuffix(strings.TrimRight(text[:f.Offset], " "), "default"):
		f.Msg, f.Hint = `"| default:" belongs inside {{ }}`, `write (customer.language ?? "en")`
	case isToken && word == ",":
		f.Msg, f.Hint = `"," does not fit here`, "numbers are written without commas; several conditions are several lines, or joined by \"and\""
	case isToken && kind == "Identifier" && strings.ToLower(word) != word && slices.Contains(keywords, strings.ToLower(word)):
		f.Msg, f.Hint = fmt.Sprintf("%q is not understood here", word), fmt.Sprintf("write %q in small letters", strings.ToLower(word))
	case isToken && kind == "Bracket":
		f.Msg, f.Hint = fmt.Sprintf("%q does not fit here", word), "see whether every bracket is opened and closed"
	case isToken && (kind == "Identifier" || kind == "Number" || kind == "String"):
		f.Msg, f.Hint = fmt.Sprintf("%q does not fit here", word), `an operator such as "and", "==" or "+" is missing before it`
	case isToken:
		f.Msg = fmt.Sprintf("%q does not fit here", word)
	case e.Message == "literal not terminated":
		f.Offset, f.Msg, f.Hint = min(f.Offset, len(text)), "a quote is not closed", ""
	case strings.HasPrefix(e.Message, "bad number syntax"):
		f.Msg, f.Hint = strings.TrimPrefix(e.Message, "bad number syntax: ")+" is not a number", "a length of time is written 90s, 45m, 2h, 3d or 1h30m"
	case strings.Contains(e.Message, "exceeds maximum allowed nodes"):
		f.Msg, f.Hint = "the expression is too long", "write it as several lines: all of them have to hold"
	case strings.HasPrefix(e.Message, "expected at least"):
		f.Msg, f.Hint = "a list and what to ask of each entry are expected", "as in any(cart.items, .price > 100)"
	case strings.Contains(e.Message, "coalesce expressions"):
		f.Msg, f.Hint = `"??" beside another operator needs brackets`, `write (customer.language ?? "en") == "de"`
	case strings.HasPrefix(e.Message, "unrecognized character"):
		r, _ := utf8.DecodeRuneInString(text[min(f.Offset, len(text)):])
		f.Msg = fmt.Sprintf("%q means nothing here", string(r))
		if unicode.Is(unicode.Sc, r) {
			f.Hint = "amounts are written without a currency; cart.currency is its own name"
		}
	}
	return f
}

// meant is what people write who know another language, and how it is said in this one.
var meant = map[string]string{
	"is": `"=="`, "equals": `"=="`, "has": `"contains"`, "includes": `"contains"`, "like": `"contains" or "matches"`,
	"&": `"and"`, "then": `"and", or condition ? value : value`, "if": "condition ? value : value",
}

var keywords = []string{"and", "or", "not", "in", "contains", "matches", "true", "false", "nil"}
