package console

import (
	"errors"
	"net/http"
	"strings"

	"github.com/nudgewire/nudgewire/server"
)

// mostStories is how much of a person is told: the newest.
const mostStories = 100

type peoplePage struct {
	Asked   string // what was searched for
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
	v := peoplePage{Asked: strings.TrimSpace(r.URL.Query().Get("phone"))}
	p := page{Name: "people", Title: "People", Here: "/people"}
	if v.Asked == "" {
		p.Data = v
		return p, nil
	}
	contact, err := c.Ask.Contact(r.Context(), v.Asked)
	if err != nil {
		return p, err
	}
	v.Contact = &contact
	stories, err := c.Ask.Why(r.Context(), v.Asked, mostStories)
	if no, ok := errors.AsType[*server.Error](err); ok && no.Status == http.StatusNotFound {
		v.Nothing, err = sentence(no.Words), nil
	}
	if err != nil {
		return p, err
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
	p.Data = v
	return p, nil
}
