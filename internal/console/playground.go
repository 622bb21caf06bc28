package console

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// maxTried bounds what the playground's form holds: a payload, in which each quote takes three bytes, and rules.
const maxTried = 4 << 20

// A playgroundPage is a webhook, rules to edit, and what the one would lead to by the others.
type playgroundPage struct {
	Connectors []preview.ConnectorView
	Rules      []Rule

	From        string // connector and sample, "shopify/order"; without a sample the payload is one's own
	Connector   string
	TopicHeader string // of the connector; "" where the topic is in the payload
	Topic       string
	Payload     string
	Loaded      string            // the sample that the payload is, untouched: its number, and a hash; see untouched
	Event       messaging.EventID // in place of all these
	At          string            // as the browser has it, in the zone of the page; "" is now
	Trigger     string            // whose rule is edited: its name, "*" for all, "" for none
	Text        string            // of the edited rules
	Words       string            // path of the keys that the editor completes; "" for none
	Templates   []string          // whose names it completes

	Mistake *refusal.Error // in what was asked
	Tried   *triedPage
}

// A triedPage is what came of a try.
type triedPage struct {
	preview.TryView
	Both     bool // by the rules in use and by the edited ones
	Pairs    []triedPair
	Lines    []codeLine // of the edited rules
	Rejected []codeLine // of the payload, around where it is no JSON
	Changed  int        // triggers that say something else by the edited rules
	Where    []string   // the files and lines that the edited rules belong into
}

// A triedPair is one event by both rules.
type triedPair struct {
	preview.TriedEvent
	Says   []triedRow
	Silent []preview.TriedSilence // that listen by neither
}

// A triedRow is what one trigger says by both.
type triedRow struct {
	Trigger     string
	Now, Edited triedSays
	Changed     bool
}

// triedSays is what a trigger says by one of the two.
type triedSays struct {
	*preview.TriedDecision        // nil where it says nothing
	Why                    string // it says nothing; "" where it is not there
	Messages               []preview.TriedMessage
	marks                  map[string]bool
}

// Marked reports whether a part is not the same on the other side: its name, and a number of it.
func (s triedSays) Marked(part string, number ...int) bool { return s.marks[partOf(part, number...)] }

func partOf(part string, number ...int) string {
	out := []byte(part)
	for _, n := range number {
		out = strconv.AppendInt(append(out, ':'), int64(n), 10)
	}
	return string(out)
}

// A codeLine is a line of a text, and what is wrong in it.
type codeLine struct {
	N    int
	Text string
	Here bool // it is this one
	Says yamlpos.Problems
}

func (c *Console) playground(r *http.Request) (page, error) {
	if err := r.ParseForm(); err != nil {
		if tooLong, is := errors.AsType[*http.MaxBytesError](err); is {
			return page{}, &refusal.Error{Status: http.StatusRequestEntityTooLarge, Words: "that is too long to try", Hint: "send at most " + strconv.FormatInt(tooLong.Limit>>20, 10) + " MB"}
		}
		return page{}, &refusal.Error{Status: http.StatusBadRequest, Words: "the form cannot be read", Hint: "open the page anew"}
	}
	connectors, err := server.ListConnectors.Call(r.Context(), c.Ask, server.None{})
	if err != nil {
		return page{}, err
	}
	v := playgroundPage{
		Connectors: connectors, Rules: c.Rules(), From: r.Form.Get("from"), Topic: r.Form.Get("topic"), Payload: unix(r.Form.Get("payload")),
		Loaded: r.Form.Get("loaded"), At: r.Form.Get("at"), Trigger: r.Form.Get("trigger"), Text: unix(r.Form.Get("rules")),
	}
	v.Words = c.words
	if c.Templates != nil {
		v.Templates = c.Templates()
	}
	shown := page{Name: "playground", Title: "Playground", Here: "/playground", Data: &v}
	if text := r.Form.Get("event"); text != "" {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || id < 1 {
			return page{}, &refusal.Error{Status: http.StatusBadRequest, Words: "that is not the number of an event", Hint: "lists show the numbers"}
		}
		v.Event = messaging.EventID(id)
	}
	do := r.Form.Get("do")
	if err := v.fill(c, r, do); err != nil {
		return page{}, err
	}
	if do == "past" {
		return c.beginPast(r, v.Text)
	}
	if r.Method == http.MethodPost && do != "try" && do != "" || v.Event == 0 && v.Connector == "" {
		return shown, nil
	}
	v.Mistake, err = v.try(c, r)
	return shown, err
}

