package nudgewire_test

import (
	"testing"

	"github.com/nudgewire/nudgewire"
)

// One table for every way in which a row can end: what surely did not reach the phone may go again.
func TestWhichRowsMayGoAgain(t *testing.T) {
	row := func(s nudgewire.State, change func(*nudgewire.RunRow)) nudgewire.RunRow {
		r := nudgewire.RunRow{Message: nudgewire.Message{State: s, Attempt: 2, Category: nudgewire.Marketing}}
		if change != nil {
			change(&r)
		}
		return r
	}
	message := func(s nudgewire.Status, words string) func(*nudgewire.RunRow) {
		return func(r *nudgewire.RunRow) { r.Message.Status, r.Message.Error = s, words }
	}
	doubted := func(numbers ...int) func(*nudgewire.RunRow) {
		return func(r *nudgewire.RunRow) { r.Doubted = numbers }
	}
	tests := map[string]struct {
		row nudgewire.RunRow
		may bool
		why string
	}{
		"waiting":            {row(nudgewire.StateWaiting, nil), false, "is still on its way"},
		"sending":            {row(nudgewire.StateSending, nil), false, "is still on its way"},
		"in doubt":           {row(nudgewire.StateInDoubt, doubted(2)), false, "is in doubt: the phone may have it"},
		"cancelled":          {row(nudgewire.StateCancelled, nil), false, "was cancelled by a person"},
		"rejected":           {row(nudgewire.StateRejected, func(r *nudgewire.RunRow) { r.Message.Reason = "402 no points" }), true, "was rejected by the service: 402 no points"},
		"rejected late":      {row(nudgewire.StateRejected, doubted(2)), true, "was rejected by the service"},
		"rejected, then not": {row(nudgewire.StateRejected, doubted(1)), false, "was in doubt once: the phone may have it"},
		"dropped":            {row(nudgewire.StateDropped, nil), true, "was dropped before it was sent"},
		"dropped in doubt":   {row(nudgewire.StateDropped, doubted(2)), false, "was in doubt once: the phone may have it"},
		"accepted":           {row(nudgewire.StateAccepted, message(nudgewire.StatusAccepted, "")), false, "was taken by the service, which does not say that it failed"},
		"delivered":          {row(nudgewire.StateAccepted, message(nudgewire.StatusDelivered, "")), false, "was taken by the service, which does not say that it failed"},
		"never told of":      {row(nudgewire.StateAccepted, message(nudgewire.StatusExpired, "")), false, "was taken by the service, which does not say that it failed"},
		"without a message":  {row(nudgewire.StateAccepted, nil), false, "was taken by the service, which does not say that it failed"},
		"failed":             {row(nudgewire.StateAccepted, message(nudgewire.StatusFailed, "insufficient points")), true, "failed at the service: insufficient points"},
		"failed after a resend": {row(nudgewire.StateAccepted, func(r *nudgewire.RunRow) {
			message(nudgewire.StatusFailed, "")(r)
			doubted(1)(r)
		}), false, "was in doubt once: the phone may have it"},
		"blocked":      {row(nudgewire.StateRejected, func(r *nudgewire.RunRow) { r.Blocked = true }), false, "goes to a contact that is blocked"},
		"sent again":   {row(nudgewire.StateRejected, func(r *nudgewire.RunRow) { r.RetriedAs = 9 }), false, "was sent again already"},
		"a code":       {row(nudgewire.StateDropped, func(r *nudgewire.RunRow) { r.Message.Category = nudgewire.Authentication }), false, "is a code, which is worth nothing later"},
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
