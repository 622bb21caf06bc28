package messaging_test

import (
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// One table for every way in which a row can end: what surely did not reach the phone may go again.
func TestWhichRowsMayGoAgain(t *testing.T) {
	row := func(s messaging.State, change func(*messaging.RunRow)) messaging.RunRow {
		r := messaging.RunRow{Message: messaging.Message{State: s, Attempt: 2, Category: messaging.Marketing}}
		if change != nil {
			change(&r)
		}
		return r
	}
	message := func(s messaging.Status, words string) func(*messaging.RunRow) {
		return func(r *messaging.RunRow) { r.Message.Status, r.Message.Error = s, words }
	}
	doubted := func(numbers ...int) func(*messaging.RunRow) {
		return func(r *messaging.RunRow) { r.Doubted = numbers }
	}
	tests := map[string]struct {
		row messaging.RunRow
		may bool
		why string
	}{
		"waiting":            {row(messaging.StateWaiting, nil), false, "is still on its way"},
		"sending":            {row(messaging.StateSending, nil), false, "is still on its way"},
		"in doubt":           {row(messaging.StateInDoubt, doubted(2)), false, "is in doubt: the phone may have it"},
		"cancelled":          {row(messaging.StateCancelled, nil), false, "was cancelled by a person"},
		"rejected":           {row(messaging.StateRejected, func(r *messaging.RunRow) { r.Message.Reason = "402 no points" }), true, "was rejected by the service: 402 no points"},
		"rejected late":      {row(messaging.StateRejected, doubted(2)), true, "was rejected by the service"},
		"rejected, then not": {row(messaging.StateRejected, doubted(1)), false, "was in doubt once: the phone may have it"},
		"dropped":            {row(messaging.StateDropped, nil), true, "was dropped before it was sent"},
		"dropped in doubt":   {row(messaging.StateDropped, doubted(2)), false, "was in doubt once: the phone may have it"},
		"accepted":           {row(messaging.StateAccepted, message(messaging.StatusAccepted, "")), false, "was taken by the service, which does not say that it failed"},
		"delivered":          {row(messaging.StateAccepted, message(messaging.StatusDelivered, "")), false, "was taken by the service, which does not say that it failed"},
		"never told of":      {row(messaging.StateAccepted, message(messaging.StatusExpired, "")), false, "was taken by the service, which does not say that it failed"},
		"without a message":  {row(messaging.StateAccepted, nil), false, "was taken by the service, which does not say that it failed"},
		"failed":             {row(messaging.StateAccepted, message(messaging.StatusFailed, "insufficient points")), true, "failed at the service: insufficient points"},
		"failed after a resend": {row(messaging.StateAccepted, func(r *messaging.RunRow) {
			message(messaging.StatusFailed, "")(r)
			doubted(1)(r)
		}), false, "was in doubt once: the phone may have it"},
		"blocked":      {row(messaging.StateRejected, func(r *messaging.RunRow) { r.Blocked = true }), false, "goes to a contact that is blocked"},
		"sent again":   {row(messaging.StateRejected, func(r *messaging.RunRow) { r.RetriedAs = 9 }), false, "was sent again already"},
		"a code":       {row(messaging.StateDropped, func(r *messaging.RunRow) { r.Message.Category = messaging.Authentication }), false, "is a code, which is worth nothing later"},
		"no state yet": {row("", nil), false, "is "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if may, why := tt.row.MayGoAgain(); may != tt.may || why != tt.why {
				t.Errorf("MayGoAgain = %v, %q, want %v, %q", may, why, tt.may, tt.why)
			}
		})
	}
}
