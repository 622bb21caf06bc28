package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
)

// A phone has at least so many digits; a number with fewer is that of a message, or of an event.
const fewestDigits = 7

// find leads from what somebody typed to its page: a phone, the number of a message or of an event, the service's id of a message, or what
// a person is found by.
func (c *Console) find(w http.ResponseWriter, r *http.Request) {
	if _, known := access.WhoOf(r.Context()); !known {
		c.write(w, r, http.StatusUnauthorized, page{Name: "signin", Title: "Sign in", Data: signInPage{}})
		return
	}
	place, err := c.placeOf(r, strings.TrimSpace(r.URL.Query().Get("q")))
	if err != nil {
		c.refuse(w, r, err)
		return
	}
	http.Redirect(w, r, place, http.StatusSeeOther) //nolint:gosec // the path of a page of ours, with a number or an escaped query
}

func (c *Console) placeOf(r *http.Request, text string) (string, error) {
	lower := strings.ToLower(text)
	for word, path := range map[string]string{"message ": "/messages/", "event ": "/events/", "run ": "/runs/", "m": "/messages/", "e": "/events/"} {
		if n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimPrefix(lower, word)), 10, 64); strings.HasPrefix(lower, word) && err == nil && n > 0 {
			return fmt.Sprintf("%s%d", path, n), nil
		}
	}
	digits := strings.Trim(text, "+0123456789 ()-./") == ""
	if count := len(strings.Map(onlyDigits, text)); digits && (strings.HasPrefix(text, "+") || count >= fewestDigits || strings.ContainsAny(text, " -")) && text != "" {
		return "/people?find=" + url.QueryEscape(text), nil
	}
	if text != "" {
		m, err := server.ShowMessage.Call(r.Context(), c.Ask, text)
		if err == nil {
			return fmt.Sprintf("/messages/%d", m.ID), nil
		}
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 {
		if e, err := server.ShowEvent.Call(r.Context(), c.Ask, messaging.EventID(n)); err == nil {
			return fmt.Sprintf("/events/%d", e.Event.ID), nil
		}
	}
	if text != "" {
		found, err := server.FindContacts.Call(r.Context(), c.Ask, text)
		if err != nil {
			return "", err
		}
		if len(found) > 0 {
			return "/people?find=" + url.QueryEscape(text), nil
		}
	}
	return "", &refusal.Error{
		Status: http.StatusNotFound, Words: "nothing is found by that",
		Hint: "type a phone with its country code, a name, an e-mail address, an order, the number of a message, or \"event 12\"",
	}
}

func onlyDigits(r rune) rune {
	if r >= '0' && r <= '9' {
		return r
	}
	return -1
}
