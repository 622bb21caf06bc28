package console

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

// What can be done about messages: to one, which its form names, or to all that match the filters of the list.
var messageActions = map[string]action{
	"cancel":      {server.CancelMessages.Scope, (*Console).confirmCancel, (*Console).cancel},
	"retry":       {server.RetryMessages.Scope, (*Console).confirmRetry, (*Console).retry},
	"retry-these": {server.RetryMessages.Scope, (*Console).confirmRetryThese, (*Console).retryThese},
	"resolve":     {server.ResolveMessage.Scope, (*Console).confirmResolve, (*Console).resolve},
	"resolve-all": {server.ResolveMessages.Scope, (*Console).confirmResolveAll, (*Console).resolveAll},
}

// asked is what a form asks for.
func (f form) asked() server.BulkRequest {
	return server.BulkRequest{
		Message: messaging.MessageID(f.number("id")), Phone: f.Get("phone"), Trigger: f.Get("trigger"), Template: f.Get("template"), Account: f.Get("account"), Since: f.since(), Words: f.Get("words"),
		Reason: strings.TrimSpace(f.Get("reason")), As: messaging.Resolution(f.Get("as")),
	}
}

// which says in words what a form is about, after "messages that …".
func (f form) which(c *Console) (out []string) {
	if t := f.Get("trigger"); t != "" {
		out = append(out, "Of "+t+".")
	}
	if p := f.Get("phone"); p != "" {
		out = append(out, "To the phone "+p+".")
	}
	if t := f.Get("template"); t != "" {
		out = append(out, "By the template "+t+".")
	}
	if c := f.Get("class"); c != "" {
		out = append(out, "With an error of the class "+c+".")
	}
	if w := f.Get("words"); w != "" {
		out = append(out, "That ended so: "+sentence(w))
	}
	if a := f.Get("account"); a != "" {
		out = append(out, "By the account "+a+".")
	}
	if s := f.since(); !s.IsZero() {
		out = append(out, "Queued since "+c.clock(s)+".")
	}
	if len(out) == 0 {
		out = append(out, "Of all triggers and jobs.")
	}
	return []string{strings.Join(out, " ")}
}

func groups(all []server.GroupView) (out []counted) {
	for _, g := range all {
		out = append(out, counted{g.Words, g.Count})
	}
	return out
}

func table(caption, what string, rows []server.GroupView) []countsTable {
	if len(rows) == 0 {
		return nil
	}
	return []countsTable{{caption, what, groups(rows)}}
}

func (c *Console) confirmCancel(ctx context.Context, f form) (confirmPage, error) {
	in := f.asked()
	if in.Message != 0 {
		return confirmPage{
			Title: fmt.Sprintf("Cancel message %d?", in.Message), Words: []string{"It waits, and would be sent to nobody. That is not taken back."},
			Fields: []field{why("Why")}, Yes: "Cancel the message", Danger: true,
		}, nil
	}
	in.DryRun = true
	v, err := server.CancelMessages.Call(ctx, c.Ask, in)
	return confirmPage{
		Title: "Cancel " + units.Count(v.Count, "message") + "?", Words: append(f.which(c), "They wait, and would be sent to nobody. That is not taken back."),
		Counts: table("What waits", "Trigger or job", v.Groups), Fields: []field{why("Why")}, Nothing: v.Count == 0, Yes: "Cancel " + units.Count(v.Count, "message"), Danger: true,
	}, err
}

func (c *Console) cancel(ctx context.Context, f form) (did, error) {
	in := f.asked()
	if in.Message != 0 {
		_, err := server.CancelMessage.Call(ctx, c.Ask, server.CancelRequest{ID: in.Message, Reason: in.Reason})
		return did{words: fmt.Sprintf("Message %d was cancelled", in.Message)}, err
	}
	v, err := server.CancelMessages.Call(ctx, c.Ask, in)
	return did{words: units.Count(v.Count, "message") + wasWere(v.Count) + "cancelled"}, err
}

func wasWere(n int64) string {
	if n == 1 {
		return " was "
	}
	return " were "
}

// retried are the states in which messages surely did not arrive.
func (f form) retried() server.BulkRequest {
	in := f.asked()
	in.State, in.Class = f.Get("state"), f.Get("class")
	return in
}

// onceMore is what becomes of messages that are sent again.
const onceMore = "Each is queued once more as a message of its own, and waits for its rules as at first. None goes twice, however often it is asked for."

func (c *Console) confirmRetry(ctx context.Context, f form) (confirmPage, error) {
	in := f.retried()
	in.DryRun = true
	v, err := server.RetryMessages.Call(ctx, c.Ask, in)
	p := confirmPage{
		Title: "Send " + units.Count(v.Count, "message") + " again?", Words: f.which(c),
		Counts:  append(table("What goes again, by why it ended", "Why", v.Groups), table("What stays, and why", "Why", v.Stay)...),
		Nothing: v.Count == 0, Yes: "Send " + units.Count(v.Count, "message"),
	}
	p.Words = append(p.Words, onceMore)
	return p, err
}

