package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"hash"
	"strconv"
	"strings"
	"time"
)

const (
	// secret signs every webhook of a run.
	secret = "bench-webhook-secret" //nolint:gosec // of nobody: the program talks to itself

	// phoneHead begins every phone. With the digits of a serial behind it, it is a British
	// mobile number of a range that nobody is given.
	phoneHead = "4471"

	serialMark = "@SERIAL@" // a serial takes its place: as many digits
	signMark   = "@SIGNATURE-OF-THE-BODY-AND-IT-IS-44-LONG-OK@"
	signSize   = len(signMark) // base64 of a SHA-256
)

// hookHead is what a shop sends before the body, with the headers of the real sender.
const hookHead = "POST /hooks/shopify HTTP/1.1\r\n" +
	"Host: 127.0.0.1\r\n" +
	"User-Agent: Shopify-Captain-Hook\r\n" +
	"Content-Length: @LENGTH@\r\n" +
	"Accept: */*\r\n" +
	"Accept-Encoding: gzip;q=1.0,deflate;q=0.6,identity;q=0.3\r\n" +
	"Content-Type: application/json\r\n" +
	"X-Shopify-Topic: checkouts/update\r\n" +
	"X-Shopify-Shop-Domain: lantern-and-loom.example\r\n" +
	"X-Shopify-Api-Version: 2026-10\r\n" +
	"X-Shopify-Webhook-Id: 6b1f0e52-7d4c-4c1e-9a37-0000" + serialMark + "\r\n" +
	"X-Shopify-Event-Id: 0d7a4c11-52be-4e0f-8f61-0000" + serialMark + "\r\n" +
	"X-Shopify-Triggered-At: @NOW@\r\n" +
	"X-Shopify-Hmac-Sha256: " + signMark + "\r\n" +
	"\r\n"

// hookBody is a checkout that was not finished, in the sender's shape, with invented values.
const hookBody = `{"id":7310@SERIAL@,"token":"c1f8aa07e6b34d@SERIAL@","cart_token":"Z2NwLXVzLWVhc3Q@SERIAL@",` +
	`"email":"robin.@SERIAL@@mail.example","gateway":null,"buyer_accepts_marketing":true,"buyer_accepts_sms_marketing":true,` +
	`"sms_marketing_phone":null,"created_at":"@NOW@","updated_at":"@NOW@","landing_site":"/products/brass-lantern",` +
	`"note":null,"note_attributes":[],"referring_site":"","shipping_lines":[],"taxes_included":true,"total_weight":2140,` +
	`"currency":"GBP","presentment_currency":"GBP","completed_at":null,"phone":"+` + phoneHead + `@SERIAL@","customer_locale":"en-GB",` +
	`"line_items":[{"key":"a41c0b7d","fulfillment_service":"manual","gift_card":false,"grams":1450,"presentment_title":"Brass lantern, large",` +
	`"product_id":814402917733,"quantity":1,"requires_shipping":true,"sku":"LAN-BR-L","taxable":true,"title":"Brass lantern, large",` +
	`"variant_id":402217781390,"variant_title":"Antique","vendor":"Lantern & Loom","price":"64.00","line_price":"64.00"},` +
	`{"key":"77d0e9f2","fulfillment_service":"manual","gift_card":false,"grams":690,"presentment_title":"Wool throw",` +
	`"product_id":814402918820,"quantity":2,"requires_shipping":true,"sku":"THR-WO-2","taxable":true,"title":"Wool throw",` +
	`"variant_id":402217782455,"variant_title":"Moss","vendor":"Lantern & Loom","price":"42.50","line_price":"85.00"}],` +
	`"name":"#7310@SERIAL@","abandoned_checkout_url":"https://lantern-and-loom.example/60211/checkouts/ac/c1f8aa07e6b34d@SERIAL@/recover?key=9f4e21",` +
	`"discount_codes":[],"tax_lines":[{"price":"24.83","rate":0.2,"title":"VAT"}],"source_name":"web",` +
	`"total_discounts":"0.00","total_line_items_price":"149.00","total_price":"149.00","total_tax":"24.83","subtotal_price":"149.00",` +
	`"shipping_address":{"first_name":"Robin","last_name":"Ashdown","address1":"14 Mill Lane","city":"Leeds","zip":"LS1 0AA",` +
	`"country":"United Kingdom","country_code":"GB","phone":null},` +
	`"customer":{"id":6120@SERIAL@,"email":"robin.@SERIAL@@mail.example","first_name":"Robin","last_name":"Ashdown","orders_count":1,` +
	`"state":"enabled","tags":"newsletter, returning","currency":"GBP","phone":null}}`

