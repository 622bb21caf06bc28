package sender

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A LastLook is the look just before the call of a claim, for Options.MayGo.
type LastLook struct {
	Store interface {
		FactsOf(ctx context.Context, d *messaging.Message) (messaging.DueFacts, error)
		StepFacts(ctx context.Context, d *messaging.Message) (messaging.StepFacts, error)
	}
	Rules func() messaging.DueRules // of the due moment; a nil answer is none
	// Step decides about a step of a sequence: triggers.Set.Step.
	Step func(d *messaging.Message, f *messaging.StepFacts, now time.Time) messaging.StepVerdict
}

// MayGo asks about a step of a sequence only where all else lets it go, because that reads what was stored of it and of the steps before.
func (l *LastLook) MayGo(ctx context.Context, d *messaging.Message, service string, now time.Time) (v messaging.StepVerdict, err error) {
	facts, err := l.Store.FactsOf(ctx, d)
	if err != nil {
		return v, err
	}
	facts.Service = service
	rules := l.Rules()
	v.Verdict = duerules.MayGo(rules, d, &facts, now)
	if v.Action != messaging.AllowSend || d.Step == 0 {
		return v, nil
	}
	of, err := l.Store.StepFacts(ctx, d)
	if err != nil {
		return v, err
	}
	step := l.Step(d, &of, now)
	facts.Step = &step.Verdict
	return messaging.StepVerdict{Verdict: duerules.MayGo(rules, d, &facts, now), Decision: step.Decision}, nil
}
