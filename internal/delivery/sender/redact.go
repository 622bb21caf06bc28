package sender

import (
	"fmt"
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// shortest is how many bytes a text has at least that is taken out: what is shorter is no code,
// and stands in many words by chance.
const shortest = 3

// redact takes what a message said out of words about it, for a service that repeats what it was
// asked for.
func redact(send *messaging.Send, words string) string {
	for i, v := range send.Variables {
		words = without(words, v, fmt.Sprintf("(variable %d)", i+1))
	}
	words = without(words, send.Text, "(the text)")
	if h := send.Header; h != nil {
		words = without(without(words, h.URL, "(the header's address)"), h.Filename, "(the file's name)")
	}
	return words
}

func without(words, said, instead string) string {
	if len(said) < shortest {
		return words
	}
	return strings.ReplaceAll(words, said, instead)
}
