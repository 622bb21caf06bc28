package console

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// A phone has at least so many digits; a number with fewer is that of a message, or of an event.
const fewestDigits = 7

// among says what the box at the top looks among.
const among = "phones, names, e-mail addresses, orders, carts, and the numbers of messages, events and runs"

// A foundPage is what was found by what somebody typed, where that is not one thing.
type foundPage struct {
	Asked, Among string
	Phone        bool // it may be a phone as well
	Message      *server.MessageView
	Event        *server.EventView
	Run          *server.RunView
	People       []messaging.FoundContact
}

// hits are where each thing that was found is told.
func (v *foundPage) hits() (places []string) {
	if v.Message != nil {
		places = append(places, fmt.Sprintf("/messages/%d", v.Message.ID))
	}
	if v.Event != nil {
		places = append(places, fmt.Sprintf("/events/%d", v.Event.ID))
	}
	if v.Run != nil {
		places = append(places, fmt.Sprintf("/runs/%d", v.Run.ID))
	}
	if v.Phone || len(v.People) > 0 {
		places = append(places, "/people?find="+url.QueryEscape(v.Asked))
	}
	return places
}

// Nothing reports whether nothing was found.
func (v *foundPage) Nothing() bool { return len(v.hits()) == 0 }

// find leads from what somebody typed to its page: a phone, the number of a message, an event or a run, the service's id of a message, or
// what a person is found by. Where that is several things, or nothing, a page says so.
func (c *Console) find(w http.ResponseWriter, r *http.Request) {
	if _, known := access.WhoOf(r.Context()); !known {
		c.write(w, r, http.StatusUnauthorized, page{Name: "signin", Title: "Sign in", Data: signInPage{}})
		return
	}
	v := &foundPage{Asked: strings.TrimSpace(r.URL.Query().Get("q")), Among: among}
	place := named(v.Asked)
	if place == "" {
		if err := c.lookFor(r.Context(), v); err != nil {
			c.refuse(w, r, err)
			return
		}
		if hits := v.hits(); len(hits) == 1 {
			place = hits[0]
		}
	}
	if place == "" {
		c.write(w, r, http.StatusOK, page{Name: "find", Title: "Find", Data: v})
		return
	}
	http.Redirect(w, r, place, http.StatusSeeOther)
}

// named is the page of what is named with its kind, such as "event 12" or e12; "" for all else.
func named(text string) string {
	lower := strings.ToLower(text)
	for word, path := range map[string]string{"message ": "/messages/", "event ": "/events/", "run ": "/runs/", "m": "/messages/", "e": "/events/", "r": "/runs/"} {
		if n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimPrefix(lower, word)), 10, 64); strings.HasPrefix(lower, word) && err == nil && n > 0 {
			return fmt.Sprintf("%s%d", path, n)
		}
	}
	return ""
}

// lookFor looks for a text among all that it may be.
func (c *Console) lookFor(ctx context.Context, v *foundPage) error {
	count := len(strings.Map(onlyDigits, v.Asked))
	digits := strings.Trim(v.Asked, "+0123456789 ()-./") == "" && count > 0
	v.Phone = digits && (count >= fewestDigits || strings.HasPrefix(v.Asked, "+") || strings.ContainsAny(v.Asked, " -"))
	if v.Asked == "" || v.Phone && strings.Map(onlyDigits, v.Asked) != v.Asked { // its page looks among orders, too
		return nil
	}
	m, err := server.ShowMessage.Call(ctx, c.Ask, v.Asked)
	if err = found(err, func() { v.Message = &m }); err != nil {
		return err
	}
	if n, bad := strconv.ParseInt(v.Asked, 10, 64); bad == nil && n > 0 {
		e, err := server.ShowEvent.Call(ctx, c.Ask, messaging.EventID(n))
		if err = found(err, func() { v.Event = &e.Event }); err != nil {
			return err
		}
		run, err := server.ShowRun.Call(ctx, c.Ask, messaging.RunID(n))
		if err = found(err, func() { v.Run = &run }); err != nil {
			return err
		}
	}
	people, err := server.FindContacts.Call(ctx, c.Ask, v.Asked)
	return found(err, func() { v.People = people })
}

// found notes what was found. That there is no such thing, or can be none, is no error of a search.
func found(err error, note func()) error {
	if err == nil {
		note()
	} else if mistake(err) != nil {
		err = nil
	}
	return err
}

func onlyDigits(r rune) rune {
	if r >= '0' && r <= '9' {
		return r
	}
	return -1
}
