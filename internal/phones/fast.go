package phones

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nyaruka/phonenumbers"
)

// AppendFast reads a number as Normalize does, in about a hundredth of the time, and appends
// its digits to dst. ok is false, and dst unchanged, for whatever it does not decide: ask
// Normalize then, which also has the words for a refusal. Where ok is true, Normalize gives
// the same digits; a property test holds the two against each other over every numbering plan.
//
// It takes ASCII digits with spaces and dashes between them, with or without a plus sign, and
// walks the steps of the library on automata instead of regular expressions. A list of a
// million customers holds a million different numbers, so a cache cannot help there.
func AppendFast(dst []byte, raw, country string) (digits []byte, ok bool) {
	var text [maxFast]byte
	n, plus := 0, false
	for i := range len(raw) {
		switch c := raw[i]; {
		case '0' <= c && c <= '9':
			if n == maxFast {
				return dst, false
			}
			text[n] = c
			n++
		case c == '+' && i == 0:
			plus = true
		case (c == ' ' || c == '-') && n > 0 && i+1 < len(raw) && isDigit(raw[i-1]) && isDigit(raw[i+1]):
		default:
			return dst, false
		}
	}
	if n < 3 || len(raw) > maxText {
		return dst, false
	}
	number := text[:n]
	if plus {
		return fastInternational(dst, number)
	}
	if number[0] == '0' && number[1] == '0' {
		return dst, false // an international prefix, or a mistake
	}
	return fastNational(dst, number, country)
}

// maxFast is more digits than any number that can be read.
const maxFast = maxDigits + 2

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// fastInternational follows international for what can only be read one way: an existing
// country code and ten to fifteen digits in which no national prefix hides. Whether the plan
// knows the number makes no difference to the answer then.
func fastInternational(dst, number []byte) ([]byte, bool) {
	if len(number) < minLenient || len(number) > maxDigits {
		return dst, false
	}
	p, national, ok := planOf(number)
	if p == nil || !ok || p.main.strips(national) != stripsNothing || national[0] == '0' {
		return dst, false
	}
	if p.code == "1" && national[0] < '2' {
		return dst, false
	}
	return append(dst, number...), true
}

// fastNational follows national: phonenumbers.Parse with a home country, then the reading as
// a number whose plus sign got lost.
func fastNational(dst, number []byte, country string) ([]byte, bool) {
	home := planOfCountry(country)
	if home == nil || home.own == nil || home.own.idd == nil || home.own.idd.begins(number) {
		return dst, false
	}
	own, rest, plan := home.own, number, home.plan
	if after, found := cutPrefix(number, plan.code); found {
		short, ok := own.strip(after)
		if !ok {
			return dst, false
		}
		if (!own.general.whole(number) && own.general.whole(short)) || own.length(len(number)) == phonenumbers.TOO_LONG {
			rest, own = short, plan.main
		}
	}
	if len(rest) < 2 {
		return dst, false
	}
	short, ok := own.strip(rest)
	if !ok {
		return dst, false
	}
	switch own.length(len(short)) {
	case phonenumbers.TOO_SHORT, phonenumbers.IS_POSSIBLE_LOCAL_ONLY, phonenumbers.INVALID_LENGTH:
	default:
		rest = short
	}
	if len(rest) < 2 {
		return dst, false
	}
	valid, ok := plan.valid(rest)
	if !ok {
		return dst, false
	}
	if !valid {
		// A number of another country without its plus?
		other, ok := lostPlus(number)
		if !ok {
			return dst, false
		}
		if other {
			return append(dst, number...), true
		}
		if plan.code == "1" && rest[0] < '2' || rest[0] == '0' {
			return dst, false
		}
		if plan.main.length(len(rest)) != phonenumbers.IS_POSSIBLE || len(plan.code)+len(rest) > maxDigits {
			return dst, false
		}
	}
	return append(append(dst, plan.code...), rest...), true
}

// lostPlus reports whether number is a valid number with its country code; ok is false when
// that is not decided here.
func lostPlus(number []byte) (valid, ok bool) {
	p, national, ok := planOf(number)
	if p == nil || !ok {
		return false, ok
	}
	if len(national) < 2 || p.main.strips(national) != stripsNothing {
		return false, false
	}
	return p.valid(national)
}

func cutPrefix(number []byte, prefix string) (rest []byte, found bool) {
	if len(number) < len(prefix) || string(number[:len(prefix)]) != prefix {
		return nil, false
	}
	return number[len(prefix):], true
}

