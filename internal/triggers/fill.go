package triggers

import (
	"fmt"
	"unicode/utf8"

	"github.com/nudgewire/nudgewire/internal/expressions"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/plain"
)

// maxMessage is how many characters of a plain text are sent: the messaging network's bound
// for one message.
const maxMessage = 4096

// fill renders everything that is to be sent; trouble is the first reason why it cannot be.
func (s *sending) fill(in *expressions.Scope) (out messaging.Send, trouble string) {
	out.Template, out.Campaign = s.template, s.campaign
	if s.language != nil {
		if out.Language, trouble = s.language.Variable(in); trouble != "" {
			return out, "the language " + trouble
		}
	}
	if len(s.variables) > 0 {
		out.Variables = make([]string, len(s.variables))
	}
	for i, v := range s.variables {
		if out.Variables[i], trouble = v.Variable(in); trouble != "" {
			return out, fmt.Sprintf("variable %d %s", i+1, trouble)
		}
	}
	if s.text != nil {
		text, empty := s.text.Render(in)
		switch n := utf8.RuneCountInString(text); {
		case empty != "":
			return out, "the text has an empty part: " + empty + "; give it a default"
		case plain.OneLine(text) == "":
			return out, "the text is empty"
		case n > maxMessage:
			return out, fmt.Sprintf("the text is %d characters long; at most %d are sent", n, maxMessage)
		}
		out.Text = text
	}
	if s.media != "" {
		if out.Header, trouble = s.header(in); trouble != "" {
			return out, trouble
		}
	}
	return out, ""
}

func (s *sending) header(in *expressions.Scope) (*messaging.Header, string) {
	address, trouble := s.address.Variable(in)
	if trouble != "" {
		return nil, "the header's " + s.media + " " + trouble
	}
	if err := Fetchable(address); err != nil {
		return nil, fmt.Sprintf("the header's %s: %v", s.media, err)
	}
	h := &messaging.Header{Type: s.media, URL: address}
	if s.filename != nil {
		if h.Filename, trouble = s.filename.Variable(in); trouble != "" {
			return nil, "the header's file name " + trouble
		}
	}
	return h, ""
}
