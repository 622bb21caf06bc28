// Package expressions is the language of conditions and templates: it checks a text once, with
// every mistake at its byte, and evaluates it over an event (Compile, CompileCondition,
// CompileTemplate) or over the row of a list (CompileRow). docs/expressions.md is its reference,
// and a test evaluates every example there.
//
// It is pure: no network, no disk, no clock, no log. Work, texts and digits are bounded, because
// payloads come from strangers. A payload is only ever a value: nothing that a sender wrote is
// parsed as an expression or a template.
//
// The parser is that of expr-lang/expr. Names, types and evaluation are ours; compile.go and
// decision 11 say why.
//
// Read in this order:
//
//	expression.go  what other rooms call; condition.go, template.go, row.go beside it
//	syntax.go      a text becomes the parser's tree, a mistake becomes words; literal.go: 2h30m
//	compile.go     the tree becomes closures
//	shape.go       the types, and how fields of an event are read
//	names.go       cart.items[0].title
//	operators.go   and, or, not, ??; compare.go, arithmetic.go, membership.go have the others
//	functions.go   the functions; calls.go, dates.go, loops.go run them
//	scope.go       one evaluation: its event, its bounds, what was missing
//	value.go       what values are; raw.go reads the payload; text.go prints
//
// Before here: the nouns of package messaging. After here: packages triggers and scheduler.
package expressions
