package lists

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/internal/rawjson"
	"github.com/nudgewire/nudgewire/internal/units"
)

// firstItems is how many items are looked at for the names of columns: objects of one list
// leave out what they do not have. What only later ones have is no column.
const firstItems = 1000

// Bounds of a JSON document: one value of it, and all that is kept beside the list, are held in memory.
const (
	longestValue = longestLine
	maxColumns   = 10_000
)

// A jsonPage is a list of objects inside a JSON document, read item by item. An object within
// an item gives columns with a dot in their names: address.city.
type jsonPage struct {
	dec    *json.Decoder
	watch  *lineWatch
	closer io.Closer
	path   []string // to the list
	depth  int      // of path that was entered
	header []string
	column map[string]int
	ahead  []json.RawMessage // items read to learn the columns
	side   map[string]json.RawMessage
	kept   int // bytes of side
	row    Row
	n      int64
	null   bool // there is null where the list would be
	lines  bool // the items stand on lines of their own, in no list
	ended  bool
}

func readJSON(text *bufio.Reader, closer io.Closer, items string, header []string) (*jsonPage, error) {
	if head, err := text.Peek(3); err == nil && string(head) == "\xef\xbb\xbf" {
		_, _ = text.Discard(3) // it was just seen
	}
	watch := &lineWatch{r: text}
	p := &jsonPage{dec: json.NewDecoder(watch), watch: watch, closer: closer, side: map[string]json.RawMessage{}}
	if items != "" {
		p.path = strings.Split(items, ".")
	}
	if p.lines = items == "" && onLines(text); !p.lines {
		if err := p.enter(); err != nil {
			return nil, err
		}
	}
	if header == nil {
		if err := p.learn(); err != nil {
			return nil, err
		}
	} else {
		p.header = header
	}
	p.column = make(map[string]int, len(p.header))
	for i, name := range p.header {
		p.column[name] = i
	}
	p.row = make(Row, len(p.header))
	return p, nil
}

// onLines reports whether a text is an object a line (NDJSON, JSON Lines): the first line is one, and another one follows.
func onLines(text *bufio.Reader) bool {
	head, _ := text.Peek(text.Size()) // a shorter answer is looked at as far as it goes
	line, rest, found := bytes.Cut(bytes.TrimLeft(head, " \t\r\n"), []byte("\n"))
	return found && len(line) > 0 && line[0] == '{' && json.Valid(line) && bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte("{"))
}

// token reads one delimiter, name or plain value.
func (p *jsonPage) token() (json.Token, error) {
	p.watch.left = longestValue
	return p.dec.Token()
}

// more reports whether the list or object at hand goes on.
func (p *jsonPage) more() bool {
	p.watch.left = longestValue
	return p.dec.More()
}

// value reads one whole value.
func (p *jsonPage) value() (v json.RawMessage, err error) {
	p.watch.left = longestValue
	if err = p.dec.Decode(&v); err == nil {
		err = rawjson.Check(string(v)) // it allows less depth than the decoder
	}
	return v, err
}

// enter walks to the list and keeps what stands in front of it.
func (p *jsonPage) enter() error {
	for {
		t, err := p.token()
		if err != nil {
			return badJSON(err)
		}
		switch {
		case p.depth == len(p.path) && t == nil && p.depth > 0: // null: some write an empty list so
			p.null = true
			return nil
		case p.depth == len(p.path) && t == json.Delim('['):
			return nil
		case p.depth == len(p.path) && t == json.Delim('{'):
			keys := p.keysHere()
			return &wordError{p.where() + " is an object, not a list", "set source.http.items to the path of the list; here are " + Names(keys)}
		case t != json.Delim('{'):
			return &wordError{fmt.Sprintf("%s is no list", p.where()), "set source.http.items to the path of the list"}
		}
		if err := p.seek(); err != nil {
			return err
		}
	}
}

// seek moves to the value of the next name of the path, inside the object just entered.
func (p *jsonPage) seek() error {
	var seen []string
	for p.more() {
		t, err := p.token()
		if err != nil {
			return badJSON(err)
		}
		key := t.(string) // keys of objects are text
		if key == p.path[p.depth] {
			p.depth++
			return nil
		}
		seen = append(seen, key)
		if err := p.keep(key); err != nil {
			return err
		}
	}
	return &wordError{fmt.Sprintf("the answer has no %q", strings.Join(p.path[:p.depth+1], ".")), "set source.http.items to the path of the list; here are " + Names(seen)}
}

// keep notes a value beside the list: a cursor may be among them.
func (p *jsonPage) keep(key string) error {
	v, err := p.value()
	if err != nil {
		return badJSON(err)
	}
	name := strings.Join(append(slices.Clone(p.path[:p.depth]), key), ".")
	if p.kept += len(v) + len(name); p.kept > longestValue {
		return &wordError{fmt.Sprintf("what stands beside the list is larger than 16 MB, up to %q", Shorten(name)), "ask the server for the list alone"}
	}
	p.side[name] = v
	return nil
}

