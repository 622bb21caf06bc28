package optout

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// saysOf is what a text says that a contact without a known language wrote.
func saysOf(w *ReplyWords, text string) string {
	return w.Says(&messaging.Event{Message: messaging.Inbound{Text: text}})
}

func TestWhatAMessageSays(t *testing.T) {
	own := Compile(OptOut{On: true, Stop: []string{"Keine Werbung *", "Please stop"}, Start: []string{"Doch"}, Help: []string{"Was?"}})
	for _, tt := range []struct {
		w          *ReplyWords
		text, want string
	}{
		{usual(), "STOP", "stop"},
		{usual(), "  stop.  ", "stop"},
		{usual(), "Stop!!!", "stop"},
		{usual(), "STOPP", "stop"},
		{usual(), "Arrêt", "stop"},
		{usual(), "BAJA", "stop"},
		{usual(), "Baja, por favor", "stop"},
		{usual(), "Bitte abmelden!", "stop"},
		{usual(), "please unsubscribe me from this", "stop"},
		{usual(), "stop sending me this", "stop"},
		{usual(), "STOP\nSent from my phone", "stop"},
		{usual(), "Stop promotions", "stop"},
		{usual(), "стоп", "stop"},
		{usual(), "ＳＴＯＰ！！", "stop"},
		{usual(), "S.T.O.P.", "stop"},
		{usual(), "stoooop", "stop"},
		{usual(), "退订", "stop"},
		{usual(), "停止してください", "stop"},
		{usual(), "หยุดครับ", "stop"},
		{usual(), "cancel", "stop"},
		{usual(), "", ""},
		{usual(), "?!", ""},
		{usual(), "please", ""},
		{usual(), "START", "start"},
		{usual(), "S'abonner", "start"},
		{usual(), "start time?", ""},
		{usual(), "HELP", "help"},
		{usual(), "Hilfe bitte", "help"},
		{usual(), "help yourself", ""},
		{own, "keine werbung bitte", "stop"},
		{own, "please stop", "stop"},
		{own, "STOP", ""},
		{own, "doch!", "start"},
		{own, "START", ""},
		{own, "was", "help"},
	} {
		if got := saysOf(tt.w, tt.text); got != tt.want {
			t.Errorf("%q says %q, want %q", tt.text, got, tt.want)
		}
	}
}

// Words and sentences that are ordinary, in the language of the word or in another, neither block nor allow.
func TestOrdinaryMessagesSayNothing(t *testing.T) {
	for _, text := range []string{
		"cancel my order, please", "please do not stop", "stopping by at 5", "Can I stop by tomorrow?", "stop by tomorrow", "stop at the corner", "enough for two",
		"in the end I took the blue one", "end of the week is fine", "the end date?", "quit smoking", "fine", "fin", "no", "yes", "non", "nein",
		"arrêt de bus Opéra", "baja el precio", "la parte baja", "no más", "basta un'e-mail", "parar en Madrid", "seis", "Peru", "halt so", "Ende Mai", "Abmelden vom Kurs",
		"wypisz mi fakturę", "koniec", "rezygnuję z odbioru", "kündigen", "résilier", "opzeggen", "slut", "slutt", "конец", "хватит", "τέλος", "chega hoje?", "voltar", "reprendre",
		"resume", "résumé", "dung", "đúng", "dùng", "đừng", "หยด", "توقف الجهاز", "די", "बंद", "batal tidak?", "登録番号", "取消订单", "취소 수수료는?", "iptal etmeyin",
		"starting", "start tomorrow", "inscription", "alta calidad", "anmelden zum Kurs",
	} {
		if got := saysOf(usual(), text); got != "" {
			t.Errorf("%q says %q", text, got)
		}
	}
	for _, tt := range []struct{ word, speaks, phone, want string }{
		{"alto", "", "393471234567", ""},
		{"alto", "", "351912345678", ""},
		{"alto", "", "34612345678", "stop"},
		{"alto", "es", "393471234567", "stop"}, // who is said to speak Spanish does, wherever the number is of
		{"alto", "it-CH", "41791234567", ""},
		{"alta", "", "393471234567", ""},
		{"alta", "", "5215512345678", "start"},
		{"dur", "", "33612345678", ""},
		{"dur", "", "905321234567", "stop"},
		{"TD", "", "14165550177", ""},
		{"TD", "", "8613812345678", "stop"},
		{"end", "", "4520123456", ""},
		{"end", "", "12125550177", "stop"},
	} {
		e := messaging.Event{Contact: messaging.Contact{Language: tt.speaks, Phone: messaging.Phone(tt.phone)}, Message: messaging.Inbound{Text: tt.word}}
		if got := usual().Says(&e); got != tt.want {
			t.Errorf("%q by %q of %s says %q, want %q", tt.word, tt.speaks, tt.phone, got, tt.want)
		}
	}
}

