// Package optout says what a person's answer means: stop, start or help, in the languages of the table in words.go.
package optout

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/phones"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// An OptOut says whether a sender's word on who wants messages is carried out, and which words of a person mean that. The zero
// value is on, with the usual words.
type OptOut struct {
	Off   bool
	On    bool // said, so that it lifts a preset's off
	Stop  []string
	Start []string
	Help  []string
}

// maxOptOutWord bounds one word of the lists, in bytes; nobody writes more than that and means one thing.
const maxOptOutWord = 60

// DecodeYAML reads on, off, or {stop: […], start: […], help: […]}.
func (o *OptOut) DecodeYAML(n *yamlpos.Node) {
	if n.Kind() != yamlpos.Mapping {
		switch text := n.Text(); {
		case n.Kind() == yamlpos.Scalar && (text == "on" || text == "true"):
			o.On = true
		case n.Kind() == yamlpos.Scalar && (text == "off" || text == "false"):
			o.Off = true
		default:
			n.Report("is neither on nor off, nor lists of words", "write opt_out: on, opt_out: off or opt_out: {stop: [STOP, \"BAJA *\"], start: [START], help: [HELP]}")
		}
		return
	}
	n.UnknownKeys("stop", "start", "help")
	o.On = true
	read := func(key string) (words []string) {
		list := n.Get(key)
		if list == nil {
			return nil
		}
		for _, item := range list.Items() {
			var word string
			item.Decode(&word)
			switch plain := plainWords(strings.TrimSuffix(word, "*")); {
			case plain == "":
				item.Report("holds no letter, so no message is like it", "write a word, such as STOP")
			case len(word) > maxOptOutWord:
				item.Report(fmt.Sprintf("is longer than %d characters", maxOptOutWord), "write what a person answers: a word or two")
			default:
				words = append(words, word)
			}
		}
		if len(list.Items()) == 0 {
			list.Report("has no words", "leave "+key+" out for the usual ones, or write opt_out: off")
		}
		return words
	}
	o.Stop, o.Start, o.Help = read("stop"), read("start"), read("help")
	words := Compile(*o)
	for _, key := range []string{"start", "help"} {
		for _, w := range map[string][]string{"start": o.Start, "help": o.Help}[key] {
			if words.stop.has(spell(w), "") {
				n.Get(key).Report(strconv.Quote(w)+" means stop, too", "take it out of one of the two lists")
			}
		}
	}
}

// Schema describes the union to editors.
func (OptOut) Schema() map[string]any {
	words := map[string]any{"type": "array", "minItems": 1, "items": map[string]any{"type": "string"}}
	return map[string]any{"anyOf": []any{
		map[string]any{"enum": []any{"on", "off", true, false}},
		map[string]any{
			"type": "object", "additionalProperties": false,
			"properties": map[string]any{"stop": words, "start": words, "help": words},
		},
	}}
}

// ReplyWords are the words of a connector, ready to be looked up.
type ReplyWords struct{ stop, start, help wordList }

// A wordList is one meaning's words, each in plain form.
type wordList struct {
	whole map[string][]string // a word, and the languages in which it is an ordinary one
	exact map[string]bool     // with their accents
	more  []string            // a message may begin with
	never []string            // beginnings that are none of more
}

// usual is compiled when the first message is read.
var usual = sync.OnceValue(func() *ReplyWords {
	var all languageWords
	for i := range usualWords {
		w := &usualWords[i]
		all.stop, all.start, all.help = append(all.stop, w.stop...), append(all.start, w.start...), append(all.help, w.help...)
	}
	out := &ReplyWords{stop: listOf(all.stop, true), start: listOf(all.start, true), help: listOf(all.help, true)}
	for _, w := range noStops {
		out.stop.never = append(out.stop.never, strings.TrimSuffix(spell(strings.TrimSuffix(w, "*")).plain, " ")+" ")
	}
	return out
})

// Compile are the words of an OptOut: its own, and the usual ones for what it leaves out.
func Compile(o OptOut) *ReplyWords {
	out := *usual()
	for _, one := range []struct {
		own []string
		to  *wordList
	}{{o.Stop, &out.stop}, {o.Start, &out.start}, {o.Help, &out.help}} {
		if len(one.own) > 0 {
			*one.to = listOf(one.own, false)
		}
	}
	return &out
}

func listOf(words []string, fromTable bool) wordList {
	l := wordList{whole: map[string][]string{}, exact: map[string]bool{}}
	for _, w := range words {
		if exact, ok := strings.CutPrefix(w, "="); ok && fromTable {
			l.exact[spell(exact).marked] = true
			continue
		}
		short, more := strings.CutSuffix(w, "*")
		plain := spell(short).plain
		l.whole[plain] = nil
		if fromTable {
			l.whole[plain] = ordinaryIn[plain]
		}
		if more {
			l.more = append(l.more, plain+" ")
		}
	}
	return l
}

// has reports whether a message of a contact who speaks that language is one of the list.
func (l *wordList) has(s spelled, language string) bool {
	begins := func(beginnings []string) bool {
		return slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(s.plain, b) })
	}
	ordinary, ok := l.whole[s.plain]
	return ok && !slices.Contains(ordinary, language) || l.exact[s.marked] || begins(l.more) && !begins(l.never)
}

