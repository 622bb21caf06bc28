package config

import (
	"fmt"
	"slices"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
	"github.com/nudgewire/nudgewire/scheduler"
)

// Retention says how long what is no longer needed is kept.
type Retention struct {
	Lists units.Duration `yaml:"lists" validate:"min=1h,max=3650d" default:"30d" doc:"How long the files of a campaign's run are kept after it has ended: its parts and the list of excluded rows, which hold personal data. Counts, hashes and answers stay. Files of a run that has not ended, or has a part in doubt, are kept."`
}

// forgetful reports a job that excludes who was messaged for longer than the lists that say so
// are kept: who is on a file that is gone would be messaged again. Jobs that deliver message by
// message leave no such files, but they ask those of the others.
func (c *Config) forgetful(k *checker, j *scheduler.Job) {
	within := j.Exclude.MessagedWithin
	uploads := func(e yamlpos.Entry[scheduler.Job]) bool { return e.Value.Deliver != nudgewire.DeliverPerMessage }
	if within <= c.Retention.Lists || !slices.ContainsFunc(c.in.Jobs, uploads) {
		return
	}
	k.found(yamlpos.Problem{
		Path: below(yamlpos.Join("jobs", j.Name), "exclude.messaged_within"),
		Msg:  fmt.Sprintf("%s is longer than the lists are kept that say who was messaged, %s", within, c.Retention.Lists),
		Hint: fmt.Sprintf("set retention.lists to %s or more", within),
	}, 0)
}
