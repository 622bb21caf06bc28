package preview

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
)

// eventOfTest is the event that a test is filled in from.
func (p Preview) eventOfTest(ctx context.Context, in *TestSendRequest, rules *Trial, now time.Time) (messaging.Event, error) {
	if in.Event != 0 {
		e, err := p.keptEvent(ctx, in.Event)
		if err == nil && !rules.Triggers.Begins(in.Trigger, e.Connector, e.Kind) {
			err = rules.notHeard(in, "event", e.Ref())
		}
		return e, err
	}
	from, err := rules.connectorsOf(in)
	if err != nil {
		return messaging.Event{}, err
	}
	var made []string
	for _, c := range from {
		samples := []string{in.Sample}
		if in.Payload == "" && in.Sample == "" {
			samples = samplesOf(c, now)
		}
		for _, sample := range samples {
			tried := in.tried(c.Name())
			tried.Sample = sample
			e, heard, err := rules.firstHeard(in.Trigger, c, &tried, now, &made)
			if err != nil || heard {
				return e, err
			}
		}
	}
	return messaging.Event{}, rules.notHeard(in, "payload", made...)
}

// firstHeard is the first event of a webhook that the trigger listens to. made gets the names of the others.
func (t *Trial) firstHeard(trigger string, c *connectors.Connector, in *TryRequest, now time.Time, made *[]string) (e messaging.Event, heard bool, err error) {
	req, err := in.request(c, t.PublicURL, now)
	if err != nil {
		return e, false, err
	}
	got, err := c.Receive(req)
	if no, is := errors.AsType[*connectors.Rejected](err); is {
		return e, false, refusal.Fieldf("payload", "", "%s would answer %d (%s): %s", c.Name(), no.Status, no.Stage, no.Reason)
	} else if err != nil {
		return e, false, err
	}
	for i := range got.Events {
		if one := &got.Events[i]; t.Triggers.Begins(trigger, one.Connector, one.Kind) {
			return *one, true, nil
		}
		*made = append(*made, got.Events[i].Ref())
	}
	return e, false, nil
}

func samplesOf(c *connectors.Connector, now time.Time) (names []string) {
	for _, s := range c.SamplesWithoutSecret(now, 1) {
		names = append(names, s.Name)
	}
	return names
}

// connectorsOf are those whose events the trigger listens to, by name: one, where a webhook is given.
func (t *Trial) connectorsOf(in *TestSendRequest) (from []*connectors.Connector, err error) {
	if in.Connector != "" {
		c := t.Receivers[in.Connector]
		if c == nil {
			return nil, NoConnector(in.Connector, t.Receivers)
		}
		return []*connectors.Connector{c}, nil
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(t.Receivers)) {
		if slices.ContainsFunc(t.Triggers.On(in.Trigger), func(on string) bool {
			return on == "*" || strings.HasPrefix(on, "*.") || strings.HasPrefix(on, name+".")
		}) {
			from, names = append(from, t.Receivers[name]), append(names, name)
		}
	}
	if len(from) > 1 && (in.Payload != "" || in.Sample != "") {
		return nil, refusal.Fieldf("connector", "it is one of "+strings.Join(names, ", "), "%s listens to several connectors: say whose webhook that is", in.Trigger)
	}
	return from, nil
}

// notHeard refuses an event that the trigger does not listen to: what it would be filled in with says nothing about real messages.
func (t *Trial) notHeard(in *TestSendRequest, field string, made ...string) error {
	on := strings.Join(t.Triggers.On(in.Trigger), ", ")
	made = slices.Compact(made)
	if len(made) == 0 {
		return refusal.Fieldf(field, "give it with an event: the number of a stored one, or a payload", "there is no event in it, and %s listens to %s", in.Trigger, on)
	}
	return refusal.Fieldf(field, `"nudgewire try" shows which event a webhook is`, "%s does not listen to %s; it listens to %s", in.Trigger, strings.Join(made, ", "), on)
}

// fillHint is what helps where a variable stays empty.
func (t *Trial) fillHint(in *TestSendRequest, e *messaging.Event) string {
	if c := t.Receivers[e.Connector]; c != nil && c.Enriches() && in.Event == 0 {
		return "the daemon looks up what a webhook of " + e.Connector + " leaves out, and a test does not: name a stored event, which has it"
	}
	return "give the variable a default in the config, or name an event that has the value"
}
