package ruletest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/internal/phones"
)

// A Redactor replaces in bodies of webhooks what may be about a person: phones, e-mail addresses, names, places, numbers of persons and
// orders, addresses of the network and of pages, and any other text. The same text becomes the same in all bodies, so that what belonged
// together still does. It errs on the side of replacing: what is kept is known to be about no one, such as an amount, a currency, a status,
// a time, or a word that a rule asks for.
type Redactor struct {
	words  map[string]bool   // that rules ask for
	became map[string]string // by kind and text
	counts map[string]int
}

// NewRedactor keeps the words that are given.
func NewRedactor(words []string) *Redactor {
	r := &Redactor{words: map[string]bool{}, became: map[string]string{}, counts: map[string]int{}}
	for _, w := range words {
		r.words[strings.ToLower(w)] = true
	}
	return r
}

var (
	quotedWord = regexp.MustCompile(`"([^"\\]*)"|'([^'\\]*)'`)
	phoneText  = regexp.MustCompile(`^[+(]?[0-9][0-9 ()./-]{5,20}$`)
	phoneKey   = regexp.MustCompile(`(?i)phone|mobile|cell|whatsapp|wa_?id|msisdn|\btel|sms|fax|recipient|sender|^from$|^to$`)
	amountText = regexp.MustCompile(`^-?[0-9]{1,7}([.,][0-9]{1,4})?$`)
	amountKey  = regexp.MustCompile(`(?i)price|total|amount|tax|discount|quantity|qty|grams|weight|percent|position`)
	timeText   = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9:.]+ ?(Z|[+-][0-9:]+)?)?$`)
	timeKey    = regexp.MustCompile(`(?i)_at$|_on$|At$|date|time|created|updated|occurred|modified|closed|completed`)
	bornKey    = regexp.MustCompile(`(?i)birth|dob|born|anniversary`)
	plainText  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.:/-]{0,39}$`)
	plainKey   = regexp.MustCompile(`(?i)(^|_)(currency|locale|language|lang|country|country_code|timezone|status|type|topic|event|kind|object|action|payment_method|gateway|opt_in_level|state)$`)
	placeKey   = regexp.MustCompile(`(?i)address|shipping|billing|destination|origin|location|customer_state`)
)

// Words are the quoted words of conditions.
func Words(conditions []string) (all []string) {
	for _, text := range conditions {
		for _, m := range quotedWord.FindAllStringSubmatch(text, -1) {
			all = append(all, m[1]+m[2])
		}
	}
	return all
}

// Body is a JSON body with everything replaced that may be about a person.
func (r *Redactor) Body(body []byte) ([]byte, error) {
	var doc any
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		return nil, errors.New("the body is no JSON, and only of JSON it is known what is where")
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(r.value("", "", doc))
	return out.Bytes(), err
}

// value is one below a key, which is below another one.
func (r *Redactor) value(above, key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, name := range slices.Sorted(mapsKeys(v)) {
			out[r.name(name)] = r.value(key, name, v[name])
		}
		return out
	case []any:
		for i := range v {
			v[i] = r.value(above, key, v[i])
		}
		return v
	case json.Number:
		text := v.String()
		if amountText.MatchString(text) && amountKey.MatchString(key) || len(text) < 3 && !bornKey.MatchString(key) ||
			len(text) >= 10 && timeKey.MatchString(key) && !bornKey.MatchString(key) {
			return v
		}
		if phoneKey.MatchString(key) && len(text) >= 7 {
			return json.Number(strings.TrimPrefix(r.phone(text), "+"))
		}
		return json.Number(r.same("number", text, "%d", 1000000))
	case string:
		return r.text(above, key, v)
	default:
		return v // true, false and null are about no one without what stands beside them
	}
}

func mapsKeys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// name is a key as it may be shown: one that holds an address or a long number is about somebody.
func (r *Redactor) name(key string) string {
	if strings.Contains(key, "@") || strings.Count(strings.Map(onlyDigits, key), "") > 5 {
		return r.same("key", key, "key_%d", 0)
	}
	return key
}

func onlyDigits(c rune) rune {
	if c < '0' || c > '9' {
		return -1
	}
	return c
}

func (r *Redactor) text(above, key, text string) string {
	bare := strings.TrimSpace(text)
	switch {
	case bare == "":
		return text
	case strings.Contains(bare, "@"):
		return r.same("mail", strings.ToLower(bare), "person%d@example.com", 0)
	case strings.Contains(bare, "://") || strings.HasPrefix(bare, "www."):
		return r.same("page", bare, "https://shop.example.com/page/%d", 0)
	case isAddress(bare):
		return r.same("ip", bare, "192.0.2.%d", 0)
	case phoneText.MatchString(bare) && (phoneKey.MatchString(key) || strings.HasPrefix(bare, "+") || strings.HasPrefix(bare, "0")) && !timeText.MatchString(bare) && !amountKey.MatchString(key):
		return r.phone(bare)
	case timeText.MatchString(bare) && timeKey.MatchString(key) && !bornKey.MatchString(key):
		return text
	case amountText.MatchString(bare) && amountKey.MatchString(key):
		return text
	case strings.EqualFold(bare, "true"), strings.EqualFold(bare, "false"), strings.EqualFold(bare, "yes"), strings.EqualFold(bare, "no"), r.words[strings.ToLower(bare)]:
		return text
	case plainText.MatchString(bare) && plainKey.MatchString(key) && (!placeKey.MatchString(above) || len(bare) == 2):
		return text
	case strings.Map(onlyDigits, bare) == bare:
		return r.same("number", bare, "%d", 1000000)
	default:
		return r.same("text", bare, "text %d", 0)
	}
}

func isAddress(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil
}

// same is what a text became: the next of its kind the first time.
func (r *Redactor) same(kind, text, form string, from int) string {
	if now, known := r.became[kind+" "+text]; known {
		return now
	}
	r.counts[kind]++
	now := fmt.Sprintf(form, from+r.counts[kind])
	r.became[kind+" "+text] = now
	return now
}

// invented are numbers that nobody has, by country: those of films and examples.
var invented = map[string]string{"US": "+1212555%04d", "CA": "+1613555%04d", "AU": "+61491570%03d", "FR": "+33639980%03d", "IE": "+35385012%04d"}

// phone is an invented number of the same country where one is known, else of Britain. Spellings of one number end alike, and become one.
func (r *Redactor) phone(text string) string {
	digits := strings.Map(onlyDigits, text)
	end := digits[max(0, len(digits)-7):]
	if now, known := r.became["phone "+end]; known {
		return now
	}
	form, from := invented[phones.CountryOf(digits)], 100
	if form == "" {
		form = "+447700900%03d"
	}
	r.counts["phone"]++
	now := fmt.Sprintf(form, from+r.counts["phone"])
	if !phones.Valid(strings.TrimPrefix(now, "+")) {
		now = fmt.Sprintf("+447700900%03d", from+r.counts["phone"])
	}
	r.became["phone "+end] = now
	return now
}
