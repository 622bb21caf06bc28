package nudgewire_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire"
)

func TestARunGoesWhenEnoughDifferentPeopleApprovedIt(t *testing.T) {
	by := func(who string) nudgewire.Approval { return nudgewire.Approval{Who: who, Person: who} }
	token := nudgewire.Approval{Who: "crm (abc)", Person: "ann", Via: "token"} // that ann made
	other := func(edit func(*nudgewire.Run)) func(*nudgewire.Run) { return edit }
	for name, tt := range map[string]struct {
		need    int
		starter string
		do      []any // approvals, and changes between them
		words   string
		state   nudgewire.RunState
		err     error
	}{
		"one is enough where nothing is said":   {0, "", []any{by("ann")}, "", nudgewire.RunUploading, nil},
		"one of two":                            {2, "", []any{by("ann")}, "1 of 2 approved: ann", nudgewire.RunAwaiting, nil},
		"two of two":                            {2, "", []any{by("ann"), by("ben")}, "2 of 2 approved: ann, ben", nudgewire.RunUploading, nil},
		"the same one twice":                    {2, "", []any{by("ann"), by("ann")}, "1 of 2 approved: ann", nudgewire.RunAwaiting, nil},
		"somebody and the token that they made": {2, "", []any{by("ann"), token}, "1 of 2 approved: ann", nudgewire.RunAwaiting, nil},
		"a token and who made it":               {2, "", []any{token, by("ann")}, "1 of 2 approved: crm (abc)", nudgewire.RunAwaiting, nil},
		"a token and somebody else":             {2, "", []any{token, by("ben")}, "2 of 2 approved: crm (abc), ben", nudgewire.RunUploading, nil},
		"who started it is the first":           {2, "ann", []any{by("ann"), by("ben")}, "2 of 2 approved: ann, ben", nudgewire.RunUploading, nil},
		"who started it is the last":            {2, "ann", []any{by("ben"), by("ann")}, "1 of 2 approved: ben", nudgewire.RunAwaiting, nudgewire.ErrStarter},
		"who started it, by a token, is last":   {2, "ann", []any{by("ben"), token}, "1 of 2 approved: ben", nudgewire.RunAwaiting, nudgewire.ErrStarter},
		"who started it is the only one":        {1, "ann", []any{by("ann")}, "", nudgewire.RunUploading, nil},
		"fewer rows since":                      {2, "", []any{by("ann"), other(func(r *nudgewire.Run) { r.Tally.Kept-- }), by("ben")}, "2 of 2 approved: ann, ben", nudgewire.RunUploading, nil},
		"more rows since":                       {2, "", []any{by("ann"), other(func(r *nudgewire.Run) { r.Tally.Kept++ }), by("ben")}, "1 of 2 approved: ben", nudgewire.RunAwaiting, nil},
		"another list since":                    {2, "", []any{by("ann"), other(func(r *nudgewire.Run) { r.Tally.SHA256 = "b" }), by("ben")}, "1 of 2 approved: ben", nudgewire.RunAwaiting, nil},
		"another template since":                {2, "", []any{by("ann"), other(func(r *nudgewire.Run) { r.TemplateID = 8 }), by("ben")}, "1 of 2 approved: ben", nudgewire.RunAwaiting, nil},
		"another text since":                    {2, "", []any{by("ann"), other(func(r *nudgewire.Run) { r.Send.Text = "hello" }), by("ben")}, "1 of 2 approved: ben", nudgewire.RunAwaiting, nil},
		"another account since":                 {2, "", []any{by("ann"), other(func(r *nudgewire.Run) { r.Account = "b" }), by("ben")}, "1 of 2 approved: ben", nudgewire.RunAwaiting, nil},
		"the same one once more after a change": {2, "", []any{by("ann"), other(func(r *nudgewire.Run) { r.TemplateID = 8 }), by("ann")}, "1 of 2 approved: ann", nudgewire.RunAwaiting, nil},
	} {
		r := nudgewire.Run{
			State: nudgewire.RunAwaiting, Reason: "too many", TemplateID: 7, Tally: nudgewire.Tally{Kept: 10, SHA256: "a"}, Approvals: nudgewire.Approvals{Need: tt.need, Starter: tt.starter},
		}
		var err error
		for _, one := range tt.do {
			switch one := one.(type) {
			case nudgewire.Approval:
				err = r.Approve(one)
			case func(*nudgewire.Run):
				one(&r)
			}
		}
		if !errors.Is(err, tt.err) || r.State != tt.state || r.ApprovedWords() != tt.words {
			t.Errorf("%s: %s, %q, %v; want %s, %q, %v", name, r.State, r.ApprovedWords(), err, tt.state, tt.words, tt.err)
		}
		if gone := r.State == nudgewire.RunUploading; gone != (r.Approved != "") || gone != (r.Reason == "") || gone && tt.words != "" && !strings.HasSuffix(tt.words, r.Approved) {
			t.Errorf("%s: approved by %q, because %q", name, r.Approved, r.Reason)
		}
	}
}
