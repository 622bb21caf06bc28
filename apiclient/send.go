package apiclient

import "context"

// usual is how many bytes hold most requests.
const usual = 384

// A TemplateMessage is one approved template for one phone.
type TemplateMessage struct {
	Phone     string // digits with country code, no plus sign: "447700900123"
	Template  string // the approved template's name
	Language  string
	Variables []string // fill the template's places in order; their number is not checked here

	HeaderMediaType string // image, video or document; "" for no header
	HeaderMediaURL  string // publicly reachable
	Filename        string // of a document; optional
}

// SendTemplate sends one approved template message.
//
// Source: Messaging Automation Service API v1, 4.1 (POST /send-template). The answer's shape
// is not shown there: see Answer.
//
// Every error is a *CallError whose Outcome says whether the same message may be sent
// again. The Answer holds the raw text and the HTTP status also when there is an error.
func (c *Client) SendTemplate(ctx context.Context, m TemplateMessage) (Answer, error) {
	return c.send(ctx, c.template, appendTemplate(make([]byte, 0, usual), m))
}

// SendCampaign triggers the pre-defined campaign for one phone (digits with country code).
//
// Source: Messaging Automation Service API v1, 4.2 (POST /send-campaign). Errors are those of
// SendTemplate.
func (c *Client) SendCampaign(ctx context.Context, phone, campaignID string) (Answer, error) {
	content := appendField(appendPhone(make([]byte, 0, usual), phone), "campaign_id", campaignID)
	return c.send(ctx, c.campaign, append(content, '}'))
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
	content := appendField(appendPhone(make([]byte, 0, usual), phone), "message", text)
	return c.send(ctx, c.text, append(content, '}'))
}

func appendPhone(b []byte, phone string) []byte {
	return appendString(append(b, `{"phone":`...), phone)
}

func appendTemplate(b []byte, m TemplateMessage) []byte {
	b = appendPhone(b, m.Phone)
	b = appendField(b, "template", m.Template)
	b = appendField(b, "language", m.Language)
	if len(m.Variables) > 0 {
		b = append(b, `,"variables":[`...)
		for i, v := range m.Variables {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(b, v)
		}
		b = append(b, ']')
	}
	if m.HeaderMediaType != "" {
		b = appendField(b, "header_media_type", m.HeaderMediaType)
	}
	if m.HeaderMediaURL != "" {
		b = appendField(b, "header_media_url", m.HeaderMediaURL)
	}
	if m.Filename != "" {
		b = appendField(b, "filename", m.Filename)
	}
	return append(b, '}')
}
