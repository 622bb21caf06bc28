package connectors_test

import (
	"testing"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/connectors"
)

// itemsOf are the events of a body under a preset, verified.
func itemsOf(t testing.TB, preset, body string, headers ...string) []nudgewire.Event {
	t.Helper()
	con := mustCompile(t, preset, ownConfig(t, preset, testSecret), connectors.Options{})
	r := request(body, append([]string{"Content-Type", "application/json"}, headers...)...)
	header, url, err := con.Sign(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := con.Receive(moved(r, header, url))
	if err != nil {
		t.Fatal(err)
	}
	return got.Events
}

func TestEverySampleBecomesTheKindItNames(t *testing.T) {
	for _, name := range connectors.PresetNames() {
		con := mustCompile(t, name, ownConfig(t, name, testSecret), connectors.Options{Country: "GB"})
		for _, s := range con.SamplesAt(mutationNow, 7) {
			got, err := con.Receive(signSample(t, con, s, mutationNow))
			if err != nil || len(got.Events) == 0 {
				t.Errorf("%s, sample %s: %+v, %v", name, s.Name, got, err)
				continue
			}
			for _, e := range got.Events {
				if len(e.Unread) > 0 {
					t.Errorf("%s, sample %s: %q", name, s.Name, e.Unread)
				}
			}
			if e := got.Events[0]; e.Kind != s.Kind || e.Topic != s.Topic {
				t.Errorf("%s, sample %s: kind %s of topic %q, and it names %s of %q", name, s.Name, e.Kind, e.Topic, s.Kind, s.Topic)
			}
		}
	}
}

// A pipeline of one's own names its stages by numbers; the line is the one of the preset's setup.

// What the pages and "connectors show" say of a preset comes from the preset alone.
func TestAPresetTellsItsTopicsItsConsentAndItsLookups(t *testing.T) {
	hubspot, _ := connectors.PresetInfo("hubspot")
	if got := hubspot.Words["contact.deleted"]; len(got) < 3 || got[0] != "contact.deletion" || got[2] != "event.type == object.deletion and objectTypeId == 0-1" {
		t.Errorf("contact.deleted is called %q", got)
	}
	if len(hubspot.EmailConsent) != 3 || hubspot.EmailConsent[0] != "properties.hs_marketable_status.value (states it: its no withdraws)" {
		t.Errorf("consent: %q", hubspot.EmailConsent)
	}
	if len(hubspot.Lookups) != 3 || hubspot.Lookups[0] != "https://api.hubapi.com/crm/v3/objects/contacts/{objectId}" {
		t.Errorf("look-ups: %q", hubspot.Lookups)
	}
	if klaviyo, _ := connectors.PresetInfo("klaviyo"); len(klaviyo.Consent) != 0 || klaviyo.Words["contact.unsubscribed"][0] != "event:klaviyo.unsubscribed_from_sms_marketing" {
		t.Errorf("%+v", klaviyo)
	}
}
