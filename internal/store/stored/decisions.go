package stored

import (
	"fmt"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

const DecisionColumns = `event_id, trigger_name, outcome, reason, key, message, later, clauses, config, at, kept`

// ScanDecision reads DecisionColumns. kept is false of one whose reasons are not kept any more.
func ScanDecision(r *engine.Row) (d messaging.Decision, kept bool, err error) {
	d = messaging.Decision{
		EventID: messaging.EventID(r.Int()), Trigger: r.Text(), Outcome: messaging.Outcome(r.Text()), Reason: r.Text(), Key: r.Text(),
		MessageID: messaging.MessageID(r.Int()),
	}
	later, clauses := r.Text(), r.Text()
	d.Config, d.At, kept = r.Text(), r.Time(), r.Int() == 1
	if !kept {
		d.Reason = "why is not kept any more (retention.decisions)"
	}
	if err = r.Err; err == nil {
		d.Later, err = DecodeList[messaging.MessageID](later)
	}
	if err == nil {
		d.Clauses, err = DecodeList[messaging.Clause](clauses)
	}
	if err != nil {
		return d, kept, fmt.Errorf("decision about event %d: %w", d.EventID, err)
	}
	return d, kept, nil
}
