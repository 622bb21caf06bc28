package units

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Size is a number of bytes: "10MB" is 10,000,000 (kB, MB, GB count in thousands, as the
// limits of web services do), "1MiB" is 1,048,576 (KiB, MiB, GiB). A number alone is bytes.
type Size int64

// Bytes is the size as a plain number.
func (s Size) Bytes() int64 { return int64(s) }

const sizeHint = "write 500kB, 10MB (10,000,000 bytes) or 1MiB (1,048,576 bytes)"

type sizeUnit struct {
	name string
	is   int64
}

var sizeUnits = []sizeUnit{
	{"GB", 1e9}, {"GiB", 1 << 30}, {"MB", 1e6}, {"MiB", 1 << 20}, {"kB", 1e3}, {"KiB", 1 << 10}, {"B", 1},
}

// ParseSize reads what Size describes; the case of units does not count. The error is an *Error.
func ParseSize(text string) (Size, error) {
	bad := func(format string, args ...any) (Size, error) {
		return 0, &Error{Msg: fmt.Sprintf(format, args...), Next: sizeHint}
	}
	rest := strings.TrimSpace(text)
	if rest == "" {
		return bad("is empty, wants a size")
	}
	if strings.HasPrefix(rest, "-") {
		return bad("%q is negative; a size is not", text)
	}
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789."))
	number, err := strconv.ParseFloat(rest[:digits], 64)
	if err != nil {
		return bad("%q is not a size", text)
	}
	name := strings.TrimSpace(rest[digits:])
	i := slices.IndexFunc(sizeUnits, func(u sizeUnit) bool { return strings.EqualFold(u.name, cmp.Or(name, "B")) })
	if i < 0 {
		return bad("%q has an unknown unit %q", text, name)
	}
	total := number * float64(sizeUnits[i].is)
	if total > math.MaxInt64/2 {
		return bad("%q is too large", text)
	}
	return Size(math.Round(total)), nil
}

// String writes the size in the largest unit that keeps it exact: "10MB", "1MiB", "1500B".
func (s Size) String() string {
	for _, u := range sizeUnits {
		if s != 0 && int64(s)%u.is == 0 {
			return strconv.FormatInt(int64(s)/u.is, 10) + u.name
		}
	}
	return "0B"
}

// MarshalText writes what String does.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what ParseSize reads.
func (s *Size) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSize(string(text))
	return err
}

// Schema describes the text to editors.
func (Size) Schema() map[string]any {
	return map[string]any{
		"type":    []string{"string", "integer"},
		"pattern": `^([0-9.]+\s*([kKmMgG]?[iI]?[bB])?|.*\$\{.*)$`,
	}
}
