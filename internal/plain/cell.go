package plain

import (
	"strings"
	"unicode"
)

// formulaHeads are what a cell begins with that spreadsheets take for a formula, also as wide characters and behind spaces. A carriage
// return never gets there.
const formulaHeads = "=+-@\t\n＝＋－＠"

// Cell is a text of somebody else's for a table that people open with a spreadsheet. One that would be a formula there gets an
// apostrophe in front; characters that steer a terminal or the direction of a text go. Phones and negative numbers stay as they are.
// Every table that is written for people takes its texts from here.
func Cell(text string) string {
	text = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || steers(r)) {
			return -1
		}
		return r
	}, text)
	head := strings.TrimLeft(text, " ")
	if head == "" || !strings.ContainsRune(formulaHeads, []rune(head)[0]) || text == head && isNumber(text) {
		return text
	}
	return "'" + text
}

// isNumber reports whether a text that begins with a sign is a phone or a number and nothing else.
func isNumber(text string) bool {
	return (text[0] == '+' || text[0] == '-') && strings.Trim(text[1:], "0123456789 ()./-") == "" && strings.IndexByte(text[1:], '-') != 0
}