func (c *Console) retry(ctx context.Context, f form) (did, error) {
	v, err := server.RetryMessages.Call(ctx, c.Ask, f.retried())
	return did{words: units.Count(v.Count, "message") + wasWere(v.Count) + "queued again"}, err
}

// ticked are the messages that a form names one by one.
func (f form) ticked() (ids []messaging.MessageID, err error) {
	for _, text := range f.Values["tick"] {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || id < 1 {
			return nil, &refusal.Error{Status: http.StatusBadRequest, Words: "that is not the number of a message", Hint: "open the list again, and tick messages there"}
		}
		ids = append(ids, messaging.MessageID(id))
	}
	if len(ids) == 0 {
		return nil, &refusal.Error{Status: http.StatusBadRequest, Words: "no message is ticked", Hint: "tick the messages that are to be sent again, and press the button once more"}
	}
	return ids, nil
}

func (c *Console) confirmRetryThese(ctx context.Context, f form) (confirmPage, error) {
	ids, err := f.ticked()
	if err != nil {
		return confirmPage{}, err
	}
	all, err := server.PlanRetry.Call(ctx, c.Ask, server.RetryPlanRequest{Messages: ids})
	if err != nil {
		return confirmPage{}, err
	}
	p := confirmPage{Words: []string{onceMore}}
	goes := map[string]int64{}
	for _, one := range all {
		if one.Goes {
			goes[one.Why]++
		} else {
			p.LeftOut = append(p.LeftOut, one)
		}
	}
	n := int64(len(all) - len(p.LeftOut))
	p.Title, p.Yes, p.Nothing = "Send "+units.Count(n, "message")+" again?", "Send "+units.Count(n, "message"), n == 0
	if len(ids) == 1 {
		p.Title = fmt.Sprintf("Send message %d again?", ids[0])
	}
	if n > 0 {
		p.Counts = []countsTable{{"What goes again, by why it ended", "Why", byCount(goes)}}
	}
	return p, nil
}

func (c *Console) retryThese(ctx context.Context, f form) (did, error) {
	ids, err := f.ticked()
	if err != nil {
		return did{}, err
	}
	v, err := server.RetryMessages.Call(ctx, c.Ask, server.BulkRequest{Messages: ids})
	words := units.Count(v.Count, "message") + wasWere(v.Count) + "queued again"
	if left := int64(len(ids)) - v.Count; left > 0 {
		words += ", and " + units.Number(left) + wasWere(left) + "left out"
	}
	return did{words: words}, err
}

var resolutions = [][2]string{
	{string(messaging.ResolveAccepted), "it did arrive: nothing is sent"},
	{string(messaging.ResolveResend), "it did not arrive: send it again"},
	{string(messaging.ResolveDrop), "let it be: nothing is sent"},
}

func resolution(label string, options [][2]string) []field {
	return []field{{Name: "as", Label: label, Options: options, Required: true}, why("How you know")}
}

func (c *Console) confirmResolve(_ context.Context, f form) (confirmPage, error) {
	return confirmPage{
		Title:  fmt.Sprintf("What became of message %d?", f.number("id")),
		Words:  []string{"The service may have taken it: its answer got lost. Look in the service's own list. Sent again, the person may get it twice."},
		Fields: resolution("What became of it", resolutions), Yes: "Resolve it",
	}, nil
}

func (c *Console) resolve(ctx context.Context, f form) (did, error) {
	in := f.asked()
	m, err := server.ResolveMessage.Call(ctx, c.Ask, server.ResolveRequest{ID: in.Message, As: in.As, Reason: in.Reason})
	return did{words: fmt.Sprintf("Message %d was resolved, and is %s now", in.Message, spaced(m.State))}, err
}

func (c *Console) confirmResolveAll(ctx context.Context, f form) (confirmPage, error) {
	in := f.asked()
	in.DryRun, in.As = true, messaging.ResolveDrop // which is counted is the same for each
	v, err := server.ResolveMessages.Call(ctx, c.Ask, in)
	return confirmPage{
		Title: "Resolve " + units.Count(v.Count, "message") + " in doubt?", Words: append(f.which(c), "The service may have taken each of them. Sent again, people may get them twice."),
		Counts: table("Why they are in doubt", "Why", v.Groups), Fields: resolution("What became of them", resolutions), Nothing: v.Count == 0,
		Yes: "Resolve " + units.Count(v.Count, "message"), Danger: true,
	}, err
}

func (c *Console) resolveAll(ctx context.Context, f form) (did, error) {
	v, err := server.ResolveMessages.Call(ctx, c.Ask, f.asked())
	return did{words: units.Count(v.Count, "message") + wasWere(v.Count) + "resolved"}, err
}
