package enricher

import (
	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// TellDecisions writes a line for each decision about an event that a request brought, for who looks closely.
func TellDecisions(log *zap.Logger, request string, r *messaging.Receipt) {
	for i := range r.Decisions {
		d := &r.Decisions[i]
		if line := log.Check(zap.DebugLevel, "decision "+string(d.Outcome)); line != nil {
			line.Write(zap.String("request", request), zap.Int64("event", int64(r.EventID)), zap.String("trigger", d.Trigger),
				zap.Int64("message", int64(d.MessageID)), zap.String("reason", mask.Text(d.Reason)))
		}
	}
}
