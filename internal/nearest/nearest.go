// Package nearest finds the word somebody most likely meant when they wrote another one. It
// is what stands behind every "did you mean". It knows nothing of languages: it compares
// characters, and stays silent where the likeness could be chance.
package nearest

import (
	"strings"
	"unicode/utf8"
)

// Of returns the word of known that is nearest to word, or "" when none is near enough to be
// worth saying. Case, and the difference between "-", "_" and " ", do not count. A word may be
// one edit away when it is short and up to a third of its length when it is longer; an edit is
// one character put in, taken out, changed, or two neighbours swapped. The first of equally near
// words wins, so the order of known decides ties.
func Of(word string, known []string) string {
	const maxLength = 64 // nobody misspells longer words by a few characters; keeps the cost bounded
	folded := fold(word)
	n := utf8.RuneCountInString(folded)
	if n == 0 || n > maxLength {
		return ""
	}
	best, bestAt := "", allowed(n)+1
	var begins []string // known words that start with word, or that word starts with: "var" for "variables"
	for _, k := range known {
		fk := fold(k)
		length := utf8.RuneCountInString(fk)
		if n >= 3 && strings.HasPrefix(fk, folded) || len(fk) > 3 && strings.HasPrefix(folded, fk) {
			begins = append(begins, k)
		}
		if length <= maxLength {
			if d := distance(folded, fk); d < bestAt && d < length {
				best, bestAt = k, d
			}
		}
	}
	if best == "" && len(begins) == 1 { // to name one of two would be a guess
		return begins[0]
	}
	return best
}

var dashes = strings.NewReplacer("_", "-", " ", "-")

func fold(word string) string { return dashes.Replace(strings.ToLower(strings.TrimSpace(word))) }

// allowed is how many edits still count as a slip of the fingers in a word of n characters.
func allowed(n int) int {
	switch {
	case n <= 2:
		return 0 // "if" is one edit from half of all two-letter words
	case n <= 5:
		return 1
	default:
		return n / 3
	}
}

// distance is the optimal string alignment distance of a and b in runes: the edits of Of, no
// part of the text being edited twice.
func distance(a, b string) int {
	ra, rb := []rune(a), []rune(b)
	before, last, row := make([]int, len(rb)+1), make([]int, len(rb)+1), make([]int, len(rb)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(ra); i++ {
		row[0] = i
		for j := 1; j <= len(rb); j++ {
			change := 1
			if ra[i-1] == rb[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && ra[i-1] == rb[j-2] && ra[i-2] == rb[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(rb)]
}
