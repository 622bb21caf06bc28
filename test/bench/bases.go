package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Names of the figures that others are put in ratio to.
const (
	figJ = "J  HMAC and JSON into a struct"
	figO = "O  POSTs by net/http"
	figP = "P  GETs by net/http"
)

// conns is how many connections the bases have, and how many calls the daemon may have under way.
const conns = 64

// A checkout has the fields of the webhook in its body.
type checkout struct {
	ID               int64      `json:"id"`
	Token            string     `json:"token"`
	CartToken        string     `json:"cart_token"`
	Email            string     `json:"email"`
	Gateway          *string    `json:"gateway"`
	AcceptsMarketing bool       `json:"buyer_accepts_marketing"`
	AcceptsSMS       bool       `json:"buyer_accepts_sms_marketing"`
	SMSPhone         *string    `json:"sms_marketing_phone"`
	CreatedAt        time.Time  `json:"created_at"`
	UpdatedAt        time.Time  `json:"updated_at"`
	LandingSite      string     `json:"landing_site"`
	Note             *string    `json:"note"`
	NoteAttributes   []string   `json:"note_attributes"`
	ReferringSite    string     `json:"referring_site"`
	ShippingLines    []string   `json:"shipping_lines"`
	TaxesIncluded    bool       `json:"taxes_included"`
	TotalWeight      int        `json:"total_weight"`
	Currency         string     `json:"currency"`
	ShownCurrency    string     `json:"presentment_currency"`
	CompletedAt      *time.Time `json:"completed_at"`
	Phone            string     `json:"phone"`
	Locale           string     `json:"customer_locale"`
	LineItems        []struct {
		Key              string `json:"key"`
		Fulfillment      string `json:"fulfillment_service"`
		GiftCard         bool   `json:"gift_card"`
		Grams            int    `json:"grams"`
		PresentmentTitle string `json:"presentment_title"`
		ProductID        int64  `json:"product_id"`
		Quantity         int    `json:"quantity"`
		RequiresShipping bool   `json:"requires_shipping"`
		SKU              string `json:"sku"`
		Taxable          bool   `json:"taxable"`
		Title            string `json:"title"`
		VariantID        int64  `json:"variant_id"`
		VariantTitle     string `json:"variant_title"`
		Vendor           string `json:"vendor"`
		Price            string `json:"price"`
		LinePrice        string `json:"line_price"`
	} `json:"line_items"`
	Name          string   `json:"name"`
	AbandonedURL  string   `json:"abandoned_checkout_url"`
	DiscountCodes []string `json:"discount_codes"`
	TaxLines      []struct {
		Price string  `json:"price"`
		Rate  float64 `json:"rate"`
		Title string  `json:"title"`
	} `json:"tax_lines"`
	SourceName      string `json:"source_name"`
	TotalDiscounts  string `json:"total_discounts"`
	TotalLines      string `json:"total_line_items_price"`
	TotalPrice      string `json:"total_price"`
	TotalTax        string `json:"total_tax"`
	SubtotalPrice   string `json:"subtotal_price"`
	ShippingAddress struct {
		FirstName   string  `json:"first_name"`
		LastName    string  `json:"last_name"`
		Address1    string  `json:"address1"`
		City        string  `json:"city"`
		Zip         string  `json:"zip"`
		Country     string  `json:"country"`
		CountryCode string  `json:"country_code"`
		Phone       *string `json:"phone"`
	} `json:"shipping_address"`
	Customer struct {
		ID          int64   `json:"id"`
		Email       string  `json:"email"`
		FirstName   string  `json:"first_name"`
		LastName    string  `json:"last_name"`
		OrdersCount int     `json:"orders_count"`
		State       string  `json:"state"`
		Tags        string  `json:"tags"`
		Currency    string  `json:"currency"`
		Phone       *string `json:"phone"`
	} `json:"customer"`
}

// verifyAndDecode is what every receiver of signed webhooks does at the least, in the plain
// way of the standard library.
func verifyAndDecode(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	signature, err := base64.StdEncoding.DecodeString(r.Header.Get("X-Shopify-Hmac-Sha256"))
	if err != nil || !hmac.Equal(signature, mac.Sum(nil)) {
		http.Error(w, "signature", http.StatusUnauthorized)
		return
	}
	var c checkout
	if err := json.Unmarshal(body, &c); err != nil || c.Phone == "" {
		http.Error(w, "body", http.StatusBadRequest)
	}
}

// handlerContest measures a bare receiver of webhooks.
func handlerContest() *contest {
	return &contest{
		figures: []figure{{name: figJ, unit: "requests/s"}},
		measure: func(ctx context.Context, l *lab, _ string) ([]reading, error) {
			s := httptest.NewServer(http.HandlerFunc(verifyAndDecode))
			defer s.Close()
			t, err := l.post(ctx, load{addrs: []string{s.Listener.Addr().String()}, conns: conns, duration: l.duration})
			return []reading{t.reading()}, err
		},
	}
}

// sendBody is a template message as the sender posts it.
const sendBody = `{"phone":"447100000000","template":"cart_reminder","language":"en",` +
	`"variables":["Robin","Brass lantern, large","https://lantern-and-loom.example/60211/checkouts/ac/c1f8aa07e6b34d00000000/recover?key=9f4e21"]}`

// clientContest measures what net/http's client and server do together when nobody does
// anything else: the ceiling of any sender that is built on them.
func clientContest(name, method, path, body string) *contest {
	return &contest{
		figures: []figure{{name: name, unit: "calls/s"}},
		measure: func(ctx context.Context, l *lab, _ string) ([]reading, error) {
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: conns, MaxIdleConns: conns}}
			defer client.CloseIdleConnections()
			var all sync.WaitGroup
			var calls atomic.Int64
			errs := make([]error, conns)
			began := time.Now()
			for i := range conns {
				all.Go(func() {
					for errs[i] == nil && time.Since(began) < l.duration {
						errs[i] = call(ctx, client, method, l.service.base()+path, body)
						calls.Add(1)
					}
				})
			}
			all.Wait()
			return []reading{{value: float64(calls.Load()) / time.Since(began).Seconds()}}, errors.Join(errs...)
		},
	}
}

func call(ctx context.Context, client *http.Client, method, url, body string) error {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+serviceKey)
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %s", resp.Status)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
