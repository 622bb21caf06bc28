package demo

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// A customer of the demo's shop. All are invented; the numbers are from the range that is
// kept for stories, and the service treats some last digits in ways of their own.
type customer struct {
	first, last, phone string
	tags               string
	silent             bool // does not accept marketing
}

type product struct {
	title string
	price string
}

var products = []product{
	{"Walking boots", "129.00"},
	{"Rain jacket", "89.50"},
	{"Trail socks", "12.00"},
	{"Down gilet", "75.00"},
	{"Headlamp", "34.90"},
	{"Two-person tent", "249.00"},
}

// A scene is one thing that a customer does.
type scene struct {
	after time.Duration
	who   customer
	what  string // cart, order, order-first, sign-up, stop, twice, forged
	item  product
	cart  string // joins the scenes of one cart
}

var (
	ada    = customer{first: "Ada", last: "Byrne", phone: "+447700900101"}
	ben    = customer{first: "Ben", last: "Okoro", phone: "+447700900102"}
	chloe  = customer{first: "Chloe", last: "Marsh", phone: "+447700900103"}
	dev    = customer{first: "Dev", last: "Patel", phone: "+447700900104", tags: "wholesale, north"}
	elin   = customer{first: "Elin", last: "Rhys", phone: "+447700900105"}
	farid  = customer{first: "Farid", last: "Nazari", phone: "+447700910000"} // …0000 is not on the network
	grace  = customer{first: "Grace", last: "{{ order.total }}", phone: "+447700900107"}
	hugo   = customer{first: "Hugo", last: "Lind", phone: "07700 900108", silent: true}
	ines   = customer{first: "Ines", last: "Duarte", phone: "+447700900109"}
	kit    = customer{first: "Kit", last: "Weber", phone: "+447700900110"}
	noor   = customer{first: "Noor", last: "Haddad"} // lives where it is night now
	script = []scene{
		{0, ada, "cart", products[0], "c1"},
		{1200 * time.Millisecond, ben, "cart", products[2], "c2"},
		{1200 * time.Millisecond, chloe, "cart", products[5], "c3"},
		{1500 * time.Millisecond, dev, "cart", products[1], "c4"},
		{1500 * time.Millisecond, chloe, "order", products[5], "c3"},
		{1200 * time.Millisecond, farid, "cart", products[1], "c5"},
		{1000 * time.Millisecond, noor, "cart", products[3], "c10"},
		{1000 * time.Millisecond, elin, "order-first", products[3], "c6"},
		{1200 * time.Millisecond, elin, "cart", products[3], "c6"},
		{1000 * time.Millisecond, ines, "sign-up", product{}, ""},
		{1200 * time.Millisecond, ada, "cart", products[3], "c11"},
		{1200 * time.Millisecond, kit, "sign-up", product{}, ""},
		{1200 * time.Millisecond, ada, "forged", products[0], "c7"},
		{1200 * time.Millisecond, kit, "stop", product{}, ""},
		{1200 * time.Millisecond, kit, "cart", products[5], "c12"},
		{1200 * time.Millisecond, grace, "cart", products[0], "c8"},
		{1200 * time.Millisecond, grace, "twice", products[0], "c8"},
		{1500 * time.Millisecond, hugo, "cart", products[5], "c9"},
	}
)

// A shop posts webhooks as Shopify does, signed with the connector's secret.
type shop struct {
	base, secret string
	told         *narrator
	far          place         // where noor lives
	last         *http.Request // for a delivery that comes twice
	lastBody     []byte
	orders       int
	carts        map[string]bool // whose there were
}

// open plays the script, then goes on with carts and orders until ctx is done.
func (s *shop) open(ctx context.Context) error {
	for n := 0; ; n++ {
		sc := s.scene(n)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(sc.after):
		}
		if err := s.play(ctx, sc); err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("the shop: %w", err)
		}
	}
}

// scene is the nth scene: the script's, then an endless round of carts, every third of them
// ordered before the reminder is due.
func (s *shop) scene(n int) scene {
	if n < len(script) {
		sc := script[n]
		if sc.who == noor {
			sc.who.phone = s.far.phone
		}
		return sc
	}
	n -= len(script)
	round, step := n/4, n%4
	who := customer{
		first: []string{"Ivy", "Jonas", "Kaya", "Liam", "Mona", "Nils", "Orla", "Pau"}[(3*round+step%3)%8],
		last:  "Demo", phone: fmt.Sprintf("+4477009%05d", 20002+round*10+step%3),
	}
	sc := scene{2 * time.Second, who, "cart", products[(round+step%3)%len(products)], fmt.Sprintf("r%d-%d", round, step%3)}
	if step == 3 {
		sc.what = "order"
	}
	return sc
}

