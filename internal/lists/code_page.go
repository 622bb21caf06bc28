package lists

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/language"
)

// Windows gives each language the code page in which its spreadsheets save plain CSV. These are the pages of languages that are
// not written in windows-1252, by language and else by script, in the names of WHATWG's Encoding Standard (encoding.spec.whatwg.org).
var (
	pageOfLanguage = map[string]string{
		"pl": "windows-1250", "cs": "windows-1250", "sk": "windows-1250", "hu": "windows-1250", "sl": "windows-1250", "hr": "windows-1250",
		"bs": "windows-1250", "ro": "windows-1250", "sq": "windows-1250",
		"tr": "windows-1254", "az": "windows-1254", "uz": "windows-1254",
		"et": "windows-1257", "lv": "windows-1257", "lt": "windows-1257",
		"vi": "windows-1258",
	}
	pageOfScript = map[string]string{
		"Cyrl": "windows-1251", "Grek": "windows-1253", "Hebr": "windows-1255", "Arab": "windows-1256", "Thai": "windows-874",
		"Jpan": "shift_jis", "Kore": "euc-kr", "Hans": "gbk", "Hant": "big5",
	}
)

// codePage is the encoding in which spreadsheets of a country save plain CSV, by the language that most people there write; "" where
// country, an ISO 3166-1 alpha-2 code, is not known.
func codePage(country string) string {
	region, err := language.ParseRegion(country)
	if err != nil {
		return ""
	}
	tag, err := language.Compose(region)
	if err != nil {
		return ""
	}
	base, _ := tag.Base()
	if page := pageOfLanguage[base.String()]; page != "" {
		return page
	}
	script, _ := tag.Script()
	if page := pageOfScript[script.String()]; page != "" {
		return page
	}
	return westernText
}

// encodingNames are names of encodings that a list may have, the usual ones.
const encodingNames = "utf-8, utf-16, windows-1252, windows-1250, windows-1251, windows-1254, iso-8859-15, koi8-r, macintosh, shift_jis, gbk, big5, euc-kr"

// canonical is the name of an encoding as it is used here; false for a name that the standard does not have.
func canonical(name string) (string, bool) {
	switch lower := strings.ToLower(strings.TrimSpace(name)); lower {
	case "", "auto":
		return "", true
	case utf16Text, utf16BEText:
		return lower, true
	}
	found, err := htmlindex.Get(name)
	if err != nil {
		return "", false
	}
	is, err := htmlindex.Name(found)
	return is, err == nil && is != "replacement"
}

// EncodingOf is the encoding in which a column has a name, of a list that was read as windows-1252; "" where there is none. A country
// whose spreadsheets write windows-1252 may get a list from somebody else's.
func EncodingOf(name string, columns []string) string {
	pages := slices.Concat(slices.Collect(maps.Values(pageOfScript)), slices.Collect(maps.Values(pageOfLanguage)), []string{"koi8-r", "macintosh"})
	slices.Sort(pages)
	for _, page := range slices.Compact(pages) {
		found, err := htmlindex.Get(page)
		if err != nil {
			continue
		}
		raw, err := found.NewEncoder().String(name)
		read := western(raw)
		if err == nil && read != name && slices.ContainsFunc(columns, func(c string) bool { return strings.TrimSpace(c) == read }) {
			return page
		}
	}
	return ""
}

// shownLetters is how many letters a note shows of a list that is in Windows-1252.
const shownLetters = 12

// withLetters are known, and the characters beyond ASCII of a text that known lacks, up to most of all.
func withLetters(known, text string, most int) string {
	count := utf8.RuneCountInString(known)
	for _, r := range text {
		if count >= most {
			break
		}
		if r >= utf8.RuneSelf && !strings.ContainsRune(known, r) {
			known += string(r)
			count++
		}
	}
	return known
}

// letters are characters beyond ASCII of a text in an encoding, each once and in the order of their numbers: they show how it is read,
// and tell nobody's name.
func letters(text, encoding string) string {
	if encoding == westernText {
		text = western(text)
	} else if found, err := htmlindex.Get(encoding); err == nil {
		text, _ = found.NewDecoder().String(text)
	}
	all := []rune(withLetters("", text, utf8.RuneCountInString(text)))
	slices.Sort(all)
	return string(all[:min(len(all), 6)])
}
