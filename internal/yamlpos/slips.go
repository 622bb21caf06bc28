package yamlpos

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// A parser says where it could not go on, and that is often far below the slip: a quote that is not closed takes in
// what follows until the next one. So the lines above the place are looked at for what people often do, nearest first.

// slip is what stands behind a syntax error at line (1-based), where it is one of the usual slips.
func (d *Doc) slip(line int) (p Problem, found bool) {
	line = min(line, len(d.lines))
	for _, look := range []func(line int) (Problem, bool){d.mergeRule, d.foreignSpace, d.curlyQuote, d.openQuote, d.openBracket, d.tooFarIn} {
		if p, found = look(line); found {
			return p, true
		}
	}
	return Problem{}, false
}

// isMergeMark reports a line that git leaves where two changes meet; the one in the middle, =======, may be a heading in a text.
func isMergeMark(line string) bool {
	for _, mark := range []string{"<<<<<<<", "|||||||", ">>>>>>>"} {
		if rest, ok := strings.CutPrefix(line, mark); ok && (rest == "" || rest[0] == ' ') {
			return true
		}
	}
	return false
}

func mergeProblem(line int) Problem {
	return Problem{
		Line: line, Col: 1, Msg: "this is a mark of a merge that was not finished",
		Hint: "keep one of the two sides, and remove the lines that begin with <<<<<<<, ======= and >>>>>>>",
	}
}

func (d *Doc) mergeRule(line int) (p Problem, found bool) {
	for at := line; at >= 1 && at > line-20; at-- {
		if strings.TrimRight(d.lines[at-1], " ") == "=======" {
			return mergeProblem(at), true
		}
	}
	return p, false
}

// startOfValue is what stands before a value on its line: a key with its colon, a dash, a bracket, a comma.
const startOfValue = `(?:^\s*(?:- +)*(?:[\w."*/-]+:)?|[\[{,]|: )[ ]*`

var (
	spaceThatIsNone = regexp.MustCompile(`^\s*(?:- +)*[\w.-]+:(\x{a0})`)
	curlyValue      = regexp.MustCompile(startOfValue + `([“”„‘’‚«»])`)
	keyOrItem       = regexp.MustCompile(`^\s*(- |[\w."*/-]+:( |$))`)
	keyAlone        = regexp.MustCompile(`^( *)([\w.-]+):\s*(#.*)?$`)
	keyWithValue    = regexp.MustCompile(`^( *)[\w.-]+: +[^#\s>|]`)
)

// foreignSpace finds a no-break space behind a colon, on the line or on the one above it, which the parser read as one word with it.
func (d *Doc) foreignSpace(line int) (p Problem, found bool) {
	for _, at := range []int{line, d.above(line)} {
		if at < 1 {
			continue
		}
		if m := spaceThatIsNone.FindStringSubmatchIndex(d.lines[at-1]); m != nil {
			return Problem{
				Line: at, Col: utf8.RuneCountInString(d.lines[at-1][:m[2]]) + 1,
				Msg: "this is a no-break space (U+00A0), as web pages have it: it does not end a key", Hint: "type a plain space in its place",
			}, true
		}
	}
	return p, false
}

func (d *Doc) curlyQuote(line int) (p Problem, found bool) {
	m := curlyValue.FindStringSubmatchIndex(d.lines[line-1])
	if m == nil {
		return p, false
	}
	return Problem{Line: line, Col: utf8.RuneCountInString(d.lines[line-1][:m[2]]) + 1, Msg: typographic, Hint: plainQuotes}, true
}

const (
	typographic = "a typographic quote is no quote in YAML"
	plainQuotes = `type plain quotes, ' or ", in its place; if the text shall have it, put plain ones around it`
)

// isCurly reports a plain text that somebody meant to quote: it begins and ends with typographic quotes.
func isCurly(text string) bool {
	first, size := utf8.DecodeRuneInString(text)
	last, _ := utf8.DecodeLastRuneInString(text)
	return strings.ContainsRune("“”„‘’‚«»", first) && strings.ContainsRune("“”‘’«»", last) && len(text) > size
}

