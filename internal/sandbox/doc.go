// Package sandbox is the messaging service of the API document as a server of its own: for
// the demo, for tests, and for users who want to see what their triggers would do before
// they have an account. It checks requests more strictly than any real service, so that a
// mistake is found here, and it breaks on demand in every way a network can.
//
// It sends nothing to anybody, keeps everything in memory and forgets it with the process.
//
// # Phones that end in a certain way
//
// Whatever the options say, the last four digits of a phone decide:
//
//	…0000  fails: "recipient is not on the network"
//	…0001  never leaves queued
//	…0002  stops at sent
//	…0003  is delivered, but never read
//	…0004  is refused at once: 422 "recipient has opted out"
//
// # Control
//
// Beside the API, and open to the loopback interface or with a key:
//
//	GET  /_sandbox/faults             what breaks now
//	PUT  /_sandbox/faults             what breaks from now on; {} for nothing
//	PUT  /_sandbox/points             {"points": 1000}: the balance from now on; below 0 it has no end
//	GET  /_sandbox/stats              requests by endpoint, messages by phone, duplicates
//	GET  /_sandbox/messages?phone=…   what one phone got; the newest of all without phone
//	GET  /_sandbox/campaigns          the pre-defined and the uploaded
//	POST /_sandbox/reset              forget all messages, and break what the options say
package sandbox
