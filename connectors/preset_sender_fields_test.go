package connectors_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// told is what a body says, in one line: the kind, then each field that has a value.
func told(e *messaging.Event) string {
	out := []string{e.Kind}
	say := func(name, value string) {
		if value != "" {
			out = append(out, name+"="+value)
		}
	}
	c := &e.Contact
	say("phone", string(c.Phone))
	say("id", c.ID)
	say("name", strings.TrimSpace(c.FirstName+" "+c.LastName))
	say("mail", c.Email)
	say("country", c.Country)
	say("lang", c.Language)
	if c.Consent {
		say("consent", fmt.Sprint(c.AcceptsMarketing))
	}
	if c.EmailConsent {
		say("mailconsent", fmt.Sprint(c.AcceptsEmail))
	}
	say("cart", e.Cart.ID)
	if e.Cart.Total.Reported() {
		say("worth", e.Cart.Total.String()+" "+e.Cart.Currency)
	}
	say("order", e.Order.ID)
	if e.Order.Total.Reported() {
		say("total", e.Order.Total.String()+" "+e.Order.Currency)
	}
	say("deal", e.Deal.ID)
	if e.Deal.Amount.Reported() {
		say("amount", e.Deal.Amount.String())
	}
	say("form", e.Form.ID)
	say("text", e.Message.Text)
	say("unread", strings.Join(e.Unread, "; "))
	return strings.Join(out, " ")
}