// A plan is one country code: the regions that share it, the main one first.
type plan struct {
	code    string
	main    *region
	regions []*region
}

// A region is what is needed of one region's metadata. Any automaton may be nil: then what
// hangs on it is not decided here.
type region struct {
	id      string
	general *automaton
	lengths []int32 // possible ones of the general pattern
	local   []int32
	hasRule bool // the general pattern is not empty
	kinds   []kind
	leading *automaton // nil with hasLeading: not decided
	hasLead bool

	prefix      *automaton // the national prefix for parsing
	hasPrefix   bool
	literals    []string // the prefixes in order, where they are nothing but digits and nothing is put in their place
	emptyStrips bool     // the prefix matches nothing at all and then still changes the number
	idd         *automaton
}

// A kind is one type of number: mobile, fixed line and so on.
type kind struct {
	pattern *automaton
	lengths []int32
}

func newRegion(m *phonenumbers.PhoneMetadata) *region {
	g := m.GetGeneralDesc()
	r := &region{
		id: m.GetId(), general: compileDigits(g.GetNationalNumberPattern()), lengths: g.GetPossibleLength(),
		local: g.GetPossibleLengthLocalOnly(), hasRule: g.GetNationalNumberPattern() != "",
	}
	for _, d := range []*phonenumbers.PhoneNumberDesc{
		m.GetPremiumRate(), m.GetTollFree(), m.GetSharedCost(), m.GetVoip(), m.GetPersonalNumber(),
		m.GetPager(), m.GetUan(), m.GetVoicemail(), m.GetFixedLine(), m.GetMobile(),
	} {
		if d.GetNationalNumberPattern() != "" {
			r.kinds = append(r.kinds, kind{compileDigits(d.GetNationalNumberPattern()), d.GetPossibleLength()})
		}
	}
	if lead := m.GetLeadingDigits(); lead != "" {
		r.hasLead, r.leading = true, compileDigits(lead)
	}
	if p := m.GetNationalPrefixForParsing(); p != "" {
		r.hasPrefix, r.prefix = true, compileDigits(p)
		rule := m.GetNationalPrefixTransformRule()
		if literalDigits(p) && rule == "" {
			r.literals = strings.Split(p, "|")
		}
		r.emptyStrips = rule != "" && capturesNothing(p)
	}
	if idd := m.GetInternationalPrefix(); idd != "" {
		r.idd = compileDigits(idd)
	}
	return r
}

// What a national prefix does to a number.
const (
	stripsNothing = iota
	stripsLiteral
	stripsMaybe
)

// strips says whether a national prefix stands in front of the number.
func (r *region) strips(national []byte) int {
	switch {
	case !r.hasPrefix:
		return stripsNothing
	case r.prefix == nil:
		return stripsMaybe
	case r.prefix.begins(national):
		if r.literals != nil {
			return stripsLiteral
		}
		return stripsMaybe
	case r.prefix.accept[startState] && r.emptyStrips:
		return stripsMaybe
	default:
		return stripsNothing
	}
}

// strip takes a national prefix off, as maybeStripNationalPrefixAndCarrierCode does; ok is
// false when that is not decided here.
func (r *region) strip(national []byte) (rest []byte, ok bool) {
	if r.general == nil {
		return nil, false
	}
	if len(national) == 0 {
		return national, true
	}
	switch r.strips(national) {
	case stripsNothing:
		return national, true
	case stripsLiteral:
		for _, l := range r.literals {
			if after, found := cutPrefix(national, l); found {
				rest = after
				break
			}
		}
		if r.general.whole(national) && !r.general.whole(rest) {
			return national, true
		}
		return rest, true
	default:
		return nil, false
	}
}

// length is testNumberLength for numbers of any kind.
func (r *region) length(n int) phonenumbers.ValidationResult {
	if len(r.lengths) == 0 || r.lengths[0] == -1 || !r.hasRule {
		return phonenumbers.INVALID_LENGTH
	}
	switch size := int32(n); {
	case slices.Contains(r.local, size):
		return phonenumbers.IS_POSSIBLE_LOCAL_ONLY
	case size < r.lengths[0]:
		return phonenumbers.TOO_SHORT
	case size > r.lengths[len(r.lengths)-1]:
		return phonenumbers.TOO_LONG
	case slices.Contains(r.lengths, size):
		return phonenumbers.IS_POSSIBLE
	default:
		return phonenumbers.INVALID_LENGTH
	}
}

