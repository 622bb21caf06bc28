package sender

import (
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A message that the service refuses, in words that no rule knows, may be at fault itself, or may tell of more: of its template, of the trigger or
// run that fills it in, or of the account. Refusals are counted by all of these, and what is refused while others are taken waits alone.

const (
	// refusedInRow is how many different messages, one after the other, show that it is not the messages.
	refusedInRow = 5

	// mostSubjects bounds what is remembered; each is refused at present.
	mostSubjects = 4096
)

// A subject is what may be refused: a template, campaign or texts, as a trigger or run sends them; origin "" is whoever does.
type subject struct{ kind, content, origin string }

// refusals count what was refused, one after the other. The zero value has counted nothing.
type refusals struct {
	of    map[subject]*inRow
	lanes [len(messaging.Lanes)]alikes
}

// inRow is how many different messages of a subject were refused, one after the other.
type inRow struct {
	n       int
	last    messaging.MessageID
	origins map[string]bool
	enough  time.Time // when there were; zero before
}

// alikes are refusals of a lane in the same words, by subject.
type alikes struct {
	words string
	of    map[subject]int
}

// A ground is what a refusal shows to be refused: the pair of content and origin, the content, or all of the lane.
type ground string

const (
	groundNone   ground = ""
	groundOrigin        = ground(messaging.RefusedOrigin)
	groundAll           = ground(messaging.RefusedContent)
	groundLane   ground = "lane"
)

// add counts a refusal, of a call begun at began, and says what it shows; of a lane also all contents that were refused in it.
func (r *refusals) add(d *messaging.Message, words string, began, now time.Time) (shows ground, contents []messaging.Send) {
	if r.of == nil || len(r.of) > mostSubjects {
		*r = refusals{of: map[subject]*inRow{}}
	}
	kind, content := d.Send.Content()
	one := subject{kind, content, d.Origin()}
	alone, anyone := r.row(one, began), r.row(subject{kind, content, ""}, began)
	for _, row := range []*inRow{alone, anyone} {
		if row.last != d.ID {
			row.n, row.last = row.n+1, d.ID
			row.origins[one.origin] = true
		}
	}
	lane := &r.lanes[d.Category.Lane()]
	if lane.words != words || lane.of == nil {
		*lane = alikes{words, map[subject]int{}}
	}
	lane.of[one]++
	switch {
	case alone.n >= refusedInRow:
		alone.shown(now)
		delete(lane.of, one) // explained
		return groundOrigin, nil
	case anyone.n >= refusedInRow && len(anyone.origins) > 1:
		anyone.shown(now)
		for other := range lane.of {
			if other.kind == kind && other.content == content {
				delete(lane.of, other)
			}
		}
		return groundAll, nil
	case lane.enough():
		for other := range lane.of {
			contents = append(contents, other.send())
		}
		*lane = alikes{}
		return groundLane, contents
	}
	return groundNone, nil
}

// send asks for the content of a subject.
func (s subject) send() messaging.Send {
	switch s.kind {
	case "template":
		return messaging.Send{Template: s.content}
	case "campaign":
		return messaging.Send{Campaign: s.content}
	default:
		return messaging.Send{Text: s.kind}
	}
}

// row is what is counted of a subject. One that was enough counts anew for a call that began when its pause would have held it:
// so it was lifted meanwhile.
func (r *refusals) row(of subject, began time.Time) *inRow {
	row := r.of[of]
	if row == nil || !row.enough.IsZero() && began.After(row.enough.Add(holdMost)) {
		row = &inRow{origins: map[string]bool{}}
		r.of[of] = row
	}
	return row
}

func (row *inRow) shown(now time.Time) {
	if row.enough.IsZero() {
		row.enough = now
	}
}

// enough reports whether different contents were refused alike, one after the other.
func (a *alikes) enough() bool {
	n, contents := 0, map[[2]string]bool{}
	for one, times := range a.of {
		n += times
		contents[[2]string{one.kind, one.content}] = true
	}
	return n >= refusedInRow && len(contents) > 1
}

// taken begins anew for what was accepted.
func (r *refusals) taken(d *messaging.Message) {
	if len(r.of) > 0 {
		kind, content := d.Send.Content()
		delete(r.of, subject{kind, content, d.Origin()})
		delete(r.of, subject{kind, content, ""})
	}
	r.lanes[d.Category.Lane()] = alikes{}
}

// alike is what two refusals have in common that are for the same reason: their words, without what tells one message from
// another.
func alike(call *apiclient.CallError, d *messaging.Message) string {
	_, name := d.Send.Content()
	words := call.Words
	if name != "" {
		words = strings.ReplaceAll(words, name, "")
	}
	words = strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) || r == '*' {
			return -1
		}
		return unicode.ToLower(r)
	}, words)
	return fmt.Sprint(call.HTTPStatus, http.StatusText(call.HTTPStatus), words)
}
