package app_test

import "encoding/json"

func init() { vendorFlows = append(vendorFlows, verifierFlows...) }

// ofWix are claims as Wix nests them: JSON as text inside of JSON as text.
func ofWix(id, kind, what string) string {
	inner, _ := json.Marshal(`{"id":"` + id + `-{n}","entityFqdn":"f","slug":"s","entityId":"i{n}",` + what + `,"eventTime":"{now}","triggeredByAnonymizeRequest":false}`)
	outer, _ := json.Marshal(`{"data":` + string(inner) + `,"instanceId":"x","eventType":"` + kind + `","identity":"{\"identityType\":\"MEMBER\"}"}`)
	return `{"data":` + string(outer) + `}`
}

const (
	leftAtWix    = `{"id":"ab{n}","checkoutId":"c{n}","cartId":"k{n}","status":"ABANDONED","buyerInfo":{"contactId":"p{n}","email":"ines@example.com"},"contactDetails":{"firstName":"Ines","lastName":"Falk","phone":"{phone}"},"currency":"GBP","totalPrice":{"amount":"69.00"},"checkoutUrl":"https://lane.example.com/c{n}"}`
	orderedAtWix = `{"id":"o{n}","number":"10{n}","checkoutId":"c{n}","buyerInfo":{"contactId":"p{n}","email":"ines@example.com"},"buyerLanguage":"en","currency":"GBP","paymentStatus":"PAID","priceSummary":{"total":{"amount":"69.00"}},"billingInfo":{"address":{"country":"GB"},"contactDetails":{"firstName":"Ines","lastName":"Falk","phone":"{phone}"}},"lineItems":[]}`
	bookedAtWix  = `{"id":"b{n}","status":"CONFIRMED","contactDetails":{"contactId":"p{n}","firstName":"Ines","phone":"{phone}"},"bookedEntity":{"title":"First visit"}}`
)