// webhooks makes signed requests, no two of them about the same cart, phone or delivery.
type webhooks struct {
	pattern []byte // a whole request with marks for what differs
	body    int    // where its body begins
	serials []int  // where the serial stands
	sign    int    // where the signature stands
	mac     hash.Hash
	arena   []byte
	next    int // serial of the next request
}

func newWebhooks(now time.Time) *webhooks {
	clock := now.UTC().Format("2006-01-02T15:04:05Z")
	body := strings.ReplaceAll(hookBody, "@NOW@", clock)
	head := strings.NewReplacer("@NOW@", clock, "@LENGTH@", strconv.Itoa(len(body))).Replace(hookHead)
	h := &webhooks{
		pattern: []byte(head + body), body: len(head), sign: strings.Index(head, signMark),
		mac: hmac.New(sha256.New, []byte(secret)),
	}
	for at := 0; ; {
		i := bytes.Index(h.pattern[at:], []byte(serialMark))
		if i < 0 {
			return h
		}
		h.serials = append(h.serials, at+i)
		at += i + len(serialMark)
	}
}

func (h *webhooks) close() error { return freeArena(h.arena) }

// A volley is a row of requests of the same size.
type volley struct {
	all   []byte
	size  int // of one request
	first int // serial of the first one
}

func (v *volley) len() int        { return len(v.all) / v.size }
func (v *volley) at(i int) []byte { return v.all[i*v.size : (i+1)*v.size : (i+1)*v.size] }

var errSerials = errors.New("no fresh phones are left in this run: ask for fewer or shorter rounds")

// volley makes n fresh requests. They are good until the next volley, whose memory is theirs.
func (h *webhooks) volley(n int) (*volley, error) {
	size := len(h.pattern)
	if len(h.arena) < n*size {
		if err := h.close(); err != nil {
			return nil, err
		}
		h.arena = nil
		arena, err := newArena(n * size)
		if err != nil {
			return nil, err
		}
		h.arena = arena
	}
	if h.next+n > 1e8 { // serials of eight digits
		return nil, errSerials
	}
	v := &volley{all: h.arena[:n*size], size: size, first: h.next}
	for i := range n {
		h.fill(v.at(i), h.next)
		h.next++
	}
	return v, nil
}

func (h *webhooks) fill(request []byte, serial int) {
	copy(request, h.pattern)
	var digits [len(serialMark)]byte
	for i, rest := len(digits)-1, serial; i >= 0; i, rest = i-1, rest/10 {
		digits[i] = byte('0' + rest%10)
	}
	for _, at := range h.serials {
		copy(request[at:], digits[:])
	}
	h.mac.Reset()
	h.mac.Write(request[h.body:])
	var sum [sha256.Size]byte
	base64.StdEncoding.Encode(request[h.sign:h.sign+signSize], h.mac.Sum(sum[:0]))
}

// serialOf reads the serial out of a phone, as the messaging service is told it.
func serialOf(phone []byte) (serial int, ok bool) {
	digits, ok := bytes.CutPrefix(phone, []byte(phoneHead))
	if !ok || len(digits) != len(serialMark) {
		return 0, false
	}
	serial, err := strconv.Atoi(string(digits))
	return serial, err == nil
}
