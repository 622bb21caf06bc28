package simulation

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A Call is one to the service.
type Call struct {
	Message                  *messaging.Message // that it is made for
	Phone                    string
	Template, Campaign, Text string // one of them
}

// A Fate is what becomes of a call. The zero value is delivered.
type Fate struct {
	Status messaging.Status // the last that the service tells: sent, delivered, read or failed; "" is delivered
	Error  string           // the service's words

	Rejected bool // it does not take the message
	Doubtful bool // it does not answer, so that nobody knows
}

// A Service says what becomes of each call; nil delivers all.
type Service func(Call) Fate

// How long a message takes by the service: before the first look of the usual schedule.
const (
	sentAfter  = time.Second
	endedAfter = 3 * time.Second
)

// A played is the service as the sender and the tracker call it.
type played struct {
	now   func() time.Time
	fate  Service
	calls *messaging.Message // the one that is about to be called for
	taken []int64            // when each message was taken, in microseconds; its id is its place, from 1
	ends  map[int]Fate       // of those that are not delivered simply, by their place: few, and there are as many messages as a month has
}

func (p *played) SendTemplate(_ context.Context, m apiclient.TemplateMessage) (apiclient.Answer, error) {
	return p.take("send-template", Call{Phone: m.Phone, Template: m.Template})
}

func (p *played) SendCampaign(_ context.Context, phone, id string) (apiclient.Answer, error) {
	return p.take("send-campaign", Call{Phone: phone, Campaign: id})
}

func (p *played) SendText(_ context.Context, phone, text string) (apiclient.Answer, error) {
	return p.take("send-text", Call{Phone: phone, Text: text})
}

func (p *played) take(name string, c Call) (apiclient.Answer, error) {
	var f Fate
	c.Message = p.calls
	if p.fate != nil {
		f = p.fate(c)
	}
	switch {
	case f.Rejected:
		return apiclient.Answer{}, &apiclient.CallError{Call: name, Outcome: apiclient.Rejected, HTTPStatus: http.StatusUnprocessableEntity, Words: mask.Text(f.Error)}
	case f.Doubtful:
		return apiclient.Answer{}, &apiclient.CallError{Call: name, Outcome: apiclient.InDoubt, Err: errNoAnswer}
	}
	if f.Error != "" || f.Status != "" && f.Status != messaging.StatusDelivered {
		if p.ends == nil {
			p.ends = map[int]Fate{}
		}
		p.ends[len(p.taken)] = f
	}
	p.taken = append(p.taken, p.now().UnixMicro())
	return apiclient.Answer{MessageID: strconv.Itoa(len(p.taken)), HTTPStatus: http.StatusOK}, nil
}

var errNoAnswer = errors.New("no answer came in time")

// MessageStatus implements tracker.API, and sender.API.
func (p *played) MessageStatus(_ context.Context, id string) (apiclient.Status, error) {
	n, err := strconv.Atoi(id)
	if err != nil || n < 1 || n > len(p.taken) {
		return apiclient.Status{}, &apiclient.CallError{Call: "message-status", Outcome: apiclient.Rejected, HTTPStatus: http.StatusNotFound}
	}
	f, at := p.ends[n-1], time.UnixMicro(p.taken[n-1]).UTC()
	out := apiclient.Status{MessageID: id, Status: string(messaging.StatusQueued)}
	switch age := p.now().Sub(at); {
	case age >= endedAfter && f.Status != messaging.StatusSent:
		out.Status = string(f.Status)
		if out.Error = f.Error; f.Status == "" {
			out.Status = string(messaging.StatusDelivered)
		}
		if out.Delivered = f.Status != messaging.StatusFailed; out.Delivered {
			out.Timestamp = at.Add(endedAfter)
		}
	case age >= sentAfter:
		out.Status = string(messaging.StatusSent)
	}
	return out, nil
}
