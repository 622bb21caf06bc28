package nearest

import "testing"

func TestOf(t *testing.T) {
	keys := []string{"template", "variables", "header", "text_path", "on", "if", "key", "again", "every", "wait", "cancel_on", "max_age", "expires", "timeout"}
	tests := map[string]struct {
		word  string
		known []string
		want  string
	}{
		"a letter left out":                 {"templat", keys, "template"},
		"a letter too many":                 {"waitt", keys, "wait"},
		"two letters swapped":               {"temlpate", keys, "template"},
		"another case":                      {"Template", keys, "template"},
		"a dash for an underscore":          {"max-age", keys, "max_age"},
		"a plural":                          {"headers", keys, "header"},
		"the beginning of a long word":      {"var", keys, "variables"},
		"more than the word":                {"timeout_seconds", keys, "timeout"},
		"two letters are too few to guess":  {"in", keys, ""},
		"nothing alike":                     {"retries", keys, ""},
		"nothing at all":                    {"", keys, ""},
		"no words known":                    {"template", nil, ""},
		"a beginning that two words share":  {"can", []string{"cancel", "candle"}, ""},
		"the first of equally near words":   {"bat", []string{"cat", "rat"}, "cat"},
		"a word of another kind of letters": {"größe", []string{"grösse", "große"}, "große"},
		"a word with no letter in common":   {"xyz", []string{"abc"}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Of(tt.word, tt.known); got != tt.want {
				t.Errorf("Of(%q) is %q, want %q", tt.word, got, tt.want)
			}
		})
	}
}
