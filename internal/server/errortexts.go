package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/report"
)

// A ClassView is what the rules make of the service's words.
type ClassView struct {
	Class messaging.ErrorClass `json:"class"`                       // "" is unknown
	Match string               `json:"match,omitempty" kind:"ours"` // what the rule looks for
	Rule  string               `json:"rule,omitempty" kind:"ours"`  // where it stands: "errors[0]", or "default"
}

// ClassOf is what rules make of words.
func ClassOf(rules *messaging.ErrorRules, words string) ClassView {
	m := rules.Match(words)
	v := ClassView{Class: m.Class, Match: m.Rule}
	switch {
	case m.Own >= 0:
		v.Rule = fmt.Sprintf("errors[%d]", m.Own)
	case m.Rule != "":
		v.Rule = "default"
	}
	return v
}

// By says which rule it was, "" for none.
func (v ClassView) By() string {
	if v.Rule == "" {
		return ""
	}
	return v.Rule + ": " + v.Match
}

// An ErrorTextView is what the service said about messages that it did not send, and what the rules of today
// make of it.
type ErrorTextView struct {
	ClassView
	Text     string              `json:"text" kind:"text"`   // numbers and identifiers are #
	Sample   string              `json:"sample" kind:"text"` // the newest as it came
	Rejected int64               `json:"rejected"`           // attempts
	Failed   int64               `json:"failed"`             // messages that it took and failed later
	First    time.Time           `json:"first"`
	Last     time.Time           `json:"last"`
	Message  messaging.MessageID `json:"message"` // whose the newest was
}

// UnknownClass asks for the texts that no rule knows.
const UnknownClass = "unknown"

// checkClass rejects what is no class.
func checkClass(class string) error {
	if class == "" || class == UnknownClass || slices.Contains(messaging.ErrorClasses, messaging.ErrorClass(class)) {
		return nil
	}
	hint := ""
	if near := nearest.Of(class, messaging.ErrorClassWords()); near != "" {
		hint = fmt.Sprintf("did you mean %s?", near)
	}
	return refusal.Fieldf("class", hint, "class %q: want no_points, recipient_limit, opt_out, template, permanent, retry or unknown", class)
}

// parseClasses reads classes with commas between them.
func parseClasses(text string) (messaging.ErrorClassList, error) {
	if text == "" {
		return "", nil
	}
	classes := strings.Split(text, ",")
	for i, c := range classes {
		if classes[i] = strings.TrimSpace(c); classes[i] == "" {
			return "", refusal.Fieldf("classes", "write them as no_points,recipient_limit", "class %q is empty between its commas", text)
		}
		if err := checkClass(classes[i]); err != nil {
			return "", err
		}
	}
	slices.Sort(classes)
	return messaging.ErrorClassList(strings.Join(slices.Compact(classes), ",")), nil
}

func (a admin) errorTexts(ctx context.Context, in ListQuery) ([]ErrorTextView, error) {
	q, _, err := a.listOf(in)
	if err != nil {
		return nil, err
	}
	class := q.Class
	if err := checkClass(class); err != nil {
		return nil, err
	}
	texts, err := report.Records{Store: a.Store}.ErrorTexts(ctx, q.Since, MaxRows)
	if err != nil {
		return nil, err
	}
	out := make([]ErrorTextView, 0, len(texts))
	for _, t := range texts {
		v := ErrorTextView{
			ClassView: ClassOf(a.errorRules(), t.Sample), Text: t.Text, Sample: t.Sample, Rejected: t.Rejected, Failed: t.Failed,
			First: t.First.UTC(), Last: t.Last.UTC(), Message: t.Message,
		}
		if (class == "" || class == v.Class.Words()) && len(out) < q.Limit {
			out = append(out, v)
		}
	}
	return out, nil
}

// errorRules are those of the config in use.
func (a admin) errorRules() *messaging.ErrorRules {
	if a.Errors == nil {
		return nil
	}
	return a.Errors()
}
