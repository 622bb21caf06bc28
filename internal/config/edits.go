package config

import (
	"bytes"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// An Edit is one value that two configs do not have alike.
type Edit struct {
	Path string // "triggers.cart.wait"; of an entry that only one of them has, that of the entry: "jobs.winback"
	Was  string // as YAML in one line; "" where it was not there
	Is   string // "" where it is not there any more
}

// Edits are the values that two configs do not have alike, as Redacted prints them, in the order of the second one. What stands for a secret is
// alike.
func Edits(was, is string) ([]Edit, error) {
	before, err := tree(was)
	if err != nil {
		return nil, err
	}
	after, err := tree(is)
	if err != nil {
		return nil, err
	}
	e := editor{}
	e.compare("", before, after)
	return e.found, nil
}

func tree(printed string) (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(printed), &doc); err != nil {
		return nil, fmt.Errorf("a printed config: %w", err)
	}
	if len(doc.Content) == 0 {
		return &yaml.Node{Kind: yaml.MappingNode}, nil
	}
	return doc.Content[0], nil
}

type editor struct{ found []Edit }

// entries are the sections whose keys are names that a person chose.
var entries = []string{"connectors", "triggers", "jobs", "accounts"}

func (e *editor) compare(path string, was, is *yaml.Node) {
	switch {
	case was != nil && is != nil && was.Kind == yaml.MappingNode && is.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(is.Content); i += 2 {
			key := is.Content[i].Value
			e.compare(yamlpos.Join(path, key), valueOf(was, key), is.Content[i+1])
		}
		for i := 0; i+1 < len(was.Content); i += 2 {
			if key := was.Content[i].Value; valueOf(is, key) == nil {
				e.compare(yamlpos.Join(path, key), was.Content[i+1], nil)
			}
		}
		return
	case slices.Contains(entries, path): // all of its entries come or go
		none := &yaml.Node{Kind: yaml.MappingNode}
		if was == nil && is.Kind == yaml.MappingNode {
			e.compare(path, none, is)
			return
		} else if is == nil && was.Kind == yaml.MappingNode {
			e.compare(path, was, none)
			return
		}
	}
	if before, after := inLine(was), inLine(is); before != after {
		e.found = append(e.found, Edit{path, before, after})
	}
}

// inLine is a value as YAML in one line, without comments; "" for none.
func inLine(n *yaml.Node) string {
	if n == nil {
		return ""
	}
	out, err := yaml.Dump(inFlow(n), yaml.WithLineWidth(-1))
	if err != nil { // it was read from YAML
		return n.Value
	}
	return string(bytes.TrimSpace(out))
}

// inFlow is a copy of a value to be written in one line.
func inFlow(n *yaml.Node) *yaml.Node {
	flat := &yaml.Node{Kind: n.Kind, Tag: n.Tag, Value: n.Value, Style: n.Style, Alias: n.Alias}
	switch n.Kind {
	case yaml.MappingNode, yaml.SequenceNode:
		flat.Style = yaml.FlowStyle
	case yaml.ScalarNode:
		flat.Style &^= yaml.LiteralStyle | yaml.FoldedStyle
		if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			flat.Style = yaml.DoubleQuotedStyle
		}
	}
	for _, part := range n.Content {
		flat.Content = append(flat.Content, inFlow(part))
	}
	return flat
}
