package plain

import "unicode"

// unseen are signs without a shape that are neither control nor format characters: fillers, the blank of Braille, joiners, and the
// variation selectors that choose a picture.
var unseen = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x034F, 0x034F, 1},
		{0x115F, 0x1160, 1},
		{0x17B4, 0x17B5, 1},
		{0x20E3, 0x20E3, 1},
		{0x2800, 0x2800, 1},
		{0x3164, 0x3164, 1},
		{0xFFA0, 0xFFA0, 1},
	},
	LatinOffset: 0,
}

// Unseen reports whether nobody can see a character, white space aside.
func Unseen(r rune) bool {
	return r >= 0x7f && unicode.In(r, unicode.Cf, unicode.Cc, unicode.Variation_Selector, unseen) || r < ' ' && !unicode.IsSpace(r)
}

// Visible reports whether a text has anything that a person can see.
func Visible(text string) bool {
	for _, r := range text {
		if !unicode.IsSpace(r) && !Unseen(r) {
			return true
		}
	}
	return false
}
