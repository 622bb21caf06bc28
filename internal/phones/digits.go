package phones

import (
	"encoding/binary"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
)

// An automaton answers for texts of ASCII digits what a regular expression answers, with one
// table look-up a digit. It is the subset construction over the program that package regexp
// itself compiles, so the language is the same by construction. Numbering plans use no more
// of the notation than digits, classes, groups and counts.
type automaton struct {
	next   [][10]int32 // by state and digit; state 0 is the dead end, 1 the start
	accept []bool
}

const (
	deadEnd    = 0
	startState = 1
	maxStates  = 20_000 // no plan comes near; a pattern that does is left to the slow path
)

// compileDigits makes the automaton of pattern. It answers nil for a pattern that looks at
// more than digits (^, $, \b) or is too large: then the caller must ask package regexp.
func compileDigits(pattern string) *automaton {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil
	}
	a := &automaton{}
	var sets [][]uint32 // by state: the instructions it stands for
	known := map[string]int32{}
	// state is the number of the state for what can be reached from some instructions.
	state := func(from []uint32) (to int32, ok bool) {
		set, accepts, plain := closure(prog, from)
		name := label(set, accepts)
		to, found := known[name]
		if !plain || !found && len(sets) >= maxStates {
			return deadEnd, false
		}
		if !found {
			to = int32(len(sets))
			known[name] = to
			sets, a.next, a.accept = append(sets, set), append(a.next, [10]int32{}), append(a.accept, accepts)
		}
		return to, true
	}
	_, _ = state(nil) // the dead end
	if start, ok := state([]uint32{uint32(prog.Start)}); !ok || start != startState {
		return nil
	}
	for at := startState; at < len(sets); at++ {
		for digit := range 10 {
			var reached []uint32
			for _, pc := range sets[at] {
				if i := &prog.Inst[pc]; i.MatchRune(rune('0' + digit)) {
					reached = append(reached, i.Out)
				}
			}
			to, ok := state(reached)
			if !ok {
				return nil
			}
			a.next[at][digit] = to
		}
	}
	return a
}

// closure is what can be reached without a digit: the instructions that read one, sorted, and
// whether the text may end here. plain is false when the pattern looks at more than digits.
func closure(prog *syntax.Prog, from []uint32) (set []uint32, accepts, plain bool) {
	seen := map[uint32]bool{}
	stack := slices.Clone(from)
	for len(stack) > 0 {
		pc := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		switch i := &prog.Inst[pc]; i.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			stack = append(stack, i.Out, i.Arg)
		case syntax.InstCapture, syntax.InstNop:
			stack = append(stack, i.Out)
		case syntax.InstMatch:
			accepts = true
		case syntax.InstFail:
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			set = append(set, pc)
		default:
			return nil, false, false
		}
	}
	slices.Sort(set)
	return set, accepts, true
}

func label(set []uint32, accepts bool) string {
	b := strconv.AppendBool(nil, accepts)
	for _, pc := range set {
		b = binary.LittleEndian.AppendUint32(b, pc)
	}
	return string(b)
}

// whole reports whether the pattern matches all of digits.
func (a *automaton) whole(digits []byte) bool {
	state := int32(startState)
	for _, d := range digits {
		if state = a.next[state][d-'0']; state == deadEnd {
			return false
		}
	}
	return a.accept[state]
}

// begins reports whether the pattern matches a beginning of digits that is not empty.
func (a *automaton) begins(digits []byte) bool {
	state := int32(startState)
	for _, d := range digits {
		if state = a.next[state][d-'0']; state == deadEnd {
			return false
		}
		if a.accept[state] {
			return true
		}
	}
	return false
}

// literalDigits reports whether a pattern is a choice of plain digits: "0", "0|180020".
var literalDigits = regexp.MustCompile(`^[0-9]+(\|[0-9]+)*$`).MatchString

// capturesNothing reports whether the last group of the pattern takes part when it matches
// the empty text.
func capturesNothing(pattern string) bool {
	re, err := regexp.Compile("^(?:" + pattern + ")")
	if err != nil {
		return true
	}
	groups := re.FindStringSubmatchIndex("")
	return groups == nil || groups[len(groups)-2] >= 0
}
