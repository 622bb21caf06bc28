package app_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/server"
)

// Where the answer to an upload names messages, each is followed to the phone, and the run, the
// lists and a single look tell of it.
func TestTheMessagesOfAnUploadAreFollowed(t *testing.T) {
	t.Parallel()
	for _, shape := range []sandbox.Shape{sandbox.ShapeFlat, sandbox.ShapeString, sandbox.ShapeNested} {
		t.Run(string(shape), func(t *testing.T) {
			folder := t.TempDir()
			wanted := list(t, filepath.Join(folder, "list.csv"), 4000)
			h := open(t, options{
				folder: folder, config: jobConfig(folder, byCSV) + "tracking: {poll: [1s]}\n",
				sandbox: sandbox.Options{ListIDs: true, Shape: shape},
			})
			r := h.fire("winback")
			n := int64(len(wanted))
			if r.State != messaging.RunDone || r.Reason != "" || r.Parts[0].Followed != n {
				t.Fatalf("the run is %s (%s), %d messages of %d are followed", r.State, r.Reason, r.Parts[0].Followed, n)
			}
			h.eventually("all are delivered", func() bool {
				got, err := server.ShowRun.Call(t.Context(), h.ask, r.ID)
				if err != nil {
					t.Fatal(err)
				}
				return got.Messages["delivered"] == n
			})
			history, err := server.ListRuns.Call(t.Context(), h.ask, server.ListQuery{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]int64{"delivered": n}, history[0].Messages); diff != "" {
				t.Errorf("the history's messages (-want +got):\n%s", diff)
			}
			listed := h.messages()
			if len(listed) == 0 {
				t.Fatal("no messages are listed")
			}
			m := listed[0]
			if m.Run != r.ID || m.Part != 1 || m.Trigger != "winback" || m.Phone != "" || m.ServiceID == "" || m.Status != messaging.StatusDelivered || m.DeliveredAt.IsZero() {
				t.Errorf("the newest message is %+v", m)
			}
			for _, by := range []string{string(m.ServiceID), "1"} {
				if one, err := server.ShowMessage.Call(t.Context(), h.ask, by); err != nil || one.Run != r.ID || one.Status != messaging.StatusDelivered || one.What != `campaign "`+r.CampaignName+`"` {
					t.Errorf("message %s: %+v, %v", by, one, err)
				}
			}
		})
	}
}

// Where the answer says whose each message is, the story of a phone tells of it.
func TestWhyTellsOfAMessageThatAnUploadBecame(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	wanted := list(t, filepath.Join(folder, "list.csv"), 400)
	h := open(t, options{
		folder: folder, config: jobConfig(folder, byCSV) + "tracking: {poll: [1s]}\n",
		sandbox: sandbox.Options{ListIDs: true, Phones: true},
	})
	r := h.fire("winback")
	h.eventually("it is delivered", func() bool {
		story, err := server.Why.Call(t.Context(), h.ask, server.ListQuery{Phone: "+" + wanted[7], Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		if len(story) != 1 || story[0].Row == nil || story[0].Row.Run != r.ID || story[0].Row.Part != 1 || len(story[0].Messages) != 1 {
			t.Fatalf("the story is %+v", story)
		}
		return story[0].Messages[0].Status == messaging.StatusDelivered
	})
	if m := h.messages()[0]; string(m.Phone) != wanted[len(wanted)-1] {
		t.Errorf("the newest message is to %s, want %s", m.Phone, wanted[len(wanted)-1])
	}
}
