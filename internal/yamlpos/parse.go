package yamlpos

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// MaxBytes is how large a file may be.
const MaxBytes = 1 << 20

// Options change how a file is read.
type Options struct {
	// Expand replaces references inside every scalar value (never inside keys) after parsing and
	// before decoding. The text that was written stays known as Node.Raw. An error may have a
	// method Hint() string.
	Expand func(text string) (string, error)

	// StandIn is put where a reference cannot be replaced, instead of reporting it. Nothing is
	// reported about such a value: it is not the real one. Doc.StandIns counts them.
	StandIn string

	// Large is for what the program itself wrote of several files: twenty times as much is read.
	Large bool

	// Most is how many problems of a document are kept, and as many warnings; 0 is all.
	Most int

	// Unknown gives its own words for an unknown key; path is the key's whole path. Where it
	// answers with an empty msg the key is reported as usual.
	Unknown func(path, key string) (msg, hint string)
}

// most is how much of something is read where usual is the bound of a file that people wrote.
func (o Options) most(usual int) int {
	if o.Large {
		return 20 * usual
	}
	return usual
}

// Parse reads the one document of src without decoding it. Its problems are those of syntax,
// of duplicate keys and of references that could not be replaced.
func (o Options) Parse(file string, src []byte) *Doc {
	d := &Doc{
		file: file, src: string(src), lines: splitLines(src), opts: o, seen: map[Problem]bool{}, hidden: map[int][]span{},
		standIns: map[string]bool{}, byPath: map[string]*Node{}, byLoosePath: map[string]*Node{},
	}
	if !d.readable(src) {
		return d
	}
	y, ok := d.parse(src)
	if !ok {
		return d
	}
	d.root = &Node{doc: d, line: 1, col: 1}
	if y != nil {
		b := &builder{doc: d, open: map[*yaml.Node]bool{}, expanded: map[*yaml.Node]expanded{}}
		d.root = b.node(y, "", 0)
	}
	d.enter(d.root)
	return d
}

