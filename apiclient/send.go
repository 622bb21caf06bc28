package apiclient

import (
	"context"

	"github.com/nudgewire/nudgewire/internal/valid"
)

// A TemplateMessage is one approved template for one phone.
//
// Section 2 of the document shows a phone as digits with the country code, without plus sign and
// separators; 15 is the most that E.164 allows. What breaks a rule of its field does not leave: the
// error is a *CallError with the outcome Rejected around a *valid.FieldError with the wire's name.
type TemplateMessage struct {
	Phone     string   `json:"phone" validate:"required,number,min=7,max=15"` // digits with country code: "447700900123"
	Template  string   `json:"template" validate:"required"`                  // the approved template's name
	Language  string   `json:"language" validate:"required"`
	Variables []string `json:"variables,omitempty"` // fill the template's places in order; their number is not checked here

	Header *Header `json:"-" validate:"-"` // the media above the text; nil without; SendTemplate checks it by itself
}

// A Header is the media above a template's text, at a publicly reachable address.
type Header struct {
	Type     string `json:"header_media_type" validate:"required,oneof=image video document"`
	URL      string `json:"header_media_url" validate:"required,http_url"`
	Filename string `json:"filename,omitempty" validate:"excluded_unless=Type document"` // optional
}

// A campaignMessage is the body of 4.2, a textMessage that of 4.4, an upload the form of 4.3.
type (
	campaignMessage struct {
		Phone    string `json:"phone" validate:"required,number,min=7,max=15"`
		Campaign string `json:"campaign_id" validate:"required"`
	}
	textMessage struct {
		Phone string `json:"phone" validate:"required,number,min=7,max=15"`
		Text  string `json:"message" validate:"required"`
	}
	upload struct {
		Name     string `json:"name" validate:"required"`
		Template int64  `json:"template_id" validate:"required,gt=0"`
		File     string `json:"file" validate:"required,endswith=.csv"`
	}
)

// checked refuses a request that breaks the rules of its fields before anything leaves.
func checked(call string, request any) error {
	if err := valid.Struct(request); err != nil {
		return &CallError{Call: call, Outcome: Rejected, Err: err}
	}
	return nil
}

// SendTemplate sends one approved template message.
//
// Source: Messaging Automation Service API v1, 4.1 (POST /send-template). The answer's shape
// is not shown there: see Answer.
//
// Every error is a *CallError whose Outcome says whether the same message may be sent
// again. The Answer holds the raw text and the HTTP status also when there is an error.
func (c *Client) SendTemplate(ctx context.Context, m TemplateMessage) (Answer, error) {
	if err := checked(c.template.name, &m); err != nil {
		return Answer{}, err
	}
	if m.Header != nil {
		if err := checked(c.template.name, m.Header); err != nil {
			return Answer{}, err
		}
	}
	return c.send(ctx, c.template, struct {
		TemplateMessage
		*Header
	}{m, m.Header})
}

// SendCampaign triggers the pre-defined campaign for one phone (digits with country code).
//
// Source: Messaging Automation Service API v1, 4.2 (POST /send-campaign). Errors are those of
// SendTemplate.
func (c *Client) SendCampaign(ctx context.Context, phone, campaignID string) (Answer, error) {
	m := campaignMessage{phone, campaignID}
	if err := checked(c.campaign.name, &m); err != nil {
		return Answer{}, err
	}
	return c.send(ctx, c.campaign, &m)
}

// SendText sends a plain text message to one phone (digits with country code).
//
// Source: Messaging Automation Service API v1, 4.4, which shows the body but neither method
// nor path: it is a POST to Options.TextPath, and while that is empty nothing is sent and the
// error is ErrNoTextPath, with the outcome Rejected. Other errors are those of SendTemplate.
func (c *Client) SendText(ctx context.Context, phone, text string) (Answer, error) {
	if c.text == nil {
		return Answer{}, &CallError{Call: "text", Outcome: Rejected, Err: ErrNoTextPath}
	}
	m := textMessage{phone, text}
	if err := checked(c.text.name, &m); err != nil {
		return Answer{}, err
	}
	return c.send(ctx, c.text, &m)
}
