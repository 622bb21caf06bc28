package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// usageExamples are the lines below "Examples:" in the help of commands that have none beside them, by what follows "nudgewire". A test
// parses each, and misses what runs and has none.
var usageExamples = map[string]string{
	"":                           "nudgewire demo\nnudgewire init",
	"alerts":                     "nudgewire alerts",
	"alerts test":                "nudgewire alerts test\nnudgewire alerts test 'night shift'",
	"audit accept":               "nudgewire audit accept",
	"backup":                     "nudgewire backup /var/backups/nudgewire/today.backup",
	"check":                      "nudgewire check\nnudgewire check --against running\nnudgewire check other.yaml --strict",
	"compact":                    "nudgewire compact",
	"completion":                 "nudgewire completion bash > /etc/bash_completion.d/nudgewire",
	"config":                     "nudgewire config print",
	"config print":               "nudgewire config print",
	"connectors":                 "nudgewire connectors list",
	"connectors docs":            "nudgewire connectors docs ./connectors",
	"connectors list":            "nudgewire connectors list",
	"contacts":                   "nudgewire contacts show +447700900123",
	"contacts allow":             "nudgewire contacts allow +447700900123",
	"contacts answered":          "nudgewire contacts answered 107",
	"contacts block":             "nudgewire contacts block +447700900123 +447700900124",
	"contacts consent":           "nudgewire contacts consent +447700900123 given",
	"contacts export":            "nudgewire contacts export > consents.csv\nnudgewire contacts export +447700900123",
	"contacts forget":            "nudgewire contacts forget +447700900123",
	"contacts import":            "nudgewire contacts import blocked.csv",
	"contacts list":              "nudgewire contacts list",
	"contacts redactions":        "nudgewire contacts redactions",
	"contacts redactions do":     "nudgewire contacts redactions do shopify",
	"contacts redactions refuse": "nudgewire contacts redactions refuse shopify",
	"contacts requests":          "nudgewire contacts requests",
	"contacts show":              "nudgewire contacts show +447700900123",
	"demo":                       "nudgewire demo",
	"doctor":                     "nudgewire doctor",
	"errors":                     "nudgewire errors",
	"events":                     "nudgewire events list --since 1h",
	"events list":                "nudgewire events list --since 1h\nnudgewire events list --connector shopify",
	"events rejected":            "nudgewire events rejected",
	"events seen":                "nudgewire events seen shopify",
	"events show":                "nudgewire events show 107",
	"events unused":              "nudgewire events unused",
	"halt":                       "nudgewire halt --reason 'wrong price'\nnudgewire halt trigger abandoned-cart\nnudgewire halt template cart_reminder",
	"help":                       "nudgewire help jobs run",
	"jobs":                       "nudgewire jobs list",
	"jobs approve":               "nudgewire jobs approve 12",
	"jobs cancel":                "nudgewire jobs cancel 12",
	"jobs explain":               "nudgewire jobs explain winback",
	"jobs history":               "nudgewire jobs history winback",
	"jobs list":                  "nudgewire jobs list",
	"jobs pause":                 "nudgewire jobs pause 12",
	"jobs resume":                "nudgewire jobs resume 12",
	"jobs show":                  "nudgewire jobs show 12",
	"man":                        "nudgewire man ./man",
	"messages":                   "nudgewire messages list --state waiting",
	"messages show":              "nudgewire messages show 41",
	"reload":                     "nudgewire reload",
	"restore":                    "nudgewire restore /var/backups/nudgewire/today.backup",
	"resume":                     "nudgewire resume\nnudgewire resume trigger abandoned-cart\nnudgewire resume --reviewed",
	"review":                     "nudgewire review",
	"schema":                     "nudgewire schema > config.schema.json",
	"serve":                      "nudgewire serve\nnudgewire serve --config /etc/nudgewire/config.yaml",
	"sign":                       "nudgewire sign shopify --curl\nnudgewire sign shopify order.json --topic orders/create",
	"status":                     "nudgewire status\nnudgewire status --json",
	"store":                      "nudgewire store copy --from nudgewire.db --to postgres://nudgewire@db.example.com/nudgewire",
	"store copy":                 "nudgewire store copy --from nudgewire.db --to postgres://nudgewire@db.example.com/nudgewire",
	"token":                      "nudgewire token list",
	"token list":                 "nudgewire token list",
	"token revoke":               "nudgewire token revoke grafana",
	"triggers":                   "nudgewire triggers list",
	"triggers list":              "nudgewire triggers list",
	"user":                       "nudgewire user list",
	"user disable":               "nudgewire user disable ann",
	"user enable":                "nudgewire user enable ann",
	"user list":                  "nudgewire user list",
	"user remove":                "nudgewire user remove ann",
	"user reset":                 "nudgewire user reset ann",
	"user role":                  "nudgewire user role ann operator",
	"version":                    "nudgewire version",
	"webhooks list":              "nudgewire webhooks list",
	"webhooks test":              "nudgewire webhooks test crm",
}

// addExamples gives cmd, and all below it, the examples of the table.
func addExamples(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		addExamples(sub)
	}
	path := strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "nudgewire"), " ")
	if lines := usageExamples[path]; cmd.Example == "" && lines != "" {
		cmd.Example = "  " + strings.ReplaceAll(lines, "\n", "\n  ")
	}
}