// unix are the lines of a text field, which a browser ends with \r\n.
func unix(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// fill loads what the buttons of the form ask for, and what the page begins with.
func (v *playgroundPage) fill(c *Console, r *http.Request, do string) error {
	if do == "copy" && v.Event != 0 {
		story, err := server.ShowEvent.Call(r.Context(), c.Ask, v.Event)
		if err != nil {
			return err
		}
		name, _, _ := strings.Cut(story.Event.Event, ".")
		v.From, v.Payload, v.Topic, v.Event = name+"/", pretty(story.Event.Payload), story.Event.Topic, 0
	}
	if v.From == "" && v.Event == 0 && len(v.Connectors) > 0 {
		first := v.Connectors[max(0, slices.IndexFunc(v.Connectors, v.firstRuleListensTo))]
		v.From = first.Name + "/"
		if len(first.Samples) > 0 && v.Payload == "" {
			v.From += first.Samples[0].Name
		}
	}
	name, sample, _ := strings.Cut(v.From, "/")
	for _, one := range v.Connectors {
		if one.Name != name || v.Event != 0 {
			continue
		}
		v.Connector, v.TopicHeader = name, one.TopicHeader
		i := slices.IndexFunc(one.Samples, func(s preview.SampleView) bool { return s.Name == sample })
		if i >= 0 && (do == "sample" || strings.TrimSpace(v.Payload) == "") {
			v.Payload, v.Topic = pretty(one.Samples[i].Body), one.Samples[i].Topic
			v.Loaded = loaded(one.Samples[i].Number, v.Payload+v.Topic)
		}
	}
	if v.TopicHeader == "" {
		v.Topic = ""
	}
	if do == "rules" || r.Method != http.MethodPost {
		v.Text = v.yaml()
	}
	return nil
}

// firstRuleListensTo reports whether the first trigger listens to a connector, so that what the page begins with leads to something.
func (v *playgroundPage) firstRuleListensTo(c preview.ConnectorView) bool {
	return len(v.Rules) > 0 && strings.HasPrefix(v.Rules[0].Summary.On, c.Name+".")
}

// yaml is the rule to edit as it is written, below triggers:.
func (v *playgroundPage) yaml() string {
	var out strings.Builder
	for _, rule := range v.Rules {
		if rule.Name != v.Trigger && v.Trigger != "*" || len(rule.Source.Lines) == 0 {
			continue
		}
		if out.Len() == 0 {
			out.WriteString("triggers:\n")
		}
		margin := -1
		for _, line := range rule.Source.Lines {
			if bare := strings.TrimLeft(line, " "); bare != "" && (margin < 0 || len(line)-len(bare) < margin) {
				margin = len(line) - len(bare)
			}
		}
		for _, line := range rule.Source.Lines {
			if line = line[min(max(margin, 0), len(line)):]; strings.TrimSpace(line) != "" {
				line = "  " + line
			}
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}

// Events are what rules of the config listen to, and what samples of its connectors are of, for the editor.
func (v *playgroundPage) Events() string {
	var all []string
	for _, rule := range v.Rules {
		all = append(all, strings.Split(rule.Summary.On, ", ")...)
	}
	for _, one := range v.Connectors {
		for _, sample := range one.Samples {
			if sample.Kind != "" {
				all = append(all, one.Name+"."+sample.Kind)
			}
		}
	}
	slices.Sort(all)
	return strings.TrimSpace(strings.Join(slices.Compact(all), " "))
}

// try asks what would be. A mistake of whoever asks is shown where the result would be, beside what they wrote.
func (v *playgroundPage) try(c *Console, r *http.Request) (*refusal.Error, error) {
	in := preview.TryRequest{Event: v.Event, Triggers: v.Text}
	if v.Event == 0 {
		if number, same := v.untouched(); same { // it is made for the time that was chosen
			_, sample, _ := strings.Cut(v.From, "/")
			in = preview.TryRequest{Connector: v.Connector, Sample: sample, Number: number, Triggers: v.Text}
		} else if strings.TrimSpace(v.Payload) == "" {
			return &refusal.Error{Status: http.StatusBadRequest, Words: "There is no payload.", Hint: "Paste one, or choose a sample."}, nil
		} else {
			in.Connector, in.Payload, in.Topic, in.Headers = v.Connector, preview.TryBody(v.Payload), v.Topic, v.headers()
		}
	}
	if v.At != "" {
		at, err := time.ParseInLocation("2006-01-02T15:04", v.At, c.Zone())
		if err != nil {
			return &refusal.Error{Status: http.StatusBadRequest, Words: "That is no time.", Hint: "Write it as 2026-12-24T22:00."}, nil
		}
		in.At = at
	}
	view, err := server.TryWebhook.Call(r.Context(), c.Ask, in)
	if no := mistake(err); no != nil {
		return no, nil
	}
	if err != nil {
		return nil, err
	}
	v.Tried = v.triedPageOf(view)
	return nil, nil
}

// mistake is an error of whoever asks, in sentences; nil for none, and for one of the daemon.
func mistake(err error) *refusal.Error {
	no, is := errors.AsType[*refusal.Error](err)
	if !is || no.Status >= http.StatusInternalServerError {
		return nil
	}
	return &refusal.Error{Status: no.Status, Words: sentence(no.Words), Hint: sentence(no.Hint)}
}

// loaded names a sample that a payload is.
func loaded(number int, payload string) string {
	sum := sha256.Sum256([]byte(payload))
	return strconv.Itoa(number) + "-" + hex.EncodeToString(sum[:8])
}

// untouched is the number of the sample that the payload is, where nobody has edited it.
func (v *playgroundPage) untouched() (number int, same bool) {
	text, _, _ := strings.Cut(v.Loaded, "-")
	number, err := strconv.Atoi(text)
	return number, err == nil && number > 0 && v.Loaded == loaded(number, v.Payload+v.Topic) && !strings.HasSuffix(v.From, "/")
}

// headers are those of the sample, which may say how its payload is to be read. For a payload of one's own that is told by how it begins.
func (v *playgroundPage) headers() map[string]string {
	name, sample, _ := strings.Cut(v.From, "/")
	for _, one := range v.Connectors {
		for _, s := range one.Samples {
			if one.Name == name && s.Name == sample {
				return s.Headers
			}
		}
	}
	switch strings.TrimSpace(v.Payload)[0] {
	case '{', '[':
		return nil
	case '<':
		return map[string]string{"Content-Type": "application/xml"}
	default:
		return map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
	}
}

// triedPageOf holds the two results side by side.
func (v *playgroundPage) triedPageOf(view preview.TryView) *triedPage {
	t := &triedPage{TryView: view, Both: view.Edited != nil && view.Edited.Usable}
	if view.Edited != nil {
		t.Lines = linesOf(v.Text, view.Edited.Problems)
	}
	if no := view.Rejected; no != nil && no.Line > 0 {
		for _, line := range linesOf(v.Payload, nil) {
			if line.Here = line.N == no.Line; line.N >= no.Line-3 && line.N <= no.Line+3 {
				line.Text = short(line.Text)
				t.Rejected = append(t.Rejected, line)
			}
		}
	}
	for i, e := range view.Events {
		pair := triedPair{TriedEvent: e}
		var edited preview.TriedEvent
		if t.Both && i < len(view.Edited.Events) {
			edited = view.Edited.Events[i]
		}
		pair.Says, pair.Silent = paired(&e, &edited, t.Both)
		for _, row := range pair.Says {
			if row.Changed {
				t.Changed++
			}
		}
		t.Pairs = append(t.Pairs, pair)
	}
	for _, rule := range v.Rules {
		if (rule.Name == v.Trigger || v.Trigger == "*") && rule.Source.File != "" {
			t.Where = append(t.Where, rule.Source.File+", line "+strconv.Itoa(rule.Source.First))
		}
	}
	return t
}

// short is a line of a payload that may have been written without any line ends.
func short(line string) string {
	if runes := []rune(line); len(runes) > 240 {
		return string(runes[:240]) + "…"
	}
	return line
}

// linesOf are the lines of a text with the problems that are there. Those of the text as a whole stand at the first.
func linesOf(text string, problems yamlpos.Problems) []codeLine {
	var out []codeLine
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		one := codeLine{N: i + 1, Text: line}
		for _, p := range problems {
			if max(p.Line, 1) == one.N {
				one.Says, one.Here = append(one.Says, p), one.Here || !p.Warning
			}
		}
		out = append(out, one)
	}
	return out
}

// paired are what the triggers say by both rules, in the order of the rules in use.
func paired(now, edited *preview.TriedEvent, both bool) (rows []triedRow, silent []preview.TriedSilence) {
	type key struct {
		trigger string
		n       int // a trigger may say more than one thing
	}
	at := map[key]int{}
	add := func(e *preview.TriedEvent, side func(*triedRow) *triedSays) {
		seen := map[string]int{}
		for i := range e.Decisions {
			d := &e.Decisions[i]
			k := key{d.Trigger, seen[d.Trigger]}
			seen[d.Trigger]++
			j, known := at[k]
			if !known {
				j = len(rows)
				at[k], rows = j, append(rows, triedRow{Trigger: d.Trigger})
			}
			messages := d.Steps
			if len(messages) == 0 && d.Message != nil {
				messages = []preview.TriedMessage{*d.Message}
			}
			*side(&rows[j]) = triedSays{TriedDecision: d, Messages: messages}
		}
	}
	add(now, func(r *triedRow) *triedSays { return &r.Now })
	if !both {
		return rows, now.Silent
	}
	add(edited, func(r *triedRow) *triedSays { return &r.Edited })
	for i := range rows {
		row := &rows[i]
		row.Now.Why, row.Edited.Why = silence(now.Silent, row.Trigger), silence(edited.Silent, row.Trigger)
		a, b := row.Now.parts(), row.Edited.parts()
		row.Now.marks, row.Edited.marks = differing(a, b), differing(b, a)
		row.Changed = len(row.Now.marks)+len(row.Edited.marks) > 0
	}
	for _, s := range edited.Silent {
		if !slices.ContainsFunc(rows, func(r triedRow) bool { return r.Trigger == s.Trigger }) {
			silent = append(silent, s)
		}
	}
	return rows, silent
}

func silence(all []preview.TriedSilence, trigger string) string {
	for _, s := range all {
		if s.Trigger == trigger {
			return s.Reason
		}
	}
	return ""
}

// parts are what a side says, each with a name.
func (s triedSays) parts() map[string]string {
	if s.TriedDecision == nil {
		return map[string]string{"silent": cmp.Or(s.Why, "is not there")}
	}
	out := map[string]string{"outcome": string(s.Outcome), "reason": s.Reason, "key": s.Key}
	for i, c := range s.Clauses {
		out[partOf("clause", i)] = triggers.ClauseLine(c)
	}
	for i, m := range s.Messages {
		out[partOf("what", i)] = m.Send.What() + m.Send.Language + m.Account + string(m.Category) + m.Send.Text
		out[partOf("due", i)] = m.DueAt.String()
		if m.Held != nil {
			out[partOf("held", i)] = string(m.Held.Action) + m.Held.Reason
		}
		if h := m.Send.Header; h != nil {
			out[partOf("header", i)] = h.Type + h.URL
		}
		for j, text := range m.Send.Variables {
			out[partOf("variable", i, j)] = text
		}
		out[partOf("if", i)] = strings.Join(m.If, "\n")
	}
	return out
}

// differing are the parts of a that b does not have, or has otherwise. A condition is the same wherever it stands.
func differing(a, b map[string]string) map[string]bool {
	out := map[string]bool{}
	for name, text := range a {
		if strings.HasPrefix(name, "clause:") {
			same := false
			for other, says := range b {
				same = same || strings.HasPrefix(other, "clause:") && says == text
			}
			if !same {
				out[name] = true
			}
			continue
		}
		if other, has := b[name]; other != text || !has && text != "" {
			out[name] = true
		}
	}
	return out
}
