package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// A scripted is a service that refuses what the script says, takes everything else, and keeps a log of it.
type scripted struct {
	mu     sync.Mutex
	taken  map[string]int // by template or campaign
	called map[string]int
	mended bool
}

// A request is what the script looks at.
type request struct {
	Phone     string   `json:"phone"`
	Template  string   `json:"template"`
	Campaign  string   `json:"campaign_id"`
	Variables []string `json:"variables"`
}

func (r request) content() string { return r.Template + r.Campaign }

// serve answers sends by refuses, until it is mended, and every status with delivered.
func (s *scripted) serve(t *testing.T, refuses func(request) bool) (api string) {
	t.Helper()
	s.taken, s.called = map[string]int{}, map[string]int{}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{"success":true,"message_id":1,"status":"delivered","delivered":true}`)
			return
		}
		var in request
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Errorf("the service was asked for something else: %v", err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.called[in.content()]++
		if !s.mended && refuses(in) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"success":false,"error":"Template name does not exist in the translation"}`)
			return
		}
		s.taken[in.content()]++
		_, _ = fmt.Fprintf(w, `{"success":true,"message_id":%d}`, len(s.taken)*100000+s.taken[in.content()])
	}))
	t.Cleanup(service.Close)
	return "{base_url: " + service.URL + "/api/v1, key: \"${API_KEY}\", rate: 5000/s, timeout: 30s}"
}

func (s *scripted) count(content string) (taken, called int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken[content], s.called[content]
}

// crmEvent posts an event of a kind for a phone that ends in n.
func (h *house) crmEvent(kind string, n int) {
	h.t.Helper()
	body := fmt.Sprintf(`{"event":%q,"event_id":"%s %d","phone":"+447700900%03d"}`, kind, kind, n, n)
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.url+"/hooks/generic", strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+shopSecret)
	h.mustTake(req)
}

const lanesConfig = `
defaults: {country: GB, language: en, quiet_hours: off, limit: off}
connectors: {generic: {secret: "${SHOP_SECRET}"}}
triggers:
  code: {on: generic.code, category: authentication, send: {template: code}}
  parcel: {on: generic.parcel, category: utility, send: {template: parcel}}
  promo: {on: generic.promo, category: marketing, send: {template: promo}}
  slip: {on: generic.slip, category: CATEGORY, send: CONTENT}
tracking: {poll: [1s]}
jobs:
  winback: {source: {csv: FOLDER/list.csv}, columns: {phone: mobile, var_1: name}, deliver: per_message, category: utility, send: {template: winback}}
`

// What the service refuses one after the other waits alone, whatever lane it is of: codes, parcels and promotions go, the trouble is told with a
// hint, and when somebody mended it and says so, what waited goes, once.
func TestWhatIsRefusedWaitsAlone(t *testing.T) {
	t.Parallel()
	template, campaign := "{template: slip}", `{campaign: "999"}`
	for name, tt := range map[string]struct {
		category messaging.Category
		content  string
		run      bool
		postgres bool
		what     string // is told
		lift     string
	}{
		"a template of authentication":        {messaging.Authentication, template, false, false, `template "slip" of trigger slip`, "slip"},
		"a template of utility":               {messaging.Utility, template, false, false, `template "slip" of trigger slip`, "slip"},
		"a template of marketing":             {messaging.Marketing, template, false, false, `template "slip" of trigger slip`, "slip"},
		"a campaign of utility":               {messaging.Utility, campaign, false, false, `campaign "999" of trigger slip`, "999"},
		"rows of a run":                       {messaging.Utility, template, true, false, `template "winback" of run 1`, "winback"},
		"a template of utility on PostgreSQL": {messaging.Utility, template, false, true, `template "slip" of trigger slip`, "slip"},
		"a template of codes on PostgreSQL":   {messaging.Authentication, template, false, true, `template "slip" of trigger slip`, "slip"},
		"rows of a run on PostgreSQL":         {messaging.Utility, template, true, true, `template "winback" of run 1`, "winback"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder, service := t.TempDir(), &scripted{}
			list := "mobile,name\n"
			for i := range 40 {
				list += fmt.Sprintf("+447700900%03d,bad\n", 500+i)
			}
			if err := os.WriteFile(filepath.Join(folder, "list.csv"), []byte(list), 0o600); err != nil {
				t.Fatal(err)
			}
			api := service.serve(t, func(r request) bool { return r.content() == tt.lift })
			o := options{folder: folder, api: api, config: strings.NewReplacer("CATEGORY", string(tt.category), "CONTENT", tt.content, "FOLDER", folder).Replace(lanesConfig)}
			if tt.postgres {
				_, o.storage = onPostgres(t)
			}
			h := open(t, o)
			if tt.run {
				h.fire("winback")
			} else {
				for i := range 20 {
					h.crmEvent("slip", 100+i)
				}
			}
			h.eventually("it is told", func() bool {
				for _, one := range h.status().Troubles {
					if one.Code == messaging.TroubleTemplate && strings.HasPrefix(one.Words, tt.what+" is refused by the service, one message after the other, and waits") &&
						strings.Contains(one.Hint, "nudgewire resume template "+tt.lift) {
						return true
					}
				}
				return false
			})
			for i := range 3 {
				for _, kind := range []string{"code", "parcel", "promo"} {
					h.crmEvent(kind, 10*i)
				}
			}
			h.eventually("others go", func() bool {
				for _, kind := range []string{"code", "parcel", "promo"} {
					if taken, _ := service.count(kind); taken != 3 {
						return false
					}
				}
				return true
			})
			s := h.status()
			if len(s.Daemon.Halts) > 0 {
				t.Errorf("halted: %+v", s.Daemon.Halts)
			}
			all := int64(20)
			if tt.run {
				all = 40
			}
			h.eventually("all wait but the first", func() bool {
				s = h.status()
				return s.Sending == 0 && s.Waiting == all-s.Counts["messages_rejected"]
			})
			if rejected := s.Counts["messages_rejected"]; rejected > 4 {
				t.Errorf("%d rejected of %d", rejected, all)
			}
			rejected := int(s.Counts["messages_rejected"])
			service.mu.Lock()
			service.mended = true
			service.mu.Unlock()
			if taken, _ := service.count(tt.lift); taken == 0 { // else a probe was faster
				_ = h.resumes(messaging.ScopeTemplate, tt.lift)
			}
			h.eventually("what waited goes", func() bool { taken, _ := service.count(tt.lift); return taken == int(all)-rejected })
			h.eventually("the trouble is over", func() bool {
				for _, one := range h.status().Troubles {
					if one.Code == messaging.TroubleTemplate {
						return false
					}
				}
				return true
			})
		})
	}
}

// resumes ends a halt, which may be over already.
func (h *house) resumes(scope messaging.HoldScope, name string) error {
	_, err := server.Resume.Call(h.t.Context(), h.ask, server.HaltRequest{Scope: scope, Name: name})
	return err
}