var verifierFlows = []vendorFlow{
	{
		// dev.wix.com: the order names the checkout that was left.
		name: "Wix, a checkout", preset: "wix", on: "cart.abandoned", cancelOn: "order.created",
		opens:  ofWix("a", "wix.ecom.v1.abandoned_checkout_created", `"createdEvent":{"entity":`+leftAtWix+`}`),
		again:  ofWix("b", "wix.ecom.v1.abandoned_checkout_updated", `"updatedEvent":{"currentEntity":`+leftAtWix+`}`),
		closes: ofWix("c", "wix.ecom.v1.order_created", `"createdEvent":{"entity":`+orderedAtWix+`}`),
	},
	{
		name: "Wix, an order", preset: "wix", on: "order.created", cancelOn: "order.cancelled",
		opens:  ofWix("a", "wix.ecom.v1.order_created", `"createdEvent":{"entity":`+orderedAtWix+`}`),
		again:  ofWix("b", "wix.ecom.v1.order_approved", `"actionEvent":{"body":{"order":`+orderedAtWix+`}}`),
		closes: ofWix("c", "wix.ecom.v1.order_canceled", `"actionEvent":{"body":{"order":`+orderedAtWix+`}}`),
	},
	{
		name: "Wix, a booking", preset: "wix", on: "booking.created", cancelOn: "booking.cancelled",
		opens:  ofWix("a", "wix.bookings.v2.booking_created", `"createdEvent":{"entity":`+bookedAtWix+`}`),
		closes: ofWix("c", "wix.bookings.v2.booking_canceled", `"actionEvent":{"body":{"booking":`+bookedAtWix+`}}`),
	},
	{
		// docs.ecwid.com: a webhook names the order, and everything else is looked up.
		name: "Ecwid, an order", preset: "ecwid", on: "order.created", cancelOn: "order.paid",
		opens:   `{"eventId":"a{n}","eventCreated":{unix},"storeId":1003,"entityId":9{n},"eventType":"order.created","data":{"orderId":"XJ{n}","newPaymentStatus":"AWAITING_PAYMENT","newFulfillmentStatus":"AWAITING_PROCESSING"}}`,
		again:   `{"eventId":"b{n}","eventCreated":{unix},"storeId":1003,"entityId":9{n},"eventType":"order.updated","data":{"orderId":"XJ{n}","oldPaymentStatus":"AWAITING_PAYMENT","newPaymentStatus":"AWAITING_PAYMENT","oldFulfillmentStatus":"AWAITING_PROCESSING","newFulfillmentStatus":"PROCESSING"}}`,
		closes:  `{"eventId":"c{n}","eventCreated":{unix},"storeId":1003,"entityId":9{n},"eventType":"order.updated","data":{"orderId":"XJ{n}","oldPaymentStatus":"AWAITING_PAYMENT","newPaymentStatus":"PAID","oldFulfillmentStatus":"PROCESSING","newFulfillmentStatus":"PROCESSING"}}`,
		answers: map[string]string{"/api/v3/1003/orders/XJ{n}": `{"id":"XJ{n}","internalId":9{n},"total":10,"email":"ada@example.com","paymentStatus":"AWAITING_PAYMENT","customerId":{n},"items":[],"billingPerson":{"name":"Ada River","phone":"{phone}","countryCode":"GB"},"acceptMarketing":false}`},
	},
	{
		name: "Ecwid, a left cart", preset: "ecwid", on: "cart.created", cancelOn: "order.created",
		opens:  `{"eventId":"a{n}","eventCreated":{unix},"storeId":1003,"entityId":9{n},"eventType":"unfinished_order.created","data":{"orderId":"RA{n}","cartId":"320-{n}"}}`,
		again:  `{"eventId":"b{n}","eventCreated":{unix},"storeId":1003,"entityId":9{n},"eventType":"unfinished_order.updated","data":{"orderId":"RA{n}","cartId":"320-{n}"}}`,
		closes: `{"eventId":"c{n}","eventCreated":{unix},"storeId":1003,"entityId":9{n},"eventType":"order.created","data":{"orderId":"RA{n}","newPaymentStatus":"PAID","newFulfillmentStatus":"AWAITING_PROCESSING"}}`,
		answers: map[string]string{
			"/api/v3/1003/carts/320-{n}": `{"cartId":"320-{n}","total":10,"email":"ada@example.com","items":[],"shippingPerson":{"name":"Ada River","phone":"{phone}","countryCode":"GB"}}`,
			"/api/v3/1003/orders/RA{n}":  `{"id":"RA{n}","total":10,"email":"ada@example.com","paymentStatus":"PAID","items":[],"billingPerson":{"name":"Ada River","phone":"{phone}","countryCode":"GB"}}`,
		},
	},
	{
		// developers.squarespace.com/webhooks/events/order-create.
		name: "Squarespace, an order", preset: "squarespace", on: "order.created", cancelOn: "order.cancelled",
		opens:   `{"id":"a{n}","websiteId":"w","subscriptionId":"s","topic":"order.create","createdOn":"{now}","data":{"orderId":"so{n}"}}`,
		again:   `{"id":"b{n}","websiteId":"w","subscriptionId":"s","topic":"order.update","createdOn":"{now}","data":{"orderId":"so{n}","update":"MARKED_PENDING"}}`,
		closes:  `{"id":"c{n}","websiteId":"w","subscriptionId":"s","topic":"order.update","createdOn":"{now}","data":{"orderId":"so{n}","update":"CANCELED"}}`,
		answers: map[string]string{"/1.0/commerce/orders/so{n}": `{"id":"so{n}","orderNumber":"{n}","createdOn":"{now}","channel":"web","testmode":false,"customerEmail":"ada@example.com","billingAddress":{"firstName":"Ada","lastName":"River","countryCode":"GB","phone":"{phone}"},"shippingAddress":null,"fulfillmentStatus":"PENDING","lineItems":[{"id":"l","productName":"Lamp","quantity":1,"unitPricePaid":{"value":"55.20","currency":"GBP"}}],"grandTotal":{"value":"55.20","currency":"GBP"}}`},
	},
	{
		// github.com/TiendaNube/api-docs: nothing distinguishes two updates of one order.
		name: "Nuvemshop, an order", preset: "nuvemshop", on: "order.created", cancelOn: "order.paid",
		opens:   `{"store_id":77,"event":"order/created","id":9{n}}`,
		closes:  `{"store_id":77,"event":"order/paid","id":9{n}}`,
		answers: map[string]string{"/v1/77/orders/9{n}": `{"id":9{n},"number":101,"language":"pt","currency":"BRL","total":"58.00","payment_status":"pending","contact_name":"Bia Lima","contact_email":"bia@example.com","contact_phone":"{phone}","billing_country":"BR","products":[],"customer":{"id":{n},"name":"Bia Lima","email":"bia@example.com","accepts_marketing":false}}`},
	},
	{
		// developer.shopware.com: webhooks of an app.
		name: "Shopware, an order", preset: "shopware", on: "order.created", cancelOn: "order.cancelled",
		opens:  `{"data":{"payload":{"order":{"id":"o{n}","orderNumber":"1{n}","amountTotal":75.9,"currency":{"isoCode":"EUR"},"orderCustomer":{"customerId":"p{n}","email":"jan@example.com","firstName":"Jan","lastName":"Keller"},"billingAddress":{"phoneNumber":"{phone}","country":{"iso":"GB"}},"lineItems":[]}},"event":"checkout.order.placed"},"source":{"url":"https://lane.example.com","shopId":"s","eventId":"a{n}"},"timestamp":{unix}}`,
		again:  `{"data":{"payload":{"order":{"id":"o{n}","orderNumber":"1{n}","amountTotal":75.9,"billingAddress":{"phoneNumber":"{phone}","country":{"iso":"GB"}}}},"event":"state_enter.order_transaction.state.paid"},"source":{"url":"https://lane.example.com","shopId":"s","eventId":"b{n}"},"timestamp":{unix}}`,
		closes: `{"data":{"payload":{"order":{"id":"o{n}","orderNumber":"1{n}","amountTotal":75.9,"billingAddress":{"phoneNumber":"{phone}","country":{"iso":"GB"}}}},"event":"state_enter.order.state.cancelled"},"source":{"url":"https://lane.example.com","shopId":"s","eventId":"c{n}"},"timestamp":{unix}}`,
	},
}
