package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// A plan is what one customer does.
type plan int

const (
	leaves        plan = iota // fills a cart and is reminded
	orders                    // orders some time after the cart, perhaps before the reminder
	ordersFirst               // the order's webhook overtakes the cart's
	ordersAtOnce              // both are posted at the same time
	ordersMidCall             // orders while the call of the reminder is under way
	repeats                   // the shop posts the cart several times at once
	changes                   // changes the cart some time later
	writes                    // writes something some time after the cart
	stops                     // writes STOP some time after the cart
	returns                   // writes STOP, START a few seconds later, and then orders
)

// plans in the shares in which customers come.
var plans = []plan{
	leaves, leaves, leaves, orders, orders, ordersFirst, ordersAtOnce, ordersMidCall, ordersMidCall, repeats,
	leaves, leaves, changes, changes, writes, stops, stops, returns,
}

// A customer is one phone with one cart, perhaps changed, at most one order, and what its owner writes. The times are those of the
// shop's clock, which is the service's, too; zero is never.
type customer struct {
	number   int
	plan     plan
	cart     posted
	order    posted
	changed  posted
	written  posted   // anything, or STOP
	start    posted   // START
	refusals []string // answers that no shop repeats
}

// posted is a webhook that was repeated until it was answered 2xx.
type posted struct{ begun, answered time.Time }

func (c *customer) phone() string { return fmt.Sprintf("4477%08d", 10_000_005+c.number*10) }
func (c *customer) name() string  { return fmt.Sprintf("c%d", c.number) }

// east reports whether the customer's shop is the one in the east.
func (c *customer) east() bool { return c.number%3 == 0 }

// price of the cart: three of eight are worth a sequence and extra, one of them an offer, too.
func (c *customer) price() string {
	switch c.number % 8 {
	case 0:
		return "229.00"
	case 4, 5:
		return "129.00"
	}
	return "29.00"
}

func (c *customer) wantsSequence() bool { return c.price() != "29.00" }

// saidStop is when the customer wrote STOP; a zero time for never.
func (c *customer) saidStop() posted {
	if c.plan == stops || c.plan == returns {
		return c.written
	}
	return posted{}
}

// webhooks are those that the customer caused, by dedupe key.
func (c *customer) webhooks() map[string]posted {
	return map[string]posted{
		"cart-" + c.name(): c.cart, "order-" + c.name(): c.order, "changed-" + c.name(): c.changed,
		"written-" + c.name(): c.written, "start-" + c.name(): c.start,
	}
}

// A shop posts webhooks as Shopify does, and again until they are answered 2xx.
type shop struct {
	hooks   []string // of each daemon
	secret  string
	seed    uint64
	rate    float64
	arrived func(phone string) <-chan struct{} // see service.arrived
	client  *http.Client

	mu        sync.Mutex
	customers []*customer
	answered  map[string]bool // webhooks by dedupe key
	slowest   time.Duration   // answer to a webhook, of whatever status
}

func newShop(hooks []string, secret string, seed uint64, rate float64, arrived func(string) <-chan struct{}) *shop {
	return &shop{
		hooks: hooks, secret: secret, seed: seed, rate: rate, arrived: arrived, answered: map[string]bool{},
		client: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
}

// open lets customers in until the shop closes, and returns when the last one has gone: every
// webhook that was begun is posted until it is answered, or until ctx is done.
func (s *shop) open(ctx context.Context, closes <-chan struct{}) {
	var inside sync.WaitGroup
	defer s.client.CloseIdleConnections()
	defer inside.Wait()
	every := time.NewTicker(time.Duration(float64(time.Second) / s.rate))
	defer every.Stop()
	for number := 0; ; number++ {
		select {
		case <-ctx.Done():
			return
		case <-closes:
			return
		case <-every.C:
		}
		dice := rand.New(rand.NewPCG(s.seed, uint64(number)+2))
		c := &customer{number: number, plan: plans[dice.IntN(len(plans))]}
		s.mu.Lock()
		s.customers = append(s.customers, c)
		s.mu.Unlock()
		inside.Go(func() { s.visit(ctx, c, dice) })
	}
}

// visit does what c planned.
func (s *shop) visit(ctx context.Context, c *customer, dice *rand.Rand) {
	cart := func() { s.post(ctx, c, &c.cart, "checkouts/update", "cart-", checkout(c)) }
	order := func() { s.post(ctx, c, &c.order, "orders/create", "order-", orderOf(c)) }
	someTime := func() { rest(ctx, time.Duration(dice.Int64N(int64(3*reminderWait)))) }
	switch c.plan {
	case leaves:
		cart()
	case orders:
		cart()
		someTime()
		order()
	case ordersFirst:
		order()
		cart()
	case ordersAtOnce:
		var both sync.WaitGroup
		both.Go(cart)
		both.Go(order)
		both.Wait()
	case ordersMidCall:
		called := s.arrived(c.phone())
		cart()
		select {
		case <-called:
		case <-ctx.Done():
		case <-time.After(10 * reminderWait):
		}
		order()
	case changes:
		cart()
		someTime()
		s.post(ctx, c, &c.changed, "checkouts/update", "changed-", checkout(c, "laces"))
	case writes, stops, returns:
		cart()
		someTime()
		words := "is it in blue, too?"
		if c.plan != writes {
			words = "STOP"
		}
		s.write(ctx, c, &c.written, "written-", words)
		if c.plan == returns {
			rest(ctx, 2*grace)
			s.write(ctx, c, &c.start, "start-", "Start!")
			order()
		}
	case repeats:
		var all sync.WaitGroup
		for range 3 {
			again := *c // each keeps times of its own; the first answer counts
			all.Go(func() { s.post(ctx, c, &again.cart, "checkouts/update", "cart-", checkout(c)) })
		}
		cart()
		all.Wait()
	}
}

// post posts one webhook as Shopify does.
func (s *shop) post(ctx context.Context, c *customer, p *posted, topic, delivery string, content map[string]any) {
	body := encode(content)
	mac := hmac.New(sha256.New, []byte(s.secret))
	mac.Write(body)
	path := "shopify"
	if c.east() {
		path = "east"
	}
	s.repeat(ctx, c, p, delivery+c.name(), path, body, map[string]string{
		"X-Shopify-Topic": topic, "X-Shopify-Webhook-Id": delivery + c.name(),
		"X-Shopify-Hmac-Sha256": base64.StdEncoding.EncodeToString(mac.Sum(nil)),
	})
}

// write posts what the customer wrote back.
func (s *shop) write(ctx context.Context, c *customer, p *posted, delivery, text string) {
	body := encode(map[string]any{
		"type": "message.received", "id": delivery + c.name(), "phone": "+" + c.phone(), "text": text, "at": time.Now().UTC().Format(time.RFC3339Nano),
	})
	s.repeat(ctx, c, p, delivery+c.name(), "replies", body, map[string]string{"X-Token": s.secret})
}

func encode(content map[string]any) []byte {
	body, err := json.Marshal(content)
	if err != nil {
		panic(err) // maps of texts and numbers
	}
	return body
}

// rest waits for a while, or until ctx is done.
func rest(ctx context.Context, while time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(while):
	}
}

