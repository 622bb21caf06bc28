package app_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/connectors"
)

func init() { vendorFlows = append(vendorFlows, presetsFlows...) }

// byBody are headers that a vendor gives each request of its own.
func byBody(name string) func(string) http.Header {
	return func(body string) http.Header {
		return http.Header{http.CanonicalHeaderKey(name): {fmt.Sprintf("%x", sha256.Sum256([]byte(body)))}}
	}
}

func ofWooCommerce(body string) http.Header {
	topic := "order.created"
	if strings.Contains(body, `"date_paid_gmt":"2`) || strings.Contains(body, `"total":"50`) {
		topic = "order.updated"
	}
	return http.Header{"X-Wc-Webhook-Topic": {topic}}
}

// ownShape is a matter in the names of a setup text, for senders whose bodies somebody writes.
func ownShape(kind, more string) string {
	return `{"event":"` + kind + `","event_id":"` + kind + `-{n}` + more + `","occurred_at":"{now}","phone":"{phone}","first_name":"Ada","cart_id":"c{n}","cart_total":"19.90","currency":"GBP"}`
}

const (
	hubspotContact = "/crm/v3/objects/contacts/{n}?properties=phone,mobilephone,hs_calculated_phone_number,firstname,lastname,email,country,hs_country_region_code,hs_language,lifecyclestage,hs_marketable_status"
	hubspotDeal    = "/crm/v3/objects/deals/8{n}?properties=dealname,dealstage,amount,deal_currency_code,hubspot_owner_id&associations=contacts"
)

func salesforceLead(id, at string) string {
	return `<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body><notifications xmlns="http://soap.sforce.com/2005/09/outbound"><OrganizationId>00D</OrganizationId><ActionId>04k</ActionId><SessionId xsi:nil="true"/><EnterpriseUrl>https://x.example.com</EnterpriseUrl><PartnerUrl>https://x.example.com</PartnerUrl><Notification><Id>04l` + id + `{n}</Id><sObject xsi:type="sf:Lead" xmlns:sf="urn:sobject.enterprise.soap.sforce.com"><sf:Id>00Q{n}</sf:Id><sf:FirstName>Paula</sf:FirstName><sf:LastName>Keller</sf:LastName><sf:MobilePhone>{phone}</sf:MobilePhone><sf:SystemModstamp>` + at + `</sf:SystemModstamp></sObject></Notification></notifications></soapenv:Body></soapenv:Envelope>`
}

