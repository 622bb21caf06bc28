package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/webhooks"
)

// A traceless store keeps no request.
type traceless struct{ webhooks.Store }

func (traceless) RejectRequest(context.Context, messaging.RejectedRequest) error { return nil }

// Strangers reach no route of the API by the door, whatever they show.
func TestTheDoorKnowsNoRouteOfTheAPI(t *testing.T) {
	rules := new(atomic.Pointer[webhooks.Rules])
	rules.Store(new(webhooks.Rules))
	h := webhooks.New(webhooks.Options{Rules: rules, Store: traceless{}, Log: zap.NewNop()}).Handler()
	for _, rt := range Routes() {
		r := httptest.NewRequest(rt.Method, Base+rt.Path, strings.NewReader("{}")).WithContext(access.WithWho(t.Context(), access.Process("ann")))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusNotFound {
			t.Errorf("the door answers %s %s with %d", rt.Method, rt.Path, w.Code)
		}
	}
}
