package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Names of the figures that others are put in ratio to.
const (
	figT = "T  read 2 KB and discard"
	figJ = "J  HMAC and JSON into a struct"
	figO = "O  POSTs by net/http"
	figP = "P  GETs by net/http"
)

// baseConns is how many connections or workers the bases have.
const baseConns = 64

// A plainServer is a handler on a loopback port.
type plainServer struct {
	*http.Server
	addr   string
	served chan error
}

// listen takes a port that is free.
func listen(ctx context.Context) (net.Listener, error) {
	var lc net.ListenConfig
	return lc.Listen(ctx, "tcp", "127.0.0.1:0")
}

func serve(ctx context.Context, h http.Handler) (*plainServer, error) {
	l, err := listen(ctx)
	if err != nil {
		return nil, err
	}
	s := &plainServer{Server: &http.Server{Handler: h, ReadHeaderTimeout: patience}, addr: l.Addr().String(), served: make(chan error, 1)}
	go func() { s.served <- s.Serve(l) }()
	return s, nil
}

func (s *plainServer) close() error {
	err := s.Close()
	if e := <-s.served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}

func discard(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// A checkout has the fields of the webhook in its body.
type checkout struct {
	ID               int64           `json:"id"`
	Token            string          `json:"token"`
	CartToken        string          `json:"cart_token"`
	Email            string          `json:"email"`
	Gateway          *string         `json:"gateway"`
	AcceptsMarketing bool            `json:"buyer_accepts_marketing"`
	AcceptsSMS       bool            `json:"buyer_accepts_sms_marketing"`
	SMSPhone         *string         `json:"sms_marketing_phone"`
	CreatedAt        time.Time       `json:"created_at"`
	UpdatedAt        time.Time       `json:"updated_at"`
	LandingSite      string          `json:"landing_site"`
	Note             *string         `json:"note"`
	NoteAttributes   []string        `json:"note_attributes"`
	ReferringSite    string          `json:"referring_site"`
	ShippingLines    []string        `json:"shipping_lines"`
	TaxesIncluded    bool            `json:"taxes_included"`
	TotalWeight      int             `json:"total_weight"`
	Currency         string          `json:"currency"`
	ShownCurrency    string          `json:"presentment_currency"`
	CompletedAt      *time.Time      `json:"completed_at"`
	Phone            string          `json:"phone"`
	Locale           string          `json:"customer_locale"`
	LineItems        []checkoutItem  `json:"line_items"`
	Name             string          `json:"name"`
	AbandonedURL     string          `json:"abandoned_checkout_url"`
	DiscountCodes    []string        `json:"discount_codes"`
	TaxLines         []checkoutTax   `json:"tax_lines"`
	SourceName       string          `json:"source_name"`
	TotalDiscounts   string          `json:"total_discounts"`
	TotalLines       string          `json:"total_line_items_price"`
	TotalPrice       string          `json:"total_price"`
	TotalTax         string          `json:"total_tax"`
	SubtotalPrice    string          `json:"subtotal_price"`
	ShippingAddress  checkoutAddress `json:"shipping_address"`
	Customer         checkoutPerson  `json:"customer"`
}

type checkoutItem struct {
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
}

type checkoutTax struct {
	Price string  `json:"price"`
	Rate  float64 `json:"rate"`
	Title string  `json:"title"`
}

type checkoutAddress struct {
	FirstName   string  `json:"first_name"`
	LastName    string  `json:"last_name"`
	Address1    string  `json:"address1"`
	City        string  `json:"city"`
	Zip         string  `json:"zip"`
	Country     string  `json:"country"`
	CountryCode string  `json:"country_code"`
	Phone       *string `json:"phone"`
}

type checkoutPerson struct {
	ID          int64   `json:"id"`
	Email       string  `json:"email"`
	FirstName   string  `json:"first_name"`
	LastName    string  `json:"last_name"`
	OrdersCount int     `json:"orders_count"`
	State       string  `json:"state"`
	Tags        string  `json:"tags"`
	Currency    string  `json:"currency"`
	Phone       *string `json:"phone"`
}

// verifyAndDecode is what every receiver of signed webhooks does at the least, in the plain
// way of the standard library.
func verifyAndDecode(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	told, err := base64.StdEncoding.DecodeString(r.Header.Get("X-Shopify-Hmac-Sha256"))
	if err != nil {
		http.Error(w, "signature", http.StatusUnauthorized)
		return
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	if !hmac.Equal(told, mac.Sum(nil)) {
		http.Error(w, "signature", http.StatusUnauthorized)
		return
	}
	var c checkout
	if err := json.Unmarshal(body, &c); err != nil || c.Phone == "" {
		http.Error(w, "body", http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// volleySize is how many webhooks a bare handler is shown over and over.
const volleySize = 4096

// handlerContest measures a handler of our own under the webhook client.
func handlerContest(name string, h http.HandlerFunc, base string) *contest {
	return &contest{
		name: name, figures: []figure{{name: name, unit: "requests/s", base: base}},
		round: func(ctx context.Context, l *lab) (sample, error) {
			s := l.servers[name]
			if s == nil {
				var err error
				if s, err = serve(ctx, h); err != nil {
					return nil, err
				}
				l.servers[name] = s
			}
			v, err := l.webhooks.volley(volleySize)
			if err != nil {
				return nil, err
			}
			w, err := l.open(name)
			if err != nil {
				return nil, err
			}
			t, err := barrage{addr: s.addr, conns: baseConns, requests: v, again: true, duration: l.duration}.fire(ctx)
			rate, closing := w.close(t.answered)
			return sample{name: rate}, errors.Join(err, closing)
		},
	}
}

// sendBody is a template message as the sender posts it.
var sendBody = []byte(`{"phone":"447100000000","template":"cart_reminder","language":"en",` +
	`"variables":["Robin","Brass lantern, large","https://lantern-and-loom.example/60211/checkouts/ac/c1f8aa07e6b34d00000000/recover?key=9f4e21"]}`)

// clientContest measures what net/http's client and server do together when nobody does
// anything else: the ceiling of any sender that is built on them.
func clientContest(name string, request func(base string) (*http.Request, error)) *contest {
	return &contest{
		name: name, figures: []figure{{name: name, unit: "calls/s"}},
		round: func(ctx context.Context, l *lab) (sample, error) {
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: baseConns, MaxIdleConns: baseConns}}
			defer client.CloseIdleConnections()
			w, err := l.open(name)
			if err != nil {
				return nil, err
			}
			n, err := callAlong(ctx, l.duration, func(ctx context.Context) error {
				req, err := request(l.service.base())
				if err != nil {
					return err
				}
				resp, err := client.Do(req.WithContext(ctx))
				if err != nil {
					return err
				}
				_, err = io.Copy(io.Discard, resp.Body)
				if resp.StatusCode != http.StatusOK {
					err = errors.Join(err, fmt.Errorf("answered %s", resp.Status))
				}
				return errors.Join(err, resp.Body.Close())
			})
			rate, closing := w.close(n)
			return sample{name: rate}, errors.Join(err, closing)
		},
	}
}

// callAlong makes calls by baseConns workers until the duration is over.
func callAlong(ctx context.Context, d time.Duration, call func(context.Context) error) (n int, err error) {
	var all sync.WaitGroup
	var done atomic.Int64
	errs := make([]error, baseConns)
	began := time.Now()
	for i := range baseConns {
		all.Go(func() {
			for time.Since(began) < d {
				if errs[i] = call(ctx); errs[i] != nil {
					return
				}
				done.Add(1)
			}
		})
	}
	all.Wait()
	return int(done.Load()), errors.Join(errs...)
}

func postSend(base string) (*http.Request, error) {
	req, err := http.NewRequest(http.MethodPost, base+"/send-template", bytes.NewReader(sendBody)) //nolint:noctx // the caller adds one
	if err == nil {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+serviceKey)
	}
	return req, err
}

func getStatus(base string) (*http.Request, error) {
	req, err := http.NewRequest(http.MethodGet, base+"/message-status/1000000001", http.NoBody) //nolint:noctx // the caller adds one
	if err == nil {
		req.Header.Set("Authorization", "Bearer "+serviceKey)
	}
	return req, err
}
