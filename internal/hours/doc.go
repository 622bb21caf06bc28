// Package hours says when it is too late or too early to disturb a person: windows on the wall
// clock of each place, on days of the week and on holidays, and the first moment that is in none of
// them. It does not know what a message is.
//
// A window is read on the wall clock: from 21:00 to 09:00 is what the clock in the person's place
// shows, in summer and in winter. In spring, when the clock jumps over the end of a window, the
// window ends where the jump ends. In autumn, when an hour comes twice, a window ends the first
// time that the clock shows its end, and what the clock shows inside the window is quiet both
// times; what was quiet when the clock went back stays quiet until the hour is over.
//
// Read in this order: window.go, holidays.go, zone.go, rule.go.
package hours
