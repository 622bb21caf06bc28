package config

import (
	"strings"
	"testing"
)

// What is shown of an own connector must be the entry that was written, and compile again.
func TestTheEntryOfAConnectorIsShownWhole(t *testing.T) {
	const entry = `api: {base_url: https://api.example.com/api/v1, key: "${KEY}"}
defaults: {country: GB}
connectors:
  loyalty:
    verify: {kind: signed, algorithm: hmac-sha256, signature: {header: X-Mark, encoding: hex}, parts: [timestamp, "'\n'", body], timestamp: {header: X-Time, unit: s}, secret: "${LOYALTY_KEY}"}
    event: {type: type, id: event_id, aliases: {code: login.code}}
    map: {phone: [member.mobile, {path: member.tel, country: member.country}], cart.items: {each: lines, title: name}}
  literal: {preset: shopify, secret: written-out-0123456789}
`
	c, _ := Parse("config.yaml", []byte(entry), environ)
	shown := c.Connector("loyalty")
	for _, part := range []string{"kind: signed", "encoding: hex", `"'\n'"`, "code: login.code", "country: member.country", "each: lines", "secret: ${LOYALTY_SECRET}"} {
		if !strings.Contains(shown, part) {
			t.Errorf("%s is not in\n%s", part, shown)
		}
	}
	again, problems := Parse("config.yaml", []byte("api: {base_url: https://api.example.com/api/v1, key: \"${KEY}\"}\ndefaults: {country: GB}\n"+shown), environ)
	if problems.Errors() > 0 || again.Receivers["loyalty"].Info().Verifier != `signature (hmac-sha256 over timestamp, '\n', body)` {
		t.Errorf("what is shown is no config: %v\n%s", problems, shown)
	}
	if literal := c.Connector("literal"); strings.Contains(literal, "written-out") || !strings.Contains(literal, "${LITERAL_SECRET}") {
		t.Error("a secret of the file is shown")
	}
	if c.Connector("nobody") != "" {
		t.Error("there is an entry that was not written")
	}
}
