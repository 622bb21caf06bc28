package drift

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/config"
)

const shopConfig = `
api: {base_url: https://api.example.com/api/v1, key: "${KEY}"}
defaults: {country: GB, language: en}
connectors:
  shop:
    verify: {kind: token, from: bearer, secret: "${SECRET}"}
    event: {type: type, id: id, time: at}
    map:
      phone: customer.phone
      first_name: [customer.given, customer.nick]
      contact.name: "{customer.given} {customer.family}"
      email: customer.mail
      consent: {path: customer.optin, says: given}
      order.id: order.id
      order.total: order.total | money
      order.url: order.link
      order.items: {each: lines, title: [label, name], price: cost}
triggers:
  thanks:
    on: shop.order.created
    if: ['order.total >= 10', 'raw.meta.channel == "web"']
    category: utility
    send: {template: thanks, language: en, variables: ['{{ customer.first_name | default: "there" }}', '{{ order.items[0].title | default: "it" }}']}
  stop: {on: shop.cart.created, cancel_on: shop.order.created, wait: 1h, send: {template: stop, language: en}}
`

// readsOf are what a config reads in the events of a kind.
func readsOf(t *testing.T, text, connector, kind string) []Read {
	t.Helper()
	cfg, problems := config.Parse("config.yaml", []byte(text), func(name string) (string, bool) { return "0123456789abcdef-" + name, true })
	if problems.Errors() > 0 {
		t.Fatal(problems)
	}
	return ReadsOf(cfg.Receivers[connector], cfg.Triggers, kind)
}