var presetsFlows = []vendorFlow{
	{
		// developer.adobe.com/commerce/extensibility/webhooks: an observer's hook posts eventName and data.
		name: "Adobe Commerce, a quote", preset: "adobe_commerce", on: "cart.updated", cancelOn: "order.created",
		opens:  `{"subject":[],"eventName":"sales_quote_save_after","data":{"quote":{"entity_id":"8{n}","grand_total":"40.00","currency":{"quote_currency_code":"GBP"},"customer":{"id":"{n}","email":"lea@example.com","firstname":"Lea","lastname":"Martin"},"billing_address":{"telephone":"{phone}"},"items":[]}}}`,
		again:  `{"subject":[],"eventName":"sales_quote_save_after","data":{"quote":{"entity_id":"8{n}","grand_total":"52.00","currency":{"quote_currency_code":"GBP"},"customer":{"id":"{n}","email":"lea@example.com","firstname":"Lea","lastname":"Martin"},"billing_address":{"telephone":"{phone}"},"items":[]}}}`,
		closes: `{"subject":[],"eventName":"sales_order_place_after","data":{"order":{"entity_id":"9{n}","increment_id":"00009{n}","quote_id":"8{n}","state":"new","status":"pending","grand_total":"52.00","order_currency_code":"GBP","customer_email":"lea@example.com","customer_firstname":"Lea","updated_at":"{now}","items":[],"addresses":[{"address_type":"billing","telephone":"{phone}","country_id":"GB"}]}}}`,
	},
	{
		// braze.com/docs: a webhook campaign posts what somebody writes; Currents tells the word of who opted out.
		name: "Braze, a cart", preset: "braze", on: "cart.abandoned", cancelOn: "order.created",
		opens: ownShape("cart.abandoned", ""), again: ownShape("cart.abandoned", "-2"), closes: ownShape("order.created", ""),
		optOut: `{"events":[{"id":"o{n}","event_type":"users.messages.sms.InboundReceive","time":{unix},"user":{"user_id":"60{n}","external_user_id":"u{n}","timezone":"Europe/London"},"properties":{"user_phone_number":"{phone}","inbound_phone_number":"+447700900999","subscription_group_id":"g","action":"Unsubscribed","message_body":"Ende"}}]}`,
	},
	{
		// The plugin's source.
		name: "CartFlows, a cart", preset: "cartflows", on: "cart.abandoned", cancelOn: "cart.converted",
		opens:  `first_name=Mira&last_name=Stone&phone_number={phone_form}&email=m{n}%40example.com&order_status=abandoned&checkout_url=https%3A%2F%2Fshop.example.com%2Fcheckout%2F%3Fwcf_ac_token%3Dt{n}&coupon_code=&product_names=Salt+%26amp%3B+Pepper&cart_total=31%2C00+%E2%82%AC`,
		again:  `first_name=Mira&last_name=Stone&phone_number={phone_form}&email=m{n}%40example.com&order_status=abandoned&checkout_url=https%3A%2F%2Fshop.example.com%2Fcheckout%2F%3Fwcf_ac_token%3Dt{n}&coupon_code=&product_names=Salt&cart_total=12%2C00+%E2%82%AC`,
		closes: `first_name=Mira&last_name=Stone&phone_number={phone_form}&email=m{n}%40example.com&order_status=completed&checkout_url=https%3A%2F%2Fshop.example.com%2Fcheckout%2F%3Fwcf_ac_token%3Dt{n}&coupon_code=&product_names=Salt&cart_total=12%2C00+%E2%82%AC`,
	},
	{
		// developer.close.com/topics/webhooks: an opportunity names its contact by id.
		name: "Close, an opportunity", preset: "close", on: "deal.created", cancelOn: "deal.won",
		opens:   `{"subscription_id":"whsub","event":{"id":"ev_a{n}","date_created":"{now}","date_updated":"{now}","object_type":"opportunity","object_id":"oppo_{n}","lead_id":"lead_{n}","action":"created","changed_fields":[],"data":{"id":"oppo_{n}","lead_id":"lead_{n}","lead_name":"Kestrel Ltd","contact_id":"cont_{n}","contact_name":"Eve Marsh","note":"Roof","status_type":"active","status_label":"Active","value":50000,"value_currency":"GBP","user_name":"Bo"},"previous_data":{}}}`,
		again:   `{"subscription_id":"whsub","event":{"id":"ev_b{n}","date_created":"{now}","date_updated":"{now}","object_type":"opportunity","object_id":"oppo_{n}","action":"updated","changed_fields":["value"],"data":{"id":"oppo_{n}","lead_id":"lead_{n}","contact_id":"cont_{n}","status_type":"active","value":60000,"value_currency":"GBP"},"previous_data":{"value":50000}}}`,
		closes:  `{"subscription_id":"whsub","event":{"id":"ev_c{n}","date_created":"{now}","date_updated":"{now}","object_type":"opportunity","object_id":"oppo_{n}","action":"updated","changed_fields":["status_type"],"data":{"id":"oppo_{n}","lead_id":"lead_{n}","contact_id":"cont_{n}","status_type":"won","value":60000,"value_currency":"GBP"},"previous_data":{"status_type":"active"}}}`,
		answers: map[string]string{"/contact/cont_{n}/": `{"id":"cont_{n}","name":"Eve Marsh","phones":[{"phone":"{phone}","type":"mobile"}],"emails":[]}`},
	},
	{
		// developer.copper.com/webhooks: ids alone.
		name: "Copper, an opportunity", preset: "copper", on: "deal.created", cancelOn: "deal.won", token: "ada@example.com:a-key",
		opens:   `{"subscription_id":900,"event":"new","type":"opportunity","ids":[8{n}],"updated_attributes":{},"timestamp":"{now}","secret":"x"}`,
		again:   `{"subscription_id":901,"event":"update","type":"opportunity","ids":[8{n}],"updated_attributes":{"name":["Roof","Roof and wall"]},"timestamp":"{now}","secret":"x"}`,
		closes:  `{"subscription_id":901,"event":"update","type":"opportunity","ids":[8{n}],"updated_attributes":{"status":["Open","Won"]},"timestamp":"{now}","secret":"x"}`,
		answers: map[string]string{"/opportunities/8{n}": `{"id":8{n},"name":"Roof","primary_contact_id":{n},"status":"Open","monetary_value":100}`, "/people/{n}": `{"id":{n},"name":"Ada River","first_name":"Ada","phone_numbers":[{"number":"{phone}","category":"mobile"}],"emails":[]}`},
	},
	{
		// customer.io/docs/api/webhooks: a person is named by id; a message on the phone names its number.
		name: "Customer.io, a message", preset: "customerio", on: "sms.delivered", cancelOn: "sms.converted", settings: ", kinds: [sms.delivered, sms.converted]",
		opens:   `{"data":{"action_id":1,"campaign_id":2,"content":"Hi","customer_id":"c{n}","delivery_id":"d{n}","identifiers":{"id":"c{n}"},"recipient":"{phone}"},"event_id":"a{n}","object_type":"sms","metric":"delivered","timestamp":{unix}}`,
		again:   `{"data":{"action_id":1,"campaign_id":2,"customer_id":"c{n}","delivery_id":"e{n}","identifiers":{"id":"c{n}"},"recipient":"{phone}"},"event_id":"b{n}","object_type":"sms","metric":"delivered","timestamp":{unix}}`,
		closes:  `{"data":{"action_id":1,"campaign_id":2,"customer_id":"c{n}","delivery_id":"d{n}","identifiers":{"id":"c{n}"},"recipient":"{phone}"},"event_id":"c{n}","object_type":"sms","metric":"converted","timestamp":{unix}}`,
		optOut:  `{"data":{"customer_id":"c{n}","email_address":"ada@example.com","identifiers":{"id":"c{n}","email":"ada@example.com","cio_id":"d9{n}"}},"event_id":"d{n}","object_type":"customer","metric":"unsubscribed","timestamp":{unix}}`,
		answers: map[string]string{"/v1/customers/c{n}/attributes": `{"customer":{"id":"c{n}","attributes":{"email":"ada@example.com","phone":"{phone}"}}}`},
	},
	{
		// learn.microsoft.com/power-apps/developer/data-platform/use-webhooks.
		name: "Dynamics 365, a contact", preset: "dynamics365", on: "contact.created", cancelOn: "contact.updated",
		opens:  `{"BusinessUnitId":"x","CorrelationId":"a{n}","Depth":1,"MessageName":"Create","Mode":1,"OperationCreatedOn":"/Date({unix}000+0000)/","OperationId":"oa{n}","PrimaryEntityId":"p{n}","PrimaryEntityName":"contact","InputParameters":[{"key":"Target","value":{"__type":"Entity:http://schemas.microsoft.com/xrm/2011/Contracts","LogicalName":"contact","Attributes":[{"key":"firstname","value":"Karin"},{"key":"mobilephone","value":"{phone}"}]}}],"PostEntityImages":[]}`,
		again:  `{"BusinessUnitId":"x","CorrelationId":"b{n}","Depth":1,"MessageName":"Create","Mode":1,"OperationCreatedOn":"/Date({unix}000+0000)/","OperationId":"ob{n}","PrimaryEntityId":"q{n}","PrimaryEntityName":"contact","InputParameters":[{"key":"Target","value":{"LogicalName":"contact","Attributes":[{"key":"firstname","value":"Karin"},{"key":"mobilephone","value":"{phone}"}]}}],"PostEntityImages":[]}`,
		closes: `{"BusinessUnitId":"x","CorrelationId":"c{n}","Depth":1,"MessageName":"Update","Mode":1,"OperationCreatedOn":"/Date({unix}000+0000)/","OperationId":"oc{n}","PrimaryEntityId":"p{n}","PrimaryEntityName":"contact","InputParameters":[{"key":"Target","value":{"LogicalName":"contact","Attributes":[{"key":"lastname","value":"Berg"}]}}],"PostEntityImages":[{"key":"AsynchronousStepPrimaryName","value":{"LogicalName":"contact","Attributes":[{"key":"mobilephone","value":"{phone}"}]}}]}`,
	},
	{
		// developers.facebook.com/docs/marketing-api/guides/lead-ads: the lead's id alone.
		name: "Facebook, a lead", preset: "facebook_leads", on: "form.submitted", settings: `, verify_token: "${API_KEY}"`,
		opens:   `{"object":"page","entry":[{"id":"300100","time":{unix},"changes":[{"field":"leadgen","value":{"created_time":{unix},"leadgen_id":"7{n}","page_id":"300100","form_id":"81"}}]}]}`,
		again:   `{"object":"page","entry":[{"id":"300100","time":{unix},"changes":[{"field":"leadgen","value":{"created_time":{unix},"leadgen_id":"6{n}","page_id":"300100","form_id":"81"}}]}]}`,
		answers: map[string]string{"/v23.0/7{n}?fields=field_data": `{"id":"7{n}","field_data":[{"name":"full_name","values":["Ada River"]},{"name":"phone_number","values":["{phone}"]}]}`, "/v23.0/6{n}?fields=field_data": `{"id":"6{n}","field_data":[{"name":"phone_number","values":["{phone}"]}]}`},
	},
	{
		name: "Freshworks, a deal", preset: "freshworks", on: "deal.created", cancelOn: "deal.won",
		opens:  `{"event":"deal.created","id":"{n}","deal_name":"Roof","deal_amount":"120","phone":"{phone}","first_name":"Neha","updated_at":"{now}"}`,
		again:  `{"event":"deal.updated","id":"{n}","deal_name":"Roof and wall","deal_amount":"150","phone":"{phone}","first_name":"Neha","updated_at":"{now}"}`,
		closes: `{"event":"deal.won","id":"{n}","deal_name":"Roof and wall","deal_amount":"150","phone":"{phone}","first_name":"Neha","updated_at":"{now}"}`,
		optOut: `{"event":"contact.unsubscribed","id":"7{n}","phone":"{phone}","first_name":"Neha","updated_at":"{now}"}`,
	},
	{
		// developers.hubspot.com/docs/api/webhooks: lists of what changed, by id.
		name: "HubSpot, a deal", preset: "hubspot", on: "deal.created", cancelOn: "deal.won",
		opens:   `[{"eventId":1{n},"subscriptionId":1,"portalId":4,"appId":5,"occurredAt":{unix}000,"subscriptionType":"deal.creation","attemptNumber":0,"objectId":8{n},"changeFlag":"CREATED","changeSource":"CRM_UI"}]`,
		again:   `[{"eventId":2{n},"subscriptionId":2,"portalId":4,"appId":5,"occurredAt":{unix}000,"subscriptionType":"deal.propertyChange","attemptNumber":0,"objectId":8{n},"propertyName":"amount","propertyValue":"60","changeSource":"CRM_UI"}]`,
		closes:  `[{"eventId":3{n},"subscriptionId":3,"portalId":4,"appId":5,"occurredAt":{unix}000,"subscriptionType":"deal.propertyChange","attemptNumber":0,"objectId":8{n},"propertyName":"dealstage","propertyValue":"closedwon","changeSource":"CRM_UI"}]`,
		answers: map[string]string{hubspotDeal: `{"id":"8{n}","properties":{"dealname":"Roof","amount":"60"},"associations":{"contacts":{"results":[{"id":"{n}","type":"deal_to_contact"}]}}}`, hubspotContact: `{"id":"{n}","properties":{"firstname":"Noor","phone":"{phone}","mobilephone":null}}`},
	},
	{
		// developers.intercom.com/docs/references/webhooks.
		name: "Intercom, a contact", preset: "intercom", on: "contact.created", cancelOn: "contact.deleted",
		opens:   `{"type":"notification_event","app_id":"a","data":{"type":"notification_event_data","item":{"type":"contact","id":"i{n}","role":"user","email":"sam@example.com","name":"Sam Reed","phone":"{phone}","unsubscribed_from_emails":false,"location":{"type":"location","country":"United Kingdom","country_code":"GBR"},"tags":{"type":"list","data":[],"total_count":0}}},"links":{},"id":"notif_a{n}","topic":"contact.user.created","delivery_status":"pending","delivery_attempts":1,"delivered_at":0,"first_sent_at":{unix},"created_at":{unix},"self":null}`,
		again:   `{"type":"notification_event","app_id":"a","data":{"type":"notification_event_data","item":{"type":"contact","id":"i{n}","role":"user","name":"Sam J Reed","phone":"{phone}"}},"id":"notif_b{n}","topic":"contact.user.updated","created_at":{unix}}`,
		closes:  `{"type":"notification_event","app_id":"a","data":{"type":"notification_event_data","item":{"type":"contact","id":"i{n}","role":"user","name":"Sam J Reed","phone":"{phone}"}},"id":"notif_c{n}","topic":"contact.archived","created_at":{unix}}`,
		optOut:  `{"type":"notification_event","app_id":"a","data":{"type":"notification_event_data","item":{"type":"conversation","id":"v{n}","created_at":{unix},"source":{"type":"conversation","id":"s","delivered_as":"customer_initiated","subject":"","body":"<p>Hello</p>","author":{"type":"user","id":"i{n}","name":"Sam Reed","email":"sam@example.com"}},"contacts":{"type":"contact.list","contacts":[{"type":"contact","id":"i{n}","external_id":"u{n}"}]},"open":true,"state":"open","conversation_parts":{"type":"conversation_part.list","conversation_parts":[{"type":"conversation_part","id":"1","part_type":"comment","body":"<p>STOP</p>","created_at":{unix},"author":{"type":"user","id":"i{n}"}}],"total_count":1}}},"links":{},"id":"notif_d{n}","topic":"conversation.user.replied","created_at":{unix}}`,
		answers: map[string]string{"/contacts/i{n}": `{"type":"contact","id":"i{n}","name":"Sam Reed","phone":"{phone}"}`},
	},
	{
		// Public captures of requests.
		name: "HighLevel, a workflow", preset: "gohighlevel_workflow", on: "deal.updated", cancelOn: "deal.won",
		opens:  `{"contact_id":"g{n}","first_name":"Dana","last_name":"Fox","full_name":"Dana Fox","email":"dana@example.com","phone":"{phone}","tags":"","country":"GB","date_created":"{now}","contact_type":"lead","opportunity_name":"Roof","status":"open","lead_value":120,"pipleline_stage":"New","pipeline_id":"p","id":"o{n}","pipeline_name":"Sales","owner":"Bo","location":{"id":"l"},"workflow":{"id":"w","name":"W"},"customData":{}}`,
		again:  `{"contact_id":"g{n}","first_name":"Dana","last_name":"Fox","full_name":"Dana Fox","phone":"{phone}","tags":"","country":"GB","opportunity_name":"Roof","status":"open","lead_value":160,"pipleline_stage":"Offer","pipeline_id":"p","id":"o{n}","location":{"id":"l"},"customData":{}}`,
		closes: `{"contact_id":"g{n}","first_name":"Dana","last_name":"Fox","full_name":"Dana Fox","phone":"{phone}","tags":"","country":"GB","opportunity_name":"Roof","status":"won","lead_value":160,"pipleline_stage":"Offer","pipeline_id":"p","id":"o{n}","location":{"id":"l"},"customData":{}}`,
		optOut: `{"contact_id":"g{n}","full_name":"Dana Fox","phone":"{phone}","country":"GB","message":{"type":2,"body":"STOP"},"location":{"id":"l"},"customData":{}}`,
	},
	{
		// developer.squareup.com/reference/square/webhooks: an invoice names its recipient.
		name: "Square, an invoice", preset: "square", on: "payment.failed", cancelOn: "order.paid",
		opens:  `{"merchant_id":"M","type":"invoice.scheduled_charge_failed","event_id":"a{n}","created_at":"{now}","data":{"type":"invoice","id":"inv:{n}","object":{"invoice":{"id":"inv:{n}","invoice_number":"00{n}","location_id":"L","order_id":"OI{n}","payment_requests":[{"computed_amount_money":{"amount":1200,"currency":"GBP"}}],"primary_recipient":{"customer_id":"C{n}","given_name":"Ada","family_name":"River","email_address":"ada@example.com","phone_number":"{phone}"},"public_url":"https://pay.example.com/{n}","status":"UNPAID","version":1}}}}`,
		again:  `{"merchant_id":"M","type":"invoice.updated","event_id":"b{n}","created_at":"{now}","data":{"type":"invoice","id":"inv:{n}","object":{"invoice":{"id":"inv:{n}","order_id":"OI{n}","primary_recipient":{"customer_id":"C{n}","phone_number":"{phone}"},"status":"UNPAID","version":2}}}}`,
		closes: `{"merchant_id":"M","type":"invoice.payment_made","event_id":"c{n}","created_at":"{now}","data":{"type":"invoice","id":"inv:{n}","object":{"invoice":{"id":"inv:{n}","order_id":"OI{n}","primary_recipient":{"customer_id":"C{n}","phone_number":"{phone}"},"status":"PAID","version":3}}}}`,
	},
	{
		name: "Jotform, a form", preset: "jotform", on: "form.submitted",
		opens: `action=&formID=2300&type=WEB&formTitle=Call+me&submissionID=5{n}&rawRequest=%7B%22slug%22%3A%22submit%2F2300%22%2C%22q3_name%22%3A%7B%22first%22%3A%22Ola%22%2C%22last%22%3A%22Nord%22%7D%2C%22q8_telefon%22%3A%7B%22full%22%3A%22{phone_form}%22%7D%7D&ip=192.0.2.7`,
		again: `action=&formID=2300&type=WEB&formTitle=Call+me&submissionID=6{n}&rawRequest=%7B%22slug%22%3A%22submit%2F2300%22%2C%22q3_name%22%3A%7B%22first%22%3A%22Ola%22%2C%22last%22%3A%22Nord%22%7D%2C%22q8_telefon%22%3A%7B%22full%22%3A%22{phone_form}%22%7D%7D&ip=192.0.2.7`,
	},
	{
		// developers.klaviyo.com/en/docs/working_with_system_webhooks: profiles by id.
		name: "Klaviyo, a subscription", preset: "klaviyo", on: "contact.email_subscribed", cancelOn: "contact.email_unsubscribed",
		opens:   `{"data":[{"external_id":"a{n}","topic":"event:klaviyo.subscribed_to_email_marketing","payload":{"data":{"type":"event","id":"a{n}","attributes":{"timestamp":{unix},"event_properties":{},"datetime":"{now}","uuid":"u"},"relationships":{"profile":{"data":{"type":"profile","id":"01{n}"}},"metric":{"data":{"type":"metric","id":"m"}}}}}}],"meta":{"klaviyo_webhook_id":"w","timestamp":"{now}","version":"1.0"}}`,
		again:   `{"data":[{"external_id":"b{n}","topic":"event:klaviyo.subscribed_to_email_marketing","payload":{"data":{"type":"event","id":"b{n}","attributes":{"timestamp":{unix},"event_properties":{},"datetime":"{now}"},"relationships":{"profile":{"data":{"type":"profile","id":"01{n}"}}}}}}],"meta":{"klaviyo_webhook_id":"w","timestamp":"{now}"}}`,
		closes:  `{"data":[{"external_id":"c{n}","topic":"event:klaviyo.unsubscribed_from_email_marketing","payload":{"data":{"type":"event","id":"c{n}","attributes":{"timestamp":{unix},"event_properties":{},"datetime":"{now}"},"relationships":{"profile":{"data":{"type":"profile","id":"01{n}"}}}}}}],"meta":{"klaviyo_webhook_id":"w","timestamp":"{now}"}}`,
		optOut:  `{"data":[{"external_id":"d{n}","topic":"event:klaviyo.unsubscribed_from_sms_marketing","payload":{"data":{"type":"event","id":"d{n}","attributes":{"timestamp":{unix},"event_properties":{},"datetime":"{now}"},"relationships":{"profile":{"data":{"type":"profile","id":"01{n}"}}}}}}],"meta":{"klaviyo_webhook_id":"w","timestamp":"{now}"}}`,
		answers: map[string]string{"/api/profiles/01{n}?fields%5Bprofile%5D=phone_number,first_name,last_name,email,locale": `{"data":{"type":"profile","id":"01{n}","attributes":{"phone_number":"{phone}","first_name":"Pia","last_name":"Lowe","email":"pia@example.com","locale":"en-GB"}}}`},
	},
	{
		name: "Klaviyo, a flow", preset: "klaviyo_flow", on: "cart.abandoned", cancelOn: "order.created",
		opens: ownShape("cart.abandoned", ""), again: ownShape("cart.abandoned", "-2"), closes: ownShape("order.created", ""), optOut: ownShape("contact.unsubscribed", ""),
	},
	{
		name: "Magento, by a module", preset: "magento", on: "cart.updated", cancelOn: "order.created",
		opens:  `{"event":"cart.updated","event_id":"a{n}","quote_id":"5{n}","grand_total":"19.00","customer_firstname":"Nils","billing_address":{"telephone":"{phone}","country_id":"GB"},"updated_at":"{now}"}`,
		again:  `{"event":"cart.updated","event_id":"b{n}","quote_id":"5{n}","grand_total":"25.00","customer_firstname":"Nils","billing_address":{"telephone":"{phone}","country_id":"GB"},"updated_at":"{now}"}`,
		closes: `{"event":"order.created","event_id":"c{n}","entity_id":"{n}","increment_id":"10000{n}","quote_id":"5{n}","status":"pending","grand_total":"25.00","order_currency_code":"GBP","billing_address":{"telephone":"{phone}","country_id":"GB"},"created_at":"{now}","items":[]}`,
	},
	{
		// mailchimp.com/developer/marketing/guides/sync-audience-data-webhooks.
		name: "Mailchimp, a subscriber", preset: "mailchimp", on: "contact.email_subscribed", cancelOn: "contact.updated",
		opens:  `type=subscribe&fired_at={sql}&data[id]=m{n}&data[list_id]=l&data[email]=tove%40example.com&data[email_type]=html&data[ip_opt]=192.0.2.7&data[ip_signup]=192.0.2.7&data[merges][EMAIL]=tove%40example.com&data[merges][FNAME]=Tove&data[merges][LNAME]=Hall&data[merges][PHONE]={phone_form}&data[merges][INTERESTS]=A`,
		again:  `type=subscribe&fired_at={sql}&data[id]=m{n}&data[list_id]=k&data[email]=tove%40example.com&data[email_type]=html&data[merges][EMAIL]=tove%40example.com&data[merges][FNAME]=Tove&data[merges][PHONE]={phone_form}`,
		closes: `type=profile&fired_at={sql}&data[id]=m{n}&data[list_id]=l&data[email]=tove%40example.com&data[email_type]=html&data[merges][EMAIL]=tove%40example.com&data[merges][FNAME]=Tove&data[merges][LNAME]=Berg&data[merges][PHONE]={phone_form}`,
		optOut: `type=unsubscribe&fired_at={sql}&data[action]=unsub&data[reason]=manual&data[id]=m{n}&data[list_id]=l&data[email]=tove%40example.com&data[email_type]=html&data[ip_opt]=192.0.2.7&data[campaign_id]=c&data[merges][EMAIL]=tove%40example.com&data[merges][FNAME]=Tove&data[merges][PHONE]={phone_form}`,
	},
	{
		// developer.monday.com/api-reference/docs/webhooks-1.
		name: "monday.com, an item", preset: "monday", on: "deal.created", cancelOn: "deal.deleted",
		opens:  `{"event":{"userId":9,"originalTriggerUuid":null,"boardId":8,"pulseId":7{n},"pulseName":"Garden house","groupId":"topics","groupName":"Group","groupColor":"#579bfc","isTopGroup":true,"columnValues":{"phone":{"phone":"{phone}","countryShortName":"GB"}},"app":"monday","type":"create_pulse","triggerTime":"{now}","subscriptionId":1,"triggerUuid":"a{n}"}}`,
		again:  `{"event":{"userId":9,"originalTriggerUuid":null,"boardId":8,"groupId":"topics","pulseId":7{n},"pulseName":"Garden house","columnId":"status","columnType":"color","columnTitle":"Status","value":{"label":{"index":1,"text":"Working on it"}},"previousValue":null,"changedAt":1,"isTopGroup":true,"app":"monday","type":"update_column_value","triggerTime":"{now}","subscriptionId":2,"triggerUuid":"b{n}"}}`,
		closes: `{"event":{"userId":9,"originalTriggerUuid":null,"boardId":8,"itemId":7{n},"itemName":"Garden house","app":"monday","type":"delete_pulse","triggerTime":"{now}","subscriptionId":3,"triggerUuid":"c{n}"}}`,
	},
	{
		// odoo.com/documentation: the fields are those that the rule names.
		name: "Odoo, a contact", preset: "odoo", on: "contact.updated", cancelOn: "order.updated",
		opens:  `{"_action":"Send Webhook Notification(#7)","_id":5{n},"_model":"res.partner","id":5{n},"name":"Wim Peeters","email":"wim@example.com","phone":"{phone}","mobile":false}`,
		again:  `{"_action":"Send Webhook Notification(#7)","_id":5{n},"_model":"res.partner","id":5{n},"name":"Wim J Peeters","email":"wim@example.com","phone":"{phone}","mobile":false}`,
		closes: `{"_action":"Send Webhook Notification(#8)","_id":6{n},"_model":"sale.order","id":6{n},"name":"S0{n}","amount_total":40.0,"partner_phone":"{phone}"}`,
	},
	{
		// developer.paypal.com/api/rest/webhooks: a number as it is dialled at home.
		name: "PayPal, an order", preset: "paypal", on: "order.created", cancelOn: "order.paid",
		opens:  `{"id":"WH-A{n}","create_time":"{now}","resource_type":"checkout-order","event_type":"CHECKOUT.ORDER.APPROVED","summary":"An order has been approved by buyer","resource":{"create_time":"{now}","purchase_units":[{"reference_id":"default","amount":{"currency_code":"GBP","value":"59.90"},"payee":{"merchant_id":"M"},"shipping":{"address":{"country_code":"GB"}}}],"id":"O{n}","intent":"CAPTURE","payer":{"name":{"given_name":"Ines","surname":"Duarte"},"email_address":"ines@example.com","payer_id":"P{n}","phone":{"phone_type":"MOBILE","phone_number":{"national_number":"{national}"}},"address":{"country_code":"GB"}},"status":"APPROVED"},"links":[],"event_version":"1.0","resource_version":"2.0"}`,
		again:  `{"id":"WH-B{n}","create_time":"{now}","resource_type":"checkout-order","event_type":"CHECKOUT.ORDER.APPROVED","resource":{"purchase_units":[{"amount":{"currency_code":"GBP","value":"64.90"}}],"id":"O{n}","payer":{"payer_id":"P{n}","phone":{"phone_number":{"national_number":"{national}"}},"address":{"country_code":"GB"}},"status":"APPROVED"},"event_version":"1.0","resource_version":"2.0"}`,
		closes: `{"id":"WH-C{n}","create_time":"{now}","resource_type":"capture","event_type":"PAYMENT.CAPTURE.COMPLETED","summary":"Payment completed","resource":{"id":"CAP{n}","amount":{"currency_code":"GBP","value":"64.90"},"final_capture":true,"status":"COMPLETED","supplementary_data":{"related_ids":{"order_id":"O{n}"}}},"event_version":"1.0","resource_version":"2.0"}`,
	},
	{
		name: "PrestaShop, by a module", preset: "prestashop", on: "cart.updated", cancelOn: "order.created",
		opens:  `{"event":"cart.updated","event_id":"a{n}","id_cart":"6{n}","customer":{"id":"3","firstname":"Enzo","lastname":"Riva"},"address":{"phone_mobile":"{phone}","country_iso":"GB"},"updated_at":"{now}"}`,
		again:  `{"event":"cart.updated","event_id":"b{n}","id_cart":"6{n}","customer":{"id":"3","firstname":"Enzo","lastname":"Riva"},"address":{"phone_mobile":"{phone}","country_iso":"GB"},"updated_at":"{now}"}`,
		closes: `{"event":"order.created","event_id":"c{n}","id_order":"7{n}","id_cart":"6{n}","reference":"R{n}","total_paid":"64.90","currency_iso":"GBP","customer":{"id":"3","firstname":"Enzo"},"address":{"phone_mobile":"{phone}","country_iso":"GB"},"created_at":"{now}"}`,
	},
	{
		// razorpay.com/docs/webhooks/payloads/payments.
		name: "Razorpay, a payment", preset: "razorpay", on: "payment.failed", cancelOn: "order.paid", headers: byBody("X-Razorpay-Event-Id"),
		opens:  `{"entity":"event","account_id":"acc","event":"payment.failed","contains":["payment"],"payload":{"payment":{"entity":{"id":"pay_a{n}","entity":"payment","amount":129900,"currency":"INR","status":"failed","order_id":"order_{n}","invoice_id":null,"international":false,"method":"card","captured":false,"email":"asha@example.com","contact":"{phone}","notes":[],"error_code":"BAD_REQUEST_ERROR","created_at":{unix}}}},"created_at":{unix}}`,
		again:  `{"entity":"event","account_id":"acc","event":"payment.failed","contains":["payment"],"payload":{"payment":{"entity":{"id":"pay_b{n}","entity":"payment","amount":129900,"currency":"INR","status":"failed","order_id":"order_{n}","method":"upi","email":"asha@example.com","contact":"{phone}","notes":[],"created_at":{unix}}}},"created_at":{unix}}`,
		closes: `{"entity":"event","account_id":"acc","event":"order.paid","contains":["payment","order"],"payload":{"payment":{"entity":{"id":"pay_c{n}","entity":"payment","amount":129900,"currency":"INR","status":"captured","order_id":"order_{n}","method":"card","captured":true,"email":"asha@example.com","contact":"{phone}","notes":[],"created_at":{unix}}},"order":{"entity":{"id":"order_{n}","entity":"order","amount":129900,"amount_paid":129900,"amount_due":0,"currency":"INR","receipt":"r{n}","status":"paid","notes":[],"created_at":{unix}}}},"created_at":{unix}}`,
	},
	{
		name: "Salesforce, a lead", preset: "salesforce", on: "contact.updated",
		opens: salesforceLead("a", "{now}"), again: salesforceLead("b", "{now}"),
	},
	{
		name: "Salesforce, a flow", preset: "salesforce_flow", on: "contact.created", cancelOn: "deal.created",
		opens:  `{"event":"contact.created","id":"00Q{n}","phone":"{phone}","first_name":"Paula","last_name":"Keller","country":"GB","updated_at":"{now}"}`,
		again:  `{"event":"contact.updated","id":"00Q{n}","phone":"{phone}","first_name":"Paula","last_name":"Berg","country":"GB","updated_at":"{now}"}`,
		closes: `{"event":"deal.created","deal_id":"006{n}","phone":"{phone}","name":"Roof","amount":120,"updated_at":"{now}"}`,
		optOut: `{"event":"contact.unsubscribed","id":"00Q{n}","phone":"{phone}","updated_at":"{now}"}`,
	},
	{
		// docs.stripe.com/event-destinations: a thin event names its object, which names the customer.
		name: "Stripe, a thin event", preset: "stripe", on: "payment.failed", cancelOn: "order.paid",
		opens:   `{"id":"evt_a{n}","object":"v2.core.event","type":"v1.payment_intent.payment_failed","livemode":false,"created":"{now}","context":null,"related_object":{"id":"pi_{n}","type":"payment_intent","url":"/v1/payment_intents/pi_{n}"},"reason":null}`,
		again:   `{"id":"evt_b{n}","object":"v2.core.event","type":"v1.payment_intent.payment_failed","livemode":false,"created":"{now}","context":null,"related_object":{"id":"pi_{n}","type":"payment_intent","url":"/v1/payment_intents/pi_{n}"},"reason":null}`,
		closes:  `{"id":"evt_c{n}","object":"v2.core.event","type":"v1.payment_intent.succeeded","livemode":false,"created":"{now}","context":null,"related_object":{"id":"pi_{n}","type":"payment_intent","url":"/v1/payment_intents/pi_{n}"},"reason":null}`,
		answers: map[string]string{"/v1/payment_intents/pi_{n}": `{"id":"pi_{n}","object":"payment_intent","amount":1200,"currency":"gbp","customer":"cus_{n}","status":"requires_payment_method","shipping":null}`, "/v1/customers/cus_{n}": `{"id":"cus_{n}","object":"customer","name":"Rui Costa","phone":"{phone}","preferred_locales":["en-GB"]}`},
	},
	{
		// docs.stripe.com/payments/checkout/abandoned-carts: the recovered session is another one of the same person.
		name: "Stripe, a left checkout", preset: "stripe", on: "checkout.expired", cancelOn: "order.created",
		opens:  `{"id":"evt_e{n}","object":"event","api_version":"2026-06-30","created":{unix},"data":{"object":{"id":"cs_{n}","object":"checkout.session","after_expiration":{"recovery":{"enabled":true,"expires_at":{unix},"url":"https://buy.example.com/r/{n}"}},"amount_total":5000,"currency":"gbp","customer":null,"customer_details":{"address":{"country":"GB"},"email":"hana@example.com","name":"Hana Mori","phone":"{phone}"},"expires_at":{unix},"locale":null,"mode":"payment","payment_status":"unpaid","status":"expired","url":null}},"livemode":false,"pending_webhooks":1,"request":{"id":null,"idempotency_key":null},"type":"checkout.session.expired"}`,
		again:  `{"id":"evt_f{n}","object":"event","api_version":"2026-06-30","created":{unix},"data":{"object":{"id":"cs_2{n}","object":"checkout.session","after_expiration":null,"amount_total":6000,"currency":"gbp","customer":null,"customer_details":{"address":{"country":"GB"},"phone":"{phone}"},"locale":null,"payment_status":"unpaid","status":"expired"}},"livemode":false,"type":"checkout.session.expired"}`,
		closes: `{"id":"evt_g{n}","object":"event","api_version":"2026-06-30","created":{unix},"data":{"object":{"id":"cs_3{n}","object":"checkout.session","amount_total":5000,"currency":"gbp","customer":null,"customer_details":{"address":{"country":"GB"},"phone":"{phone}"},"recovered_from":"cs_{n}","locale":null,"payment_status":"paid","status":"complete"}},"livemode":false,"type":"checkout.session.completed"}`,
	},
	{
		// tally.so/help/webhooks.
		name: "Tally, a form", preset: "tally", on: "form.submitted",
		opens: `{"eventId":"a{n}","eventType":"FORM_RESPONSE","createdAt":"{now}","data":{"responseId":"r{n}","submissionId":"r{n}","respondentId":"p","formId":"F","formName":"Call back","createdAt":"{now}","fields":[{"key":"q1","label":"Vorname","type":"INPUT_TEXT","value":"Ravi"},{"key":"q2","label":"Erreichbar","type":"INPUT_PHONE_NUMBER","value":"{phone}"}]}}`,
		again: `{"eventId":"b{n}","eventType":"FORM_RESPONSE","createdAt":"{now}","data":{"responseId":"s{n}","formId":"F","formName":"Call back","createdAt":"{now}","fields":[{"key":"q2","label":"Erreichbar","type":"INPUT_PHONE_NUMBER","value":"{phone}"}]}}`,
	},
	{
		// typeform.com/developers/webhooks/example-payload.
		name: "Typeform, a form", preset: "typeform", on: "form.submitted",
		opens: `{"event_id":"a{n}","event_type":"form_response","form_response":{"form_id":"f","token":"t{n}","landed_at":"{now}","submitted_at":"{now}","definition":{"id":"f","title":"Call me","fields":[{"id":"q1","ref":"0b1c","title":"Votre prénom","type":"short_text"},{"id":"q2","ref":"0b1d","title":"Et votre numéro ?","type":"phone_number"}]},"answers":[{"type":"text","text":"Bela","field":{"id":"q1","type":"short_text","ref":"0b1c"}},{"type":"phone_number","phone_number":"{phone}","field":{"id":"q2","type":"phone_number","ref":"0b1d"}}]}}`,
		again: `{"event_id":"b{n}","event_type":"form_response","form_response":{"form_id":"f","token":"u{n}","landed_at":"{now}","submitted_at":"{now}","definition":{"id":"f","title":"Call me","fields":[{"id":"q2","ref":"0b1d","title":"Numéro","type":"phone_number"}]},"answers":[{"type":"phone_number","phone_number":"{phone}","field":{"id":"q2","type":"phone_number","ref":"0b1d"}}]}}`,
	},
	{
		// woocommerce.github.io/woocommerce-rest-api-docs: an order that waits for its money, until it is paid.
		name: "WooCommerce, an unpaid order", preset: "woocommerce", on: "order.created", cancelOn: "order.paid", headers: ofWooCommerce,
		opens:  `{"id":4{n},"parent_id":0,"number":"4{n}","order_key":"wc_order_{n}","created_via":"checkout","version":"9.0.0","status":"pending","currency":"GBP","date_created_gmt":"{now}","date_modified_gmt":"{now}","total":"41.20","customer_id":12,"billing":{"first_name":"Jonas","last_name":"Winter","country":"GB","email":"jonas@example.com","phone":"{phone}"},"shipping":{"country":"GB","phone":""},"date_paid_gmt":null,"payment_url":"https://shop.example.com/pay/{n}","line_items":[{"id":1,"name":"Salt &amp; Pepper","product_id":3,"quantity":1,"total":"41.20","sku":"S","price":41.2}],"meta_data":[]}`,
		again:  `{"id":4{n},"parent_id":0,"number":"4{n}","order_key":"wc_order_{n}","status":"pending","currency":"GBP","date_created_gmt":"{now}","date_modified_gmt":"{now}","total":"50.00","customer_id":12,"billing":{"first_name":"Jonas","country":"GB","phone":"{phone}"},"shipping":{},"date_paid_gmt":null,"line_items":[],"meta_data":[]}`,
		closes: `{"id":4{n},"parent_id":0,"number":"4{n}","order_key":"wc_order_{n}","status":"processing","currency":"GBP","date_created_gmt":"{now}","date_modified_gmt":"{now}","total":"50.00","customer_id":12,"billing":{"first_name":"Jonas","country":"GB","phone":"{phone}"},"shipping":{},"date_paid_gmt":"{now}","line_items":[],"meta_data":[]}`,
	},
	{
		// developer.zendesk.com/api-reference/webhooks/event-types/ticket-events: a ticket names who asks by id.
		name: "Zendesk, a ticket", preset: "zendesk", on: "ticket.created", cancelOn: "ticket.solved",
		opens:   `{"type":"zen:event-type:ticket.created","account_id":1,"id":"a{n}","time":"{now}","zendesk_event_version":"2022-11-06","subject":"zen:ticket:7{n}","detail":{"actor_id":"5{n}","id":"7{n}","requester_id":"5{n}","submitter_id":"5{n}","status":"NEW","subject":"My order","tags":[],"type":"QUESTION","created_at":"{now}","updated_at":"{now}","via":{"channel":"web_service"}},"event":{"meta":{"sequence":{"id":"s{n}","position":1,"total":1}}}}`,
		again:   `{"type":"zen:event-type:ticket.status_changed","account_id":1,"id":"b{n}","time":"{now}","zendesk_event_version":"2022-11-06","subject":"zen:ticket:7{n}","detail":{"actor_id":"9","id":"7{n}","requester_id":"5{n}","status":"OPEN","subject":"My order"},"event":{"current":"OPEN","previous":"NEW"}}`,
		closes:  `{"type":"zen:event-type:ticket.status_changed","account_id":1,"id":"c{n}","time":"{now}","zendesk_event_version":"2022-11-06","subject":"zen:ticket:7{n}","detail":{"actor_id":"9","id":"7{n}","requester_id":"5{n}","status":"SOLVED","subject":"My order"},"event":{"current":"SOLVED","previous":"OPEN"}}`,
		answers: map[string]string{"/api/v2/users/5{n}": `{"user":{"id":5{n},"name":"Ann Bell","email":"ann@example.com","phone":"{phone}","locale":"en-GB","iana_time_zone":"Europe/London"}}`},
	},
	{
		// zoho.com/crm/developer/docs/api/v7/notifications: ids alone.
		name: "Zoho, a deal", preset: "zoho_crm", on: "deal.created", cancelOn: "deal.deleted",
		settings: `, oauth: {client_id: c, client_secret: "${API_KEY}", refresh_token: "${API_KEY}", token_url: "{api}/oauth/token"}`,
		opens:    `{"server_time":{unix}000,"query_params":{},"module":"Deals","resource_uri":"https://www.zohoapis.example.com/crm/v7/Deals","ids":["9{n}"],"affected_fields":[],"operation":"insert","channel_id":"1","token":"x"}`,
		again:    `{"server_time":{unix}001,"query_params":{},"module":"Deals","resource_uri":"https://www.zohoapis.example.com/crm/v7/Deals","ids":["9{n}"],"affected_fields":[{"9{n}":["Amount"]}],"operation":"update","channel_id":"1","token":"x"}`,
		closes:   `{"server_time":{unix}002,"query_params":{},"module":"Deals","resource_uri":"https://www.zohoapis.example.com/crm/v7/Deals","ids":["9{n}"],"affected_fields":[],"operation":"delete","channel_id":"1","token":"x"}`,
		answers:  map[string]string{"/oauth/token": `{"access_token":"t","expires_in":3600}`, "/crm/v7/Deals/9{n}": `{"data":[{"id":"9{n}","Deal_Name":"Roof","Stage":"Qualification","Amount":120,"Contact_Name":{"name":"Ada River","id":"5{n}"}}]}`, "/crm/v7/Contacts/5{n}": `{"data":[{"id":"5{n}","First_Name":"Ada","Last_Name":"River","Mobile":"{phone}"}]}`},
	},
}

