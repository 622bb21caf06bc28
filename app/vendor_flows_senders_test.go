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
}
