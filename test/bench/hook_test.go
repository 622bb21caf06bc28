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

func posted(t *testing.T, request []byte) (*http.Request, []byte) {
	t.Helper()
	req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(request)))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		t.Fatal(err)
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	return req, body
}

func TestWebhooksAreSignedAndNoTwoAreAlike(t *testing.T) {
	h := newHook(time.Now())
	seen := map[string]bool{}
	for serial := int64(1); serial <= 99_999_999; serial = serial*3 + 1 {
		req, body := posted(t, h.request(serial))
		if len(body) < 1900 || len(body) > 2300 {
			t.Fatalf("the body has %d bytes, want about 2 KB", len(body))
		}
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
		if got, ok := serialOf(c.Phone[1:]); !ok || got != serial {
			t.Errorf("serial of %s is %d, want %d", c.Phone, got, serial)
		}
	}
}

func TestAForgedWebhookIsRejectedByTheBase(t *testing.T) {
	forged := bytes.Replace(newHook(time.Now()).request(1), []byte("Robin"), []byte("Rohin"), 1)
	req, _ := posted(t, forged)
	answer := httptest.NewRecorder()
	verifyAndDecode(answer, req)
	if answer.Code != http.StatusUnauthorized {
		t.Errorf("answered %d, want 401", answer.Code)
	}
}
