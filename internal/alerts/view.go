package alerts

import (
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A View is how alerts stand, as the command alerts shows it.
type View struct {
	Alerts    []AlertView    `json:"alerts"` // that last, and those that ended lately
	Receivers []ReceiverView `json:"receivers"`
}

// An AlertView is an alert that was told to a receiver.
type AlertView struct {
	Code      messaging.TroubleCode `json:"code"`
	Subject   string                `json:"subject,omitempty" kind:"ours"`
	Severity  messaging.Severity    `json:"severity"`
	Words     string                `json:"words" kind:"text"`
	Hint      string                `json:"hint,omitempty" kind:"ours"`
	Since     time.Time             `json:"since"`
	ToldAt    time.Time             `json:"told_at"`
	EndedAt   time.Time             `json:"ended_at,omitzero"`
	Receiver  string                `json:"receiver" kind:"ours"`
	Condition string                `json:"condition" kind:"ours"`
	Waiting   bool                  `json:"waiting,omitempty"` // the receiver has not got it, or not its end
}

// A ReceiverView is a receiver and how deliveries to it went.
type ReceiverView struct {
	Name         string    `json:"receiver" kind:"ours"`
	DeliveredAt  time.Time `json:"delivered_at,omitzero"`
	FailingSince time.Time `json:"failing_since,omitzero"`
	FailedAt     time.Time `json:"failed_at,omitzero"`
	LastError    string    `json:"last_error,omitempty" kind:"text"`
	Waiting      int       `json:"waiting"` // messages that it has not got
}

// View is how alerts stand now.
func (a *Alerts) View() View {
	a.mu.Lock()
	defer a.mu.Unlock()
	return ViewOf(a.state())
}

// ViewOf is how alerts stand by what is stored of them.
func ViewOf(s messaging.AlertState) View {
	v := View{Alerts: []AlertView{}, Receivers: []ReceiverView{}}
	names, waiting := map[string]string{}, map[string]int{}
	for _, r := range s.Receivers {
		names[r.ID] = r.Name
	}
	waits := map[name]bool{}
	for i := range s.Notices {
		n := &s.Notices[i]
		waiting[n.Receiver]++
		waits[name{n.Receiver, n.Condition, n.Trouble.Code, n.Trouble.Subject}] = true
	}
	for _, r := range s.Receivers {
		v.Receivers = append(v.Receivers, ReceiverView{r.Name, r.DeliveredAt.UTC(), r.FailingSince.UTC(), r.FailedAt.UTC(), r.LastError, waiting[r.ID]})
	}
	for i := range s.Alerts {
		al := &s.Alerts[i]
		t := &al.Trouble
		v.Alerts = append(v.Alerts, AlertView{
			t.Code, t.Subject, t.Severity, t.Words, t.Hint, al.Began.UTC(), al.ToldAt.UTC(), al.EndedAt.UTC(), names[al.Receiver], al.Condition, waits[nameOf(al)],
		})
	}
	return v
}
