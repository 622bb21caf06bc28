package app_test

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
}
