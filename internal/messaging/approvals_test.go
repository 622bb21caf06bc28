package messaging_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

func TestARunGoesWhenEnoughDifferentPeopleApprovedIt(t *testing.T) {
	by := func(who string) messaging.Approval { return messaging.Approval{Who: who, Person: who} }
	token := messaging.Approval{Who: "crm (abc)", Person: "ann", Via: "token"} // that ann made
	other := func(edit func(*messaging.Run)) func(*messaging.Run) { return edit }
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	let := func(who string, at time.Duration, makers ...string) messaging.Approval { // in by makers, so long before or after the run was made
		return messaging.Approval{Who: who, Person: who, Makers: makers, LetInAt: noon.Add(at)}
	}
	tokenOf := messaging.Approval{Who: "crm (def)", Person: "pup", Via: "token", Makers: []string{"ann"}}
	no := func(words string) error { return &messaging.NotAnotherError{Words: words} }
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
		"who was let in by the first":           {2, "", []any{by("ann"), let("pup", -1, "ann")}, "1 of 2 approved: ann", messaging.RunAwaiting, no("pup was let in by ann, who approved it")},
		"who let the first in":                  {2, "", []any{let("pup", -1, "ann"), by("ann")}, "1 of 2 approved: pup", messaging.RunAwaiting, no("pup, who approved it, was let in by ann")},
		"let in over three steps":               {2, "", []any{by("ann"), let("pup3", -1, "pup2", "pup1", "ann")}, "1 of 2 approved: ann", messaging.RunAwaiting, no("pup3 was let in by ann, who approved it")},
		"a token of who was let in":             {2, "", []any{by("ann"), tokenOf}, "1 of 2 approved: ann", messaging.RunAwaiting, no("crm (def) was let in by ann, who approved it")},
		"let in by the second of three":         {3, "", []any{by("ben"), by("ann"), let("pup", -1, "ann")}, "2 of 3 approved: ben, ann", messaging.RunAwaiting, no("pup was let in by ann, who approved it")},
		"let in by who does not approve":        {2, "", []any{let("ben", -1, "ann"), let("cat", -1, "ann")}, "2 of 2 approved: ben, cat", messaging.RunUploading, nil},
		"let in after the run was made":         {2, "", []any{by("ann"), let("pup", 1, "root (0)")}, "1 of 2 approved: ann", messaging.RunAwaiting, no("pup was let in after the run was made")},
		"let in as the run was made":            {2, "", []any{by("ann"), let("pup", 0, "root (0)")}, "2 of 2 approved: ann, pup", messaging.RunUploading, nil},
		"let in by who started it, and is last": {2, "ann", []any{by("ben"), let("pup", -1, "ann")}, "1 of 2 approved: ben", messaging.RunAwaiting, messaging.ErrStarter},
		"let in by the first whose word ended":  {2, "", []any{by("ann"), other(func(r *messaging.Run) { r.TemplateID = 8 }), let("pup", -1, "ann")}, "1 of 2 approved: pup", messaging.RunAwaiting, nil},
		"let in, where one is enough":           {1, "", []any{let("pup", 1, "ann")}, "", messaging.RunUploading, nil},
		"the same one once more after a change": {2, "", []any{by("ann"), other(func(r *messaging.Run) { r.TemplateID = 8 }), by("ann")}, "1 of 2 approved: ann", messaging.RunAwaiting, nil},
	} {
		r := messaging.Run{
			State: messaging.RunAwaiting, Reason: "too many", TemplateID: 7, Tally: messaging.Tally{Kept: 10, SHA256: "a"}, Approvals: messaging.Approvals{Need: tt.need, Starter: tt.starter}, CreatedAt: noon,
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
		if !errors.Is(err, tt.err) && fmt.Sprint(err) != fmt.Sprint(tt.err) || r.State != tt.state || r.ApprovedWords() != tt.words {
			t.Errorf("%s: %s, %q, %v; want %s, %q, %v", name, r.State, r.ApprovedWords(), err, tt.state, tt.words, tt.err)
		}
		if gone := r.State == messaging.RunUploading; gone != (r.Approved != "") || gone != (r.Reason == "") || gone && tt.words != "" && !strings.HasSuffix(tt.words, r.Approved) {
			t.Errorf("%s: approved by %q, because %q", name, r.Approved, r.Reason)
		}
	}
}
