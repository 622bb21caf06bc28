package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Percent is a share: "300%" is 3.
type Percent float64

// UnmarshalText reads a number with a % sign. The error is an *Error.
func (p *Percent) UnmarshalText(text []byte) error {
	number, found := strings.CutSuffix(strings.TrimSpace(string(text)), "%")
	f, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !found || err != nil || f < 0 || math.IsInf(f, 0) || math.IsNaN(f) {
		hint := "write it as 300%"
		if err == nil && f >= 0 && f <= 1e6 {
			hint = "write it as " + strings.TrimSpace(number) + "%"
		}
		return &Error{Msg: fmt.Sprintf("%q is not a percentage", text), Next: hint}
	}
	*p = Percent(f / 100)
	return nil
}

// String is the share as it is read.
func (p Percent) String() string {
	return strconv.FormatFloat(math.Round(float64(p)*1e6)/1e4, 'f', -1, 64) + "%"
}

// MarshalText writes what String does.
func (p Percent) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Schema describes the text to editors.
func (Percent) Schema() map[string]any {
	return map[string]any{"type": "string", "pattern": `^[0-9.]+\s*%$`}
}
