// Package console shows what the daemon does in the browser: how it is, what waits, what went out, what failed and what to do
// about it, and why somebody got a message or got none.
//
// It asks what the commands ask, by the same operations: it knows no SQL and no rule. Who looks is known by a session, which begins
// with a link that works once. What they may see and do is decided where the operations are (server.Shown, server.Route), not here.
//
// Pages are made by html/template, which escapes what strangers wrote for the place where it stands. They read whole without
// scripts; a policy forbids the browser to run any but the files of static.
package console
