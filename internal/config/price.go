package config

import (
	"fmt"
	"math"
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/phones"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// A Price is what one message costs, in points. The service shows no price list, so forecasts
// and guards can only be as right as this.
type Price struct {
	Marketing      Tariff `yaml:"marketing" example:"{default: 1.0, GB: 0.8}" doc:"Points for one marketing message: a number, or one for each country."`
	Utility        Tariff `yaml:"utility" example:"0.4" doc:"Points for one utility message, in the same way."`
	Authentication Tariff `yaml:"authentication" example:"0.4" doc:"Points for one authentication message, in the same way."`
}

// Of is what a message of a category to a phone costs.
func (p *Price) Of(c messaging.Category, phone string) float64 {
	switch c {
	case messaging.Utility:
		return p.Utility.of(phone)
	case messaging.Authentication:
		return p.Authentication.of(phone)
	default:
		return p.Marketing.of(phone)
	}
}

// A Tariff is the price of one category: one for all, or by the country that a phone belongs to.
type Tariff struct {
	Default   float64
	ByCountry map[string]float64 // by ISO code in capitals; nil where one price is for all
}

func (t *Tariff) of(phone string) float64 {
	if len(t.ByCountry) == 0 {
		return t.Default
	}
	if points, ok := t.ByCountry[phones.TariffCountry(phone)]; ok {
		return points
	}
	return t.Default
}

// defaultPrice is the key for the countries that have none of their own.
const defaultPrice = "default"

// DecodeYAML reads a number, or a mapping of countries with one for all the others.
func (t *Tariff) DecodeYAML(n *yamlpos.Node) {
	if n.Kind() != yamlpos.Mapping {
		t.Default = points(n)
		return
	}
	t.ByCountry = map[string]float64{}
	for _, f := range n.Fields() {
		if f.Key == defaultPrice {
			t.Default = points(f.Value)
			continue
		}
		if !phones.IsCountry(f.Key) {
			f.KeyNode.Report(fmt.Sprintf("%q is not a country", f.Key), nearCountry(f.Key))
			continue
		}
		t.ByCountry[f.Key] = points(f.Value)
	}
	if n.Get(defaultPrice) == nil {
		n.Report("has no price for the other countries", "add default: 1.0")
	}
}

// points reads one price.
func points(n *yamlpos.Node) (price float64) {
	n.Decode(&price)
	if price < 0 || math.IsInf(price, 0) || math.IsNaN(price) {
		n.Report(fmt.Sprintf("%q is no price", n.Text()), "it is at least 0")
		return 0
	}
	return price
}

// nearCountry says what a word that is no country's code may have meant.
func nearCountry(word string) string {
	upper := strings.ToUpper(word)
	switch {
	case phones.IsCountry(upper):
		return fmt.Sprintf("did you mean %q?", upper)
	case upper == "UK":
		return `did you mean "GB"?`
	case nearest.Of(strings.ToLower(word), []string{defaultPrice}) != "":
		return fmt.Sprintf("did you mean %q?", defaultPrice)
	default:
		return "write the two capital letters of ISO 3166, such as GB, or default for all others"
	}
}

// Schema describes both ways of writing it to editors.
func (Tariff) Schema() map[string]any {
	price := map[string]any{"type": "number", "minimum": 0}
	return map[string]any{"anyOf": []any{price, map[string]any{
		"type": "object", "required": []string{defaultPrice}, "additionalProperties": false,
		"properties":        map[string]any{defaultPrice: price},
		"patternProperties": map[string]any{"^[A-Z]{2}$": price},
	}}}
}
