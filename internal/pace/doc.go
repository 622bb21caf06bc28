// Package pace says when work may go: a Budget decides when the next request may leave, an
// Alarm when the next piece of work falls due.
//
// A Budget knows rates, pauses and two classes of request; it knows neither what a request
// asks for nor how one is made, and it never retries anything.
package pace
