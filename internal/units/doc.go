// Package units holds the quantities that people write in config.yaml: durations ("45m",
// "3d"), sizes ("10MB"), rates ("20/s"). Each reads itself from text, says in plain words
// what is wrong with a bad one and how a good one looks, and prints in the form it is read.
//
// It holds no ranges: what is too long for a timeout is for the owner of the timeout to say.
// Number and Count write numbers the other way, for people to read.
package units

// An Error is a text that is no quantity of the wanted sort. Error() is the whole sentence,
// Hint() how a good one looks.
type Error struct {
	Msg  string // what is wrong, without the text
	Next string
}

// Error is the sentence without the hint.
func (e *Error) Error() string { return e.Msg }

// Hint is what to write instead.
func (e *Error) Hint() string { return e.Next }
