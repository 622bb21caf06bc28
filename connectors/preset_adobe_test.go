package connectors_test

import (
	"testing"
)

func TestAdobeCommercesHooks(t *testing.T) {
	const order = `{"increment_id":"000000012","quote_id":"81","state":"new","grand_total":88,"order_currency_code":"EUR","customer_firstname":"Lea","items":[{"sku":"MUG-1","name":"Mug","qty_ordered":2,"price":44}],"addresses":[{"address_type":"shipping","telephone":"01 98 76 54 32","country_id":"FR"},{"address_type":"billing","telephone":"01 23 45 67 89","country_id":"FR"}]}`
	for body, want := range map[string]string{
		`{"subject":[],"eventName":"sales_order_place_before","data":{"order":` + order + `}}`: "order.created",
		`{"subject":[],"eventName":"sales_order_save_after","data":{"order":` + order + `}}`:   "order.updated",
		`{"order":` + order + `}`: "order.created",
	} {
		e := itemsOf(t, "adobe_commerce", body)[0]
		if e.Kind != want || e.Contact.Phone != "33123456789" || e.Contact.Country != "FR" || e.Order.ID != "000000012" || e.Cart.ID != "81" ||
			e.Order.Total.String() != "88" || len(e.Order.Items) != 1 || e.Order.Items[0].Quantity != 2 {
			t.Errorf("%s:\n%+v", body, e)
		}
	}
	if e := itemsOf(t, "adobe_commerce", `{"id":5}`)[0]; e.Kind != "plugin" {
		t.Errorf("a plugin's hook without an order is %s", e.Kind)
	}
	if e := itemsOf(t, "adobe_commerce", `{"order":{"increment_id":"1","addresses":[{"address_type":"shipping","telephone":"01 98 76 54 32","country_id":"FR"}]}}`)[0]; e.Contact.Phone != "33198765432" {
		t.Errorf("%+v", e.Contact)
	}
}
