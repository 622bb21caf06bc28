package scheduler

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/lists"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/phones"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// A Job is one entry under jobs: in config.yaml. Compile checks what needs more than the
// shape of the YAML.
type Job struct {
	Name string `yaml:"-"` // the key under "jobs:"

	Cron     string `yaml:"cron" doc:"When it runs: minute, hour, day, month, weekday. Without it the job only runs by hand." example:"0 10 * * MON"`
	Timezone string `yaml:"timezone" validate:"timezone" doc:"Zone that cron is read in. Default: defaults.timezone." example:"Europe/London"`

	At *hours.Clock `yaml:"at" doc:"Time of day at which each row goes, on the clock of its contact: the next time that it is so late there, from the run's time on. Files are cut for those whose turn it is, and the run ends with the last of them." example:"10:00"`

	Source   lists.Origin            `yaml:"source" validate:"required" doc:"Where the rows come from: exactly one source, which is the first of its keys below." example:"{csv: ./lists/customers.csv}, or another source such as postgres or s3"`
	Columns  yamlpos.Ordered[string] `yaml:"columns" doc:"What each row needs: phone (the column named phone unless said), and var_1, var_2 and so on. A value is a column's name, or text with {{ column }} in it." example:"{phone: phone, var_1: '{{ first_name | default: \"there\" }}'}"`
	Country  string                  `yaml:"country" doc:"Two-letter country that numbers without a country code belong to. Default: defaults.country." example:"GB"`
	Phones   phones.Spelling         `yaml:"phones" validate:"oneof=national international" doc:"How the list writes numbers that have no plus sign: national as they are dialled inside the country, international with their country code. Without it a number that could be of the country and is one of another country is excluded." example:"international"`
	Unique   Unique                  `yaml:"unique" validate:"oneof=phone off" default:"phone" doc:"phone keeps the first row of each number; off keeps them all."`
	Exclude  Exclude                 `yaml:"exclude" doc:"Contacts to exclude."`
	Campaign *Campaign               `yaml:"campaign" doc:"For deliver: csv, the campaign to create."`
	Send     *Message                `yaml:"send" doc:"For deliver: per_message, what each row is sent as: a template, a campaign or a text."`
	Deliver  messaging.Deliver       `yaml:"deliver" validate:"oneof=csv per_message" default:"csv" doc:"csv uploads files, one for each part: fast, and tracked only as far as the answer allows. per_message sends each row by itself: slower, tracked one by one."`
	MaxSize  units.Size              `yaml:"max_size" validate:"min=1kB" doc:"Largest part, in bytes of the file; unless said as much as the service takes, which is the most."`

	Rate duerules.Rate `yaml:"rate" doc:"For deliver: per_message, most rows that leave in a window: all of them may go at once, and then none until it ends. A day, week or month is that of the job's timezone." example:"5000 per day"`

	OnMissed OnMissed    `yaml:"on_missed" doc:"When its time passed while nothing ran: skip, run_once, or {if_younger_than: 6h}. Default: skip."`
	Overlap  Overlap     `yaml:"overlap" validate:"oneof=skip queue cancel_previous" default:"skip" doc:"When its time comes and the run before has not ended."`
	Guard    Guard       `yaml:"guard" doc:"Beyond these a run waits until somebody approves it."`
	Canary   *Canary     `yaml:"canary" doc:"Send a few first and look."`
	Category RowCategory `yaml:"category" doc:"The messaging network's class of the messages: marketing, utility or authentication; for deliver: per_message also a column that has each row's, '{{ kind }}'. Default: defaults.category." example:"utility"`
	Account  string      `yaml:"account" doc:"The account of the service that sends it: a name under accounts, or api. Default: api. A run keeps the one that it began with." example:"brand-b"`
	Was      string      `yaml:"was" doc:"The name that this job had before: its runs, its halts and all that is remembered of the old name become its own. See docs/config-files.md." example:"weekly"`
	Mode     Mode        `yaml:"mode" validate:"oneof=live off" default:"live" doc:"off keeps the job from firing, and pauses its open runs; it can still be run by hand."`

	duerules.Keys `yaml:",inline"`
}

// A Mode is whether a job fires.
type Mode string

// The modes of a job.
const (
	Live Mode = "live"
	Off  Mode = "off"
)

// Unique says what two rows may not share.
type Unique string

// The values of Unique.
const (
	UniquePhone Unique = "phone"
	UniqueOff   Unique = "off"
)

// Exclude names contacts to exclude. Blocked ones always are.
type Exclude struct {
	MessagedWithin units.Duration `yaml:"messaged_within" doc:"Those who were sent anything for this long. A retry looks at it once more, and does not count what its own run sent." example:"7d"`
}

// A Campaign is what the service is asked to create.
type Campaign struct {
	Name       string `yaml:"name" doc:"Name in the service's dashboard; {{ run.date }}, {{ run.time }} and {{ run.job }} are filled in. Default: the job's name and the time." example:"Winback {{ run.date }}"`
	TemplateID int64  `yaml:"template_id" validate:"required,min=1" doc:"Number of the approved template." example:"1042"`
}

