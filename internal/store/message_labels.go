package store

import (
	"cmp"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/phones"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/stored"
	"github.com/nudgewire/nudgewire/internal/store/tally"
)

// eventLabels are what counts tell messages apart by.
type eventLabels struct {
	about    string // tally.AboutTrigger or tally.AboutJob
	name     string
	template string // or the name of a campaign; "" for a text
	country  string // by the phone; "" where that does not say

	phone    messaging.Phone
	account  string
	category messaging.Category // where it was read from the row
	test     bool               // it is a test, of which nothing counts but what it costs
}

// labelsOf is that of a message with an event, or with none: then it is of a row of a job.
func labelsOf(event int64, trigger, template string, phone messaging.Phone) eventLabels {
	p := eventLabels{about: tally.AboutTrigger, name: trigger, template: template, country: phones.TariffCountry(string(phone)), phone: phone}
	if event == 0 && trigger != messaging.ByHand {
		p.about = tally.AboutJob
	}
	return p
}

func labelsOfMessage(d *messaging.Message) eventLabels {
	p := labelsOf(int64(d.EventID), d.Trigger, templateOf(&d.Send), d.Phone)
	p.account, p.category, p.test = d.Account, d.Category, d.Test != ""
	return p
}

// scanLabels reads labelColumns.
func scanLabels(r *engine.Row) eventLabels {
	event, trigger, phone, account, send := r.Int(), r.Text(), r.Phone(), r.Text(), r.Text()
	p := labelsOf(event, trigger, sendsTemplate(send), phone)
	p.account, p.category, p.test = account, messaging.Category(r.Text()), r.Text() != ""
	return p
}

const labelColumns = `event_id, trigger_name, phone, account, send, category, test`

// templateOf is what counts call a send.
func templateOf(s *messaging.Send) string { return cmp.Or(s.Template, s.Campaign) }

// sendsTemplate is templateOf of what stored.AppendSend made.
func sendsTemplate(send string) string { return cmp.Or(stored.SendsWhat(send)) }
