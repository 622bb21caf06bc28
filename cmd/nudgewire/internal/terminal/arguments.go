package terminal

import (
	"strconv"
	"strings"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
)

// Number reads a number from 1 of what the words name.
func Number[N ~int64](text, what, hint string) (N, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, exit.Fail(exit.Usage, hint, "%q is not %s", text, what)
	}
	return N(n), nil
}

// Header reads a header as curl takes it, "Name: value".
func Header(text string) (name, value string, err error) {
	name, value, ok := strings.Cut(text, ":")
	if !ok {
		return "", "", exit.Fail(exit.Usage, "", "--header %q: want Name: value", text)
	}
	return strings.TrimSpace(name), strings.TrimSpace(value), nil
}

func Argument(args []string, i int) string {
	if i < len(args) {
		return args[i]
	}
	return ""
}
