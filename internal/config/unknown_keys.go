package config

import (
	"fmt"
	"slices"
	"strings"
)

// later lists what the format has room for and this version does not know yet, by the pattern
// of its path ("*" is one name). It is rejected in plain words: a nearest known key would send
// people the wrong way, and to ignore it would send messages that somebody meant to hold back.
var later = map[string]string{
	"triggers.*.split": "split tests",

	"connectors.*.cancels":  "cancelling by connector; a trigger says it with cancel_on",
	"connectors.*.body.xml": "settings of XML",
}

// meant is what keys of other tools are called here, by the pattern of their path.
var meant = map[string]string{
	"triggers.*.limits": "limit", "jobs.*.limits": "limit", "defaults.limits": "limit; limits at the top of the file are the account's",
	"triggers.*.frequency_cap": "limit", "triggers.*.throttle": "limit", "triggers.*.dnd": "quiet_hours", "defaults.dnd": "quiet_hours", "triggers.*.send_window": "quiet_hours, when nothing is sent",
	"triggers.*.delay": "wait", "triggers.*.filter": "if", "triggers.*.filters": "if", "triggers.*.when": "if", "triggers.*.condition": "if",
	"triggers.*.conditions": "if", "triggers.*.where": "if", "triggers.*.event": "on", "triggers.*.events": "on", "triggers.*.trigger": "on",
	"triggers.*.unless": "if: not (…)", "triggers.*.every": "cooldown", "triggers.*.cancel": "cancel_on",
	"triggers.*.message": "send", "triggers.*.action": "send", "triggers.*.template": "send: {template: …}", "triggers.*.enabled": "mode: live or mode: off",
	"jobs.*.schedule": "cron", "jobs.*.query": "source: {query: …}", "jobs.*.template": "send: {template: …}", "jobs.*.enabled": "mode: live or mode: off",
}

// elsewhere is where keys belong that stand at the top of the file.
var elsewhere = []string{"quiet_hours", "limit", "consent", "on_change", "country", "timezone", "language", "category", "expires", "max_age"}

// unknownKey gives the words for a key that this version does not know, where there are better ones
// than "unknown key"; else an empty msg.
func unknownKey(path, key string) (msg, hint string) {
	segments := strings.Split(path, ".")
	switch {
	case len(segments) == 1 && slices.Contains(elsewhere, key):
		return "unknown key", "it belongs under defaults, or under a trigger"
	case len(segments) == 3 && segments[0] == "triggers" && key == "true":
		return "unknown key", `a tool turned on: into true:; write "on": in quotes, so that it stays`
	}
	for pattern, here := range meant {
		if matches(strings.Split(pattern, "."), segments) {
			return "unknown key", "write " + here
		}
	}
	return laterKey(segments, key)
}

// laterKey gives the words for a key of a later version; an empty msg for every other key.
func laterKey(segments []string, key string) (msg, hint string) {
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