// What the pages of these vendors show, in their shapes and with values of ours: each topic and each way to write the same.
func TestWhatNewSendersTell(t *testing.T) {
	const form = "application/x-www-form-urlencoded"
	tests := []struct{ preset, content, body, want string }{
		{"salla", "", `{"event":"order.created","merchant":1,"created_at":"Sun Jun 26 2022 12:21:48 GMT+0300","data":{"id":2116,"reference_id":4102,"status":{"slug":"under_review"},"currency":"SAR","amounts":{"total":{"amount":196,"currency":"SAR"}},"shipping":{"receiver":{"phone":"999123"}},"customer":{"id":2251,"first_name":"Lina","last_name":"Haddad","mobile":501806978,"mobile_code":"+966","email":"l@example.com","country":"السعودية","country_code":"SA"},"items":[]}}`, "order.created phone=966501806978 id=2251 name=Lina Haddad mail=l@example.com country=SA order=2116 total=196 SAR"},
		{"salla", "", `{"event":"order.shipment.creating","merchant":1,"created_at":"Sun Jun 26 2022 13:29:51 GMT+0300","data":{"id":1427,"reference_id":41,"currency":"SAR","amounts":{"total":{"amount":114,"currency":"SAR"}},"customer":{"id":155,"name":"Del Don","mobile":"+971501234567","email":"d@example.com","country":"الامارات","city":""},"items":[]}}`, "shipment.created phone=971501234567 id=155 name=Del Don mail=d@example.com country=AE order=1427 total=114 SAR"},
		{"salla", "", `{"event":"customer.login","merchant":1,"created_at":"Tue Jan 25 2022 12:36:49 GMT+0300","data":{"id":225,"first_name":"Lina","last_name":"Haddad","mobile":555555555,"mobile_code":"+966","email":"l@example.com","country":"السعودية","country_code":"SA","is_notifications_enabled":true}}`, "contact.updated phone=966555555555 id=225 name=Lina Haddad mail=l@example.com country=SA"},
		{"salla", "", `{"event":"customer.updated","merchant":1,"created_at":"Tue Jan 25 2022 12:36:49 GMT+0300","data":{"id":225,"mobile":555555555,"mobile_code":"+966","country_code":"SA","is_notifications_enabled":false}}`, "contact.updated phone=966555555555 id=225 country=SA consent=false"},
		{"salla", "", `{"event":"abandoned.cart.status.changed","merchant":9,"created_at":"Tue Mar 25 2025 11:59:37 GMT+0300","data":{"id":1305,"status":"purchased"}}`, "cart.converted cart=1305"},
		{"salla", "", `{"event":"coupon.applied","merchant":8,"created_at":"Wed Jan 26 2022 22:38:30 GMT+0300","data":{"cart":{"id":746,"total":{"amount":2910,"currency":"SAR"},"checkout_url":"https://x.example.com/746","customer":{"id":14,"name":"Nabil Saad","mobile":"+251944130250","country":"السعودية"},"items":[]}}}`, "cart.updated phone=251944130250 id=14 name=Nabil Saad country=SA cart=746 worth=2910 SAR"},
		{"salla", "", `{"event":"order.shipment.cancelled","merchant":1,"created_at":"Sun Jun 26 2022 14:41:11 GMT+0300","data":{"id":1427,"reference_id":41,"shipping_number":"84"}}`, "shipment.updated order=1427"},

		{"zid", "", `{"id":655,"code":"x","store_id":9,"order_status":{"name":"جاري التوصيل","code":"indelivery"},"currency_code":"SAR","customer":{"id":17,"name":"Lina Haddad","email":"l@example.com","mobile":"966500000005"},"order_total":"899.10000000000000","order_total_string":"1,899.10 SAR","payment_status":"paid","created_at":"2023-09-14 08:33:06","updated_at":"2023-09-25 12:50:09","language":"en","histories":[{"order_status_id":5},{"order_status_id":1}]}`, "order.fulfilled phone=966500000005 id=17 name=Lina Haddad mail=l@example.com country=SA lang=en order=655 total=1899.10 SAR"},
		{"zid", "", `{"id":17,"name":"Lina Haddad","email":"l@example.com","mobile":"201012345678","telephone":"201012345678","is_active":true,"created_at":"2023-09-14 08:33:06","updated_at":"2023-09-14 08:33:06"}`, "contact.updated phone=201012345678 id=17 name=Lina Haddad mail=l@example.com country=EG"},

		{"chargebee", "", `{"id":"ev_1","occurred_at":1702645601,"object":"event","api_version":"v2","content":{"customer":{"id":"c1","first_name":"Jan","last_name":"Keller","email":"j@example.com","billing_address":{"phone":"0171 2345678","country":"DE"},"locale":"de-DE"}},"event_type":"customer_created"}`, "contact.created phone=491712345678 id=c1 name=Jan Keller mail=j@example.com country=DE lang=de-DE"},
		{"chargebee", "", `{"id":"ev_2","occurred_at":1702645601,"content":{"subscription":{"id":"s1","customer_id":"c1","status":"cancelled","currency_code":"USD"},"customer":{"id":"c1","phone":"+12125550142"}},"event_type":"subscription_cancelled"}`, "subscription.cancelled phone=12125550142 id=c1 country=US"},
		{"chargebee", "", `{"id":"ev_3","occurred_at":1702645601,"content":{"transaction":{"id":"t1","amount":5000,"currency_code":"JPY","linked_invoices":[{"invoice_id":"i9"}]},"customer":{"id":"c1","phone":"+819012345678"}},"event_type":"payment_failed"}`, "payment.failed phone=819012345678 id=c1 country=JP order=i9 total=5000 JPY"},

		{"paddle", "", `{"event_id":"e1","event_type":"subscription.created","occurred_at":"2024-04-12T10:18:49Z","notification_id":"n1","data":{"id":"sub_1","status":"trialing","customer_id":"ctm_1","transaction_id":"txn_1","currency_code":"USD","custom_data":{"mobile":"+447700900123"}}}`, "subscription.created phone=447700900123 id=ctm_1 order=txn_1"},
		{"paddle", "", `{"event_id":"e2","event_type":"adjustment.updated","occurred_at":"2024-04-12T10:18:49Z","data":{"id":"adj_1","action":"refund","status":"approved","totals":{"total":"1050"},"currency_code":"USD","customer_id":"ctm_1","transaction_id":"txn_1"}}`, "order.refunded id=ctm_1 order=txn_1 total=10.50 USD"},
		{"paddle", "", `{"event_id":"e3","event_type":"customer.updated","occurred_at":"2024-04-12T10:18:49Z","data":{"id":"ctm_1","name":"Nora Walsh","email":"n@example.com","locale":"en","marketing_consent":false,"custom_data":null}}`, "contact.updated id=ctm_1 name=Nora Walsh mail=n@example.com lang=en"},

		{"recurly", "", `{"id":"ra8","object_type":"subscription","site_id":"q","event_type":"canceled","event_time":"2022-07-26T22:01:56Z","uuid":"6"}`, "subscription.cancelled"},
		{"recurly", "", `{"id":"ra9","object_type":"account","site_id":"q","event_type":"created","event_time":"2022-07-26T22:01:56Z"}`, "contact.created id=ra9"},

		{"recurly", "", `{"id":"rad","object_type":"dunning_event","site_id":"q","event_type":"created","event_time":"2022-07-27T15:34:35Z","invoice_number":1000}`, "payment.failed order=rad"},
		{"recurly_xml", "application/xml", `<?xml version="1.0" encoding="UTF-8"?><new_dunning_event_notification><account><account_code>1234</account_code><email>j@example.com</email><first_name>Jan</first_name><last_name></last_name><phone></phone></account><invoice><uuid>424a</uuid><state>past_due</state><address><country>DE</country><phone>0171 2345678</phone></address><currency>USD</currency><total_in_cents type="integer">4500</total_in_cents></invoice></new_dunning_event_notification>`, "payment.failed phone=491712345678 id=1234 name=Jan mail=j@example.com country=DE order=424a total=45.00 USD"},
		{"recurly_xml", "application/xml", `<?xml version="1.0" encoding="UTF-8"?>
<canceled_subscription_notification>
  <account><account_code>1</account_code><username nil="true"></username><email>v@example.com</email><first_name>Verena</first_name><last_name nil="true"></last_name><company_name nil="true"></company_name><phone nil="true"></phone></account>
  <subscription><plan><plan_code>1dpt</plan_code></plan><uuid>dccd742f</uuid><state>canceled</state><quantity type="integer">1</quantity></subscription>
</canceled_subscription_notification>`, "subscription.cancelled id=1 name=Verena mail=v@example.com"},

		{"calcom", "", `{"triggerEvent":"BOOKING_CREATED","createdAt":"2023-05-24T09:30:00.538Z","payload":{"type":"60min","title":"60min between A and B","startTime":"2023-05-25T09:30:00Z","organizer":{"name":"P","email":"p@example.com","timeZone":"Asia/Kolkata"},"responses":{"name":{"label":"your_name","value":"Ada River"},"email":{"label":"email_address","value":"a@example.com"},"location":{"label":"location","value":{"optionValue":"+44 7700 900123","value":"phone"}}},"attendees":[{"email":"a@example.com","name":"Ada River","timeZone":"Europe/London","language":{"locale":"en"}}],"uid":"b1","bookingId":9,"status":"ACCEPTED"}}`, "booking.created phone=447700900123 id=a@example.com name=Ada River mail=a@example.com lang=en form=b1"},
		{"calcom", "", `{"triggerEvent":"BOOKING_RESCHEDULED","createdAt":"2023-05-24T09:30:00.538Z","payload":{"title":"x","responses":{"smsReminderNumber":{"label":"number_text_notifications","value":"+447700900124"}},"attendees":[{"email":"a@example.com","name":"Ada","firstName":"Ada","lastName":"","timeZone":"Europe/London","language":{"locale":"fr"}}],"uid":"b2","rescheduleUid":"b1"}}`, "booking.rescheduled phone=447700900124 id=a@example.com name=Ada mail=a@example.com lang=fr form=b2"},
		{"calcom", "", `{"triggerEvent":"MEETING_ENDED","createdAt":"2023-05-24T09:30:00.538Z","id":7,"uid":"b3","title":"x","startTime":"2023-05-25T09:30:00Z","attendees":[{"id":1,"email":"a@example.com","name":"Ada River","timeZone":"Europe/London","locale":"en","phoneNumber":"+447700900125","bookingId":7}],"responses":{"name":"Ada River","email":"a@example.com"}}`, "meeting.ended phone=447700900125 id=a@example.com name=Ada River mail=a@example.com lang=en"},

		{"acuity", form, `action=appointment.rescheduled&id=54&calendarID=1&appointmentTypeID=2`, "booking.rescheduled form=54"},

		{"kommo", form, `leads[status][0][id]=107&leads[status][0][name]=Seminar&leads[status][0][status_id]=143&leads[status][0][old_status_id]=200&leads[status][0][price]=22500&leads[status][0][responsible_user_id]=20&leads[status][0][last_modified]=1539782664&leads[status][0][pipeline_id]=92&leads[status][0][custom_fields][0][id]=66&leads[status][0][custom_fields][0][name]=Source&leads[status][0][custom_fields][0][values][0][value]=Site&account[subdomain]=x`, "deal.lost deal=107 amount=22500"},
		{"kommo", form, `contacts[add][0][id]=33&contacts[add][0][name]=Ana+Costa&contacts[add][0][custom_fields][0][id]=1&contacts[add][0][custom_fields][0][name]=Cargo&contacts[add][0][custom_fields][0][values][0][value]=x&contacts[add][0][custom_fields][1][id]=2&contacts[add][0][custom_fields][1][name]=Telefone&contacts[add][0][custom_fields][1][code]=PHONE&contacts[add][0][custom_fields][1][values][0][value]=%2B5511987654321&contacts[add][0][custom_fields][2][name]=Email&contacts[add][0][custom_fields][2][code]=EMAIL&contacts[add][0][custom_fields][2][values][0][value]=ana%40example.com&contacts[add][0][type]=contact`, "contact.created phone=5511987654321 id=33 name=Ana Costa mail=ana@example.com country=BR"},

		{"rdstation", "", `{"event_type":"WEBHOOK.MARKED_OPPORTUNITY","entity_type":"CONTACT","event_identifier":"x","timestamp":"2018-03-13T14:09:02.724-03:00","event_timestamp":"2018-03-13T14:07:04.254-03:00","contact":{"uuid":"c2","email":"b@example.com","name":"Bia Moura","personal_phone":"+551130252598","mobile_phone":null,"tags":["a"],"legal_bases":[{"category":"communications","type":"consent","status":"declined"}],"funnel":{"lifecycle_stage":"Lead","opportunity":true}}}`, "deal.created phone=551130252598 id=c2 name=Bia Moura mail=b@example.com country=BR consent=false mailconsent=false deal=c2 form=c2"},

		{"rdstation", "", `{"event_name":"crm_deal_created","document":{"id":"d1","name":"Piso","amount_total":5000,"status":"ongoing","user":{"id":"u1","name":"Ana Costa","email":"ana@example.com"},"deal_stage":{"id":"s1","name":"Proposta"},"deal_lost_reason":{},"contacts":[{"id":"c1","name":"Bia Moura","emails":[{"email":"b@example.com"}],"phones":[{"phone":"+5511987654321"}]}]},"event_timestamp":"2024-01-10T14:30:00.000Z","transaction_uuid":"t1"}`, "deal.created phone=5511987654321 id=c1 name=Bia Moura mail=b@example.com country=BR deal=d1 amount=5000"},
		{"rdstation", "", `{"event_name":"crm_deal_updated","document":{"id":"d1","name":"Piso","status":"won"},"event_timestamp":"2024-01-10T14:31:00.000Z","transaction_uuid":"t2"}`, "deal.won deal=d1"},
		{"rdstation", "", `{"event_name":"crm_deal_updated","document":{"_id":"d1","name":"Piso","win":false},"event_timestamp":"2024-01-10T14:32:00.000Z","transaction_uuid":"t3"}`, "deal.lost deal=d1"},
		{"rdstation", "", `{"event_name":"crm_deal_updated","document":{"_id":"d1","name":"Piso","win":null},"event_timestamp":"2024-01-10T14:33:00.000Z","transaction_uuid":"t4"}`, "deal.updated deal=d1"},
		{"rdstation", "", `{"event_name":"crm_deal_deleted","document":{"id":"d1","name":"Piso"},"event_timestamp":"2024-01-10T14:34:00.000Z","transaction_uuid":"t5"}`, "deal.deleted deal=d1"},

		{"vtex", "", `{"Domain":"Fulfillment","OrderId":"v52-01","State":"ready-for-handling","LastState":"window-to-cancel","LastChange":"2019-08-14T17:11:39.2550122Z","CurrentChange":"2019-08-14T17:12:48.0965893Z","Origin":{"Account":"a","Key":"k"}}`, "order.updated order=v52-01"},
	}
	for _, tt := range tests {
		content := tt.content
		if content == "" {
			content = "application/json"
		}
		con := mustCompile(t, tt.preset, ownConfig(t, tt.preset, testSecret), connectors.Options{})
		r := request(tt.body, "Content-Type", content)
		r.Proven = true
		got, err := con.Receive(r)
		if err != nil || len(got.Events) != 1 {
			t.Errorf("%s: %d events, %d skipped, %v, of %s", tt.preset, len(got.Events), len(got.Skipped), err, tt.body)
			continue
		}
		if e := &got.Events[0]; told(e) != tt.want || e.OccurredAt.IsZero() && tt.preset != "acuity" && tt.preset != "recurly_xml" && tt.preset != "kommo" && tt.preset != "calcom" {
			t.Errorf("%s:\n got %s at %s\nwant %s", tt.preset, told(e), e.OccurredAt, tt.want)
		}
	}
}
