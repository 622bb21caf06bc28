package alerts

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A Message is what a receiver gets in one piece: one notice, or several where there were too many for one each.
type Message struct {
	ID     string `json:"id"`   // the same when the same alerts are sent again, and another where one is more
	Text   string `json:"text"` // all of it, for people
	From   string `json:"from"` // which daemon
	At     time.Time
	Test   bool
	Alerts []Told
}

// A Told is one alert in a message.
type Told struct {
	State     string                `json:"state"` // begun or over
	Code      messaging.TroubleCode `json:"code"`
	Subject   string                `json:"subject,omitempty"`
	Severity  messaging.Severity    `json:"severity"`
	Condition string                `json:"condition"` // of the config
	Words     string                `json:"words"`
	Hint      string                `json:"hint,omitempty"`
	Since     time.Time             `json:"since"`
	EndedAt   time.Time             `json:"ended_at,omitzero"`
	Seconds   int64                 `json:"lasted_seconds,omitempty"`
}

// MarshalJSON writes the shape that docs/alerts.md gives.
func (m Message) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID     string    `json:"id"`
		At     time.Time `json:"at"`
		From   string    `json:"from"`
		Test   bool      `json:"test,omitempty"`
		Text   string    `json:"text"`
		Alerts []Told    `json:"alerts"`
	}{m.ID, m.At.UTC(), m.From, m.Test, m.Text, append([]Told{}, m.Alerts...)})
}

// message makes one of notices.
func message(notices []messaging.AlertNotice, from string) Message {
	m := Message{From: from, At: notices[0].CreatedAt}
	var lines []string
	ids := sha256.New()
	for i := range notices {
		_, _ = fmt.Fprintln(ids, notices[i].ID) // a hash takes all
		one := toldAlert(&notices[i])
		m.Alerts = append(m.Alerts, one)
		lines = append(lines, one.text())
	}
	m.ID = hex.EncodeToString(ids.Sum(nil)[:16])
	m.Text = strings.Join(lines, "\n")
	if len(notices) > 1 {
		m.Text = units.Count(len(notices), "alert") + " in one, because there were so many:\n" + m.Text
	}
	return m
}

func toldAlert(n *messaging.AlertNotice) Told {
	t := Told{
		State: "begun", Code: n.Trouble.Code, Subject: n.Trouble.Subject, Severity: n.Trouble.Severity, Condition: n.Condition,
		Words: n.Trouble.Words, Hint: n.Trouble.Hint, Since: n.Began.UTC(),
	}
	if !n.EndedAt.IsZero() {
		at := n.EndedAt.UTC()
		t.State, t.EndedAt, t.Seconds = "over", at, int64(at.Sub(t.Since).Seconds())
		t.Hint = ""
	}
	return t
}

// text is the alert for people, in one or two lines.
func (t *Told) text() string {
	if !t.EndedAt.IsZero() {
		return "over after " + units.About(t.EndedAt.Sub(t.Since)) + ": " + t.Words
	}
	if t.Hint == "" {
		return t.Words
	}
	return t.Words + "\n  what to do: " + t.Hint
}

// subject is the message in a line, for an e-mail.
func (m *Message) subject() string {
	switch {
	case len(m.Alerts) > 1:
		return units.Count(len(m.Alerts), "alert")
	case len(m.Alerts) == 0 || m.Alerts[0].EndedAt.IsZero():
		line, _, _ := strings.Cut(m.Text, "\n")
		return line
	default:
		return "over: " + m.Alerts[0].Words
	}
}

// test is the message that shows that a receiver can be reached.
func test(id, from string, now time.Time) Message {
	return Message{ID: id, At: now, From: from, Test: true, Text: "a test: alerts of nudgewire reach you here; nothing is wrong"}
}

// mostWords is how many characters of a trouble's words are told.
const mostWords = 600

// tidy makes a trouble fit to leave the machine: nothing in it steers what shows it, and no phone stands whole in it.
func tidy(t messaging.Trouble) messaging.Trouble {
	t.Subject, t.Words, t.Hint = mask.Words(t.Subject, mostWords), mask.Words(t.Words, mostWords), mask.Words(t.Hint, mostWords)
	return t
}

// slackText is text as Slack takes it: three characters steer it.
func slackText(m *Message) string {
	text := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(m.Text)
	return fmt.Sprintf("*%s* %s", strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(m.From), text)
}