// repeat posts one webhook until it is answered 2xx, or until ctx is done.
func (s *shop) repeat(ctx context.Context, c *customer, p *posted, key, path string, body []byte, header map[string]string) {
	p.begun = time.Now()
	for try := rand.IntN(len(s.hooks)); ctx.Err() == nil; try++ { // as a load balancer does, which passes over who does not answer
		asked := time.Now()
		status, answer, err := s.once(ctx, s.hooks[try%len(s.hooks)], path, body, header)
		if err == nil {
			s.took(time.Since(asked))
		}
		if err == nil && status/100 == 2 {
			p.answered = time.Now()
			s.mu.Lock()
			s.answered[key] = true
			s.mu.Unlock()
			return
		}
		if err == nil && status != http.StatusServiceUnavailable && status != http.StatusTooManyRequests {
			s.mu.Lock()
			c.refusals = append(c.refusals, fmt.Sprintf("a webhook of %s was answered %d %s", path, status, answer))
			s.mu.Unlock()
			return
		}
		rest(ctx, 200*time.Millisecond)
	}
}

func (s *shop) once(ctx context.Context, base, path string, body []byte, header map[string]string) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/hooks/"+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range header {
		req.Header.Set(name, value)
	}
	res, err := s.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(res.Body, 300))
	return res.StatusCode, answer, err
}

func (s *shop) took(answer time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slowest = max(s.slowest, answer)
}

// patience is how long after the answer to an order, a block or a halt a request may still arrive that was on its way: grace, and more where
// the machine has shown itself slow. An answer to a webhook is one commit; from the last look at a message to its arrival are as many steps.
func (s *shop) patience() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return grace + 3*s.slowest
}

// all is everybody who came.
func (s *shop) all() []*customer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*customer(nil), s.customers...)
}

// answers is how many webhooks were answered 2xx, repeats counted once.
func (s *shop) answers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.answered)
}

// checkout is the cart, with what was added to it.
func checkout(c *customer, added ...string) map[string]any {
	items := []any{map[string]any{"title": "Walking boots", "quantity": 1, "price": c.price()}}
	for _, title := range added {
		items = append(items, map[string]any{"title": title, "quantity": 1, "price": "0.00"})
	}
	return map[string]any{
		"token": c.name(), "cart_token": "t-" + c.name(), "currency": "GBP", "total_price": c.price(),
		"buyer_accepts_marketing": true, "buyer_accepts_sms_marketing": true, "phone": "+" + c.phone(), "customer_locale": "en-GB",
		"line_items": items,
	}
}

func orderOf(c *customer) map[string]any {
	return map[string]any{
		"id": 820_000_000 + c.number, "checkout_token": c.name(), "cart_token": "t-" + c.name(), "currency": "GBP", "total_price": "129.00",
		"phone": "+" + c.phone(), "customer_locale": "en-GB",
		"line_items": []any{map[string]any{"title": "Walking boots", "quantity": 1, "price": "129.00"}},
	}
}

// newList is the list of the nth campaign: its phones are nobody's who shops.
func newList(n int) []byte {
	var b bytes.Buffer
	b.WriteString("phone,name\n")
	for i := range 400 {
		fmt.Fprintf(&b, "+4474%08d,Reader %d of %d\n", 10_000_005+i*10, i, n)
	}
	return b.Bytes()
}
