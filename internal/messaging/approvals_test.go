package messaging_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

func TestARunGoesWhenEnoughDifferentPeopleApprovedIt(t *testing.T) {
	by := func(who string) messaging.Approval { return messaging.Approval{Who: who, Person: who} }
	token := messaging.Approval{Who: "crm (abc)", Person: "ann", Via: "token"} // that ann made
	other := func(edit func(*messaging.Run)) func(*messaging.Run) { return edit }
	for name, tt := range map[string]struct {
		need    int
		starter string
		do      []any // approvals, and changes between them
		words   string
		state   messaging.RunState
		err     error
	}{
		"one is enough where nothing is said":   {0, "", []any{by("ann")}, "", messaging.RunUploading, nil},
		"one of two":                            {2, "", []any{by("ann")}, "1 of 2 approved: ann", messaging.RunAwaiting, nil},
		"two of two":                            {2, "", []any{by("ann"), by("ben")}, "2 of 2 approved: ann, ben", messaging.RunUploading, nil},
		"the same one twice":                    {2, "", []any{by("ann"), by("ann")}, "1 of 2 approved: ann", messaging.RunAwaiting, nil},
		"somebody and the token that they made": {2, "", []any{by("ann"), token}, "1 of 2 approved: ann", messaging.RunAwaiting, nil},
		"a token and who made it":               {2, "", []any{token, by("ann")}, "1 of 2 approved: crm (abc)", messaging.RunAwaiting, nil},
		"a token and somebody else":             {2, "", []any{token, by("ben")}, "2 of 2 approved: crm (abc), ben", messaging.RunUploading, nil},
		"who started it is the first":           {2, "ann", []any{by("ann"), by("ben")}, "2 of 2 approved: ann, ben", messaging.RunUploading, nil},
		"who started it is the last":            {2, "ann", []any{by("ben"), by("ann")}, "1 of 2 approved: ben", messaging.RunAwaiting, messaging.ErrStarter},
		"who started it, by a token, is last":   {2, "ann", []any{by("ben"), token}, "1 of 2 approved: ben", messaging.RunAwaiting, messaging.ErrStarter},
		"who started it is the only one":        {1, "ann", []any{by("ann")}, "", messaging.RunUploading, nil},
		"fewer rows since":                      {2, "", []any{by("ann"), other(func(r *messaging.Run) { r.Tally.Kept-- }), by("ben")}, "2 of 2 approved: ann, ben", messaging.RunUploading, nil},
		"more rows since":                       {2, "", []any{by("ann"), other(func(r *messaging.Run) { r.Tally.Kept++ }), by("ben")}, "1 of 2 approved: ben", messaging.RunAwaiting, nil},
		"another list since":                    {2, "", []any{by("ann"), other(func(r *messaging.Run) { r.Tally.SHA256 = "b" }), by("ben")}, "1 of 2 approved: ben", messaging.RunAwaiting, nil},
		"another template since":                {2, "", []any{by("ann"), other(func(r *messaging.Run) { r.TemplateID = 8 }), by("ben")}, "1 of 2 approved: ben", messaging.RunAwaiting, nil},
		"another text since":                    {2, "", []any{by("ann"), other(func(r *messaging.Run) { r.Send.Text = "hello" }), by("ben")}, "1 of 2 approved: ben", messaging.RunAwaiting, nil},
		"another account since":                 {2, "", []any{by("ann"), other(func(r *messaging.Run) { r.Account = "b" }), by("ben")}, "1 of 2 approved: ben", messaging.RunAwaiting, nil},
		"the same one once more after a change": {2, "", []any{by("ann"), other(func(r *messaging.Run) { r.TemplateID = 8 }), by("ann")}, "1 of 2 approved: ann", messaging.RunAwaiting, nil},
	} {
		r := messaging.Run{
			State: messaging.RunAwaiting, Reason: "too many", TemplateID: 7, Tally: messaging.Tally{Kept: 10, SHA256: "a"}, Approvals: messaging.Approvals{Need: tt.need, Starter: tt.starter},
		}
		var err error
		for _, one := range tt.do {
			switch one := one.(type) {
			case messaging.Approval:
				err = r.Approve(one)
			case func(*messaging.Run):
				one(&r)
			}
		}
		if !errors.Is(err, tt.err) || r.State != tt.state || r.ApprovedWords() != tt.words {
			t.Errorf("%s: %s, %q, %v; want %s, %q, %v", name, r.State, r.ApprovedWords(), err, tt.state, tt.words, tt.err)
		}
		if gone := r.State == messaging.RunUploading; gone != (r.Approved != "") || gone != (r.Reason == "") || gone && tt.words != "" && !strings.HasSuffix(tt.words, r.Approved) {
			t.Errorf("%s: approved by %q, because %q", name, r.Approved, r.Reason)
		}
	}
}