func init() {
	for preset, header := range map[string]string{"generic": "", "shopify_flow": "", "zapier": "", "make": "", "n8n": "", "standardwebhooks": "Webhook-Id", "svix": "Svix-Id"} {
		f := vendorFlow{
			name: "A shape of one's own, by " + preset, preset: preset, on: "cart.abandoned", cancelOn: "order.created",
			opens: ownShape("cart.abandoned", ""), again: ownShape("cart.abandoned", "-2"), closes: ownShape("order.created", ""), optOut: ownShape("contact.unsubscribed", ""),
		}
		if header != "" {
			f.headers = byBody(header)
		}
		vendorFlows = append(vendorFlows, f)
	}
	for _, preset := range []string{"segment", "rudderstack"} { // their e-commerce specification
		event := func(id, name, properties string) string {
			return `{"anonymousId":"x","context":{"library":{"name":"analytics.js","version":"4"},"locale":"en-GB","traits":{"phone":"{phone}","firstName":"Amy"}},"event":"` + name + `","integrations":{},"messageId":"` + id + `{n}","originalTimestamp":"{now}","properties":{` + properties + `},"receivedAt":"{now}","sentAt":"{now}","timestamp":"{now}","type":"track","userId":"u{n}"}`
		}
		vendorFlows = append(vendorFlows, vendorFlow{
			name: "A checkout, by " + preset, preset: preset, on: "cart.created", cancelOn: "order.created",
			opens:  event("a", "Checkout Started", `"order_id":"o{n}","affiliation":"Store","value":30,"revenue":25,"currency":"GBP","products":[]`),
			again:  event("b", "Checkout Started", `"order_id":"o{n}","affiliation":"Store","value":35,"revenue":30,"currency":"GBP","products":[]`),
			closes: event("c", "Order Completed", `"checkout_id":"k{n}","order_id":"o{n}","affiliation":"Store","total":35,"revenue":30,"currency":"GBP","products":[]`),
		})
	}
}