// viewed is what is told of a kind after events, a line for each view, and the YAML once.
func viewed(t *testing.T, reads []Read, events ...string) string {
	t.Helper()
	var c Counts
	counted(&c, events...)
	k := kindFound{eventKind: eventKind{"shop", "order.created"}, events: c.Events}
	if k.Found = Judge(c); len(k.Found) > 0 {
		k.Now = c.now()
	}
	all := k.views(reads, noon.Add(time.Hour))
	sortViews(all)
	var out []string
	mended := ""
	for _, v := range all {
		line := fmt.Sprintf("%s %s by %s", v.What, v.Path, strings.Join(v.ReadBy, ", "))
		if v.Todo {
			line = "todo " + line
			mended = "\n" + strings.Join(append([]string{v.YAML}, v.Edits...), "\n")
		}
		if v.Instead != "" {
			line += "; instead " + v.Instead
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n") + mended
}

const usual = "type:text id:text at:text customer:object customer.phone:text customer.given:text customer.family:text customer.nick:text customer.mail:text customer.optin:boolean order:object order.id:text order.total:text order.link:text lines:list lines[]:object lines[].label:text lines[].cost:number meta:object meta.channel:text"

func TestWhatIsToBeDone(t *testing.T) {
	reads := readsOf(t, shopConfig, "shop", "order.created")
	in := "connectors: {shop: {map_for: {order.created: {"
	for name, c := range map[string]struct{ was, is, want string }{
		"nothing": {"", "", ""},
		"the phone is called another": {
			"customer.phone:text", "customer.mobile:text", "todo gone customer.phone by contact.phone, trigger thanks\nnew customer.mobile by \n" + in + "phone: [customer.mobile, customer.phone]}}}}",
		},
		"the phone is nowhere":     {"customer.phone:text", "", "todo gone customer.phone by contact.phone, trigger thanks\n" + in + "phone: [PATH, customer.phone]}}}}"},
		"the phone is null":        {"customer.phone:text", "customer.phone:null", "todo gone customer.phone by contact.phone, trigger thanks\n" + in + "phone: [PATH, customer.phone]}}}}"},
		"a name that another has":  {"customer.given:text", "", "gone customer.given by contact.name, contact.first_name, trigger thanks; instead customer.nick"},
		"what no trigger reads":    {"order.link:text", "order.href:text", "gone order.link by order.url\nnew order.href by "},
		"what nobody reads":        {"customer.mail:text", "", "gone customer.mail by contact.email"},
		"consent, which is always": {"customer.optin:boolean", "customer.accepts:boolean", "todo gone customer.optin by contact.accepts_marketing\nnew customer.accepts by \n" + in + "contact.accepts_marketing: customer.accepts}}}}"},
		"a number is a text":       {"order.total:text", "order.total:number", "changed order.total by order.total, trigger thanks"},
		"an amount is an object": {
			"order.total:text", "order.total:object order.total.value:text order.total.currency:text",
			"todo changed order.total by order.total, trigger thanks\n" + in + "order.total: ['order.total.value | money', 'order.total | money']}}}}",
		},
		"a title of lines": {
			"lines[].label:text", "lines[].title:text",
			"todo gone lines[].label by order.items.title, trigger thanks\nnew lines[].title by \n" + in + "order.items: {each: lines, title: [title, label, name], price: cost}}}}}",
		},
		"the id of the event": {"id:text", "event_id:text", "todo gone id by event.id\nnew event_id by \nconnectors: {shop: {event: {id: [event_id, id]}}}"},
		"what a trigger reads raw": {
			"meta.channel:text", "meta.channel:number", "todo changed meta.channel by raw.meta.channel, trigger thanks\n\ntriggers.thanks reads raw.meta.channel: write raw.PATH",
		},
		"two at once": {
			"customer.phone:text order.id:text", "customer.mobile:text order.number:text",
			"todo gone customer.phone by contact.phone, trigger thanks\nnew customer.mobile by \nnew order.number by \ngone order.id by order.id, trigger stop\n",
		},
	} {
		before := usual
		after := usual
		for _, word := range strings.Fields(c.was) {
			after = strings.Replace(" "+after+" ", " "+word+" ", " ", 1)
		}
		got := viewed(t, reads, "30 "+before, "12 "+after+" "+c.is)
		if name == "two at once" {
			if !strings.HasSuffix(got, in+"phone: [customer.mobile, customer.phone], order.id: [order.number, order.id]}}}}") || strings.Count(got, "todo gone") != 2 {
				t.Errorf("%s:\n%s", name, got)
			}
			continue
		}
		if got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// A field is told for a week: then what is sent is what was sent in the week before.
func TestItIsToldForAWeek(t *testing.T) {
	reads := readsOf(t, shopConfig, "shop", "order.created")
	var c Counts
	counted(&c, "30 customer.phone:text id:text", "12 id:text")
	k := kindFound{eventKind: eventKind{"shop", "order.created"}, judged: judged{Found: Judge(c), Now: c.now()}}
	last := noon.Add(29 * time.Minute)
	for after, want := range map[time.Duration]int{time.Hour: 1, Week - time.Minute: 1, Week: 0, 2 * Week: 0} {
		if got := len(k.views(reads, last.Add(after))); got != want {
			t.Errorf("after %v: %d views", after, got)
		}
	}
}

// Pasted into the entry, the YAML is good, and nothing is left to be done.
func TestThePastedYAMLEndsIt(t *testing.T) {
	events := []string{"30 " + usual, "12 " + strings.Replace(usual, "customer.phone:text", "customer.mobile:text", 1)}
	told := viewed(t, readsOf(t, shopConfig, "shop", "order.created"), events...)
	_, entry, found := strings.Cut(told, "connectors: {shop: {")
	if !found {
		t.Fatal(told)
	}
	edited := strings.Replace(shopConfig, "    map:\n", "    "+strings.TrimSuffix(entry, "}}")+"\n    map:\n", 1)
	if got := viewed(t, readsOf(t, edited, "shop", "order.created"), events...); strings.Contains(got, "todo") {
		t.Errorf("with\n%s\nit is still\n%s", edited, got)
	}
}

// Names that a preset finds in any spelling are read in any.
func TestLooseNames(t *testing.T) {
	text := strings.NewReplacer("  shop:\n    verify: {kind: token, from: bearer, secret: \"${SECRET}\"}", "  shop:\n    verify: {kind: token, from: bearer, secret: \"${SECRET}\"}\n    body: {loose_names: true}").Replace(shopConfig)
	reads := readsOf(t, text, "shop", "order.created")
	got := viewed(t, reads, "30 Customer:object Customer.Phone:text x:text", "12 Customer:object x:text")
	if !strings.HasPrefix(got, "todo gone Customer.Phone by contact.phone") {
		t.Error(got)
	}
}

func TestTheTrouble(t *testing.T) {
	reads := readsOf(t, shopConfig, "shop", "order.created")
	var c Counts
	counted(&c, "30 "+usual, "12 "+strings.Replace(usual, "customer.phone:text", "customer.mobile:text", 1))
	k := kindFound{eventKind: eventKind{"shop", "order.created"}, judged: judged{Found: Judge(c), Now: c.now()}}
	all := Troubles(append(k.views(reads, noon.Add(time.Hour))[:1:1], View{Connector: "crm", Kind: "deal.won", What: Changed, Path: "sum", Was: Number, Is: Object, Since: noon, With: 30, Of: 31, Without: 11, ReadBy: []string{"deal.amount"}}))
	if len(all) != 2 {
		t.Fatalf("%d troubles", len(all))
	}
	for i, want := range [][4]string{
		{
			"shop.order.created", "what the sender posts has changed: shop.order.created: customer.phone was in 30 of 30 events, and is in none of the 12 since 2026-11-20 12:29 UTC, read as contact.phone, by trigger thanks",
			`write connectors: {shop: {map_for: {order.created: {phone: [customer.mobile, customer.phone]}}}}, then "nudgewire reload"; "nudgewire connectors drift shop" shows all; if it is meant so, "nudgewire connectors drift --accept shop/order.created" ends this`,
			"connector shop",
		},
		{
			"crm.deal.won", "what the sender posts has changed: crm.deal.won: sum was number in 30 of 31 events, and is object since 2026-11-20 12:00 UTC (11 events), read as deal.amount", "", "connector crm",
		},
	} {
		one := all[i]
		if got := [4]string{one.Subject, one.Words, one.Hint, one.About}; got != want && want[2] != "" || one.Words != want[1] || one.Since.IsZero() || one.Code != "drift" {
			t.Errorf("%q\nwant %q", got, want)
		}
	}
}
