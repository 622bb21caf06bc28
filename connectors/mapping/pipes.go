package mapping

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/connectors/problems"
	"github.com/nudgewire/nudgewire/internal/nearest"
)

// A pipe is a function behind a path: "title | lower". Functions take and give text.
//
//	lower, upper     the case of letters
//	minor            an amount in cents, paise or whatever the currency's smallest unit is
//	cents            an amount in hundredths, whatever its currency
//	money            an amount with currency symbols and separators around it ("£1,234.50")
//	currency         the currency that stands beside an amount ("31,00 €" is EUR); nothing where none does
//	first            what comes before the first comma
//	before X         what comes before the first X
//	after X          what comes after the last X
//	is A|B           true where the text is one of A, B; else false; nothing stays nothing
//	map A=x B=y      x for A, y for B; any other text stays, and of a consent it is no word
//	plain            HTML without its tags and entities
//
// (Write the alternatives of "is" and "map" with spaces: "is paid settled".)
type pipe struct {
	name  string
	run   func(string) string // nil for minor, which needs the currency
	table map[string]string   // of map
	bare  bool                // where it leaves nothing there is nothing: not the text before it
}

// has reports whether a map names the text.
func (p *pipe) has(text string) bool { _, ok := p.table[strings.ToLower(text)]; return ok }

var pipeNames = []string{"lower", "upper", "minor", "cents", "money", "first", "before", "after", "is", "map", "plain"}

// parsePipe reads what is between two |. The fault is nil for a good one.
func parsePipe(call string) (pipe, *problems.SyntaxFault) {
	name, arg, _ := strings.Cut(call, " ")
	arg = strings.TrimSpace(arg)
	p := pipe{name: name}
	needs := func() *problems.SyntaxFault {
		if arg == "" {
			return &problems.SyntaxFault{Msg: fmt.Sprintf("| %s wants something behind it", name), Hint: fmt.Sprintf("for example: | %s", pipeExample(name))}
		}
		return nil
	}
	switch name {
	case "lower":
		p.run = strings.ToLower
	case "upper":
		p.run = strings.ToUpper
	case "minor":
	case "cents":
		p.run = hundredths
	case "money":
		p.run = plainAmount
	case "currency":
		p.run, p.bare = currencyIn, true
	case "plain":
		p.run = plainText
	case "first":
		p.run = func(s string) string { before, _, _ := strings.Cut(s, ","); return strings.TrimSpace(before) }
	case "before":
		p.run = func(s string) string { before, _, _ := strings.Cut(s, arg); return strings.TrimSpace(before) }
		return p, needs()
	case "after":
		p.run = func(s string) string {
			if i := strings.LastIndex(s, arg); i >= 0 {
				return strings.TrimSpace(s[i+len(arg):])
			}
			return ""
		}
		return p, needs()
	case "is":
		words := strings.Fields(arg)
		p.run = func(s string) string {
			if slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, s) }) {
				return "true"
			}
			return "false"
		}
		return p, needs()
	case "map":
		table := map[string]string{}
		for _, pair := range strings.Fields(arg) {
			from, to, ok := strings.Cut(pair, "=")
			if !ok {
				return p, &problems.SyntaxFault{Msg: fmt.Sprintf("%q is no pair of old=new", pair), Hint: "for example: | map 3=paid 4=refunded"}
			}
			table[strings.ToLower(from)] = to
		}
		p.table = table
		p.run = func(s string) string {
			if to, ok := table[strings.ToLower(s)]; ok {
				return to
			}
			return s
		}
		return p, needs()
	default:
		f := &problems.SyntaxFault{Msg: fmt.Sprintf("%q is no function", name), Hint: "the functions are " + strings.Join(pipeNames, ", ")}
		if near := nearest.Of(name, pipeNames); near != "" {
			f.Hint = fmt.Sprintf("did you mean %q?", near)
		}
		return p, f
	}
	if arg != "" {
		return p, &problems.SyntaxFault{Msg: fmt.Sprintf("| %s takes nothing behind it", name), Hint: "remove " + arg}
	}
	return p, nil
}

// hundredths is an amount in hundredths as one with decimals: its point moves by two places. What is no number stays, and cannot be read.
func hundredths(s string) string {
	sign, digits := "", s
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		sign, digits = "-", rest
	}
	digits, fraction, _ := strings.Cut(digits, ".")
	if digits == "" || strings.Trim(digits+fraction, "0123456789") != "" {
		return s
	}
	digits = strings.Repeat("0", max(0, 3-len(digits))) + digits
	return sign + digits[:len(digits)-2] + "." + digits[len(digits)-2:] + fraction
}

func pipeExample(name string) string {
	switch name {
	case "before", "after":
		return name + " /"
	case "is":
		return "is subscribed opted_in"
	default:
		return "map 3=paid 4=refunded"
	}
}

// minor reports whether the expression's amount is in the currency's smallest unit.
func (e *Expr) minor() bool {
	return slices.ContainsFunc(e.Pipes, func(p pipe) bool { return p.run == nil })
}
