// Package labels says what counts tell messages apart by: the trigger or job, the template, and the country of the phone.
package labels

import (
	"cmp"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/phones"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/stored"
	"github.com/nudgewire/nudgewire/internal/store/tally"
)

// Labels are what counts tell messages apart by.
type Labels struct {
	About    string // tally.AboutTrigger or tally.AboutJob
	Name     string
	Template string // or the name of a campaign; "" for a text
	Country  string // by the phone; "" where that does not say

	Phone    messaging.Phone
	Account  string
	Category messaging.Category // where it was read from the row
	Test     bool               // it is a test, of which nothing counts but what it costs
}

// Of is that of a message with an event, or with none: then it is of a row of a job.
func Of(event int64, trigger, template string, phone messaging.Phone) Labels {
	p := Labels{About: tally.AboutTrigger, Name: trigger, Template: template, Country: phones.TariffCountry(string(phone)), Phone: phone}
	if event == 0 && trigger != messaging.ByHand {
		p.About = tally.AboutJob
	}
	return p
}

// OfMessage is that of a message.
func OfMessage(d *messaging.Message) Labels {
	p := Of(int64(d.EventID), d.Trigger, TemplateOf(&d.Send), d.Phone)
	p.Account, p.Category, p.Test = d.Account, d.Category, d.Test != ""
	return p
}

// Scan reads Columns.
func Scan(r *engine.Row) Labels {
	event, trigger, phone, account, send := r.Int(), r.Text(), r.Phone(), r.Text(), r.Text()
	p := Of(event, trigger, TemplateIn(send), phone)
	p.Account, p.Category, p.Test = account, messaging.Category(r.Text()), r.Text() != ""
	return p
}

// Columns are those that Scan reads, in this order.
const Columns = `event_id, trigger_name, phone, account, send, category, test`

// TemplateOf is what counts call a send.
func TemplateOf(s *messaging.Send) string { return cmp.Or(s.Template, s.Campaign) }

// TemplateIn is TemplateOf of what stored.AppendSend made.
func TemplateIn(send string) string { return cmp.Or(stored.SendsWhat(send)) }
