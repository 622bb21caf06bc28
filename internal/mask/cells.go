package mask

import (
	"regexp"
	"strings"
)

// What stands in a list goes into words only between these quotes, so that it can be taken out for who may not see it.
const (
	opens  = "“"
	closes = "”"
)

var (
	quotes = strings.NewReplacer(opens, `"`, closes, `"`)
	quoted = regexp.MustCompile(opens + "[^" + closes + "]*(" + closes + "|$)")
)

// Quote is a cell of a list as it stands in words.
func Quote(cell string) string { return opens + quotes.Replace(cell) + closes }

// Cells is a text without the cells that it quotes; one that was cut off behind an opening quote ends there.
func Cells(text string) string {
	if !strings.Contains(text, opens) {
		return text
	}
	return quoted.ReplaceAllString(text, opens+"…"+closes)
}
