package rawjson

import (
	"strings"
	"unicode"
)

// A Program finds the values of many paths in one pass over a JSON text, which it checks at the
// same time. It follows names of members only; elements of lists are found afterwards, in the
// small part that the pass led to.
//
// Reading 2 KB this way costs about what checking it alone does.
type Program struct {
	root  *fork
	Slots int // how many values Run finds

	// Loose finds a member also by another spelling of its name: whatever its case, and whatever separates its words ("Phone Number" for
	// phone_number). A member of the very name counts before those, and of several other spellings the first.
	Loose bool
}

// A fork is one level of names that some path asks for.
type fork struct {
	loose bool
	names []branch
	sizes uint64 // bit n: some name has n bytes (63: or more)
	slot  int    // where the value at this level goes; -1 for nowhere
	below []int  // the slots of this level and all below it
}

type branch struct {
	name string
	to   *fork
	core string // of the name, where the program is loose
}

// A Span is a stretch of the text; the zero value is "not found", as no value begins and
// ends at 0.
type Span struct{ From, To int }

// NewProgram is a program that looks for nothing.
func NewProgram() *Program { return &Program{root: &fork{slot: -1}} }

// Add makes the program look for the value under names and returns its slot. No names at all
// mean the whole text.
func (p *Program) Add(names []string) int {
	at := p.root
	at.loose = p.Loose
	way := []*fork{at}
	for _, name := range names {
		next := at.next(name)
		if next == nil {
			next = &fork{slot: -1, loose: p.Loose}
			at.names = append(at.names, branch{name, next, core(name)})
			at.sizes |= sizeBit(len(name))
		}
		at = next
		way = append(way, at)
	}
	if at.slot < 0 {
		at.slot = p.Slots
		p.Slots++
		for _, f := range way {
			f.below = append(f.below, at.slot)
		}
	}
	return at.slot
}

// noNames walks over an object and looks for nothing in it.
var noNames = &fork{slot: -1}

func sizeBit(n int) uint64 { return 1 << min(n, 63) }

func (f *fork) next(name string) *fork {
	if f.sizes&sizeBit(len(name)) == 0 {
		return nil
	}
	for i := range f.names {
		if f.names[i].name == name {
			return f.names[i].to
		}
	}
	return nil
}

// named is next for a name as it is written.
func (f *fork) named(name string) *fork {
	if len(f.names) == 0 {
		return nil
	}
	if next := f.next(name); next != nil || strings.IndexByte(name, '\\') < 0 {
		return next
	}
	return f.next(unescape(name))
}

// spelled is the branch of a name in another spelling; nil where a value of that branch is known already.
func (f *fork) spelled(name string, found []Span) *fork {
	if !f.loose || len(f.names) == 0 {
		return nil
	}
	if strings.IndexByte(name, '\\') >= 0 {
		name = unescape(name)
	}
	name = core(name)
	for i := range f.names {
		if f.names[i].core != name {
			continue
		}
		for _, slot := range f.names[i].to.below {
			if found[slot] != (Span{}) {
				return nil
			}
		}
		return f.names[i].to
	}
	return nil
}

// core is a name without case and without what separates its words.
func core(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || unicode.IsSpace(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// Run checks s to be one JSON value and fills found, which has a place for every slot.
func (p *Program) Run(s string, found []Span) error {
	i, err := p.root.walk(s, SkipSpace(s, 0), 0, found)
	if err != nil {
		return err
	}
	return atEnd(s, i)
}

func (f *fork) walk(s string, i, depth int, found []Span) (int, error) {
	start := i
	var err error
	if len(f.names) > 0 && i < len(s) && s[i] == '{' {
		i, err = f.walkObject(s, i, depth, found)
	} else {
		i, err = skipValue(s, i, depth)
	}
	if err == nil && f.slot >= 0 {
		found[f.slot] = Span{start, i}
	}
	return i, err
}

func (f *fork) walkObject(s string, i, depth int, found []Span) (int, error) {
	if depth >= MaxDepth {
		return i, &Fault{i, "is nested too deep"}
	}
	i = SkipSpace(s, i+1)
	if i < len(s) && s[i] == '}' {
		return i + 1, nil
	}
	for {
		end, err := skipKey(s, i)
		if err != nil {
			return end, err
		}
		name := s[i+1 : end-1]
		next := f.named(name)
		if next == nil {
			next = f.spelled(name, found)
		}
		i = skipColon(s, end)
		if next != nil {
			// Of two members with one name the last counts, and nothing of the first one stays.
			for _, slot := range next.below {
				found[slot] = Span{}
			}
			i, err = next.walk(s, i, depth+1, found)
		} else {
			i, err = skipValue(s, i, depth+1)
		}
		if err != nil {
			return i, err
		}
		var done bool
		if i, done, err = skipComma(s, i, '}'); err != nil || done {
			return i, err
		}
	}
}