func (s *shop) play(ctx context.Context, sc scene) error {
	name := sc.who.first
	switch sc.what {
	case "cart":
		if sc.who.phone == s.far.phone {
			name += " (it is " + s.far.clock(time.Now()) + " in " + s.far.name + ")"
		}
		s.told.shop("%s fills %s cart: %s, £%s", name, s.which(sc.who), sc.item.title, sc.item.price)
		return s.post(ctx, "checkouts/update", checkout(sc), false)
	case "order":
		s.told.shop("%s places the order", name)
		s.orders++
		return s.post(ctx, "orders/create", order(sc, s.orders), false)
	case "order-first":
		s.told.shop("%s orders at once; the order's webhook overtakes the cart's", name)
		s.orders++
		return s.post(ctx, "orders/create", order(sc, s.orders), false)
	case "sign-up":
		s.told.shop("%s signs up; a first message at once, a second in 6 s", name)
		return s.post(ctx, "customers/create", signUp(sc.who), false)
	case "stop":
		s.told.shop("%s writes back: STOP", name)
		return s.reply(ctx, sc.who, "STOP")
	case "twice":
		s.told.shop("the shop delivers %s's cart a second time", name)
		again := s.last.Clone(ctx)
		again.Body = http.NoBody
		return s.send(ctx, again, s.lastBody)
	case "forged":
		s.told.shop("somebody posts a cart with a forged signature")
		return s.post(ctx, "checkouts/update", checkout(sc), true)
	}
	return nil
}

func (s *shop) post(ctx context.Context, topic string, content map[string]any, forged bool) error {
	body, err := json.Marshal(content)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base+"/hooks/shopify", nil)
	if err != nil {
		return err
	}
	mac := hmac.New(sha256.New, []byte(s.secret))
	if forged {
		mac = hmac.New(sha256.New, []byte("a guess"))
	}
	mac.Write(body)
	for name, value := range map[string]string{
		"Content-Type": "application/json", "X-Shopify-Topic": topic, "X-Shopify-Webhook-Id": rand.Text(),
		"X-Shopify-Shop-Domain": "hillside-outdoor.example", "X-Shopify-Triggered-At": time.Now().UTC().Format(time.RFC3339Nano),
		"X-Shopify-Hmac-Sha256": base64.StdEncoding.EncodeToString(mac.Sum(nil)),
	} {
		req.Header.Set(name, value)
	}
	if !forged {
		s.last, s.lastBody = req, body
	}
	return s.send(ctx, req, body)
}

// which says how many carts somebody had.
func (s *shop) which(who customer) string {
	if s.carts == nil {
		s.carts = map[string]bool{}
	}
	if s.carts[who.phone] {
		return "another"
	}
	s.carts[who.phone] = true
	return "a"
}

// reply posts what a customer wrote, as the system does that takes the replies of this shop.
func (s *shop) reply(ctx context.Context, who customer, text string) error {
	body, err := json.Marshal(map[string]any{"event": "message.received", "event_id": rand.Text(), "phone": who.phone, "first_name": who.first, "text": text})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base+"/hooks/replies", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+s.secret)
	return s.send(ctx, req, body)
}

func (s *shop) send(ctx context.Context, req *http.Request, body []byte) error {
	res, err := http.DefaultClient.Do(withBody(ctx, req, body))
	if err != nil {
		return err
	}
	return res.Body.Close()
}

func withBody(ctx context.Context, req *http.Request, body []byte) *http.Request {
	r := req.Clone(ctx)
	r.Body = http.NoBody
	if len(body) > 0 {
		r.Body = readCloser{bytes.NewReader(body)}
		r.ContentLength = int64(len(body))
	}
	return r
}

type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }

// checkout is a body of Shopify's checkouts/update, with the fields that matter here.
func checkout(sc scene) map[string]any {
	now := time.Now().UTC().Format(time.RFC3339)
	return map[string]any{
		"token": sc.cart, "cart_token": "t-" + sc.cart, "email": "someone@example.com", "created_at": now, "updated_at": now,
		"currency": "GBP", "presentment_currency": "GBP", "total_price": sc.item.price, "buyer_accepts_sms_marketing": !sc.who.silent,
		"customer_locale": "en-GB", "phone": sc.who.phone, "completed_at": nil,
		"abandoned_checkout_url": "https://hillside-outdoor.example/checkouts/" + sc.cart + "/recover",
		"line_items":             []any{item(sc)},
		"customer":               person(sc.who),
		"shipping_address":       map[string]any{"country_code": "GB", "phone": sc.who.phone},
	}
}

// signUp is a body of Shopify's customers/create.
func signUp(c customer) map[string]any {
	now := time.Now().UTC().Format(time.RFC3339)
	out := person(c)
	out["id"], out["created_at"], out["updated_at"] = 7100000000000+int64(len(c.phone)), now, now
	return out
}

// order is a body of Shopify's orders/create.
func order(sc scene, number int) map[string]any {
	now := time.Now().UTC().Format(time.RFC3339)
	return map[string]any{
		"id": 820000000000000000 + int64(number), "name": fmt.Sprintf("#%d", 1000+number), "checkout_token": sc.cart, "cart_token": "t-" + sc.cart,
		"created_at": now, "updated_at": now, "currency": "GBP", "total_price": sc.item.price, "buyer_accepts_sms_marketing": !sc.who.silent,
		"customer_locale": "en-GB", "phone": sc.who.phone, "financial_status": "paid",
		"order_status_url": "https://hillside-outdoor.example/orders/" + sc.cart,
		"line_items":       []any{item(sc)}, "customer": person(sc.who),
		"shipping_address": map[string]any{"country_code": "GB", "phone": sc.who.phone},
	}
}

func item(sc scene) map[string]any {
	return map[string]any{"title": sc.item.title, "quantity": 1, "price": sc.item.price, "sku": "HO-1"}
}

func person(c customer) map[string]any {
	return map[string]any{"first_name": c.first, "last_name": c.last, "tags": c.tags, "phone": c.phone}
}
