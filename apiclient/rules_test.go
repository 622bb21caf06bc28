package apiclient

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/valid"
)

// What breaks a rule of the document never leaves, and the error names the field as the wire does
// without repeating a phone.
func TestMalformedRequestsDoNotLeave(t *testing.T) {
	base := answer(t, func(http.ResponseWriter, *http.Request) { t.Error("a malformed request left") })
	c := open(t, base, func(o *Options) { o.TextPath = "/send-message" })
	good := TemplateMessage{Phone: testPhone, Template: "order_paid", Language: "en"}
	template := func(change func(*TemplateMessage)) func() error {
		return func() error {
			m := good
			change(&m)
			_, err := c.SendTemplate(t.Context(), m)
			return err
		}
	}
	campaign := func(phone, id string) func() error {
		return func() error { _, err := c.SendCampaign(t.Context(), phone, id); return err }
	}
	text := func(phone, words string) func() error {
		return func() error { _, err := c.SendText(t.Context(), phone, words); return err }
	}
	file := func(name string, id int64, file string) func() error {
		return func() error {
			_, err := c.CreateCampaign(t.Context(), name, id, file, strings.NewReader("phone\n"), 6)
			return err
		}
	}
	tests := map[string]struct {
		call  func() error
		field string
		words string
	}{
		"no phone":                     {template(func(m *TemplateMessage) { m.Phone = "" }), "phone", "is missing"},
		"a phone with a plus sign":     {template(func(m *TemplateMessage) { m.Phone = "+447700900123" }), "phone", "must be digits, without plus sign and separators"},
		"a phone with separators":      {template(func(m *TemplateMessage) { m.Phone = "44 7700 900123" }), "phone", "must be digits, without plus sign and separators"},
		"a phone that is a fraction":   {template(func(m *TemplateMessage) { m.Phone = "4477009.123" }), "phone", "must be digits, without plus sign and separators"},
		"a phone that is short":        {template(func(m *TemplateMessage) { m.Phone = "999" }), "phone", "must have at least 7 characters"},
		"a phone that is long":         {template(func(m *TemplateMessage) { m.Phone = "4477009001234567" }), "phone", "must have at most 15 characters"},
		"no template":                  {template(func(m *TemplateMessage) { m.Template = "" }), "template", "is missing"},
		"no language":                  {template(func(m *TemplateMessage) { m.Language = "" }), "language", "is missing"},
		"an unknown kind of media":     {template(func(m *TemplateMessage) { m.Header = &Header{Type: "gif", URL: "https://cdn.example.com/a"} }), "header_media_type", "must be one of image, video, document"},
		"media without its address":    {template(func(m *TemplateMessage) { m.Header = &Header{Type: "image"} }), "header_media_url", "is missing"},
		"an address without its kind":  {template(func(m *TemplateMessage) { m.Header = &Header{URL: "https://cdn.example.com/a.png"} }), "header_media_type", "is missing"},
		"media that is no web address": {template(func(m *TemplateMessage) { m.Header = &Header{Type: "image", URL: "file:///a.png"} }), "header_media_url", "must be an http or https address"},
		"a name for an image": {template(func(m *TemplateMessage) {
			m.Header = &Header{"image", "https://cdn.example.com/a.png", "a.png"}
		}), "filename", "is only for document"},
		"a campaign for nobody":       {campaign("", "417"), "phone", "is missing"},
		"a campaign for +44":          {campaign("+447700900123", "417"), "phone", "must be digits, without plus sign and separators"},
		"a campaign without its id":   {campaign(testPhone, ""), "campaign_id", "is missing"},
		"a text for nobody":           {text("", "hello"), "phone", "is missing"},
		"an empty text":               {text(testPhone, ""), "message", "is missing"},
		"an upload without a name":    {file("", 1042, "a.csv"), "name", "is missing"},
		"an upload without template":  {file("a", 0, "a.csv"), "template_id", "is missing"},
		"an upload to a template < 1": {file("a", -1, "a.csv"), "template_id", "must be more than 0"},
		"an upload that is no csv":    {file("a", 1042, "a.xlsx"), "file", "must end in .csv"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := tt.call()
			wrong, ok := errors.AsType[*valid.FieldError](err)
			if !ok || wrong.Field != tt.field || OutcomeOf(err) != Rejected {
				t.Fatalf("%v, want a rejection because of %s", err, tt.field)
			}
			if want := `field "` + tt.field + `" ` + tt.words; wrong.Error() != want || strings.Contains(err.Error(), "900123") {
				t.Errorf("%q, want %q and no phone", err, want)
			}
		})
	}
}
