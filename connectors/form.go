package connectors

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds for forms: real ones have some dozen fields in a handful of levels.
const (
	mostFields  = 20_000
	deepestForm = 20
)

// A node is a value of a form or an XML body on its way to becoming JSON. It is a text, a
// list, or an object whose members keep their order.
type node struct {
	text    string
	list    []*node
	names   []string
	members map[string]*node
	raw     string // JSON to write as it is
}

func (n *node) member(name string) *node { return n.members[name] }

func (n *node) set(name string, value *node) {
	if n.members == nil {
		n.members = map[string]*node{}
	}
	if _, ok := n.members[name]; !ok {
		n.names = append(n.names, name)
	}
	n.members[name] = value
	n.text, n.list = "", nil // a=1&a[b]=2: what has members is an object
}

// appendJSON writes the value. An object whose names are 0, 1, 2 and so on is a list, as
// items[0][name]=… means it.
func (n *node) appendJSON(b []byte) []byte {
	switch {
	case n.raw != "":
		return append(b, n.raw...)
	case n.list != nil:
		return appendList(b, n.list)
	case n.members != nil:
		if list := n.asList(); list != nil {
			return appendList(b, list)
		}
		b = append(b, '{')
		for i, name := range n.names {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendQuoted(b, name)
			b = append(b, ':')
			b = n.members[name].appendJSON(b)
		}
		return append(b, '}')
	default:
		return appendQuoted(b, n.text)
	}
}

func appendList(b []byte, list []*node) []byte {
	b = append(b, '[')
	for i, one := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = one.appendJSON(b)
	}
	return append(b, ']')
}

func (n *node) asList() []*node {
	if len(n.names) == 0 {
		return nil
	}
	list := make([]*node, len(n.names))
	for _, name := range n.names {
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= len(list) || strconv.Itoa(i) != name {
			return nil
		}
		list[i] = n.members[name]
	}
	return list
}

// readForm reads a URL-encoded form in the order it was written.
func readForm(body string, brackets bool, repeated string) (*node, error) {
	root := &node{members: map[string]*node{}}
	fields := 0
	for pair := range strings.SplitSeq(strings.TrimSpace(body), "&") {
		if pair == "" {
			continue
		}
		if fields++; fields > mostFields {
			return nil, fmt.Errorf("has more than %d fields", mostFields)
		}
		// url.ParseQuery refuses it, and the parts of a signature are read by that.
		if strings.IndexByte(pair, ';') >= 0 {
			return nil, fmt.Errorf("is no form: field %d holds a semicolon that is not written as %%3B", fields)
		}
		name, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		if err != nil {
			return nil, fmt.Errorf("is no form: the name of field %d has a %% that begins no escape", fields)
		}
		if !utf8.ValidString(name) {
			return nil, fmt.Errorf("is no form: the name of field %d is not UTF-8 text", fields)
		}
		value, err = url.QueryUnescape(value)
		if err != nil {
			return nil, fmt.Errorf("is no form: the value of field %d has a %% that begins no escape", fields)
		}
		if err := root.put(name, &node{text: value}, brackets, repeated); err != nil {
			return nil, err
		}
	}
	if fields == 0 {
		return nil, errors.New("is a form without fields")
	}
	return root, nil
}

// put places a field by its name: contact[fields][12], tags[], or plain.
func (n *node) put(name string, value *node, brackets bool, repeated string) error {
	keys := []string{name}
	if brackets {
		keys = bracketKeys(name)
	}
	if len(keys) > deepestForm {
		return fmt.Errorf("has a field with more than %d brackets", deepestForm)
	}
	at := n
	for i, key := range keys {
		last := i == len(keys)-1
		if key == "" && i > 0 { // tags[]: the next place of a list
			key = strconv.Itoa(len(at.names))
		}
		old := at.member(key)
		switch {
		case !last:
			if old == nil || old.members == nil {
				old = &node{}
				at.set(key, old)
			}
			at = old
		case old == nil || repeated == "last" || old.members != nil:
			at.set(key, value)
		case repeated == "all" && old.list != nil:
			old.list = append(old.list, value)
		case repeated == "all":
			at.set(key, &node{list: []*node{old, value}})
		}
	}
	return nil
}

// bracketKeys cuts a[b][] into a, b and "". A name that only resembles brackets, such as
// "a]b" or "[x", is one plain key.
func bracketKeys(name string) []string {
	open := strings.IndexByte(name, '[')
	if open <= 0 || name[len(name)-1] != ']' {
		return []string{name}
	}
	keys := []string{name[:open]}
	for rest := name[open:]; rest != ""; {
		end := strings.IndexByte(rest, ']')
		if rest[0] != '[' || end < 0 || strings.IndexByte(rest[1:end], '[') >= 0 {
			return []string{name}
		}
		keys = append(keys, rest[1:end])
		rest = rest[end+1:]
	}
	return keys
}

// readMultipart reads multipart/form-data. Of a file only its name, type and length are kept.
func readMultipart(body []byte, boundary string, brackets bool, repeated string) (*node, error) {
	if boundary == "" {
		return nil, errors.New("is multipart, but its content type names no boundary")
	}
	root := &node{members: map[string]*node{}}
	reader := multipart.NewReader(bytes.NewReader(body), boundary)
	for fields := 0; ; fields++ {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("is broken multipart at part %d", fields+1)
		}
		if fields >= mostFields {
			return nil, fmt.Errorf("has more than %d fields", mostFields)
		}
		content, err := io.ReadAll(part) // bounded by the body, which is in memory
		if err != nil {
			return nil, fmt.Errorf("is broken multipart at part %d", fields+1)
		}
		value := &node{text: string(content)}
		if file := part.FileName(); file != "" {
			value = &node{}
			value.set("filename", &node{text: file})
			value.set("type", &node{text: part.Header.Get("Content-Type")})
			value.set("bytes", &node{raw: strconv.Itoa(len(content))})
		}
		if part.FormName() == "" {
			continue
		}
		if err := root.put(part.FormName(), value, brackets, repeated); err != nil {
			return nil, err
		}
	}
	if len(root.names) == 0 {
		return nil, errors.New("is multipart without fields")
	}
	return root, nil
}
