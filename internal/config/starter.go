package config

import _ "embed" // for the starter

//go:embed starter.yaml
var starter string

// Starter is a small commented config for "init": one shop, one reminder in mode shadow.
func Starter() string { return starter }

//go:embed starter_tests.yaml
var starterTests string

// StarterTests are tests of the rule in Starter.
func StarterTests() string { return starterTests }
