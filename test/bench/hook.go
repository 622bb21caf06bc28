package main

import (
	"crypto/hmac"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"hash"
	"regexp"
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

	serialMark = "@SERIAL@"                                     // a serial takes its place: as many digits
	signMark   = "@SIGNATURE-OF-THE-BODY-AND-IT-IS-44-LONG-OK@" // as long as base64 of a SHA-256
)

// webhookFile is a checkout that was not finished, as a shop posts it, with invented values.
//
//go:embed webhook.http
var webhookFile string

// A hook makes signed requests, one at a time, in memory of its own.
type hook struct {
	bytes   []byte // a whole request
	body    int    // where its body begins
	serials []int  // where the serial is
	sign    int    // where the signature is
	mac     hash.Hash
}

func newHook(now time.Time) *hook {
	clock := now.UTC().Format(time.RFC3339)
	head, body, _ := strings.Cut(strings.ReplaceAll(webhookFile, "@NOW@", clock), "\n\n")
	head = strings.NewReplacer("\n", "\r\n", "@LENGTH@", strconv.Itoa(len(body))).Replace(head + "\n\n")
	h := &hook{bytes: []byte(head + body), body: len(head), sign: strings.Index(head, signMark), mac: hmac.New(sha256.New, []byte(secret))}
	for _, at := range regexp.MustCompile(serialMark).FindAllIndex(h.bytes, -1) {
		h.serials = append(h.serials, at[0])
	}
	return h
}

// request is the request with this serial, up to 99,999,999: no two are about the same cart, phone
// or delivery. It is good until the next call.
func (h *hook) request(serial int64) []byte {
	var digits [len(serialMark)]byte
	for i := len(digits) - 1; i >= 0; i, serial = i-1, serial/10 {
		digits[i] = byte('0' + serial%10)
	}
	for _, at := range h.serials {
		copy(h.bytes[at:], digits[:])
	}
	h.mac.Reset()
	h.mac.Write(h.bytes[h.body:])
	var sum [sha256.Size]byte
	base64.StdEncoding.Encode(h.bytes[h.sign:], h.mac.Sum(sum[:0]))
	return h.bytes
}

// serialOf reads the serial out of a phone in a call to the messaging service.
func serialOf(phone string) (serial int64, ok bool) {
	digits, ok := strings.CutPrefix(phone, phoneHead)
	serial, err := strconv.ParseInt(digits, 10, 64)
	return serial, ok && err == nil
}
