package app_test

import (
	"net/http"
	"strings"
)

func init() { vendorFlows = append(vendorFlows, sendersFlows...) }

var sendersFlows = []vendorFlow{
	{
		// docs.salla.dev/doc-433812: the cart itself says that it was bought.
		name: "Salla, a cart", preset: "salla", on: "cart.abandoned", cancelOn: "cart.converted",
		opens:  `{"event":"abandoned.cart","merchant":1305,"created_at":"{now}","data":{"id":10{n},"total":{"amount":100,"currency":"SAR"},"subtotal":{"amount":60,"currency":"SAR"},"checkout_url":"https://palmlane.example.com/checkout/10{n}","age_in_minutes":83,"customer":{"id":22{n},"name":"Lina Haddad","mobile":"{phone}","email":"lina@example.com","country":"السعودية","city":"الرياض"},"coupon":null,"items":[{"id":17,"product_id":40,"quantity":2}]}}`,
		again:  `{"event":"abandoned.cart","merchant":1305,"created_at":"{now}","data":{"id":10{n},"total":{"amount":140,"currency":"SAR"},"subtotal":{"amount":60,"currency":"SAR"},"checkout_url":"https://palmlane.example.com/checkout/10{n}","age_in_minutes":93,"customer":{"id":22{n},"name":"Lina Haddad","mobile":"{phone}","email":"lina@example.com","country":"السعودية","city":"الرياض"},"items":[{"id":17,"product_id":40,"quantity":3}]}}`,
		closes: `{"event":"abandoned.cart.purchased","merchant":1305,"created_at":"{now}","data":{"id":10{n},"status":"purchased","currency":"SAR","total":100,"subtotal":60,"total_discount":0}}`,
	},
	{
		// docs.salla.dev/doc-433804: the number stands beside its country's code in some events, and whole in others.
		name: "Salla, an order", preset: "salla", on: "order.created", cancelOn: "order.cancelled",
		opens:  `{"event":"order.created","merchant":1305,"created_at":"{now}","data":{"id":20{n},"reference_id":41{n},"urls":{"customer":"https://palmlane.example.com/o/{n}"},"status":{"id":5,"name":"x","slug":"payment_pending"},"payment_method":"bank","currency":"SAR","amounts":{"total":{"amount":196,"currency":"SAR"}},"customer":{"id":22{n},"first_name":"Lina","last_name":"Haddad","mobile":"{phone}","mobile_code":"+44","email":"lina@example.com","country":"السعودية","country_code":"SA"},"items":[]}}`,
		again:  `{"event":"order.payment.updated","merchant":1305,"created_at":"{now}","data":{"id":20{n},"reference_id":41{n},"status":{"id":5,"name":"x","slug":"under_review"},"payment_method":"mada","currency":"SAR","amounts":{"total":{"amount":196,"currency":"SAR"}},"customer":{"id":22{n},"first_name":"Lina","mobile":"{phone}","mobile_code":"+44"},"items":[]}}`,
		closes: `{"event":"order.status.updated","merchant":1305,"created_at":"{now}","data":{"id":77,"status":"ملغي","customized":null,"note":"","order":{"id":20{n},"reference_id":41{n},"status":{"id":12,"name":"ملغي","slug":"canceled"},"currency":"SAR","amounts":{"total":{"amount":196,"currency":"SAR"}},"customer":{"id":22{n},"name":"Lina Haddad","mobile":"{phone}","country":"السعودية"},"items":[],"total":{"amount":196,"currency":"SAR"}}}}`,
	},
	{
		// docs.zid.sa/webhooks: bare bodies; the event is told from them.
		name: "Zid, a cart", preset: "zid", on: "cart.abandoned", cancelOn: "cart.converted",
		opens:  `{"id":"b13-{n}","url":"https://palmlane.example.com/c/{n}","store_id":"83e0","products_count":1,"products":[],"cart_total":239,"cart_total_string":"239.00 SAR","currency_code":"SAR","phase":"shipping_address","customer_id":17{n},"customer_name":"Lina Haddad","customer_email":"lina@example.com","customer_mobile":"{phone}","reminders_count":0,"created_at":"{now}","updated_at":"{now}"}`,
		again:  `{"id":"b13-{n}","url":"https://palmlane.example.com/c/{n}","store_id":"83e0","products_count":2,"products":[],"cart_total":300,"cart_total_string":"300.00 SAR","currency_code":"SAR","phase":"payment","customer_id":17{n},"customer_name":"Lina Haddad","customer_mobile":"{phone}","reminders_count":0,"created_at":"{now}","updated_at":"{now}"}`,
		closes: `{"id":"b13-{n}","url":"https://palmlane.example.com/c/{n}","store_id":"83e0","products_count":1,"products":[],"cart_total":239,"currency_code":"SAR","phase":"completed","order_id":47{n},"customer_id":17{n},"customer_name":"Lina Haddad","customer_mobile":"{phone}","reminders_count":0,"created_at":"{now}","updated_at":"{now}"}`,
	},
	{
		name: "Zid, an order", preset: "zid", on: "order.created", cancelOn: "order.paid",
		opens:  `{"id":47{n},"code":"c{n}","store_id":2249,"order_url":"https://palmlane.example.com/o/{n}","order_status":{"name":"جديد","code":"new"},"currency_code":"SAR","customer":{"id":17{n},"name":"Lina Haddad","email":"lina@example.com","mobile":"{phone}","type":"individual"},"order_total":"899.10000000000000","payment_status":"pending","created_at":"{now}","updated_at":"{now}","shipping":{"address":{"country":{"id":184,"name":"السعودية"}}},"products":[],"language":"ar","histories":[{"order_status_id":1,"order_status_name":"جديد","created_at":"{now}"}]}`,
		closes: `{"id":47{n},"code":"c{n}","store_id":2249,"order_status":{"name":"جديد","code":"new"},"currency_code":"SAR","customer":{"id":17{n},"name":"Lina Haddad","mobile":"{phone}"},"order_total":"899.10000000000000","payment_status":"paid","payment_status_change":{"old":"unpaid","new":"paid"},"created_at":"{now}","updated_at":"{now}","products":[],"histories":[{"order_status_id":1,"order_status_name":"جديد"},{"order_status_id":1,"order_status_name":"جديد"}]}`,
	},
	{
		// developers.vtex.com/docs/guides/orders-feed: the hook names the order, which names its client.
		name: "VTEX, an order", preset: "vtex", on: "order.created", cancelOn: "order.cancelled", token: "vtexappkey-tryshop:word",
		opens:   `{"Domain":"Marketplace","OrderId":"v{n}-01","State":"order-completed","LastState":"","LastChange":"{now}","CurrentChange":"{now}","Origin":{"Account":"tryshop","Key":"vtexappkey-tryshop"}}`,
		again:   `{"Domain":"Marketplace","OrderId":"v{n}-01","State":"payment-pending","LastState":"order-completed","LastChange":"{now}","CurrentChange":"{now}","Origin":{"Account":"tryshop","Key":"vtexappkey-tryshop"}}`,
		closes:  `{"Domain":"Marketplace","OrderId":"v{n}-01","State":"canceled","LastState":"payment-pending","LastChange":"{now}","CurrentChange":"{now}","Origin":{"Account":"tryshop","Key":"vtexappkey-tryshop"}}`,
		answers: map[string]string{"/api/oms/pvt/orders/v{n}-01": `{"orderId":"v{n}-01","sequence":"5{n}","status":"payment-pending","value":1160,"orderFormId":"of{n}","items":[{"id":"25","productId":"7","refId":"P","name":"Pó","quantity":1,"price":1160,"sellingPrice":1160}],"clientProfileData":{"email":"x@ct.vtex.example.com","firstName":"Bia","lastName":"Moura","phone":"{phone}","userProfileId":"u{n}"},"shippingData":{"address":{"country":"BRA"}},"storePreferencesData":{"currencyCode":"BRL","countryCode":"BRA"},"clientPreferencesData":{"locale":"pt-BR","optinNewsLetter":false}}`},
	},
	{
		// A trigger of Master Data posts what its owner writes; the order names the order form.
		name: "VTEX, a left cart", preset: "vtex", on: "cart.abandoned", cancelOn: "order.created", token: "vtexappkey-tryshop:word",
		opens:   `{"event":"cart.abandoned","order_form_id":"of{n}","email":"bia@example.com","phone":"{phone}","first_name":"Bia","url":"https://tryshop.example.com/checkout/cart/add?sku=25"}`,
		again:   `{"event":"cart.abandoned","order_form_id":"of{n}","email":"bia@example.com","phone":"{phone}","first_name":"Bia","url":"https://tryshop.example.com/checkout/cart/add?sku=26"}`,
		closes:  `{"Domain":"Marketplace","OrderId":"w{n}-01","State":"order-completed","LastState":"","LastChange":"{now}","CurrentChange":"{now}","Origin":{"Account":"tryshop","Key":"vtexappkey-tryshop"}}`,
		answers: map[string]string{"/api/oms/pvt/orders/w{n}-01": `{"orderId":"w{n}-01","value":1160,"orderFormId":"of{n}","clientProfileData":{"firstName":"Bia","phone":"{phone}"},"shippingData":{"address":{"country":"BRA"}},"storePreferencesData":{"currencyCode":"BRL"}}`},
	},
	{
		// apidocs.chargebee.com/docs/api/events.
		name: "Chargebee, a payment", preset: "chargebee", on: "payment.failed", cancelOn: "order.paid",
		opens:  `{"id":"ev_a{n}","occurred_at":{unix},"source":"scheduled_job","object":"event","api_version":"v2","content":{"transaction":{"id":"txn_{n}","amount":2900,"status":"failure","currency_code":"EUR"},"invoice":{"id":"i{n}","status":"payment_due","total":2900,"amount_due":2900,"currency_code":"EUR","line_items":[]},"customer":{"id":"c{n}","first_name":"Jan","email":"jan@example.com","phone":"{phone}","locale":"de","billing_address":{"country":"DE"}}},"event_type":"payment_failed","webhook_status":"scheduled"}`,
		again:  `{"id":"ev_b{n}","occurred_at":{unix},"source":"scheduled_job","object":"event","api_version":"v2","content":{"transaction":{"id":"txn_2{n}","amount":2900,"status":"failure","currency_code":"EUR"},"invoice":{"id":"i{n}","status":"payment_due","total":2900,"amount_due":2900,"currency_code":"EUR"},"customer":{"id":"c{n}","first_name":"Jan","phone":"{phone}"}},"event_type":"payment_failed","webhook_status":"scheduled"}`,
		closes: `{"id":"ev_c{n}","occurred_at":{unix},"source":"api","object":"event","api_version":"v2","content":{"transaction":{"id":"txn_3{n}","amount":2900,"status":"success","currency_code":"EUR"},"invoice":{"id":"i{n}","status":"paid","total":2900,"amount_due":0,"currency_code":"EUR"},"customer":{"id":"c{n}","first_name":"Jan","phone":"{phone}"}},"event_type":"payment_succeeded","webhook_status":"scheduled"}`,
	},
	{
		name: "Chargebee, a trial", preset: "chargebee", on: "subscription.trial_ending", cancelOn: "subscription.activated",
		opens:  `{"id":"ev_t{n}","occurred_at":{unix},"object":"event","api_version":"v2","content":{"subscription":{"id":"s{n}","status":"in_trial","currency_code":"EUR"},"customer":{"id":"c{n}","first_name":"Jan","phone":"{phone}"}},"event_type":"subscription_trial_end_reminder"}`,
		closes: `{"id":"ev_u{n}","occurred_at":{unix},"object":"event","api_version":"v2","content":{"subscription":{"id":"s{n}","status":"active","currency_code":"EUR"},"customer":{"id":"c{n}","first_name":"Jan","phone":"{phone}"}},"event_type":"subscription_activated"}`,
	},
	{
		// docs.recurly.com, payment notifications: ids alone; the transaction names the account.
		name: "Recurly, a payment", preset: "recurly", on: "payment.failed", cancelOn: "order.paid", token: "a-key:",
		opens:   `{"id":"t{n}","object_type":"payment","site_id":"qc3","event_type":"failed","event_time":"{now}","uuid":"u{n}"}`,
		again:   `{"id":"t2{n}","object_type":"payment","site_id":"qc3","event_type":"failed","event_time":"{now}","uuid":"v{n}"}`,
		closes:  `{"id":"i{n}","object_type":"charge_invoice","site_id":"qc3","event_type":"paid","event_time":"{now}","uuid":"w{n}"}`,
		answers: map[string]string{"/transactions/t{n}": `{"id":"t{n}","amount":29.0,"currency":"EUR","status":"declined","account":{"id":"ra{n}","code":"1","email":"jan@example.com","first_name":"Jan"},"invoice":{"id":"i{n}","number":"1001","state":"past_due"}}`, "/transactions/t2{n}": `{"id":"t2{n}","amount":29.0,"currency":"EUR","account":{"id":"ra{n}"},"invoice":{"id":"i{n}"}}`, "/invoices/i{n}": `{"id":"i{n}","number":"1001","state":"paid","total":29.0,"currency":"EUR","account":{"id":"ra{n}"}}`, "/accounts/ra{n}": `{"id":"ra{n}","code":"1","email":"jan@example.com","first_name":"Jan","last_name":"Keller","preferred_locale":"de-DE","address":{"phone":"{phone}","country":"DE"}}`},
	},
	{
		// developer.paddle.com/webhooks: a phone is in custom_data, of the customer here.
		name: "Paddle, a payment", preset: "paddle", on: "payment.failed", cancelOn: "order.paid",
		opens:   `{"event_id":"evt_a{n}","event_type":"transaction.payment_failed","occurred_at":"{now}","notification_id":"ntf_a{n}","data":{"id":"txn_{n}","status":"past_due","customer_id":"ctm_{n}","currency_code":"EUR","custom_data":null,"details":{"totals":{"total":"3000","grand_total":"3000","currency_code":"EUR"},"line_items":[]},"checkout":{"url":"https://paperplane.example.com/pay"}}}`,
		again:   `{"event_id":"evt_b{n}","event_type":"transaction.payment_failed","occurred_at":"{now}","notification_id":"ntf_b{n}","data":{"id":"txn_{n}","status":"past_due","customer_id":"ctm_{n}","currency_code":"EUR","custom_data":null,"details":{"totals":{"grand_total":"3000"},"line_items":[]}}}`,
		closes:  `{"event_id":"evt_c{n}","event_type":"transaction.completed","occurred_at":"{now}","notification_id":"ntf_c{n}","data":{"id":"txn_{n}","status":"completed","customer_id":"ctm_{n}","currency_code":"EUR","custom_data":null,"details":{"totals":{"grand_total":"3000"},"line_items":[]}}}`,
		answers: map[string]string{"/customers/ctm_{n}": `{"data":{"id":"ctm_{n}","name":"Nora Walsh","email":"nora@example.com","locale":"en","status":"active","marketing_consent":false,"custom_data":{"phone":"{phone}"}}}`},
	},
	{
		// cal.com/docs/developing/guides/automation/webhooks.
		name: "Cal.com, a booking", preset: "calcom", on: "booking.created", cancelOn: "booking.cancelled",
		opens:  `{"triggerEvent":"BOOKING_CREATED","createdAt":"{now}","payload":{"type":"first-visit","title":"First visit","startTime":"{now}","endTime":"{now}","organizer":{"name":"Dana Fox","email":"dana@example.com","timeZone":"Europe/London","language":{"locale":"en"}},"responses":{"name":{"label":"your_name","value":"Ada River"},"email":{"label":"email_address","value":"ada@example.com"},"attendeePhoneNumber":{"label":"phone_number","value":"{phone}"},"location":{"label":"location","value":{"optionValue":"","value":"integrations:daily"}}},"attendees":[{"email":"ada@example.com","name":"Ada River","timeZone":"Europe/London","language":{"locale":"en"}}],"uid":"bk{n}","bookingId":9{n},"eventTitle":"First visit","status":"ACCEPTED"}}`,
		again:  `{"triggerEvent":"BOOKING_RESCHEDULED","createdAt":"{now}","payload":{"type":"first-visit","title":"First visit","startTime":"{now}","responses":{"attendeePhoneNumber":{"label":"phone_number","value":"{phone}"}},"attendees":[{"email":"ada@example.com","name":"Ada River","timeZone":"Europe/London","language":{"locale":"en"}}],"uid":"bl{n}","rescheduleUid":"bk{n}","bookingId":8{n},"eventTitle":"First visit","status":"ACCEPTED"}}`,
		closes: `{"triggerEvent":"BOOKING_CANCELLED","createdAt":"{now}","payload":{"type":"first-visit","title":"First visit","startTime":"{now}","responses":{"location":{"label":"location","value":{"optionValue":"{phone}","value":"phone"}}},"attendees":[{"email":"ada@example.com","name":"Ada River","timeZone":"Europe/London","language":{"locale":"en"}}],"uid":"bl{n}","bookingId":8{n},"cancellationReason":"ill","status":"CANCELLED"}}`,
	},
	{
		// developers.acuityscheduling.com/docs/webhooks: a number alone; two changes are two requests of the same bytes.
		name: "Acuity, an appointment", preset: "acuity", on: "booking.created", cancelOn: "booking.cancelled", token: "12:key",
		opens:   `action=scheduled&id=6{n}&calendarID=27238&appointmentTypeID=3791`,
		closes:  `action=canceled&id=6{n}&calendarID=27238&appointmentTypeID=3791`,
		answers: map[string]string{"/api/v1/appointments/6{n}": `{"id":6{n},"firstName":"Ada","lastName":"River","phone":"{phone}","email":"ada@example.com","date":"June 17, 2027","time":"10:15am","datetime":"{now}","price":"10.00","paid":"no","type":"Consultation","appointmentTypeID":3791,"calendarID":27238,"timezone":"Europe/London","forms":[],"canceled":false}`},
	},
	{
		// developers.kommo.com/docs/webhooks-general: a lead names nobody; its main contact does.
		name: "Kommo, a lead", preset: "kommo", on: "deal.created", cancelOn: "deal.won",
		opens:   `leads[add][0][id]=4{n}&leads[add][0][name]=Oak+floor&leads[add][0][status_id]=7039101&leads[add][0][price]=2400&leads[add][0][last_modified]={unix}&leads[add][0][date_create]={unix}&leads[add][0][pipeline_id]=92&account[subdomain]=tryteam&account[id]=70`,
		again:   `leads[update][0][id]=4{n}&leads[update][0][name]=Oak+floor&leads[update][0][status_id]=7039101&leads[update][0][price]=2600&leads[update][0][last_modified]={unix}&account[subdomain]=tryteam&account[id]=70`,
		closes:  `leads[status][0][id]=4{n}&leads[status][0][name]=Oak+floor&leads[status][0][status_id]=142&leads[status][0][old_status_id]=7039101&leads[status][0][price]=2600&leads[status][0][last_modified]={unix}&account[subdomain]=tryteam&account[id]=70`,
		answers: map[string]string{"/api/v4/leads/4{n}?with=contacts": `{"id":4{n},"name":"Oak floor","price":2400,"_embedded":{"tags":[],"contacts":[{"id":32{n},"is_main":false},{"id":33{n},"is_main":true}]}}`, "/api/v4/contacts/33{n}": `{"id":33{n},"name":"Ana Costa","first_name":"Ana","last_name":"Costa","custom_fields_values":[{"field_id":1,"field_name":"Phone","field_code":"PHONE","values":[{"value":"{phone}","enum_code":"WORK"}]}]}`},
	},
	{
		// A contact writes STOP in a chat of Kommo.
		name: "Kommo, a contact", preset: "kommo", on: "contact.created", cancelOn: "deal.created",
		opens:   `contacts[add][0][id]=33{n}&contacts[add][0][name]=Ana+Costa&contacts[add][0][last_modified]={unix}&contacts[add][0][custom_fields][0][id]=66&contacts[add][0][custom_fields][0][name]=Телефон&contacts[add][0][custom_fields][0][values][0][value]={phone_form}&contacts[add][0][custom_fields][0][values][0][enum]=13&contacts[add][0][type]=contact&account[subdomain]=tryteam`,
		again:   `contacts[update][0][id]=33{n}&contacts[update][0][name]=Ana+C&contacts[update][0][last_modified]={unix}&contacts[update][0][custom_fields][0][id]=66&contacts[update][0][custom_fields][0][name]=Telefone&contacts[update][0][custom_fields][0][code]=PHONE&contacts[update][0][custom_fields][0][values][0][value]={phone_form}&contacts[update][0][type]=contact&account[subdomain]=tryteam`,
		closes:  `leads[add][0][id]=5{n}&leads[add][0][name]=Oak+floor&leads[add][0][status_id]=7039101&leads[add][0][last_modified]={unix}&account[subdomain]=tryteam`,
		optOut:  `message[add][0][id]=m{n}&message[add][0][chat_id]=c&message[add][0][contact_id]=33{n}&message[add][0][text]=STOP&message[add][0][created_at]={unix}&message[add][0][type]=incoming&message[add][0][author][type]=external&message[add][0][author][name]=Ana&message[add][0][origin]=waba&account[subdomain]=tryteam`,
		answers: map[string]string{"/api/v4/leads/5{n}?with=contacts": `{"id":5{n},"name":"Oak floor","_embedded":{"contacts":[{"id":33{n},"is_main":true}]}}`, "/api/v4/contacts/33{n}": `{"id":33{n},"name":"Ana Costa","custom_fields_values":[{"field_code":"PHONE","values":[{"value":"{phone}"}]}]}`},
	},
	{
		// developers.rdstation.com/reference/webhooks-payload-copy.
		name: "RD Station, a conversion", preset: "rdstation", on: "form.submitted", cancelOn: "deal.created",
		opens:  `{"event_type":"WEBHOOK.CONVERTED","entity_type":"CONTACT","event_identifier":"ebook","timestamp":"{now}","event_timestamp":"{now}","contact":{"uuid":"c2-{n}","email":"bia@example.com","name":"Bia Moura","personal_phone":null,"mobile_phone":"{phone}","tags":["piso"],"legal_bases":[],"funnel":{"name":"default","lifecycle_stage":"Lead","opportunity":false}}}`,
		again:  `{"event_type":"WEBHOOK.CONVERTED","entity_type":"CONTACT","event_identifier":"webinar","timestamp":"{now}","event_timestamp":"{now}","contact":{"uuid":"c2-{n}","email":"bia@example.com","name":"Bia Moura","mobile_phone":"{phone}","tags":["piso"],"funnel":{"name":"default","lifecycle_stage":"Lead","opportunity":false}}}`,
		closes: `{"event_type":"WEBHOOK.MARKED_OPPORTUNITY","entity_type":"CONTACT","event_identifier":"","timestamp":"{now}","event_timestamp":"{now}","contact":{"uuid":"c2-{n}","email":"bia@example.com","name":"Bia Moura","mobile_phone":"{phone}","tags":["piso"],"funnel":{"name":"default","lifecycle_stage":"Lead","opportunity":true}}}`,
	},
	{
		name: "RD Station, version 1", preset: "rdstation", on: "form.submitted", cancelOn: "deal.created",
		opens:  `{"leads":[{"id":"1{n}","uuid":"c3-{n}","email":"bia@example.com","name":"Bia Moura","created_at":"{now}","opportunity":"false","number_conversions":"3","last_conversion":{"content":{"identificador":"ebook","email_lead":"bia@example.com"},"created_at":"{now}","cumulative_sum":"3"},"custom_fields":{},"personal_phone":null,"mobile_phone":"{phone}","tags":["piso"],"lead_stage":"Lead"}]}`,
		closes: `{"event_type":"WEBHOOK.MARKED_OPPORTUNITY","entity_type":"CONTACT","timestamp":"{now}","event_timestamp":"{now}","contact":{"uuid":"c3-{n}","email":"bia@example.com","name":"Bia Moura","mobile_phone":"{phone}"}}`,
	},
	{
		// developers.recurly.com/pages/webhooks.html: the whole account.
		name: "Recurly in XML, a payment", preset: "recurly_xml", on: "payment.failed", cancelOn: "order.paid",
		opens:  `<?xml version="1.0" encoding="UTF-8"?><failed_payment_notification><account><account_code>x{n}</account_code><username nil="true"></username><email>jan@example.com</email><first_name>Jan</first_name><last_name>Keller</last_name><phone>{phone}</phone></account><transaction><id>t{n}</id><invoice_id>i{n}</invoice_id><amount_in_cents type="integer">1000</amount_in_cents><status>declined</status></transaction></failed_payment_notification>`,
		again:  `<?xml version="1.0" encoding="UTF-8"?><failed_payment_notification><account><account_code>x{n}</account_code><email>jan@example.com</email><first_name>Jan</first_name><last_name>Keller</last_name><phone>{phone}</phone></account><transaction><id>u{n}</id><invoice_id>i{n}</invoice_id><amount_in_cents type="integer">1000</amount_in_cents><status>declined</status></transaction></failed_payment_notification>`,
		closes: `<?xml version="1.0" encoding="UTF-8"?><successful_payment_notification><account><account_code>x{n}</account_code><email>jan@example.com</email><first_name>Jan</first_name><phone>{phone}</phone></account><transaction><id>v{n}</id><invoice_id>i{n}</invoice_id><amount_in_cents type="integer">1000</amount_in_cents><status>success</status></transaction></successful_payment_notification>`,
	},
	{
		// The plug-in Subscriptions of WooCommerce.
		name: "WooCommerce, a subscription", preset: "woocommerce", on: "subscription.paused", cancelOn: "subscription.updated",
		headers: func(string) http.Header { return http.Header{"X-Wc-Webhook-Topic": {"subscription.updated"}} },
		opens:   `{"id":21{n},"parent_id":48,"status":"on-hold","currency":"EUR","date_modified_gmt":"{now}","total":"14.95","customer_id":12,"billing":{"first_name":"Jonas","country":"DE","email":"j@example.com","phone":"{phone}"},"line_items":[],"billing_period":"month","billing_interval":"1"}`,
		closes:  `{"id":21{n},"parent_id":48,"status":"active","currency":"EUR","date_modified_gmt":"{now}","total":"14.95","customer_id":12,"billing":{"first_name":"Jonas","country":"DE","email":"j@example.com","phone":"{phone}"},"line_items":[],"billing_period":"month","billing_interval":"1"}`,
	},
	{
		// elementor.com/help/form-webhooks: labels of a German form.
		name: "Elementor, a form", preset: "elementor", on: "form.submitted",
		opens: `Name=Ada+River&E-Mail=ada%40example.com&Telefonnummer={phone_form}&Nachricht=x{n}&Datum=20.+November+2026&Zeit=9%3A20&Seiten-URL=https%3A%2F%2Flantern.example.com%2F&Powered+by=Elementor&form_id=16a8a2c&form_name=Kontakt`,
		again: `Name=Ada+River&E-Mail=ada%40example.com&Telefonnummer={phone_form}&Nachricht=x{n}&Datum=20.+November+2026&Zeit=9%3A21&Seiten-URL=https%3A%2F%2Flantern.example.com%2F&Powered+by=Elementor&form_id=16a8a2c&form_name=Kontakt`,
	},
	{
		name: "Gravity Forms, an entry", preset: "gravity_forms", on: "form.submitted",
		opens: `{"id":"9{n}","form_id":"7","date_created":"{now}","first_name":"Ada","email":"ada@example.com","Your phone":"{phone}"}`,
		again: `{"id":"8{n}","form_id":"7","date_created":"{now}","first_name":"Ada","email":"ada@example.com","Your phone":"{phone}"}`,
	},
	{
		name: "WPForms, an entry", preset: "wpforms", on: "form.submitted",
		opens: `{"id":"9{n}","first_name":"Ada","email":"ada@example.com","mobile":"{phone}"}`,
		again: `{"id":"8{n}","first_name":"Ada","email":"ada@example.com","mobile":"{phone}"}`,
	},
	{
		// developer.rechargepayments.com/2021-11: the topic is in a header.
		name: "Recharge, a charge", preset: "recharge", on: "payment.failed", cancelOn: "order.paid", headers: ofRecharge,
		opens:  `{"charge":{"id":58{n},"address_id":69{n},"billing_address":{"country_code":"GB","first_name":"Ada","last_name":"River","phone":"{phone}"},"charge_attempts":1,"currency":"GBP","customer":{"id":64{n},"email":"ada@example.com"},"error_type":"CARD_DECLINED","line_items":[],"status":"error","total_price":"14.00","type":"recurring","updated_at":"{now}"}}`,
		again:  `{"charge":{"id":58{n},"address_id":69{n},"billing_address":{"country_code":"GB","first_name":"Ada","last_name":"River","phone":"{phone}"},"charge_attempts":2,"currency":"GBP","customer":{"id":64{n},"email":"ada@example.com"},"error_type":"CARD_DECLINED","line_items":[],"status":"error","total_price":"14.00","type":"recurring","updated_at":"{now}"}}`,
		closes: `{"charge":{"id":58{n},"address_id":69{n},"billing_address":{"country_code":"GB","first_name":"Ada","last_name":"River","phone":"{phone}"},"currency":"GBP","customer":{"id":64{n},"email":"ada@example.com"},"line_items":[],"status":"success","total_price":"14.00","type":"recurring","updated_at":"{now}"}}`,
	},
	{
		name: "Recharge, a subscription", preset: "recharge", on: "subscription.cancelled", cancelOn: "subscription.activated", headers: ofRecharge,
		opens:   `{"subscription":{"id":89{n},"address_id":68{n},"customer_id":64{n},"cancellation_reason":"x","cancelled_at":"{now}","price":"12.00","product_title":"Oil","status":"cancelled","updated_at":"{now}"}}`,
		closes:  `{"subscription":{"id":89{n},"address_id":68{n},"customer_id":64{n},"price":"12.00","product_title":"Oil","status":"active","updated_at":"{now}"}}`,
		answers: map[string]string{"/addresses/68{n}": `{"address":{"id":68{n},"customer_id":64{n},"country_code":"GB","first_name":"Ada","last_name":"River","phone":"{phone}"}}`},
	},
	{
		// docs.attio.com/rest-api/webhook-reference: ids alone; the same person, changed, is the same bytes but for the attribute.
		name: "Attio, a person", preset: "attio", on: "contact.created", cancelOn: "contact.deleted",
		opens:   `{"webhook_id":"w","events":[{"event_type":"record.created","id":{"workspace_id":"ws","object_id":"people","record_id":"p{n}"},"actor":{"type":"system","id":null}}]}`,
		again:   `{"webhook_id":"w","events":[{"event_type":"record.updated","id":{"workspace_id":"ws","object_id":"people","record_id":"p{n}","attribute_id":"a1"},"actor":{"type":"system","id":null}}]}`,
		answers: map[string]string{"/v2/objects/people/records/p{n}": `{"data":{"id":{"record_id":"p{n}"},"values":{"name":[{"first_name":"Ada","last_name":"River","full_name":"Ada River","attribute_type":"personal-name"}],"phone_numbers":[{"original_phone_number":"{phone}","country_code":"GB","phone_number":"{phone}","attribute_type":"phone-number"}],"email_addresses":[{"email_address":"ada@example.com"}]}}}`},
	},
}

// ofRecharge are the headers that Recharge sends with a body.
func ofRecharge(body string) http.Header {
	topic := "charge/paid"
	switch {
	case strings.Contains(body, `"status":"error"`):
		topic = "charge/failed"
	case strings.Contains(body, `"status":"cancelled"`):
		topic = "subscription/cancelled"
	case strings.Contains(body, `"status":"active"`):
		topic = "subscription/activated"
	}
	return http.Header{"X-Recharge-Topic": {topic}}
}
