package enricher

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/nudgewire/nudgewire/connectors"
)

// errorCode is what an error of OAuth looks like; anything else is not repeated.
var errorCode = regexp.MustCompile(`^[a-z_]{1,40}$`)

// exchange asks for an access token, by the refresh token or by the client's own credentials. Its
// form and its answer are x/oauth2's, whose errors hold the whole answer and so are never shown.
func (c *Client) exchange(ctx context.Context, l *connectors.Lookup, refresh string) (*oauth2.Token, *FetchError) {
	o := &l.Auth.OAuth
	// clientcredentials sends a scope with a refresh token, too, which oauth2.Config does not.
	ask := clientcredentials.Config{
		ClientID: o.ClientID, ClientSecret: o.ClientSecret.Reveal(), TokenURL: o.TokenURL, AuthStyle: oauth2.AuthStyleInParams,
		EndpointParams: url.Values{"grant_type": {o.Grant}},
	}
	if o.Grant == connectors.GrantRefresh {
		ask.EndpointParams.Set("refresh_token", refresh)
	}
	if o.Scope != "" {
		ask.Scopes = []string{o.Scope}
	}
	client := *c.client(l)
	client.Transport = &tokenDoor{Client: c, lookup: l, next: client.Transport}
	token, err := ask.Token(context.WithValue(ctx, oauth2.HTTPClient, &client))
	if failed, ok := errors.AsType[*FetchError](err); ok {
		return nil, failed
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return nil, c.noAnswer(l, err)
	}
	none := &FetchError{Host: l.Host, Words: "its answer holds none", Final: true}
	if refusal, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		if refusal.Response.StatusCode != http.StatusOK {
			none = refused(l.Host, refusal.Response)
		}
		if errorCode.MatchString(refusal.ErrorCode) {
			none.Words += " (" + refusal.ErrorCode + ")"
		}
		if refusal.ErrorCode == "invalid_grant" {
			none.Words += ", so its refresh token has ended: get a new one and write it into the config"
		}
		return nil, none
	}
	if err != nil || strings.ContainsAny(token.AccessToken, "\r\n") {
		return nil, none
	}
	return token, nil
}

// A tokenDoor keeps for x/oauth2 the rules of every look-up: whom we say we are, and how long an
// answer may be. The body is read here, as x/oauth2 turns an error of reading into text.
type tokenDoor struct {
	*Client
	lookup *connectors.Lookup
	next   http.RoundTripper
}

func (d *tokenDoor) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Accept", "application/json")
	d.identify(req, d.lookup)
	res, err := d.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body, failed := d.read(d.lookup.Host, res.Body)
	if err := res.Body.Close(); failed == nil && err != nil {
		return nil, err
	}
	switch {
	case failed == nil:
	case res.StatusCode == http.StatusOK:
		return nil, failed
	default: // what it says beside its refusal does not matter
		body = nil
	}
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		// Some places call their JSON plain text, which x/oauth2 would read as a form.
		res.Header.Set("Content-Type", "application/json")
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}
