package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
)

// mostLatest is how many of a person's messages stand before the story.
const mostLatest = 5

// mostStories is how much of a person is told: the newest.
const mostStories = 100

type peoplePage struct {
	Asked   string                   // what was searched for
	Found   []messaging.FoundContact // who is like it, where that is not one whose phone is known
	Nobody  bool                     // is, and it is no phone
	Phone   string                   // whose story it is
	Contact *server.ContactView
	Gist    gist
	Latest  []server.MessageView // messages, the newest first
	Replies []server.EventView   // that say what the person wrote, the newest first
	Stories []story              // the newest first
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
	for i := len(stories) - 1; i >= 0; i-- {
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
			if s.Event.Said != "" {
				v.Replies = append(v.Replies, s.Event)
			}
			v.Latest = append(v.Latest, s.Messages...)
		}
	}
	v.More = len(v.Stories) >= mostStories
	slices.SortStableFunc(v.Latest, func(a, b server.MessageView) int { return cmp.Compare(b.ID, a.ID) })
	v.Latest = v.Latest[:min(len(v.Latest), mostLatest)]
	if len(v.Stories) > 0 {
		v.Gist = gistOf(&v.Stories[0])
	}
	return nil
}

// A gist is what came of the newest thing that is known of a person, in a sentence.
type gist struct {
	Words string
	At    time.Time
}

func gistOf(s *story) gist {
	if n := len(s.Messages); n > 0 {
		return messageGist(&s.Messages[n-1])
	}
	if s.Row != nil {
		words := fmt.Sprintf("Run %d of %s has a row of this phone.", s.Row.Run, s.Row.Job)
		if s.Row.Excluded != "" {
			words = fmt.Sprintf("No message of run %d of %s: %s", s.Row.Run, s.Row.Job, sentence(s.Row.Excluded))
		}
		return gist{words, s.Row.At}
	}
	e := &s.Event
	var words []string
	for i := range e.Decisions {
		words = append(words, fmt.Sprintf("%s %s: %s", spaced(e.Decisions[i].Outcome), e.Decisions[i].Trigger, e.Decisions[i].Reason))
	}
	switch {
	case e.Lookup != nil:
		words = []string{"it is looked up before triggers are asked"}
	case e.Unsaid:
		words = []string{"what triggers decided is not kept any more"}
	case len(words) == 0:
		words = []string{"no trigger listens to it"}
	}
	return gist{fmt.Sprintf("No message because of %s: %s", e.Event, sentence(strings.Join(words, "; "))), e.ReceivedAt}
}

// messageGist is what became of a message.
func messageGist(m *server.MessageView) gist {
	state, at := spaced(m.State), m.UpdatedAt
	if m.State == messaging.StateAccepted && m.Status != "" {
		state = string(m.Status)
	}
	words := fmt.Sprintf("%s of %s: %s", capital(m.What), m.Trigger, state)
	if why := cmp.Or(m.Held, m.Error, m.Reason); why != "" {
		words += ", " + why
	}
	if m.State == messaging.StateWaiting {
		at = m.DueAt
	}
	return gist{sentence(words), at}
}
