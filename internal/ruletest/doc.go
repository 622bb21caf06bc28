// Package ruletest reads tests of rules, plays them (package simulation), and says of each what was expected and what happened, and which line
// of the config is responsible.
//
// A test says when it begins, which webhooks come, and what is to be sent. Webhooks are a file, or one of the connector's samples with some
// values set: a value is set in the body, where the connector's mapping reads it from, so that nothing passes the mapping by.
//
// Before here: package simulation. After here: the command "nudgewire test".
package ruletest

// Folder is where tests lie, beside the config.
const Folder = "tests"