// readable reports what is no text at all, with its position: the parser does not say where.
func (d *Doc) readable(src []byte) bool {
	fail := func(line, col int, msg, hint string) bool {
		d.report(Problem{Line: line, Col: col, Msg: msg, Hint: hint})
		return false
	}
	if most := d.opts.most(MaxBytes); len(src) > most {
		return fail(0, 0, fmt.Sprintf("is longer than %d bytes, and no more are read", most), "")
	}
	if bytes.HasPrefix(src, []byte{0xff, 0xfe}) || bytes.HasPrefix(src, []byte{0xfe, 0xff}) {
		return fail(1, 1, "the file is UTF-16", "save it as UTF-8")
	}
	if at := slices.IndexFunc(d.lines, isMergeMark); at >= 0 {
		d.report(mergeProblem(at + 1))
		return false
	}
	line, col, begin := 1, 1, 0 // begin is the byte at which the line begins
	for i := 0; i < len(src); {
		r, size := utf8.DecodeRune(src[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			d.lines[line-1] = strings.ToValidUTF8(d.lines[line-1], "?")
			return fail(line, col, "is not UTF-8 text here", "save the file as UTF-8")
		case r == '\n', r == '\r' && (i+1 == len(src) || src[i+1] != '\n'):
			line, col, begin = line+1, 0, i+1
		case r == 0xfeff && i == 0:
			col = 0
		case r == 0xa0 && len(bytes.Trim(src[begin:i], " \u00a0")) == 0:
			return fail(line, col, "these are no-break spaces (U+00A0), as web pages have them: they do not indent", "type plain spaces in their place")
		case r == 0x85, r == 0x2028, r == 0x2029: // YAML ends a line there, editors do not
			return fail(line, col, fmt.Sprintf("an invisible line separator (U+%04X) may not stand in a file", r), "delete it; it often comes with copied text")
		case (r < ' ' && r != '\t' && r != '\r') || r == 0x7f || (r > 0x7f && r < 0xa0):
			return fail(line, col, fmt.Sprintf("a control character (0x%02x) may not stand in a file", r), "delete it")
		}
		i += size
		col++
	}
	return true
}

// parse is the root of the only document; nil for an empty one, and false after a report.
func (d *Doc) parse(src []byte) (root *yaml.Node, ok bool) {
	loader, err := yaml.NewLoader(bytes.NewReader(src))
	if err != nil {
		d.syntax(err)
		return nil, false
	}
	var first, second yaml.Node
	if err = loader.Load(&first); err == nil {
		err = loader.Load(&second)
	}
	switch {
	case err == nil:
		d.report(Problem{
			Line: second.Line, Col: second.Column,
			Msg: "a second document begins here; a config is one document", Hint: "remove the line ---, or put the rest into a file of its own",
		})
	case !errors.Is(err, io.EOF):
		d.syntax(err)
		return nil, false
	}
	if len(first.Content) == 0 {
		return nil, true
	}
	return first.Content[0], true
}

// syntax reports a parser's error in our own words where we have them.
func (d *Doc) syntax(err error) {
	p := Problem{Line: 1, Col: 1, Msg: err.Error()}
	if le, ok := errors.AsType[*yaml.LoadError](err); ok {
		p.Msg = strings.TrimPrefix(le.Message, "yaml: ")
		if le.Mark.Line > 0 {
			p.Line, p.Col = le.Mark.Line, le.Mark.Column
		}
		p.Msg, p.Hint = d.syntaxWords(p, le)
		if strings.Contains(le.Message, "could not find expected ':'") && le.ContextMark.Line > 0 {
			p.Line, p.Col = le.ContextMark.Line, le.ContextMark.Column // noticed only after the line
		}
		d.onto(&p, le.ContextMark)
		if slip, found := d.slip(p.Line); found && !exact(le.Message) {
			p = slip
		}
	}
	d.report(p)
}

// exact reports the parser's messages whose place is that of the slip.
func exact(message string) bool {
	return slices.ContainsFunc([]string{"cannot start any token", "escape character", "anchor"}, func(part string) bool { return strings.Contains(message, part) })
}

// onto moves a problem at the end of the file, where there is nothing to see, to where the
// unfinished thing began or to the last line that has something.
func (d *Doc) onto(p *Problem, begun yaml.Mark) {
	last := len(d.lines)
	for last > 1 && strings.TrimSpace(d.lines[last-1]) == "" {
		last--
	}
	switch {
	case p.Line <= last:
	case begun.Line > 0 && begun.Line <= last:
		p.Line, p.Col = begun.Line, begun.Column
	default:
		p.Line, p.Col = last, len([]rune(strings.TrimRight(d.lines[last-1], " \t")))+1
	}
}

// syntaxWords explains the commonest slips; the parser's own words serve for the rest.
func (d *Doc) syntaxWords(p Problem, le *yaml.LoadError) (msg, hint string) {
	begun := ""
	if le.ContextMark.Line > 0 && le.ContextMark.Line != p.Line {
		begun = fmt.Sprintf(" (begun on line %d)", le.ContextMark.Line)
	}
	var at rune // the character there; 0 outside
	if p.Line >= 1 && p.Line <= len(d.lines) {
		if line := []rune(d.lines[p.Line-1]); p.Col >= 1 && p.Col <= len(line) {
			at = line[p.Col-1]
		}
	}
	switch msg = le.Message; {
	case strings.Contains(msg, "cannot start any token") && at == '\t':
		return "a tab cannot indent YAML", "use spaces"
	case strings.Contains(msg, "cannot start any token"):
		return fmt.Sprintf("a value cannot begin with %q", at), "put the value in quotes"
	case strings.Contains(msg, "mapping values are not allowed"):
		return "a second \": \" on this line, or a line that is indented too far", "put a value that contains \": \" in quotes; otherwise check the spaces before this line"
	case strings.Contains(msg, "did not find expected node content"):
		return "here a value is missing, or a ] or } that closes what is open", "write the value, or remove the comma before it"
	case strings.Contains(msg, "did not find expected ',' or ']'"):
		return "a list in [ ] is not closed" + begun, "add the missing ] or comma"
	case strings.Contains(msg, "did not find expected ',' or '}'"):
		return "a mapping in { } is not closed" + begun, "add the missing } or comma"
	case strings.Contains(msg, "did not find expected key"), strings.Contains(msg, "did not find expected '-' indicator"):
		return "this line does not fit the lines above it" + begun, "give it as many spaces as the line it belongs to"
	case strings.Contains(msg, "could not find expected ':'"):
		return "a key without its colon", "write \"key: value\""
	case strings.Contains(msg, "unexpected end of stream") && strings.Contains(le.ContextMsg, "quoted"):
		return "a quote is not closed", "add the missing quote"
	case strings.Contains(msg, "unknown escape character"):
		return "a backslash in double quotes before a character it does not go with", `write \\ for a backslash, or use single quotes`
	case strings.Contains(msg, "unknown anchor"):
		return strings.Replace(msg, "unknown anchor", "there is no anchor", 1), "mark what it should repeat with &name; a value that begins with * needs quotes"
	default:
		return msg, "see the lines before this one, too"
	}
}
