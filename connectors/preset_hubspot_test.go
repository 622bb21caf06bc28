package connectors_test

import (
	"testing"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

func TestHubSpotsGenericSubscriptions(t *testing.T) {
	change := func(subscription, object, more string) messaging.Event {
		return itemsOf(t, "hubspot", `[{"eventId":71,"subscriptionId":82,"portalId":93,"occurredAt":1795163400000,"subscriptionType":"`+subscription+`","objectId":104,"objectTypeId":"`+object+`"`+more+`}]`)[0]
	}
	for _, tt := range []struct{ subscription, object, want string }{
		{"object.creation", "0-1", "contact.created"},
		{"object.deletion", "0-1", "contact.deleted"},
		{"object.merge", "0-1", "contact.updated"},
		{"object.restore", "0-1", "contact.updated"},
		{"object.associationChange", "0-1", "contact.updated"},
		{"object.creation", "0-3", "deal.created"},
		{"object.deletion", "0-3", "deal.deleted"},
		{"object.propertyChange", "0-3", "deal.updated"},
		{"object.propertyChange", "0-2", "object.property.change"}, // a company
	} {
		if e := change(tt.subscription, tt.object, ""); e.Kind != tt.want {
			t.Errorf("%s of %s is %s, want %s", tt.subscription, tt.object, e.Kind, tt.want)
		}
	}
	e := change("object.propertyChange", "0-1", `,"propertyName":"phone","propertyValue":"+447700900123"`)
	if e.Kind != "contact.updated" || e.Contact.Phone != "447700900123" || e.Contact.ID != "104" || e.DedupeKey != "93:82:104:1795163400000:phone" {
		t.Errorf("%+v", e)
	}
	if e := change("object.propertyChange", "0-3", `,"propertyName":"dealstage","propertyValue":"closedwon"`); e.Kind != "deal.won" || e.Deal.ID != "104" || e.Deal.Stage != "closedwon" {
		t.Errorf("%+v", e)
	}
}

func TestHubSpotsOwnStageIsADealWon(t *testing.T) {
	c := ownConfig(t, "hubspot", testSecret)
	c.Event = decodeConfig(t, "event: {kinds: [{when: [propertyName == dealstage, propertyValue == 1234567], kind: deal.won}]}").Event
	con := mustCompile(t, "hubspot", c, connectors.Options{})
	for subscription, want := range map[string]string{`"deal.propertyChange"`: "deal.won", `"object.propertyChange","objectTypeId":"0-3"`: "deal.won"} {
		r := request(`[{"portalId":1,"objectId":3,"occurredAt":1795163400000,"subscriptionType":`+subscription+`,"propertyName":"dealstage","propertyValue":"1234567"}]`, "Content-Type", "application/json")
		signed, err := con.Sign(r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := con.Receive(signed)
		if err != nil || got.Events[0].Kind != want {
			t.Errorf("%s: %+v, %v", subscription, got, err)
		}
	}
}

func TestHubSpotsWorkflowsOfAnyObject(t *testing.T) {
	for object, kind := range map[string]string{"COMPANY": "workflow.company", "TICKET": "workflow.ticket", "CONTACT": "contact.updated", "DEAL": "deal.updated"} {
		e := itemsOf(t, "hubspot", `{"portalId":1,"objectType":"`+object+`","objectId":7,"properties":{"name":{"value":"Lantern Lane"},"phone":{"value":"+44 7700 900111"}}}`)[0]
		if e.Kind != kind || e.Contact.Phone != "447700900111" {
			t.Errorf("%s: kind %s, phone %q (%s)", object, e.Kind, e.Contact.Phone, e.Contact.PhoneProblem)
		}
		if object != "DEAL" && (e.Contact.ID != "7" || e.Contact.Name != "Lantern Lane") {
			t.Errorf("%s: %+v", object, e.Contact)
		}
	}
}
