package connectors

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"

	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// An OptOut says whether a sender's word on who wants messages is carried out, and which words of a person mean that. The zero
// value is on, with the usual words.
type OptOut struct {
	Off   bool
	On    bool // said, so that it lifts a preset's off
	Stop  []string
	Start []string
}

// maxOptOutWord bounds one word of the lists, in bytes; nobody writes more than that and means one thing.
const maxOptOutWord = 60

// DecodeYAML reads on, off, or {stop: […], start: […]}.
func (o *OptOut) DecodeYAML(n *yamlpos.Node) {
	if n.Kind() != yamlpos.Mapping {
		switch text := n.Text(); {
		case n.Kind() == yamlpos.Scalar && (text == "on" || text == "true"):
			o.On = true
		case n.Kind() == yamlpos.Scalar && (text == "off" || text == "false"):
			o.Off = true
		case text == "block":
			n.Report(`"block" is called on now`, "write opt_out: on")
		case text == "ignore":
			n.Report(`"ignore" is called off now`, "write opt_out: off")
		default:
			n.Report("is neither on nor off, nor lists of words", "write opt_out: on, opt_out: off or opt_out: {stop: [STOP, \"BAJA *\"], start: [START]}")
		}
		return
	}
	n.UnknownKeys("stop", "start")
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
	o.Stop, o.Start = read("stop"), read("start")
	for _, w := range o.Start {
		stop := o.Stop
		if len(stop) == 0 {
			stop = stopWords
		}
		if says(plainWords(w), stop) {
			n.Get("start").Report(strconv.Quote(w)+" means stop, too", "take it out of one of the two lists")
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
			"properties": map[string]any{"stop": words, "start": words},
		},
	}}
}

// The usual words, in the languages that people answer in. A star means that more may follow: "stop sending me this" is a
// stop, and "cancel my order, please" is none.
var (
	stopWords = []string{
		"stop *", "stopall", "stop all", "unsubscribe *", "opt out *", "optout", "cancel", "end", "quit", "revoke", // English
		"stopp *", "abmelden *", "abbestellen *", "austragen", // German
		"arret *", "arreter *", "desabonner *", "se desabonner", "desinscrire", // French
		"baja *", "alto", "parar *", "cancelar", "no mas", // Spanish
		"sair", "descadastrar *", "remover", // Portuguese
		"basta *", "annulla", "disiscrivimi *", "cancellami", // Italian
		"afmelden *", "uitschrijven *", "stoppen", // Dutch
		"avsluta", "avregistrera *", "avmeld *", "afmeld *", "frameld *", // Swedish, Norwegian, Danish
		"wypisz *", "rezygnuje", // Polish
		"iptal", "dur", // Turkish
		"стоп *", "отписаться", "відписатися", // Russian, Ukrainian
		"توقف *", "הסר *", "停止", "退订", // Arabic, Hebrew, Japanese, Chinese
	}
	startWords = []string{
		"start", "unstop", "subscribe", "opt in", "optin", // English
		"anmelden", "starten", // German
		"demarrer", "reprendre", "s'abonner", // French
		"alta", "iniciar", "suscribir", // Spanish
		"inscrever", "voltar", // Portuguese
		"avvia", "iscrivimi", // Italian
		"aanmelden", "starta", "tilmeld", "zapisz", "basla", "старт", // Dutch, Swedish, Danish, Polish, Turkish, Russian
	}
)

// An Answer is what a person's message says of whether it wants more.
type Answer int

// What a message may say.
const (
	AnswersNothing Answer = iota
	AnswersStop
	AnswersStart
)

// Answer reads a person's message. It is the whole message that counts, without case, accents and signs; of a word with a
// star also a message that begins with it. A start is never read out of a longer message: nobody is messaged by mistake.
func (c *Connector) Answer(text string) Answer {
	const longest = 1 << 10 // no longer message says nothing but stop, and its beginning is enough
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "")
	}
	o := &c.config.OptOut
	stop, start := o.Stop, o.Start
	if len(stop) == 0 {
		stop = stopWords
	}
	if len(start) == 0 {
		start = startWords
	}
	switch plain := plainWords(text); {
	case plain == "":
		return AnswersNothing
	case says(plain, stop):
		return AnswersStop
	case slices.ContainsFunc(start, func(w string) bool { return plainWords(w) == plain }):
		return AnswersStart
	default:
		return AnswersNothing
	}
}

// says reports whether a message, in plain words, is one of the list.
func says(plain string, list []string) bool {
	for _, word := range list {
		short, more := strings.CutSuffix(word, "*")
		short = plainWords(short)
		if plain == short || more && strings.HasPrefix(plain, short+" ") {
			return true
		}
	}
	return false
}

// plainWords is text in small letters without accents and signs, with one space between words; letters of another width (ＳＴＯＰ) are as all others.
func plainWords(text string) string {
	// A transformer has a state, so it is made anew.
	if bare, _, err := transform.String(transform.Chain(norm.NFKD, runes.Remove(runes.In(unicode.Mn)), norm.NFC), text); err == nil {
		text = bare
	}
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ")
}