// known reports whether the number is of one of the region's kinds.
func (r *region) known(national []byte) (known, ok bool) {
	if r.general == nil {
		return false, false
	}
	if !fits(r.lengths, len(national)) || !r.general.whole(national) {
		return false, true
	}
	for _, k := range r.kinds {
		if k.pattern == nil {
			return false, false
		}
		if fits(k.lengths, len(national)) && k.pattern.whole(national) {
			return true, true
		}
	}
	return false, true
}

func fits(lengths []int32, n int) bool {
	return len(lengths) == 0 || slices.Contains(lengths, int32(n))
}

// valid is IsValidNumber for a number of this country code.
func (p *plan) valid(national []byte) (valid, ok bool) {
	if len(p.regions) == 1 {
		return p.main.known(national)
	}
	r, ok := p.region(national)
	if r == nil || !r.hasLead || !ok {
		return r != nil, ok
	}
	return r.known(national)
}

// region is which of a plan's regions a number belongs to; nil for none of them.
func (p *plan) region(national []byte) (r *region, ok bool) {
	for _, r := range p.regions {
		var mine, ok bool
		if !r.hasLead {
			mine, ok = r.known(national)
		} else if ok = r.leading != nil; ok {
			mine = r.leading.begins(national)
		}
		if mine || !ok {
			return r, ok
		}
	}
	return nil, true
}

// A home is the plan of a country and the country's own part of it.
type home struct {
	plan *plan
	own  *region
}

// Plans are made when a number first asks for them: all of them would take half a second.
var plans struct {
	load    sync.Once
	source  map[string]*phonenumbers.PhoneMetadata // by region
	abroad  map[int]*phonenumbers.PhoneMetadata    // by code, of services that belong to no region
	exists  [1000]bool
	mu      sync.Mutex
	byCode  [1000]atomic.Pointer[plan]
	country sync.Map // ISO code as given: *home
}

func loadPlans() {
	plans.source, plans.abroad = map[string]*phonenumbers.PhoneMetadata{}, map[int]*phonenumbers.PhoneMetadata{}
	all, err := phonenumbers.MetadataCollection()
	if err != nil {
		return // the slow path will say what is wrong
	}
	for _, m := range all.GetMetadata() {
		if m.GetId() == "001" {
			plans.abroad[int(m.GetCountryCode())] = m
		} else {
			plans.source[m.GetId()] = m
		}
	}
	for code := range plans.exists {
		plans.exists[code] = len(phonenumbers.GetRegionCodesForCountryCode(code)) > 0
	}
}

// planOf is the plan of the country code that number begins with, and the rest of it; nil where no
// country has such a code. ok is false when that is not decided here.
func planOf(number []byte) (p *plan, rest []byte, ok bool) {
	plans.load.Do(loadPlans)
	if number[0] == '0' {
		return nil, nil, true
	}
	code := 0
	for i := range min(3, len(number)) {
		code = code*10 + int(number[i]-'0')
		if plans.exists[code] {
			p = planOfCode(code)
			return p, number[i+1:], p != nil
		}
	}
	return nil, nil, len(plans.source) > 0
}

func planOfCode(code int) *plan {
	if p := plans.byCode[code].Load(); p != nil {
		return p
	}
	plans.mu.Lock()
	defer plans.mu.Unlock()
	if p := plans.byCode[code].Load(); p != nil {
		return p
	}
	p := &plan{code: strconv.Itoa(code)}
	for _, id := range phonenumbers.GetRegionCodesForCountryCode(code) {
		m := plans.source[id]
		if id == "001" {
			m = plans.abroad[code]
		}
		if m == nil {
			return nil
		}
		p.regions = append(p.regions, newRegion(m))
	}
	p.main = p.regions[0]
	if p.main.general == nil {
		return nil
	}
	plans.byCode[code].Store(p)
	return p
}

func planOfCountry(country string) *home {
	if h, ok := plans.country.Load(country); ok {
		return h.(*home)
	}
	plans.load.Do(loadPlans)
	m := plans.source[country]
	if m == nil {
		return nil
	}
	h := &home{plan: planOfCode(int(m.GetCountryCode()))}
	if h.plan == nil {
		return nil
	}
	for _, r := range h.plan.regions {
		if r.id == country {
			h.own = r
		}
	}
	if h.own == nil || h.own.general == nil {
		return nil
	}
	plans.country.Store(country, h)
	return h
}
