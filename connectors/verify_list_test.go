package connectors_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/connectors"
)

// Signatures in a list without names are called by their places.
func TestAListWithoutNames(t *testing.T) {
	const rule = `verify: {kind: signed, algorithm: hmac-sha256, parts: [timestamp, "'.'", body], secret: 0123456789abcdef0123456789abcdef, signature: {header: X-S, encoding: hex, list: {separator: ",", `
	for config, want := range map[string]string{
		`pick: ["1", "2"]}}, timestamp: {list: "0", unit: ms}}`:            "",
		`pick: [v1]}}, timestamp: {list: "0", unit: ms}}`:                  "verify.signature.list: has no assign",
		`pick: ["1"]}}, timestamp: {list: t, unit: ms}}`:                   "verify.signature.list: has no assign",
		`pick: ["0"]}}, timestamp: {list: "0", unit: ms}}`:                 "verify.signature.list: has no assign",
		`pick: ["1"]}}, timestamp: {header: X-T, unit: ms}}`:               "verify.signature.list: has no assign",
		`pick: ["0"]}}, timestamp: {header: X-T, unit: ms}}`:               "",
		`pick: [v1], assign: "="}}, timestamp: {list: t, unit: ms}}`:       "",
		`pick: ["1", "0"]}}, timestamp: {list: "0", unit: ms}}`:            "verify.signature.list: has no assign",
		`pick: ["2"]}}, timestamp: {list: "0", unit: ms}}`:                 "verify.signature.list: has no assign",
		`pick: ["1"], assign: ":"}}, timestamp: {list: "0", unit: ms}}`:    "",
		`pick: ["1"]}}, timestamp: {list: "1", unit: ms, tolerance: 10m}}`: "verify.signature.list: has no assign",
	} {
		_, problems := connectors.Compile("c", decodeConfig(t, rule+config+"\nevent: {kind: a.b}"), connectors.Options{})
		if got := fmt.Sprint(problems); want == "" && strings.Contains(got, "list") || !strings.Contains(got, want) {
			t.Errorf("%s: %s", config, got)
		}
	}
}

func TestAmountsInHundredths(t *testing.T) {
	for written, want := range map[string]string{"1160": "11.60", "5": "0.05", "0": "0.00", "-1160": "-11.60", "1999000": "19990.00", `"1160"`: "11.60", "11.6": "0.116", "1160.0": "11.600", `"x"`: ""} {
		con := connector(t, openVerify+"map: {order.total: amount | cents, order.currency: {default: CLP}}")
		got, err := con.Receive(request(`{"amount":` + written + `}`))
		if err != nil || got.Events[0].Order.Total.String() != want {
			t.Errorf("%s is %q, want %q (%v)", written, got.Events[0].Order.Total, want, err)
		}
	}
}
