package asjson

import (
	"strconv"

	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// Bounds: real forms have some dozen fields in a handful of levels.
const (
	maxFields = 20_000
	maxLevels = 20
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
			b = rawjson.AppendString(b, name)
			b = append(b, ':')
			b = n.members[name].appendJSON(b)
		}
		return append(b, '}')
	default:
		return rawjson.AppendString(b, n.text)
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