// What a vendor does not post, and why no flow of its preset has it.
var (
	noEnd = map[string]string{
		"facebook_leads": "a lead is a form that was sent", "jotform": "a form that was sent has no end", "attio": "a deleted record has no phone any more",
		"elementor": "a form that was sent has no end", "gravity_forms": "a form that was sent has no end", "wpforms": "a form that was sent has no end", "tally": "a form that was sent has no end", "typeform": "a form that was sent has no end",
		"salesforce": "what ends a matter comes as a record of another object, which has no phone",
	}
	noSecondSave = map[string]string{
		"calendly": "a booking is not edited: it is moved, which is a cancellation and a new booking", "acuity": "two changes are two requests of the same bytes",
		"nuvemshop": "two changes are two requests of the same bytes",
	}
	noWord = map[string]string{
		"adobe_commerce": "its hooks tell of carts, orders and customers", "bigcommerce": "its scopes name no consent", "calendly": "it asks for none", "cartflows": "it tells of carts alone",
		"close": "it has no consent", "copper": "it has no consent", "dynamics365": "donotphone and the like are about calls, letters and e-mail", "facebook_leads": "a lead says yes or is not sent",
		"hubspot": "hs_marketable_status is about e-mail", "jotform": "a form has what its owner asks", "magento": "modules tell of orders and customers",
		"monday": "a board has what its owner asks", "odoo": "a rule posts fields of a record", "paypal": "it tells of payments", "pipedrive": "marketing_status is about e-mail",
		"prestashop": "newsletter is about e-mail", "razorpay": "it tells of payments", "rudderstack": "the specification names no consent", "segment": "the specification names no consent",
		"salesforce": "HasOptedOutOfEmail is about e-mail", "square": "its customers' preference is about e-mail", "stripe": "what it asks for is promotional e-mail", "tally": "a form has what its owner asks",
		"typeform": "a form has what its owner asks", "woocommerce": "orders and customers have no consent", "zendesk": "it tells of users and tickets", "zoho_crm": "a notification has ids alone",
		"salla": "its events name no consent", "zid": "its events name no consent", "vtex": "the hook tells of orders", "chargebee": "it tells of payments", "recurly": "it tells of payments",
		"paddle": "marketing_consent is about e-mail", "acuity": "it asks for none", "calcom": "it asks for none", "rdstation": "a legal basis is a field of the contact, and no event of its own",
		"recurly_xml": "it tells of payments", "ecwid": "acceptMarketing is about e-mail", "nuvemshop": "a hook has ids alone", "shopware": "its newsletter is e-mail", "squarespace": "it tells of orders",
		"wix":      "its subscriptions are of e-mail",
		"recharge": "it tells of payments", "attio": "a record has what its owner keeps", "elementor": "a form has what its owner asks", "gravity_forms": "a form has what its owner asks", "wpforms": "a form has what its owner asks",
	}
)

