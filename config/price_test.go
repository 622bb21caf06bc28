package config

import (
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire"
)

// A price is one number for all, or one by the country of the phone.
func TestAPriceIsThatOfThePhonesCountry(t *testing.T) {
	const file = "api:\n  base_url: https://api.example.com/api/v1\n  key: ${API_KEY}\n  price:\n    marketing: {default: 1.0, GB: 0.8, DE: 1.25, US: 0}\n    utility: 0.4\n"
	c, problems := Parse("config.yaml", []byte(file), func(string) (string, bool) { return "key", true })
	for _, p := range problems {
		if !p.Warning {
			t.Fatal(p)
		}
	}
	for name, tt := range map[string]struct {
		category nudgewire.Category
		phone    string
		want     float64
	}{
		"a country with a price":               {nudgewire.Marketing, "447400123456", 0.8},
		"another":                              {nudgewire.Marketing, "4915123456789", 1.25},
		"one that costs nothing":               {nudgewire.Marketing, "12125550142", 0},
		"its neighbour under the same code":    {nudgewire.Marketing, "14165550142", 1},
		"a number that no plan knows":          {nudgewire.Marketing, "447700900123", 0.8},
		"a country without a price of its own": {nudgewire.Marketing, "33612345678", 1},
		"one price for all":                    {nudgewire.Utility, "447400123456", 0.4},
		"a category without a price":           {nudgewire.Authentication, "447400123456", 0},
	} {
		if got := c.API.Price.Of(tt.category, tt.phone); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	printed := c.Redacted()
	if !strings.Contains(printed, "GB: 0.8") || !strings.Contains(printed, "utility: 0.4") {
		t.Errorf("printed as\n%s", printed)
	}
}
