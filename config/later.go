package config

import (
	"fmt"
	"slices"
	"strings"
)

// later lists what the format has room for and this version does not know yet, by the pattern
// of its path ("*" is one name). It is refused in plain words: a nearest known key would send
// people the wrong way, and to ignore it would send messages that somebody meant to hold back.
var later = map[string]string{
	"limits":               "the account's limits",
	"errors":               "classes of the service's error texts",
	"console":              "the web console",
	"alerts":               "alerts",
	"webhooks_out":         "outgoing webhooks",
	"include":              "config in several files",
	"api.ca_file":          "private certificate authorities",
	"defaults.quiet_hours": "quiet hours",
	"defaults.limit":       "limits per contact",
	"defaults.consent":     "recorded consent",
	"defaults.on_change":   "a choice of what a changed rule does to who waits",

	"triggers.*.quiet_hours":    "quiet hours",
	"triggers.*.limit":          "limits per contact",
	"triggers.*.consent":        "recorded consent",
	"triggers.*.split":          "split tests",
	"triggers.*.steps":          "several steps in one trigger",
	"triggers.*.on_change":      "a choice of what a changed rule does to who waits",
	"triggers.*.on_doubt":       "a choice of what is done in doubt",
	"triggers.*.keep_variables": "forgetting variables after sending",

	"retention.payloads":  "deleting old webhooks",
	"retention.decisions": "deleting old decisions",
	"retention.messages":  "deleting old messages",

	"connectors.*.cancels":  "cancelling by connector; a trigger says it with cancel_on",
	"connectors.*.body.xml": "settings of XML",
}

// laterKey gives the words for a key of a later version; an empty msg for every other key.
func laterKey(path, key string) (msg, hint string) {
	segments := strings.Split(path, ".")
	for pattern, what := range later {
		if matches(strings.Split(pattern, "."), segments) {
			return fmt.Sprintf("is not known to this version: %s will come later", what), fmt.Sprintf("take %s out; docs/config.md lists what this version knows", key)
		}
	}
	return "", ""
}

func matches(pattern, segments []string) bool {
	return slices.EqualFunc(pattern, segments, func(p, s string) bool { return p == "*" || p == s })
}
