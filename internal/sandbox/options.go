package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Options say what kind of account the sandbox is. The zero value knows no template and no
// campaign, takes any key, and costs nothing.
type Options struct {
	Keys      []string `json:"-"` // bearer keys; none means that any key will do
	Templates []Template
	Campaigns []string // ids of pre-defined campaigns; "*" for any

	Points float64 // balance; below 0 it has no end
	Price  float64 // points per message

	Pace     Pace
	FailRate float64  // share of messages that fail instead of being sent, 0 to 1
	Reasons  []string // why they fail; three of the sandbox's own when empty

	Shape    Shape  // of the answers that the API document does not show; ShapeFlat when empty
	ListIDs  bool   // the answer to an upload lists the message ids of its rows
	Phones   bool   // that list says whose each message is; with ListIDs
	TextPath string // path of the text endpoint below the base URL; "" for none
	BigIDs   bool   // message ids begin beyond 2^53, where a float64 loses the last digit

	Seed      uint64 // decides every roll of the dice
	Faults    Faults
	Now       func() time.Time // time.Now when nil
	OnRequest func(Record)     // called after every API request; must be quick
}

// defaultReasons are why messages fail when Options.Reasons is empty.
var defaultReasons = []string{
	"recipient has blocked the sender",
	"recipient's device is out of reach",
	"message was held back by the network's quality rules",
}

// A Template is one that the messaging network approved.
type Template struct {
	Name      string // "*" for any
	Language  string // "*" for any
	ID        int64  // for uploads; 0 for none
	Variables int    // how many it takes; below 0 for any number
	Header    string // image, video, document, "" for none, "*" for any or none
}

// A Pace is how long a message takes to reach each status from the one before it. Below 0 it
// never gets there; the zero Pace is a quick network and an attentive reader.
type Pace struct {
	Queued    time.Duration // before that, the message is not known yet: 404
	Sent      time.Duration
	Delivered time.Duration
	Read      time.Duration
	Jitter    float64 // each step is longer or shorter by up to this share, 0 to 1
}

// defaultPace is a quick network and an attentive reader.
var defaultPace = Pace{Sent: time.Second, Delivered: 2 * time.Second, Read: 5 * time.Second, Jitter: 0.3}

// A Shape is one guess at an answer that the API document does not show.
type Shape string

// The shapes, by an example of each.
const (
	ShapeFlat   Shape = "flat"   // {"success":true,"message_id":123}
	ShapeString Shape = "string" // {"success":true,"message_id":"123"}
	ShapeNested Shape = "nested" // {"success":true,"data":{"message_id":123}}
	ShapeBare   Shape = "bare"   // {"success":true}
)

// Check reports what is wrong with the options, all at once; New does not ask.
func (o Options) Check() error {
	var wrong []error
	if !slices.Contains([]Shape{"", ShapeFlat, ShapeString, ShapeNested, ShapeBare}, o.Shape) {
		wrong = append(wrong, fmt.Errorf("shape %q is not known: use flat, string, nested or bare", o.Shape))
	}
	if !share(o.FailRate) {
		wrong = append(wrong, fmt.Errorf("fail rate %v must be between 0 and 1", o.FailRate))
	}
	if !share(o.Pace.Jitter) {
		wrong = append(wrong, fmt.Errorf("jitter %v must be between 0 and 1", o.Pace.Jitter))
	}
	if o.Price < 0 {
		wrong = append(wrong, fmt.Errorf("price %v must not be negative", o.Price))
	}
	for _, t := range o.Templates {
		switch t.Header {
		case "", "*", "image", "video", "document":
		default:
			wrong = append(wrong, fmt.Errorf("template %q: header %q is not known: use image, video or document", t.Name, t.Header))
		}
	}
	for _, k := range o.Keys {
		if k == "" || strings.ContainsAny(k, " \t\r\n") {
			wrong = append(wrong, errors.New("a key is empty or holds white space"))
		}
	}
	return errors.Join(append(wrong, o.Faults.check())...)
}

func share(x float64) bool { return x >= 0 && x <= 1 }

// String says nothing of the keys.
func (o Options) String() string {
	return fmt.Sprintf("sandbox with %d templates and %d campaigns", len(o.Templates), len(o.Campaigns))
}

// GoString is String: %#v must not print the keys either.
func (o Options) GoString() string { return o.String() }
