package apiclient

import (
	"errors"
	"net/http"
)

// A Trouble is what the error of a call shows about the service as a whole, or about the account,
// rather than about the one thing that was asked for.
type Trouble string

// The troubles. But for TroubleOutage, nothing was taken.
const (
	TroubleNone    Trouble = ""        // the service is well, whatever it said
	TroubleBusy    Trouble = "busy"    // 429, 425, 503 with Retry-After: it asks to come later
	TroubleKey     Trouble = "key"     // 401, 403: it refuses the API key
	TroublePoints  Trouble = "points"  // 402; its words for an account without points are for a caller to know
	TroubleAddress Trouble = "address" // 404, 405, 410, a redirect: nothing takes such a call there
	TroubleOutage  Trouble = "outage"  // no connection, no answer, 408, another 5xx, a web page instead of an answer
)

// Words says for people what the trouble is.
func (t Trouble) Words() string {
	switch t {
	case TroubleBusy:
		return "the service asks to come later"
	case TroubleKey:
		return "the service refuses the API key"
	case TroublePoints:
		return "the account has insufficient points"
	case TroubleAddress:
		return "nothing takes messages at the service's address"
	case TroubleOutage:
		return "the service does not answer as it should"
	default:
		return ""
	}
}

// TroubleOf reads the trouble off the error of a call; an error that is not of this package shows none.
// The API document shows no answer to a refused request, so statuses are taken by their meaning in
// HTTP. A question about one thing that is answered 404 is answered well.
func TroubleOf(err error) Trouble {
	call, ok := errors.AsType[*CallError](err)
	switch {
	case !ok:
		return TroubleNone
	case call.HTTPStatus == 0 && call.Outcome == Rejected: // by us
		return TroubleNone
	case call.HTTPStatus == 0, errors.Is(call.Err, ErrWebPage):
		return TroubleOutage
	}
	switch status := call.HTTPStatus; {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return TroubleKey
	case status == http.StatusPaymentRequired:
		return TroublePoints
	case status == http.StatusTooManyRequests, status == http.StatusTooEarly,
		status == http.StatusServiceUnavailable && call.Outcome == NotAccepted:
		return TroubleBusy
	case status == http.StatusRequestTimeout, status >= http.StatusInternalServerError:
		return TroubleOutage
	case call.question && (status == http.StatusNotFound || status == http.StatusGone):
		return TroubleNone
	case status == http.StatusNotFound, status == http.StatusGone, status == http.StatusMethodNotAllowed, status >= 300 && status < 400:
		return TroubleAddress
	default:
		return TroubleNone
	}
}
