package console

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
)

// mostStories is how much of a person is told: the newest.
const mostStories = 100

type peoplePage struct {
	Asked   string                   // what was searched for
	Found   []messaging.FoundContact // who is like it, where that is not one whose phone is known
	Nobody  bool                     // is, and it is no phone
	Phone   string                   // whose story it is
	Contact *server.ContactView
	Stories []story
	Notes   []string
	Nothing string // why there is no story; "" where there is one
	More    bool   // older stories are left out
}

// A story is an event or a row with what came of it.
type story struct {
	server.StoryView
	Timelines [][]server.Moment // of each message
}

func (c *Console) people(r *http.Request) (page, error) {
	v := peoplePage{Phone: strings.TrimSpace(r.URL.Query().Get("phone"))}
	v.Asked = cmp.Or(v.Phone, strings.TrimSpace(r.URL.Query().Get("find")))
	p := page{Name: "people", Title: "People", Here: "/people"}
	err := c.findPerson(r.Context(), &v)
	if err == nil && v.Phone != "" {
		err = c.tellPerson(r.Context(), &v)
	}
	p.Data = v
	return p, err
}

// findPerson finds whose story is asked for. What nobody is found by may be a phone.
func (c *Console) findPerson(ctx context.Context, v *peoplePage) (err error) {
	if v.Asked == "" || v.Phone != "" {
		return nil
	}
	if !strings.HasPrefix(v.Asked, "+") {
		v.Found, err = server.FindContacts.Call(ctx, c.Ask, v.Asked)
	}
	switch {
	case err != nil || len(v.Found) > 1 || len(v.Found) == 1 && v.Found[0].Phone.IsMasked():
		return err
	case len(v.Found) == 1:
		v.Phone, v.Found = "+"+string(v.Found[0].Phone), nil
		return nil
	}
	_, err = server.ShowContact.Call(ctx, c.Ask, v.Asked)
	if no, ok := errors.AsType[*refusal.Error](err); ok && no.Status == http.StatusBadRequest {
		v.Nobody = true
		return nil
	}
	v.Phone = v.Asked
	return err
}

// tellPerson tells the story of a phone.
func (c *Console) tellPerson(ctx context.Context, v *peoplePage) error {
	contact, err := server.ShowContact.Call(ctx, c.Ask, v.Phone)
	if err != nil {
		return err
	}
	v.Contact = &contact
	stories, err := server.Why.Call(ctx, c.Ask, server.ListQuery{Phone: v.Phone, Limit: mostStories})
	if no, ok := errors.AsType[*refusal.Error](err); ok && no.Status == http.StatusNotFound {
		v.Nothing, err = sentence(no.Words), nil
	}
	if err != nil {
		return err
	}
	for i := range stories {
		switch s := &stories[i]; {
		case s.Note != "":
			v.Notes = append(v.Notes, sentence(s.Note))
		case s.Block != nil: // the contact has it
		default:
			one := story{StoryView: *s}
			for j := range s.Messages {
				one.Timelines = append(one.Timelines, c.timeline(&s.Messages[j]))
			}
			v.Stories = append(v.Stories, one)
		}
	}
	v.More = len(v.Stories) >= mostStories
	return nil
}
