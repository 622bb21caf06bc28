// Command bench measures nudgewire against bare net/http and prints a table for a person.
//
// Each reading is printed as it is measured; the table comes at the end. -big adds what takes long: webhooks, claims, a start and memory beside
// millions of stored rows, higher rates, two and three nodes.
//
// Everything happens in one run on one machine over loopback, in alternating rounds: each round
// measures every figure once, and a row shows the median over the rounds, so that what the machine
// does meanwhile hits all rows alike. What counts is the ratio of a row to its base, which travels
// between machines; the figure itself does not.
//
// Three bases say what net/http costs by itself:
//
//	J  a handler that checks HMAC-SHA256 and decodes 2 KB of JSON into a struct
//	O  client POSTs of a send's size to a handler that answers a message id
//	P  client GETs to a handler that answers a message's status
//
// Webhooks come in two ways. In a closed loop each connection posts its next webhook when the last
// one was answered: that shows the most the daemon can take. In an open loop webhooks arrive at a
// constant rate, whatever the answers do, and each answer's time counts from the moment at which
// its webhook was due: that is what senders meet, and a slow answer also costs those behind it.
//
// The daemon under test is package app as "nudgewire serve" runs it, over SQLite with every commit
// synced, in a folder of -dir, but for two things: no rate holds its calls back, and it asks for
// a status one second after acceptance. Start and memory are those of the real binary.
//
// Then come webhooks, sends and polls over PostgreSQL with one node (two and three with -big): a server that this program starts with its
// makers' settings, in a folder of -dir, so every commit is synced; the first node in this process, each other one in a process
// of its own, all on this machine, with the server, the sender of webhooks and the messaging service. A base says what the server can do:
//
//	R   a loop that inserts the rows which webhooks leave, by arrays, a transaction for 64 webhooks
//
// One node must reach a part of SQLite's rates (40 %, sends 35 %) and half of R's. R only inserts; a node also takes, checks and reads
// the webhooks, and looks up whether it has seen them. Where the machine has no PostgreSQL, the report says so.
//
// It is no test: nothing fails because a figure is low.
//
// Read in this order: figures.go (what is measured), measure.go, report.go; client.go and hook.go
// (the sender of webhooks); bases.go, service.go; daemon.go, node.go, place.go, ingest.go, calls.go, postgres.go;
// fixture.go, claim.go, process.go (stored data).
package main
