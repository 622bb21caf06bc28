// Package mapping reads the fields of an event out of a body: the language of paths and conditions, what a map may fill, and how texts,
// amounts, times, lists and consents are read. It is pure.
package mapping

import "github.com/nudgewire/nudgewire/internal/yamlpos"

// A Mapping says for each target field where its value is. Targets are the names that
// triggers use ("customer.first_name", "cart.total"); short forms are in targets.go.
type Mapping = yamlpos.Ordered[Source]

// A Source is where one target's value is: paths of which the first that yields
// something counts, or for lists (cart.items, form.answers) a path to the entries and where
// in each the parts are.
type Source struct {
	Paths []PathRule
	Each  *EachRule
}

// A PathRule is one path of a Source. Default is text of its own; Country says where the
// country of this very phone number is; When is a condition as in skip_if; Says is which word of consent it may say.
type PathRule struct {
	Path    string `yaml:"path" doc:"The path."`
	Default string `yaml:"default" doc:"A text to take when no path before it had a value."`
	Country string `yaml:"country" doc:"For a phone: the path of the country it belongs to."`
	When    string `yaml:"when" doc:"A condition for the path to count." example:"propertyName == phone"`
	Says    string `yaml:"says" doc:"For a consent, which word the path may say. given: a box to tick; left empty it says nothing. withdrawn: a flag such as do-not-disturb; unset it says nothing. both, which is the default: what states a subscription, so that its no withdraws." example:"given"`

	hasDefault bool
}

// An EachRule reads a list: Each leads to its entries, the other paths start at an entry.
type EachRule struct {
	Each     string   `yaml:"each" validate:"required" doc:"Path to the entries."`
	ID       []string `yaml:"id" doc:"The entry's id."`
	SKU      []string `yaml:"sku" doc:"Stock number."`
	Title    []string `yaml:"title" doc:"Name of the article."`
	Quantity []string `yaml:"quantity" doc:"How many."`
	Price    []string `yaml:"price" doc:"Price of one."`
	URL      []string `yaml:"url" doc:"Page of the article."`
	Image    []string `yaml:"image" doc:"Picture of the article."`
	Name     []string `yaml:"name" doc:"For answers: the question."`
	Value    []string `yaml:"value" doc:"For answers: the answer."`
}

// DecodeYAML reads a path, a list of paths, or the keys of an EachRule or a PathRule.
func (s *Source) DecodeYAML(n *yamlpos.Node) {
	switch n.Kind() {
	case yamlpos.Mapping:
		if n.Get("each") != nil {
			s.Each = &EachRule{}
			n.Decode(s.Each)
			return
		}
		var p PathRule
		n.Decode(&p)
		s.Paths = []PathRule{p}
	default:
		for _, item := range n.Items() {
			var p PathRule
			item.Decode(&p)
			s.Paths = append(s.Paths, p)
		}
	}
}

// Schema describes the union to editors.
func (Source) Schema() map[string]any {
	path := PathRule{}.Schema()
	return map[string]any{"anyOf": []any{
		path,
		map[string]any{"type": "array", "items": path},
		SchemaBelow(EachRule{}),
	}}
}

// pathFields has the fields of a PathRule without its methods, so that they can be decoded
// and described by their tags.
type pathFields PathRule

// Schema describes the union to editors.
func (PathRule) Schema() map[string]any {
	return map[string]any{"anyOf": []any{
		map[string]any{"type": "string", "description": "A path such as customer.phone"},
		SchemaBelow(pathFields{}),
	}}
}

func SchemaBelow(v any) map[string]any {
	s := yamlpos.Schema(v)
	delete(s, "$schema")
	return s
}

// DecodeYAML reads a path alone or the fields of a PathRule.
func (p *PathRule) DecodeYAML(n *yamlpos.Node) {
	if n.Kind() == yamlpos.Scalar {
		p.Path = n.Text()
		return
	}
	n.Decode((*pathFields)(p))
	p.hasDefault = n.Get("default") != nil
	if p.Path == "" && !p.hasDefault && n.Kind() == yamlpos.Mapping {
		n.Report("neither a path nor a default", "write a path such as customer.phone, or default: \"text\"")
	}
}

// A Layer is one map: or one entry of map_for:, in the order in which they override each other: a
// user's map wins over all that a preset says, also over its map_for.
type Layer struct {
	Path    string // of the mapping within the entry, for problems
	Pattern string // of kinds or topics; "" for all
	Mapping Mapping
}
