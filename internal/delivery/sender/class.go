package sender

import (
	"errors"
	"net/http"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// What a refusal shows is read off its HTTP status by apiclient, and off the service's words by the rules
// of the config. Words that a rule knows are believed before a status that more than one thing leads to.

// A meaning is what the error of a call shows: of the service or the account, and of this message.
type meaning struct {
	trouble apiclient.Trouble
	class   messaging.ErrorClass // "" where the words are unknown, or are not about the message
	words   string               // the service's own about the message, "" for none
}

// meaningOf reads the error of a call. Only a message that was surely not taken has a class.
func (s *Sender) meaningOf(err error) meaning {
	m := meaning{trouble: apiclient.TroubleOf(err)}
	call, ok := errors.AsType[*apiclient.CallError](err)
	if !ok || call.HTTPStatus == 0 || call.Outcome == apiclient.InDoubt || call.HTTPStatus == http.StatusUnauthorized || m.trouble == apiclient.TroubleOutage {
		return m
	}
	m.class = s.Classify(call.Words)
	switch {
	case m.class == messaging.ErrorNoPoints || m.class == messaging.ErrorUnknown && m.trouble == apiclient.TroublePoints:
		m.trouble, m.class = apiclient.TroublePoints, messaging.ErrorNoPoints
	case m.class == messaging.ErrorUnknown && m.trouble == apiclient.TroubleNone:
		m.trouble = TroubleRejections
	case m.class == messaging.ErrorUnknown, m.class == messaging.ErrorRetry && m.trouble == apiclient.TroubleBusy:
		return m // of the service as a whole
	default:
		m.trouble = apiclient.TroubleNone
	}
	m.words = call.Words
	return m
}
