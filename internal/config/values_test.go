package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Thirty values that break their rules, one a line, are reported at once, each with its place: the
// comment behind a line is the key that is at fault.
func TestEveryValueAtFaultIsReportedAtOnce(t *testing.T) {
	const file = `api:
  base_url: ftp://api.example.com # api.base_url
  key: ${API_KEY}
  rate: 20000/s # api.rate
  concurrency: 0 # api.concurrency
  timeout: 1h # api.timeout
server:
  listen: ":http" # server.listen
  public_url: hooks.example.com # server.public_url
  max_body: 1GB # server.max_body
  max_in_flight: 1kB # server.max_in_flight
defaults:
  country: Britain # defaults.country
  language: English # defaults.language
  timezone: London # defaults.timezone
  category: spam # defaults.category
  remember_cancel: 1s # defaults.remember_cancel
  mode: on # defaults.mode
tracking:
  poll: [5s, 30d] # tracking.poll[1]
  give_up: 1s # tracking.give_up
  final_status: seen # tracking.final_status
retention:
  lists: 1m # retention.lists
connectors:
  shop:
    silent_after: 1s # connectors.shop.silent_after
    body: {accept: [yaml]} # connectors.shop.body.accept[0]
    mode: quiet # connectors.shop.mode
    opt_out: maybe # connectors.shop.opt_out
    history: soon # connectors.shop.history
    methods: [BREW] # connectors.shop.methods[0]
    verify:
      kind: magic # connectors.shop.verify.kind
triggers:
  remind:
    on: shop.cart.updated
    category: promo # triggers.remind.category
    mode: loud # triggers.remind.mode
    on_repeat: maybe # triggers.remind.on_repeat
    cooldown: week # triggers.remind.cooldown
    wait: soon # triggers.remind.wait
    send: {template: cart_reminder, header: {image: "javascript:alert(1)"}} # triggers.remind.send.header.image
`
	var want []string
	for i, line := range strings.Split(file, "\n") {
		if _, path, planted := strings.Cut(line, " # "); planted {
			want = append(want, fmt.Sprintf("%d %s", i+1, path))
		}
	}
	if len(want) < 30 {
		t.Fatalf("only %d faults are planted", len(want))
	}
	_, problems := Parse("config.yaml", []byte(file), environ)
	var got []string // a value may also be at odds with another one, and is then named twice
	for _, p := range problems.Faults() {
		got = append(got, fmt.Sprintf("%d %s", p.Line, p.Path))
	}
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}