// Overlap says what to do when the run before has not ended.
type Overlap string

// The values of Overlap.
const (
	OverlapSkip   Overlap = "skip"
	OverlapQueue  Overlap = "queue"
	OverlapCancel Overlap = "cancel_previous"
)

// A Guard has runs that look wrong wait for approval. Zero is no bound.
type Guard struct {
	MaxRows     int64   `yaml:"max_rows" validate:"min=1" doc:"Most rows to send."`
	MaxChange   Percent `yaml:"max_change" doc:"Most rows against the last run that was sent, and, the other way around, least: 300% lets nothing go that is more than three times as large or less than a third." example:"300%"`
	MaxPoints   float64 `yaml:"max_points" validate:"min=0" doc:"Most points by the price table; needs api.price."`
	Repeat      Repeat  `yaml:"repeat" default:"approve" validate:"oneof=approve send" doc:"When a list has the rows of the one that the last run sent with the same template, whoever is excluded of them: approve waits for a person; send is for a list that never changes."`
	ApproveBy   int     `yaml:"approve_by" default:"1" validate:"min=1,max=10" doc:"How many different people approve a run before it goes. Who started it by hand is not the last of several." example:"2"`
	ApproveOver int64   `yaml:"approve_over" validate:"min=0" doc:"More rows than this always wait for a person."`
}

// A Repeat says what becomes of a list that was sent before.
type Repeat string

// The values of Repeat.
const (
	RepeatApprove Repeat = "approve"
	RepeatSend    Repeat = "send"
)

// Percent is a share: "300%" is 3.
type Percent = units.Percent

// A Share is a number of rows, or a part of them.
type Share struct {
	Rows int64
	Of   Percent
}

// UnmarshalText reads 100 or 1%.
func (s *Share) UnmarshalText(text []byte) error {
	plain := strings.TrimSpace(string(text))
	if strings.HasSuffix(plain, "%") {
		if err := s.Of.UnmarshalText(text); err != nil {
			return err
		}
		if s.Of <= 0 || s.Of > 1 {
			return &wordError{fmt.Sprintf("%q is no share of the rows", plain), "write more than 0% and at most 100%"}
		}
		return nil
	}
	n, err := strconv.ParseInt(plain, 10, 64)
	if err != nil || n < 1 {
		return &wordError{fmt.Sprintf("%q is no number of rows", plain), "write 100, or 1%"}
	}
	s.Rows = n
	return nil
}

// of is how many of n rows it is: one at the least.
func (s Share) of(n int64) int64 {
	if s.Rows > 0 {
		return min(s.Rows, n)
	}
	return min(n, max(1, int64(math.Ceil(float64(n)*float64(s.Of)-1e-9))))
}

// String is the share as it is read.
func (s Share) String() string {
	if s.Rows > 0 {
		return strconv.FormatInt(s.Rows, 10)
	}
	return s.Of.String()
}

// MarshalText writes what String does.
func (s Share) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Schema describes the text to editors.
func (Share) Schema() map[string]any {
	return map[string]any{"type": []string{"string", "integer"}, "pattern": `^[0-9.]+\s*%?$`}
}

// OnMissed says what becomes of a time that passed while nothing ran. The zero value skips.
type OnMissed struct {
	RunOnce bool
	Younger time.Duration // run if it was missed by less than this
}

// DecodeYAML reads skip, run_once or {if_younger_than: 6h}.
func (o *OnMissed) DecodeYAML(n *yamlpos.Node) {
	if n.Kind() == yamlpos.Mapping {
		n.UnknownKeys("if_younger_than")
		at := n.Get("if_younger_than")
		if at == nil {
			if len(n.Fields()) == 0 {
				n.Report("does not say how young", "write {if_younger_than: 6h}")
			}
			return
		}
		var d units.Duration
		at.Decode(&d)
		o.Younger = d.D()
		return
	}
	switch word := n.Text(); {
	case n.Kind() != yamlpos.Scalar:
		n.Report("wants skip, run_once or {if_younger_than: 6h}", "")
	case word == "skip":
	case word == "run_once":
		o.RunOnce = true
	default:
		hint := "write skip, run_once or {if_younger_than: 6h}"
		if near := nearest.Of(word, []string{"skip", "run_once"}); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		n.Report(fmt.Sprintf("%q is not known here", word), hint)
	}
}

func (o OnMissed) runs(age time.Duration) bool { return o.RunOnce || age < o.Younger }

// String is the value as it is read.
func (o OnMissed) String() string {
	switch {
	case o.RunOnce:
		return "run_once"
	case o.Younger > 0:
		return "{if_younger_than: " + units.Duration(o.Younger).String() + "}"
	default:
		return "skip"
	}
}

// MarshalText writes what String does.
func (o OnMissed) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Schema describes it to editors.
func (OnMissed) Schema() map[string]any {
	return map[string]any{"anyOf": []any{
		map[string]any{"enum": []string{"skip", "run_once"}},
		map[string]any{
			"type": "object", "additionalProperties": false, "required": []string{"if_younger_than"},
			"properties": map[string]any{"if_younger_than": units.Duration(0).Schema()},
		},
	}}
}
