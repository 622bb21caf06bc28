package operate

import (
	"net/http/httptest"
	"testing"

	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/webhooks"
)

func TestDoctorTellsWhyTheDoorTakesNothing(t *testing.T) {
	for name, v := range map[string]webhooks.Readiness{
		"the disk":            {Starting: "the disk is full", Hint: "make room on the disk of the data"},
		"the database server": {Starting: "the database server cannot be reached", Hint: "look at the database server and the way to it"},
		"damage":              {Why: "the data is damaged", Hint: "start it anew"},
	} {
		t.Run(name, func(t *testing.T) {
			door := httptest.NewServer(webhooks.Starting(func() webhooks.Readiness { return v }))
			defer door.Close()
			d := &doctor{cfg: &config.Config{}}
			d.address(t.Context(), "public address", door.URL, "look at the proxy")
			want := finding{What: "public address", State: wellBad, Words: door.URL + " takes no webhooks, and the daemon cannot open its data: " + v.Starting, Hint: v.Hint}
			if v.Why != "" {
				want.Words = door.URL + " takes no webhooks: " + v.Why
			}
			if len(d.findings) != 1 || d.findings[0] != want {
				t.Errorf("doctor finds %+v", d.findings)
			}
		})
	}
}
