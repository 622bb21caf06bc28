package ruletest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/phones"
)

// A Redactor replaces in bodies of webhooks what may be about a person: phones, e-mail addresses, names, places, numbers of persons and
// orders, addresses of the network and of pages, and any other text. The same text becomes the same in all bodies, so that what belonged
// together still does. It errs on the side of replacing: what is kept is known by its key and its value, such as an amount, a currency, a
// status in words of the trade, a time, or a word that a rule asks for.
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
	amountText = regexp.MustCompile(`^-?[0-9]{1,12}([.,][0-9]{1,4})?$`)
	timeText   = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+ ?(Z|[+-][0-9:]+)?$`)
	dateText   = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)
	epochText  = regexp.MustCompile(`^(1[0-9]|[23][0-9])[0-9]{8}([0-9]{3}|[0-9]{6})?$`) // of this century, in seconds, milliseconds, microseconds
	localeText = regexp.MustCompile(`^[a-z]{2,3}([_-][A-Za-z]{2,4})?$`)
	letters    = regexp.MustCompile(`^[A-Za-z]+$`)
	plainName  = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_:$.-]*$`)
	keyWord    = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+|[0-9]+`)
)

// What words of a key say of its value. A key is read as words: "created_by", "createdBy" and "created-by" are "created" and "by".
var (
	amountWords = setOf("price total subtotal amount tax discount quantity qty grams weight percent value cents count")
	timeWords   = setOf("at on time datetime timestamp created updated occurred modified closed completed processed")
	bornWords   = setOf("birth birthday birthdate dob born anniversary wedding")
	personWords = setOf("id ids by no number code user name first last middle given family surname phone mobile email mail contact person owner customer lead " +
		"street address city zip postcode note notes comment message tag key token secret ref reference account candidate")
	currencyWords, languageWords, countryWords, zoneWords = setOf("currency"), setOf("locale language lang"), setOf("country"), setOf("timezone tz")

	privateWords = setOf("first last middle given family surname full city street address email note notes comment message phone mobile")
	plainWords   = setOf("status state type topic event kind action object gateway level")
)

// trade are words that say what happened or how it stands, and are about no one. A value is kept that is made of them alone.
var trade = setOf("order orders cart carts checkout checkouts deal deals lead leads contact contacts customer customers person company ticket " +
	"subscription invoice invoices payment payments charge refund refunds fulfillment fulfillments shipment product form response message messages webhook property " +
	"stage status type text number email phone date choice choices boolean event session line item items card cash bank transfer credit debit intent method " +
	"created create creation update updated updates delete deleted deletion added removed placed paid unpaid pending open opened won lost draft cancelled canceled " +
	"closed completed complete failed failure success succeeded processing processed shipped delivered fulfilled unfulfilled partial partially refunded authorized " +
	"voided active inactive enabled disabled subscribed unsubscribed confirmed unconfirmed received sent read new changed change abandoned " +
	"single double opt in out not unknown any none all sms whatsapp marketing transactional web pos online store test live with of on hold list")

func setOf(words string) map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.Fields(words) {
		all[w] = true
	}
	return all
}

// has reports whether one of the words of a key is in a set.
func has(set map[string]bool, key string) bool {
	return slices.ContainsFunc(keyWord.FindAllString(key, -1), func(w string) bool { return set[strings.ToLower(w)] })
}

// isTrade reports whether a text is made of words of the trade alone, as "checkouts/update" and "orderPaid" are.
func isTrade(text string) bool {
	words := keyWord.FindAllString(text, -1)
	return len(words) > 0 && len(text) <= 60 && !slices.ContainsFunc(words, func(w string) bool { return !trade[strings.ToLower(w)] })
}

// isPlain reports whether a text is a value that its key can have about nobody: a currency, a language, a country, a time zone, a status.
func isPlain(key, text string) bool {
	switch {
	case has(currencyWords, key):
		return len(text) == 3 && letters.MatchString(text)
	case has(languageWords, key):
		return localeText.MatchString(text)
	case has(countryWords, key):
		return len(text) == 2 && letters.MatchString(text)
	case has(zoneWords, key):
		_, err := time.LoadLocation(text)
		return err == nil
	}
	return has(plainWords, key) && isTrade(text)
}

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
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out[r.name(name)] = r.value(key, name, v[name])
		}
		return out
	case []any:
		for i := range v {
			v[i] = r.value(above, key, v[i])
		}
		return v
	case json.Number:
		return r.number(above, key, v.String())
	case string:
		return r.text(above, key, v)
	default:
		return v // true, false and null are about no one without what stands beside them
	}
}

// number is a number below a key: what tells an amount or a time stays.
func (r *Redactor) number(above, key, text string) json.Number {
	born, person := has(bornWords, key) || has(bornWords, above), has(personWords, key)
	switch {
	case born:
	case phoneKey.MatchString(key) && len(text) >= 7:
		return json.Number(strings.TrimPrefix(r.phone(text), "+"))
	case amountText.MatchString(text) && has(amountWords, key) && !person,
		epochText.MatchString(text) && has(timeWords, key) && !person,
		len(text) < 3:
		return json.Number(text)
	}
	return json.Number(r.same("number", text, "%d", 1000000))
}

// name is a key as it may be shown: one that is no plain name, or holds a long number, may be about somebody.
func (r *Redactor) name(key string) string {
	if !plainName.MatchString(key) || len(strings.Map(onlyDigits, key)) > 4 {
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
	case phoneText.MatchString(bare) && !timeText.MatchString(bare) && !dateText.MatchString(bare) &&
		(phoneKey.MatchString(key) || (strings.HasPrefix(bare, "+") || strings.HasPrefix(bare, "0")) && !has(amountWords, key)):
		return r.phone(bare)
	case dateText.MatchString(bare):
		return "2001-01-01" // the day of somebody's birth has many names
	case has(bornWords, key), has(bornWords, above):
		return r.same("text", bare, "text %d", 0)
	case timeText.MatchString(bare) && has(timeWords, key) && !has(personWords, key),
		amountText.MatchString(bare) && has(amountWords, key) && !has(personWords, key),
		isPlain(key, bare):
		return text
	case strings.EqualFold(bare, "true"), strings.EqualFold(bare, "false"), strings.EqualFold(bare, "yes"), strings.EqualFold(bare, "no"):
		return text
	case r.asked(key, bare):
		return text
	case strings.Contains(bare, ", "): // a list in one text, of which a rule may ask for some
		all := strings.Split(bare, ", ")
		for i, one := range all {
			all[i] = r.text(above, key, one)
		}
		return strings.Join(all, ", ")
	case strings.Map(onlyDigits, bare) == bare:
		return r.same("number", bare, "%d", 1000000)
	default:
		return r.same("text", bare, "text %d", 0)
	}
}

// asked reports whether a rule asks for a text. In a field that holds a name or a place it may be somebody's all the same.
func (r *Redactor) asked(key, text string) bool {
	return r.words[strings.ToLower(text)] && !has(privateWords, key) && !strings.EqualFold(key, "name")
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
var invented = map[string]string{"US": "+1212555%04d", "CA": "+1613555%04d", "FR": "+33639980%03d"}

// phone is an invented number of the same country where one is known, else of Britain. Spellings of one number end alike, and become one.
func (r *Redactor) phone(text string) string {
	digits := strings.Map(onlyDigits, text)
	end := digits[max(0, len(digits)-8):]
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
