package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func TestWebhooksAreSignedAndNoTwoAreAlike(t *testing.T) {
	h := newWebhooks(time.Now())
	t.Cleanup(func() { h.close() })
	seen := map[string]bool{}
	for range 2 { // the second volley goes on where the first one ended
		v, err := h.volley(50)
		if err != nil {
			t.Fatal(err)
		}
		for i := range v.len() {
			req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(v.at(i))))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(req.Body)
			if err != nil {
				t.Fatal(err)
			}
			if len(body) < 1900 || len(body) > 2300 {
				t.Fatalf("the body has %d bytes, want about 2 KB", len(body))
			}
			req.Body = io.NopCloser(bytes.NewReader(body))
			answer := httptest.NewRecorder()
			verifyAndDecode(answer, req)
			if answer.Code != http.StatusOK {
				t.Fatalf("answered %d %s", answer.Code, answer.Body)
			}
			var c checkout
			strict := json.NewDecoder(bytes.NewReader(body))
			strict.DisallowUnknownFields()
			if err := strict.Decode(&c); err != nil {
				t.Fatalf("the struct of J does not hold the whole webhook: %v", err)
			}
			for _, once := range []string{c.Phone, c.Token, req.Header.Get("X-Shopify-Webhook-Id")} {
				if seen[once] {
					t.Fatalf("%s came twice", once)
				}
				seen[once] = true
			}
			serial, ok := serialOf([]byte(c.Phone[1:]))
			if !ok || serial != v.first+i {
				t.Errorf("serial of %s is %d, want %d", c.Phone, serial, v.first+i)
			}
		}
	}
}

func TestAForgedWebhookIsRefusedByTheBase(t *testing.T) {
	h := newWebhooks(time.Now())
	t.Cleanup(func() { h.close() })
	v, err := h.volley(1)
	if err != nil {
		t.Fatal(err)
	}
	forged := bytes.Replace(v.at(0), []byte("Robin"), []byte("Rohin"), 1)
	req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(forged)))
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	verifyAndDecode(answer, req)
	if answer.Code != http.StatusUnauthorized {
		t.Errorf("answered %d, want 401", answer.Code)
	}
}