// bringsReplies reports whether a sender tells what people wrote and nothing of a matter: those are played by connectors' TestRepliesOfNetworks.
func bringsReplies(kinds []string) bool {
	return slices.Contains(kinds, "message.received") && !slices.ContainsFunc(kinds, func(kind string) bool {
		return kind != "message.received" && !strings.HasPrefix(kind, "contact.")
	})
}

// TestEveryPresetHasItsFlow wants of each preset a matter with its end, a second save and an opt-out, or the reason why the vendor has none.
func TestEveryPresetHasItsFlow(t *testing.T) {
	for _, preset := range connectors.PresetNames() {
		var has, ends, again, optOut bool
		if info, _ := connectors.PresetInfo(preset); bringsReplies(info.Kinds) {
			continue
		}
		for i := range vendorFlows {
			if f := &vendorFlows[i]; f.preset == preset {
				has, ends, again, optOut = true, ends || f.closes != "", again || f.again != "", optOut || f.optOut != ""
			}
		}
		switch {
		case !has:
			t.Errorf("%s has no flow: add one to vendor_flows_…_test.go", preset)
			continue
		case ends == (noEnd[preset] != ""), again == (noSecondSave[preset] != ""), optOut == (noWord[preset] != ""):
			t.Errorf("%s: an end %v, a second save %v, an opt-out %v: a flow has each, or noEnd, noSecondSave, noWord say why the vendor posts none", preset, ends, again, optOut)
		}
	}
}