// Each language has words of each meaning, no word has two meanings, and each is found however people and their phones spell it.
func TestWordsOfEveryLanguageInEverySpelling(t *testing.T) {
	languages := strings.Fields("en de fr es pt it nl sv no da fi pl cs tr ru uk el ro hu ar he hi id ja zh ko th vi")
	var have []string
	type entry struct{ language, meaning, word string }
	var all []entry
	for _, l := range usualWords {
		have = append(have, l.language)
		if len(l.please) == 0 {
			t.Errorf("%s has no word for please", l.language)
		}
		for meaning, list := range map[string][]string{messaging.SaysStop: l.stop, messaging.SaysStart: l.start, messaging.SaysHelp: l.help} {
			if len(list) == 0 {
				t.Errorf("%s has no word for %s", l.language, meaning)
			}
			for _, w := range list {
				all = append(all, entry{l.language, meaning, w})
			}
		}
	}
	if !slices.Equal(have, languages) {
		t.Errorf("the languages are %v", have)
	}
	for _, one := range all {
		word := strings.TrimSuffix(strings.TrimPrefix(one.word, "="), " *")
		spellings := map[string]string{
			"as it is": word, "in capitals": strings.ToUpper(word), "in small letters": strings.ToLower(word), "title": strings.ToTitle(string([]rune(word)[:1])) + string([]rune(word)[1:]),
			"a full stop": word + ".", "a stop of its own script": word + "。", "signs": "¡" + word + "!!!", "quotes": "“" + word + "”", "other quotes": "«" + word + "»",
			"an emoji": word + " 🛑", "an emoji with a modifier": "👋🏽" + word, "blanks": "\t " + word + "\u00a0\n", "marks of direction": "\u200f" + word + "\u200e",
			"embedded": "\u202b" + word + "\u202c", "isolated": "\u2068" + word + "\u2069", "a byte order mark": "\ufeff" + word,
			"zero width": string([]rune(word)[:1]) + "\u200b" + string([]rune(word)[1:]), "a soft hyphen": string([]rune(word)[:1]) + "\u00ad" + string([]rune(word)[1:]),
			"a variation": word + "\ufe0f", "full width": wide(word), "decomposed": norm.NFD.String(word), "please": "please " + word, "thanks": word + ", thanks",
		}
		if !strings.HasPrefix(one.word, "=") {
			spellings["plain"] = plainWords(word)
		}
		for name, text := range spellings {
			if got := saysOf(usual(), text); got != one.meaning {
				t.Errorf("%s, %s of %s (%q) says %q", one.language, one.word, name, text, got)
			}
		}
	}
	for word := range ordinaryIn {
		if !slices.ContainsFunc(all, func(e entry) bool { return plainWords(e.word) == word }) {
			t.Errorf("%q is ordinary in a language, and is no word of the table", word)
		}
	}
}

// A no counts before a yes, whoever of the two says it, and what cannot be read is no yes.
func TestOfSeveralWordsTheNoCounts(t *testing.T) {
	for i, tt := range []struct {
		given, button, text, want string
		unreadable                bool
	}{
		{"", "", "hello", "", false},
		{"", "STOP", "No more offers", "stop", false},
		{"", "opt-out-7", "Stop promotions", "stop", false},
		{"", "yes-1", "STOP", "stop", false},
		{"", "START", "Yes", "start", false},
		{"start", "", "YES", "start", false},
		{"start", "", "STOP", "stop", false},
		{"stop", "", "START", "stop", false},
		{"stop", "", "wobble", "stop", false},
		{"help", "", "wobble", "help", false},
		{"", "", "START", "", true},
		{"", "", "STOP", "stop", true},
	} {
		e := messaging.Event{Message: messaging.Inbound{Text: tt.text, Button: tt.button, Says: tt.given}}
		if tt.unreadable {
			e.Unreadable = []string{"message.says"}
		}
		if got := usual().Says(&e); got != tt.want {
			t.Errorf("%d: %q of a sender, %q and %q say %q, want %q", i, tt.given, tt.button, tt.text, got, tt.want)
		}
	}
}

// wide is ASCII in full width.
func wide(text string) string {
	return strings.Map(func(r rune) rune {
		if r > ' ' && r < unicode.MaxASCII {
			return r + 0xfee0
		}
		return r
	}, text)
}
