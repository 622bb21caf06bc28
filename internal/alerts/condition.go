package alerts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/units"
)

// All is the condition that every trouble meets, but for notes; see noted.
const All = "all"

// A Condition says which troubles are told: all, a code, "halt for 4h", "in_doubt > 10", "failed_rate > 10% over 15m".
type Condition struct {
	Code  messaging.TroubleCode // "" for all
	For   time.Duration         // how long it must have lasted
	Given bool                  // For was written; else it is usual[Code]
	Above float64               // the amount must be above this; percent for failed_rate; -1 where none was written
	Over  time.Duration         // the window of failed_rate; 0 where none was written
}

// usual is how long a trouble lasts before it is told, where the condition does not say it and the trouble may pass by itself.
var usual = map[messaging.TroubleCode]time.Duration{
	messaging.TroubleOutage:     30 * time.Second,
	messaging.TroubleAddress:    30 * time.Second,
	messaging.TroubleRejections: 30 * time.Second,
	messaging.TroubleConfig:     30 * time.Second, // somebody is writing it, perhaps
	messaging.TroubleNodes:      5 * time.Minute,  // one after the other is reloaded, or started anew
	messaging.TroubleClock:      time.Minute,      // after a start of the machine it is set, perhaps
}

// counted are the codes whose troubles count something.
var counted = []messaging.TroubleCode{messaging.TroubleInDoubt, messaging.TroubleFiles}

// noted are the codes whose notes are told to who names them. A note of another code says that it is over, or no
// trouble yet. A redaction waits for a person from the first, so its note is told as any trouble.
var noted = []messaging.TroubleCode{messaging.TroubleUnknownText, messaging.TroubleRejected, messaging.TroubleNoEvent}

// Bounds of the window of failed_rate.
const shortestWindow, longestWindow = time.Minute, 24 * time.Hour

// UnmarshalText reads what Condition describes. The error is a *units.Error.
func (c *Condition) UnmarshalText(text []byte) error {
	got, err := parse(string(text))
	if err == nil {
		*c = got
	}
	return err
}

func parse(text string) (c Condition, err error) {
	bad := func(hint, format string, args ...any) (Condition, error) {
		return Condition{}, &units.Error{Msg: fmt.Sprintf(format, args...), Next: hint}
	}
	c.Above = -1
	words := strings.Fields(text)
	if len(words) == 0 {
		return bad("write all, or what is to be told, such as points", "is empty")
	}
	if words[0] != All {
		if c.Code = messaging.TroubleCode(words[0]); !slices.Contains(messaging.TroubleCodes, c.Code) {
			return bad(meant(words[0]), "%q is nothing that alerts know", words[0])
		}
	}
	if c.Code == messaging.TroubleUntracked {
		return bad(`take it out; "nudgewire status" shows the number`, "untracked is counted since the data began, so it would never be over")
	}
	said := map[string]bool{}
	for rest := words[1:]; len(rest) > 0; rest = rest[2:] {
		word := rest[0]
		if len(rest) < 2 || said[word] {
			return bad(c.example(), "%q cannot be read from %q on", text, strings.Join(rest, " "))
		}
		value := rest[1]
		said[word] = true
		switch {
		case word == "for":
			d, err := units.ParseDuration(value)
			if err != nil {
				return c, err
			}
			c.For, c.Given = d.D(), true
		case word == ">" && c.Code == messaging.TroubleFailedRate:
			var p units.Percent
			if err := p.UnmarshalText([]byte(value)); err != nil {
				return bad(c.example(), "%q is not a percentage", value)
			}
			if p >= 1 {
				return bad(c.example(), "no more than 100%% can fail, so %q never comes", text)
			}
			c.Above = float64(p) * 100
		case word == ">" && slices.Contains(counted, c.Code):
			n, err := strconv.ParseUint(value, 10, 32)
			if err != nil {
				return bad(c.example(), "%q is not a whole number", value)
			}
			c.Above = float64(n)
		case word == "over" && c.Code == messaging.TroubleFailedRate:
			d, err := units.ParseDuration(value)
			if err != nil {
				return c, err
			}
			if c.Over = d.D(); c.Over < shortestWindow || c.Over > longestWindow {
				return bad("write from 1m to 24h", "%s is no window that failures are counted over", value)
			}
		default:
			return bad(c.example(), "%q cannot be read from %q on", text, strings.Join(rest, " "))
		}
	}
	if c.Code == messaging.TroubleFailedRate && (c.Above >= 0) != (c.Over > 0) {
		return bad(c.example(), "%q names the share or the time, and not both", text)
	}
	return c, nil
}