// Says is what a message says of whether its writer wants more: what its sender says it means, what was written, and what the
// button holds. A no counts before all else. A start is never read out of a longer message, and not where the sender's own word
// for the meaning cannot be read: nobody is messaged by mistake.
func (w *ReplyWords) Says(e *messaging.Event) string {
	given := e.Message.Says
	read := given
	for _, text := range []string{e.Message.Button, e.Message.Text} {
		switch says := w.of(text, languageOf(e)); {
		case says == messaging.SaysStop:
			return says
		case read == "" && !slices.Contains(e.Unreadable, "message.says"):
			read = says
		}
	}
	return read
}

// languageOf is the language that a contact is said to speak, else that of its number's country; "" where neither is known.
func languageOf(e *messaging.Event) string {
	if said, _, _ := strings.Cut(e.Contact.Language, "-"); said != "" && !e.Guessed.Language {
		return strings.ToLower(said)
	}
	return phones.LanguageOf(string(e.Contact.Phone))
}

// of is what a text says. It is the whole text that counts; of a word with a star also a text that begins with it.
func (w *ReplyWords) of(text, language string) string {
	const longest = 1 << 10 // no longer message says anything but stop, and its beginning is enough
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "")
	}
	whole := spell(text)
	for _, s := range []spelled{whole, whole.withoutPlease()} {
		switch {
		case s.plain == "":
		case w.stop.has(s, language):
			return messaging.SaysStop
		case w.start.has(s, language):
			return messaging.SaysStart
		case w.help.has(s, language):
			return messaging.SaysHelp
		}
	}
	return ""
}

// A spelled text is in small letters without signs, with one space between its words: plain also without accents.
type spelled struct{ plain, marked string }

// spell is a text as it is compared. Letters of another width (ＳＴＯＰ) are as all others, and what cannot be seen (joiners, marks
// of direction) is not there. "S.T.O.P" is a word, and so is "stoooop".
func spell(text string) spelled {
	return spelled{plain: spaced(strings.Map(withoutMark, norm.NFKD.String(text))), marked: spaced(norm.NFKC.String(text))}
}

func plainWords(text string) string { return spell(text).plain }

// spaced is a text in small letters, its words one space apart.
func spaced(text string) string {
	text = norm.NFC.String(strings.Map(unseen, text))
	found := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
	letters := len(found) > 2 && !slices.ContainsFunc(found, func(w string) bool { return utf8.RuneCountInString(w) > 1 })
	for i := range found {
		found[i] = onceEach(strings.Map(oneLetter, found[i]))
	}
	if letters {
		return strings.Join(found, "")
	}
	return strings.Join(found, " ")
}

// withoutMark leaves out the accents of Latin, Greek and Cyrillic, and the vowel signs of Arabic and Hebrew, which few write. The
// marks of other scripts are letters: หยุด is a stop, and หยด a drop.
func withoutMark(r rune) rune {
	const voiced, halfVoiced = '\u3099', '\u309a' // of Japanese: a letter of its own
	if unicode.Is(unicode.Mn, r) && r != voiced && r != halfVoiced && unicode.In(r, unicode.Inherited, unicode.Arabic, unicode.Hebrew) {
		return -1
	}
	return r
}

// unseen leaves out what nobody sees.
func unseen(r rune) rune {
	const tatweel = '\u0640' // a stroke that makes Arabic words longer
	if r == tatweel || unicode.In(r, unicode.Cf, unicode.Me, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
		return -1
	}
	return r
}

// oneLetter joins letters that people write for one another and that are no accents.
func oneLetter(r rune) rune {
	switch r {
	case 'ı':
		return 'i'
	case 'ł':
		return 'l'
	case 'ø':
		return 'o'
	case 'ς':
		return 'σ'
	case 'ة':
		return 'ه'
	case 'ى':
		return 'ي'
	default:
		return r
	}
}

// onceEach writes a letter that comes three times and more once: no word of the table has that.
func onceEach(word string) string {
	var b strings.Builder
	letters := []rune(word)
	for i := 0; i < len(letters); {
		end := i + 1
		for end < len(letters) && letters[end] == letters[i] {
			end++
		}
		if end-i > 2 {
			i = end - 1
		}
		b.WriteString(string(letters[i:end]))
		i = end
	}
	return b.String()
}

// polite are the words on either side of another that say no more, in both spellings, the longest first.
var polite = sync.OnceValue(func() []spelled {
	var out []spelled
	for i := range usualWords {
		for _, w := range usualWords[i].please {
			out = append(out, spell(w))
		}
	}
	slices.SortStableFunc(out, func(a, b spelled) int { return len(b.plain) - len(a.plain) })
	return out
})

// withoutPlease is the text without polite words around it; the text itself where it has no others.
func (s spelled) withoutPlease() spelled {
	trim := func(text string, of func(spelled) string) string {
		for again := true; again; {
			again = false
			for _, p := range polite() {
				word := of(p)
				if rest := strings.TrimSpace(cutWord(text, word)); rest != "" && rest != text {
					text, again = rest, true
				}
			}
		}
		return text
	}
	return spelled{
		plain:  trim(s.plain, func(p spelled) string { return p.plain }),
		marked: trim(s.marked, func(p spelled) string { return p.marked }),
	}
}

// cutWord takes a word from either end of a text. Scripts without spaces have it right beside the next one.
func cutWord(text, word string) string {
	between := " "
	if r, _ := utf8.DecodeRuneInString(word); unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Hangul) {
		between = ""
	}
	text = strings.TrimSuffix(text, between+word)
	return strings.TrimPrefix(text, word+between)
}
