package apiclient

import (
	"io"
	"log"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// quiet swallows what a test server would say about broken connections.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

func TestWords(t *testing.T) {
	tests := map[string]struct{ page, want string }{
		"an error field":                            {`{"error":"no such template"}`, "no such template"},
		"a message within an error":                 {`{"error":{"code":4,"message":"bad variable"}}`, "bad variable"},
		"a message field":                           {`{"success":false,"message":"bad phone"}`, "bad phone"},
		"a list of errors":                          {`{"errors":["first","second"]}`, "first"},
		"JSON without a known field is shown whole": {`{"code": 12}`, `{"code": 12}`},
		"a JSON string":                             {`"nope"`, "nope"},
		"plain text":                                {"  not today\n", "not today"},
		"the title of a page":                       {"<!doctype html><TITLE>502 Bad\n Gateway</TITLE><p>x", "502 Bad Gateway"},
		"a page without a title says nothing":       {"<html><p>x", ""},
		"control and invisible characters":          {"a\x00b\x1b[31mc\u200bd\te\u202ef", "ab[31mcd ef"},
		"the key":                                   {"key " + testKey + " is unknown", "key [key] is unknown"},
		"a phone":                                   {"447700900123 is blocked", "4477******23 is blocked"},
		"a phone with plus and separators":          {"+44 (7700) 900-123 is blocked", "+44 (77**) ***-*23 is blocked"},
		"a short phone loses every digit":           {"call 7009001 now", "call ******* now"},
		"a short phone before a number":             {"7009001 3 times", "******* * times"},
		"ids and amounts stay":                      {"template 1042 costs 0.40 of 123456 points", "template 1042 costs 0.40 of 123456 points"},
		"a text that is too long":                   {strings.Repeat("é", 400), strings.Repeat("é", 299) + "…"},
		"a text that just fits":                     {strings.Repeat("é", 300), strings.Repeat("é", 300)},
		"an empty answer":                           {"", ""},
		"bytes that are no text":                    {"a\xff\xfeb", "ab"},
	}
	c := &Client{key: testKey}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := c.words(&http.Response{StatusCode: 400}, []byte(tt.page))
			if got != tt.want {
				t.Errorf("words of %q\ngot  %q\nwant %q", tt.page, got, tt.want)
			}
		})
	}
}

func TestWordsNeverTellAPhone(t *testing.T) {
	c := &Client{key: testKey}
	rapid.Check(t, func(t *rapid.T) {
		phone := rapid.StringMatching(`[1-9][0-9]{6,14}`).Draw(t, "phone")
		before := rapid.String().Draw(t, "before")
		after := rapid.String().Draw(t, "after")
		got := c.words(&http.Response{StatusCode: 400}, []byte(before+phone+after))
		if strings.Contains(got, phone) {
			t.Errorf("%q tells the phone", got)
		}
		if n := utf8.RuneCountInString(got); n > maxWords || !utf8.ValidString(got) || strings.ContainsAny(got, "\n\r\x00") {
			t.Errorf("%q is no single line of at most %d characters", got, maxWords)
		}
	})
}

func FuzzWords(f *testing.F) {
	for _, s := range []string{`{"error":"x"}`, "<title>", "<TITLE>İ</title>", "12345678901", `{"errors":[{"detail":1}]}`} {
		f.Add([]byte(s))
	}
	c := &Client{key: testKey}
	f.Fuzz(func(t *testing.T, page []byte) {
		got := c.words(&http.Response{StatusCode: 400}, page)
		if n := utf8.RuneCountInString(got); n > maxWords || !utf8.ValidString(got) {
			t.Errorf("words %q", got)
		}
	})
}