// example is how a condition of that code may be written.
func (c Condition) example() string {
	switch {
	case c.Code == messaging.TroubleFailedRate:
		return "write failed_rate, or failed_rate > 10% over 15m"
	case slices.Contains(counted, c.Code):
		return fmt.Sprintf("write %s, %s > 10, or %s for 1h", c.Code, c.Code, c.Code)
	case c.Code == "":
		return "write all, or all for 10m"
	default:
		return fmt.Sprintf("write %s, or %s for 1h", c.Code, c.Code)
	}
}

// synonyms are what others call it.
var synonyms = map[string]messaging.TroubleCode{
	"halted": messaging.TroubleHalt, "api_key": messaging.TroubleKey, "balance": messaging.TroublePoints, "credit": messaging.TroublePoints,
	"breaker": messaging.TroubleOutage, "down": messaging.TroubleOutage, "reload": messaging.TroubleConfig, "held": messaging.TroubleApproval,
	"poller": messaging.TroublePolls, "connector": messaging.TroubleSilent, "failed": messaging.TroubleFailedRate, "failures": messaging.TroubleFailedRate,
	"stalled": messaging.TroubleOverdue, "space": messaging.TroubleDisk, "everything": All,
}

func meant(word string) string {
	known := []string{All}
	for _, code := range messaging.TroubleCodes {
		if code != messaging.TroubleUntracked {
			known = append(known, string(code))
		}
	}
	if code := synonyms[word]; code != "" {
		return fmt.Sprintf("did you mean %s?", code)
	}
	if near := nearest.Of(word, known); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return "write one of: " + strings.Join(known, ", ")
}

// String is the condition as it is read.
func (c Condition) String() string {
	out := string(c.Code)
	if out == "" {
		out = All
	}
	if window := c.Window(); window != "" {
		out += " " + window
	} else if c.Above >= 0 {
		out += " > " + strconv.FormatFloat(c.Above, 'f', -1, 64)
	}
	if c.Given {
		out += " for " + units.Duration(c.For).String()
	}
	return out
}

// Window is the share and the time of failed_rate, as the subject of its trouble: "> 10% over 15m"; "" for the usual ones.
func (c Condition) Window() string {
	if c.Over == 0 {
		return ""
	}
	return "> " + units.Percent(c.Above/100).String() + " over " + units.Duration(c.Over).String()
}

// MarshalText writes what String does.
func (c Condition) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Schema describes the text to editors.
func (Condition) Schema() map[string]any { return map[string]any{"type": "string"} }

// meets reports whether a trouble is what the condition is about; how long it has lasted is another question.
func (c Condition) meets(t *messaging.Trouble) bool {
	switch {
	case t.Severity == messaging.Note && t.Code != messaging.TroubleRedaction && !slices.Contains(noted, c.Code):
		return false
	case c.Code != "" && t.Code != c.Code:
		return false
	case t.Code == messaging.TroubleFailedRate:
		return t.Subject == c.Window()
	default:
		return t.Amount > c.Above
	}
}

// patience is how long a trouble must have lasted.
func (c Condition) patience(code messaging.TroubleCode) time.Duration {
	if c.Given {
		return c.For
	}
	return usual[code]
}
