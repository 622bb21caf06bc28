package server

import (
	"cmp"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/drift"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/signin"
)

// Examples of the description are made from the types of requests and answers: each field is filled by its type, its name and its kind
// with invented data. Only requests whose fields exclude each other are written here as a whole. A number of Ofcom's drama range stands
// for the phone.

var exampleTime = time.Date(2026, time.March, 2, 9, 30, 0, 0, time.UTC)

const examplePhone = "447700900456"

// exampleValues are values of types that have their own words, and of requests.
var exampleValues = valuesByType(
	exampleTime, time.Hour, json.RawMessage(`{"id":1001}`),
	phoneOfExamples(), messaging.ServiceID("wamid-9f86d081"), messaging.Marketing, messaging.StateWaiting, messaging.StatusDelivered, messaging.Planned,
	messaging.ResolveAccepted, messaging.ConsentGiven, messaging.ChannelPhone, messaging.ErrorRetry, messaging.ErrorClassList("retry"), messaging.DeferSend,
	messaging.ScopeTrigger, messaging.HoldHalt, messaging.DeliverCSV, messaging.CauseCron, messaging.StopPerson, messaging.WaitRate, messaging.RunDone, messaging.PartAccepted,
	messaging.Note, messaging.TroublePoints, messaging.UnusedPhone, drift.Gone, drift.Text, messaging.AmountFromFloat(49.95), access.RoleViewer, access.Read, access.FromToken,
	messaging.Send{Template: "cart_reminder", Language: "en", Variables: []string{"Ada"}},
	refusal.Error{Status: http.StatusBadRequest, Title: http.StatusText(http.StatusBadRequest), Words: `limit "many": want 1 to 1000`, Field: "limit"},

	SendRequest{Phone: "+" + examplePhone, Category: messaging.Utility, Send: messaging.Send{Template: "cart_reminder", Language: "en", Variables: []string{"Ada"}}, DryRun: true},
	BulkRequest{Trigger: "cart-reminder", Since: exampleTime, DryRun: true}, signin.TokenRequest{Name: "crm", Scopes: []access.Scope{access.Read, access.Sending}},
	preview.TryRequest{Connector: "shopify", Payload: `{"id":1001}`, Topic: "orders/create"},
	preview.TestSendRequest{Trigger: "cart-reminder", To: "me", Event: 41},
	preview.ReplayEventsRequest{Events: []messaging.EventID{41}, DryRun: true},
	ReplayRequest{Receiver: "crm", Since: exampleTime, DryRun: true},
	HaltRequest{Scope: messaging.ScopeTrigger, Name: "cart-reminder", Reason: "the shop is closed"},
	ForgetRequest{Phones: []string{"+" + examplePhone}},
	JobOrder{Approve: true}, RetryOrder{InDoubt: true},
	Document{"openapi": "3.1.0"},
)

func phoneOfExamples() messaging.Phone {
	phone, _ := messaging.PhoneOf(examplePhone)
	return phone
}

func valuesByType(all ...any) map[reflect.Type]reflect.Value {
	out := make(map[reflect.Type]reflect.Value, len(all))
	for _, one := range all {
		out[reflect.TypeOf(one)] = reflect.ValueOf(one)
	}
	return out
}

// exampleTexts are texts by the names of their fields and parameters; what is not here follows from its kind.
var exampleTexts = map[string]string{
	"account": "main", "action": "POST /halt", "by": "day", "campaign_id": "7", "channel": "phone", "class": "retry", "classes": "retry", "connector": "shopify", "country": "GB",
	"cron": "0 9 * * 1", "currency": "GBP", "find": "Ada", "format": "csv", "group": "trigger", "hash": exampleHash, "id": "41", "job": "winback-weekly",
	"kind": "order.created", "known": "41:" + exampleHash, "language": "en", "name": "cart-reminder", "only": "rows", "order": "1001", "outcome": "planned", "phone": "+" + examplePhone, "phones": "+" + examplePhone, "payload": `{"id":1001}`,
	"receiver": "crm", "scope": "read", "sha256": exampleHash, "state": "waiting", "template": "cart_reminder", "timezone": "Europe/London", "token": "crm",
	"topic": "orders/create", "trigger": "cart-reminder", "url": "https://crm.example.com/hook", "user": "ann", "version": "3.0", "who": "ann", "zone": "Europe/London",
	"Idempotency-Key": "order-1001",
}

const exampleHash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

// ExampleRequest is a body that a route reads, as JSON.
func ExampleRequest(rt *Route) json.RawMessage {
	text, err := json.Marshal(rt.asked)
	if rt.asked == nil || err != nil {
		return exampleOf(reflect.TypeOf(rt.In))
	}
	return text
}

// exampleOf is a value of a type as JSON.
func exampleOf(t reflect.Type) json.RawMessage {
	v := reflect.New(t).Elem()
	fillExample(v, "", "", 0)
	text, err := json.Marshal(v.Interface())
	if err != nil {
		return json.RawMessage("null") // TestEachOperationHasExamples finds it
	}
	return text
}

// exampleDepth is how deep in an answer the fields are shown that need not be there.
const exampleDepth = 1

func fillExample(v reflect.Value, name string, kind mask.Kind, depth int) {
	t := v.Type()
	if known, ok := exampleValues[t]; ok {
		v.Set(known)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		fillExample(v.Elem(), name, kind, depth)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(t, 1, 1))
		fillExample(v.Index(0), name, kind, depth)
	case reflect.Map:
		one := reflect.New(t.Elem()).Elem()
		fillExample(one, name, kind, depth)
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(reflect.ValueOf("shopify").Convert(t.Key()), one)
	case reflect.Struct:
		for f, of := range v.Fields() {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case name == "-", !f.IsExported() && !f.Anonymous, f.Name == "End", strings.Contains(options, "omit") && depth > exampleDepth:
			case f.Anonymous && name == "":
				fillExample(of, "", "", depth)
			default:
				fillExample(of, cmp.Or(name, f.Name), mask.Kind(f.Tag.Get("kind")), depth+1)
			}
		}
	case reflect.String:
		if t == reflect.TypeFor[string]() { // other types have words of their own, above
			v.SetString(exampleText(name, kind))
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(0.5)
	default:
		if v.CanInt() {
			v.SetInt(3)
		}
	}
}

func exampleText(name string, kind mask.Kind) string {
	known, is := exampleTexts[name]
	switch {
	case kind == mask.OfPhone:
		return examplePhone
	case kind == mask.OfEmail:
		return "ada@example.com"
	case is:
		return known
	}
	return "example of " + cmp.Or(name, "a text")
}

// exampleParameter is a value of a part of a path or of a query.
func exampleParameter(name string, schema map[string]any) any {
	switch {
	case schema["format"] == "date-time":
		return exampleTime
	case schema["type"] == "integer":
		return 41
	case schema["type"] == "boolean":
		return true
	}
	return exampleText(name, "")
}
