package asjson

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// XML reads an XML document: elements become members by their local names (senders change prefixes
// between elements), repeated ones a list, attributes members with @ in front, and text the value. What
// is nil is null. decoded says that the body
// is UTF-8 already, whatever the document says of itself.
func XML(body []byte, decoded bool) ([]byte, error) {
	d := xml.NewDecoder(bytes.NewReader(body))
	d.CharsetReader = xmlReader
	if decoded {
		d.CharsetReader = func(_ string, input io.Reader) (io.Reader, error) { return input, nil }
	}
	root := &node{members: map[string]*node{}}
	stack := []*node{root}
	texts := []*strings.Builder{{}}
	elements := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, brokenXML(err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if elements++; elements > maxFields {
				return nil, fmt.Errorf("has more than %d elements", maxFields)
			}
			if len(stack) > rawjson.MaxDepth {
				return nil, errors.New("is nested too deep")
			}
			one := &node{}
			for _, a := range t.Attr {
				if a.Name.Space == "xmlns" || a.Name.Local == "xmlns" {
					continue
				}
				one.set("@"+a.Name.Local, &node{text: a.Value})
			}
			stack[len(stack)-1].addElement(t.Name.Local, one)
			stack, texts = append(stack, one), append(texts, &strings.Builder{})
		case xml.EndElement:
			one, text := stack[len(stack)-1], strings.TrimSpace(texts[len(texts)-1].String())
			switch {
			case one.members == nil:
				one.text = text
			case text != "":
				one.set("#text", &node{text: text})
			case len(one.names) == 1 && isNil(one):
				*one = node{raw: "null"}
			}
			stack, texts = stack[:len(stack)-1], texts[:len(texts)-1]
		case xml.CharData:
			texts[len(texts)-1].Write(t)
		}
	}
	if len(root.names) == 0 {
		return nil, errors.New("is XML without an element")
	}
	return root.appendJSON(nil), nil
}

// isNil reports whether an element says by its attribute that it has no value: xsi:nil, or nil as Rails writes it.
func isNil(n *node) bool {
	said := n.members["@nil"]
	return said != nil && (said.text == "true" || said.text == "1")
}

// brokenXML says where and not what: the words of the parser repeat the body's.
func brokenXML(err error) error {
	if fault, ok := errors.AsType[*xml.SyntaxError](err); ok {
		return fmt.Errorf("is broken XML in line %d", fault.Line)
	}
	if errors.Is(err, ErrCharset) {
		return ErrCharset
	}
	return errors.New("is broken XML")
}

// addElement adds a child; a second one of the same name makes a list of both.
func (n *node) addElement(name string, child *node) {
	old := n.members[name]
	switch {
	case old == nil:
		n.set(name, child)
	case old.list != nil:
		old.list = append(old.list, child)
	default:
		n.set(name, &node{list: []*node{old, child}})
	}
}
