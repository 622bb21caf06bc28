package config

import (
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
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
		category messaging.Category
		phone    string
		want     float64
	}{
		"a country with a price":               {messaging.Marketing, "447400123456", 0.8},
		"another":                              {messaging.Marketing, "4915123456789", 1.25},
		"one that costs nothing":               {messaging.Marketing, "12125550142", 0},
		"its neighbour under the same code":    {messaging.Marketing, "14165550142", 1},
		"a number that no plan knows":          {messaging.Marketing, "447700900123", 0.8},
		"a country without a price of its own": {messaging.Marketing, "33612345678", 1},
		"one price for all":                    {messaging.Utility, "447400123456", 0.4},
		"a category without a price":           {messaging.Authentication, "447400123456", 0},
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
