package suite

import (
	"fmt"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/history"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

func (s suite) rejectedRequests(t *testing.T) {
	t.Run("a rejected request comes back, its long texts cut", func(t *testing.T) {
		l := s.open(t)
		want := messaging.RejectedRequest{
			Connector: "shop", Status: 401, Stage: "verify", Reason: "the signature does not match", Method: "POST", Bytes: 2048, Sample: "{", At: noon,
		}
		l.must(l.RejectRequest(l.ctx, want))
		long := want
		for range 12 {
			long.Connector, long.Reason, long.Sample, long.Method = long.Connector+long.Connector, long.Reason+long.Reason, long.Sample+"éé"+long.Sample, long.Method+long.Method
		}
		l.must(l.RejectRequest(l.ctx, long))
		got, err := history.Records{Store: l.Store}.RejectedRequests(l.ctx, history.RejectedRequestFilter{})
		l.must(err)
		want.ID = 1
		same(t, "rejected request", want, got[1])
		if r := got[0]; r.ID != 2 || len(r.Connector) != 100 || len(r.Reason) != 1000 || len(r.Sample) > 512 || len(r.Sample) < 510 || len(r.Method) != 100 {
			t.Errorf("%+v", r)
		}
		l.totals(map[string]int64{"requests_rejected": 2})
	})
	t.Run("lists narrow by connector and time", func(t *testing.T) {
		l := s.open(t)
		for i := range 6 {
			l.must(l.RejectRequest(l.ctx, messaging.RejectedRequest{Connector: []string{"a", "b"}[i%2], At: noon.Add(time.Duration(i) * time.Minute)}))
		}
		for want, filter := range map[string]history.RejectedRequestFilter{
			"[6 5 4 3 2 1]": {}, "[6 5]": {Limit: 2}, "[5 3 1]": {Connector: "a"}, "[6 5 4]": {Since: noon.Add(3 * time.Minute)}, "[]": {Connector: "c"},
		} {
			rows, err := history.Records{Store: l.Store}.RejectedRequests(l.ctx, filter)
			l.must(err)
			var ids []int64
			for _, r := range rows {
				ids = append(ids, r.ID)
			}
			if got := fmt.Sprint(ids); got != want {
				t.Errorf("%+v: %s, want %s", filter, got, want)
			}
		}
	})
}
