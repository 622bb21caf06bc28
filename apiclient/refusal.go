package apiclient

import (
	"errors"
	"net/http"
)

// A Refusal is what a definite no of the service is about, and so whom else it would meet.
//
// Source: Messaging Automation Service API v1 shows no error but by its status, so this goes by the
// status alone and never by words.
type Refusal string

// The refusals.
const (
	RefusesKey     Refusal = "key"     // 401, 403: every call with this key
	RefusesAccount Refusal = "account" // 402: every call until the account has points again
	RefusesAddress Refusal = "address" // 3xx, 404, 405, 410, 501: what answers at this address is not the endpoint, or the thing named is not there
	RefusesSize    Refusal = "size"    // 413: every file as large as this one
	RefusesRequest Refusal = "request" // the rest: this request, and maybe each that is made like it
)

// RefusalOf is what a call was refused for; "" when its outcome is not Rejected.
func RefusalOf(err error) Refusal {
	call, ok := errors.AsType[*CallError](err)
	if !ok || call.Outcome != Rejected {
		return ""
	}
	switch status := call.HTTPStatus; {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return RefusesKey
	case status == http.StatusPaymentRequired:
		return RefusesAccount
	case status == http.StatusRequestEntityTooLarge:
		return RefusesSize
	case status >= 300 && status < 400, status == http.StatusNotFound, status == http.StatusMethodNotAllowed,
		status == http.StatusGone, status == http.StatusNotImplemented:
		return RefusesAddress
	default:
		return RefusesRequest
	}
}
