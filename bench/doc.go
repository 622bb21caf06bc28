// Command bench measures nudgewire against bare net/http and prints a table for a person.
//
// Everything happens in one run on one machine over loopback, in alternating rounds: each
// round measures every figure once, and a row shows the median over the rounds, so that what
// the machine does meanwhile hits all rows alike. What counts is the ratio of a row to its
// base, which travels between machines; the figure itself does not.
//
// Four bases say what net/http costs by itself:
//
//	T  a handler that reads a 2 KB POST and discards it
//	J  the same with HMAC-SHA256 and an encoding/json decode into a struct
//	O  net/http client POSTs of a send's size to a handler that answers a message id
//	P  net/http client GETs to a handler that answers a message's status
//
// Webhooks for T, J and nudgewire come from one client over raw sockets (client.go), because
// net/http's own client costs more than the servers under test and would hide them. The
// daemon under test is package app, wired as "nudgewire serve" wires it, over SQLite with
// every commit synced, in a folder of -dir; start and memory are those of the real binary.
//
// It is no test: nothing fails because a figure is low.
package main