// openQuote finds the nearest line above whose quote is not closed on it, and below which a new key or item begins.
func (d *Doc) openQuote(line int) (p Problem, found bool) {
	for at := line; at >= 1; at-- {
		col, open := unclosed(d.lines[at-1])
		if open != '\'' && open != '"' {
			continue
		}
		if next := d.below(at); next <= len(d.lines) && !keyOrItem.MatchString(d.lines[next-1]) {
			continue // a text of several lines
		}
		return Problem{Line: at, Col: col, Msg: fmt.Sprintf("the quote %c is not closed", open), Hint: "add the missing quote at the end of its text"}, true
	}
	return p, false
}

// openBracket finds the line above whose [ or { is open, and which is followed by a line that is a key with its value.
func (d *Doc) openBracket(line int) (p Problem, found bool) {
	for at := line; at >= 1; at-- {
		col, open := unclosed(d.lines[at-1])
		if open != '[' && open != '{' {
			continue
		}
		next := d.below(at)
		if next > len(d.lines) || !keyOrItem.MatchString(d.lines[next-1]) || indent(d.lines[next-1]) > keyIndent(d.lines[at-1]) {
			return p, false // closed further down, or of several lines, of which the parser speaks
		}
		return Problem{
			Line: at, Col: col, Msg: fmt.Sprintf("the %c is not closed", open),
			Hint: fmt.Sprintf("add the missing %c at the end of this line", map[rune]rune{'[': ']', '{': '}'}[open]),
		}, true
	}
	return p, false
}

// tooFarIn finds a key that is indented further than the one above it, which has its value already.
func (d *Doc) tooFarIn(line int) (p Problem, found bool) {
	text, above := d.lines[line-1], d.above(line)
	if above < 1 || !keyOrItem.MatchString(text) || !keyWithValue.MatchString(d.lines[above-1]) || indent(text) <= indent(d.lines[above-1]) {
		return p, false
	}
	if parent := d.above(above); parent >= 1 {
		if m := keyAlone.FindStringSubmatch(d.lines[parent-1]); m != nil && len(m[1]) == indent(d.lines[above-1]) {
			return Problem{
				Line: above, Col: indent(d.lines[above-1]) + 1,
				Msg: fmt.Sprintf("this line belongs under %s of line %d", m[2], parent), Hint: "indent it by two spaces more",
			}, true
		}
	}
	return Problem{
		Line: line, Col: indent(text) + 1, Msg: fmt.Sprintf("this line is indented further than line %d, which has its value already", above),
		Hint: fmt.Sprintf("give it as many spaces as line %d, or take the value from there", above),
	}, true
}

// above is the number of the nearest line above that says something, 0 where there is none.
func (d *Doc) above(line int) int {
	for line--; line >= 1 && saysNothing(d.lines[line-1]); line-- {
	}
	return line
}

// below is the number of the nearest line below that says something; one more than there are lines where there is none.
func (d *Doc) below(line int) int {
	for line++; line <= len(d.lines) && saysNothing(d.lines[line-1]); line++ {
	}
	return line
}

func saysNothing(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line[0] == '#'
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// keyIndent is where the first key of a line stands, behind the dash of a list.
func keyIndent(line string) int { return len(line) - len(strings.TrimLeft(line, " -")) }

// unclosed is the innermost quote or bracket that a line opens and does not close, with its column; 0 for none.
func unclosed(line string) (col int, open rune) {
	type begun struct {
		col  int
		open rune
	}
	var stack []begun
	top := func() rune {
		if len(stack) == 0 {
			return 0
		}
		return stack[len(stack)-1].open
	}
	before := ' ' // what stands before the character; a quote opens only where a value begins
	escaped := false
line:
	for i, r := range []rune(line) {
		quote := top() == '\'' || top() == '"'
		switch {
		case escaped:
			escaped = false
		case top() == '"' && r == '\\':
			escaped = true
		case quote && r == top():
			stack = stack[:len(stack)-1]
		case quote:
		case r == '#' && before == ' ':
			break line // a comment
		case (r == '\'' || r == '"' || r == '[' || r == '{') && strings.ContainsRune(" [{,", before):
			stack = append(stack, begun{i + 1, r})
		case r == ']' && top() == '[', r == '}' && top() == '{':
			stack = stack[:len(stack)-1]
		}
		before = r
	}
	if len(stack) == 0 {
		return 0, 0
	}
	return stack[len(stack)-1].col, top()
}
