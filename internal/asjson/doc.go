// Package asjson turns bodies that are no JSON (forms, multipart, XML) into JSON with the same fields,
// so that one way of reading serves them all. An error says what is wrong and repeats nothing of
// the body; it goes on from "the body".
//
// Read in this order: node.go (a tree that becomes JSON), form.go, xml.go.
package asjson