func (p *jsonPage) where() string {
	if p.depth == 0 {
		return "the answer"
	}
	return strings.Join(p.path[:p.depth], ".")
}

// keysHere lists the keys of the object just entered, for advice.
func (p *jsonPage) keysHere() []string {
	var keys []string
	for p.more() && len(keys) < 20 {
		t, err := p.token()
		key, ok := t.(string)
		if err != nil || !ok {
			return keys
		}
		if _, err := p.value(); err != nil {
			return keys
		}
		keys = append(keys, key)
	}
	return keys
}

func badJSON(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return ErrEmpty
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &awayError{errors.New("the answer breaks off in the middle")}
	case errors.Is(err, errLongLine):
		return &wordError{"the answer has a value of more than 16 MB", "set source.http.items to the path of the list, or ask the server for less"}
	}
	if bad, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("the answer is no JSON at byte %d: %w", bad.Offset, err)
	}
	if bad, ok := errors.AsType[*rawjson.Fault](err); ok {
		return fmt.Errorf("the answer has a value that cannot be read: %w", bad)
	}
	return err
}

// learn reads the first items for their names.
func (p *jsonPage) learn() error {
	seen := map[string]bool{}
	for size := 0; !p.null && len(p.ahead) < firstItems && size < longestValue && p.more(); size += len(p.ahead[len(p.ahead)-1]) {
		v, err := p.value()
		if err != nil {
			return badJSON(noEOF(err))
		}
		p.ahead = append(p.ahead, v)
		flatten("", string(v), func(name, _ string) {
			if !seen[name] {
				seen[name] = true
				p.header = append(p.header, name)
			}
		})
		if len(p.header) > maxColumns {
			return fmt.Errorf("the items have more than %s names, which no list has", units.Number(maxColumns))
		}
	}
	return nil
}

// flatten visits the values of an object and of the objects in it.
func flatten(prefix, object string, visit func(name, value string)) {
	for name, value := range rawjson.Members(object) {
		if value[0] == '{' {
			flatten(prefix+name+".", value, visit)
		} else {
			visit(prefix+name, value)
		}
	}
}

// cellOfJSON is a value as a cell: what is no text, number or flag keeps its JSON.
func cellOfJSON(value string) string {
	switch value[0] {
	case 'n':
		return ""
	case '"':
		return rawjson.Unquote(value)
	default:
		return value
	}
}

// Header are the names that the first items have.
func (p *jsonPage) Header() []string { return p.header }

// Next reads one item.
func (p *jsonPage) Next() (Row, int64, error) {
	var item json.RawMessage
	switch {
	case len(p.ahead) > 0:
		item, p.ahead = p.ahead[0], p.ahead[1:]
	case p.ended:
		return nil, p.n, io.EOF
	case !p.null && p.more():
		var err error
		if item, err = p.value(); err != nil {
			return nil, p.n, badJSON(noEOF(err))
		}
	default:
		p.ended = true
		if err := p.leave(); err != nil {
			return nil, p.n, badJSON(noEOF(err))
		}
		return nil, p.n, io.EOF
	}
	p.n++
	if item[0] != '{' {
		return nil, p.n, &RowError{Reason: "the item is no object"}
	}
	clear(p.row)
	flatten("", string(item), func(name, value string) {
		if at, ok := p.column[name]; ok {
			p.row[at] = cellOfJSON(value)
		}
	})
	return p.row, p.n, nil
}

// noEOF keeps the end of the bytes from being taken for the end of the list.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// leave reads what stands behind the list, so that an answer that broke off is noticed.
func (p *jsonPage) leave() error {
	if !p.null && !p.lines {
		if _, err := p.token(); err != nil { // ]
			return err
		}
	}
	for p.depth > 0 {
		p.depth--
		for p.more() {
			t, err := p.token()
			if err != nil {
				return err
			}
			key := t.(string) // keys of objects are text
			if key == p.path[p.depth] {
				return fmt.Errorf("the answer has %q twice, and one would be lost", strings.Join(p.path[:p.depth+1], "."))
			}
			if err := p.keep(key); err != nil {
				return err
			}
		}
		if _, err := p.token(); err != nil { // }
			return err
		}
	}
	switch _, err := p.token(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	default:
		return errors.New("the answer goes on behind the list: one JSON document is read, not several")
	}
}

// cursor finds a value beside the list.
func (p *jsonPage) cursor(path string) string {
	for cut := len(path); cut > 0; cut = strings.LastIndexByte(path[:cut], '.') {
		v, ok := p.side[path[:cut]]
		if !ok {
			continue
		}
		value := string(v)
		for name := range strings.SplitSeq(strings.TrimPrefix(path[cut:], "."), ".") {
			if name != "" {
				value = rawjson.Member(value, name)
			}
		}
		if value == "" || value == "false" || value[0] == '{' || value[0] == '[' {
			return ""
		}
		return cellOfJSON(value)
	}
	return ""
}

// Close closes the answer.
func (p *jsonPage) Close() error { return p.closer.Close() }
