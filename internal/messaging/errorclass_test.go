package messaging

import (
	"strings"
	"testing"
)

func TestTheServicesWordsHaveAClass(t *testing.T) {
	rules, faults := CompileErrorRules([]ErrorRule{
		{"Flow  Token Expired", ErrorRetry},
		{`/^code 47\d:/`, ErrorRecipientLimit},
		{"insufficient points for video", ErrorPermanent},
	})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	for words, want := range map[string]ErrorMatch{
		"":                                     {Own: -1},
		"something new":                        {Own: -1},
		"the FLOW token\nexpired today":        {ErrorRetry, "Flow  Token Expired", 0},
		"Code 471: too many":                   {ErrorRecipientLimit, `/^code 47\d:/`, 1},
		"no, code 471: too many":               {Own: -1},
		"Insufficient points for video header": {ErrorPermanent, "insufficient points for video", 2},
		"Insufficient Points":                  {ErrorNoPoints, "insufficient points", -1},
	} {
		if got := rules.Match(words); got != want {
			t.Errorf("%q: %+v, want %+v", words, got, want)
		}
	}
	if got := rules.Class("recipient has opted out"); got != ErrorOptOut {
		t.Errorf("a default rule gives %q", got)
	}
	var none *ErrorRules
	for words, want := range map[string]ErrorClass{
		"insufficient points": ErrorNoPoints, "You have not enough credits left": ErrorNoPoints, "Insufficient balance": ErrorNoPoints,
		"The user has unsubscribed": ErrorOptOut, "template cart is PAUSED by the network": ErrorTemplate,
		"not delivered to maintain healthy ecosystem engagement": ErrorRecipientLimit, "Limit per recipient reached": ErrorRecipientLimit,
		"recipient is not on the network": ErrorPermanent, "invalid phone number": ErrorPermanent,
		// Words that may mean something else are a person's to read.
		"template not approved": ErrorUnknown, "a header with an invalid phoneme": ErrorUnknown, "opted out of what": ErrorUnknown, "no pointless text": ErrorUnknown,
	} {
		if got := none.Class(words); got != want {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
	for _, c := range append(ErrorClasses, ErrorUnknown) {
		if (c.Words() == string(c)) == (c == ErrorUnknown) {
			t.Errorf("class %q reads %q", c, c.Words())
		}
	}
}

func TestABadRuleForErrorsSaysWhatAndHow(t *testing.T) {
	for match, want := range map[string]string{
		"ok": "nearly every text", "/open": "does not end with one", "//": "empty regular expression", "/a(b/": "missing closing )", "/x*/": "matches every text",
	} {
		rules, faults := CompileErrorRules([]ErrorRule{{match, ErrorOptOut}, {"insufficient points", ErrorPermanent}})
		if len(faults) != 1 || faults[0].Warning || faults[0].Index != 0 || faults[0].Hint == "" || !strings.Contains(faults[0].Msg, want) {
			t.Errorf("%q: %+v", match, faults)
		}
		if got := rules.Class("insufficient points"); got != ErrorPermanent {
			t.Errorf("beside a bad rule a good one gives %q", got)
		}
	}
	_, faults := CompileErrorRules([]ErrorRule{{"points", ErrorNoPoints}, {"insufficient points", ErrorPermanent}})
	if len(faults) != 1 || !faults[0].Warning || faults[0].Index != 1 || !strings.Contains(faults[0].Msg, `"points" matches`) {
		t.Errorf("a rule that is never reached: %+v", faults)
	}
}
