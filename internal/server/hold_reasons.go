package server

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// holdReasons are what keeps messages back at present that wait: holds, and accounts that send nothing.
type holdReasons struct {
	holds []messaging.Hold
	halts []messaging.SendingHalt
	now   time.Time
}

func (a admin) readHoldReasons(ctx context.Context) (h holdReasons, err error) {
	h.now = a.Now()
	h.holds, err = a.Store.Holds(ctx)
	if a.Daemon != nil {
		h.halts = a.Daemon.View().Halts
	}
	return h, err
}

// heldNow is what would keep a message back that was due now, in words; "" for nothing.
func (a admin) heldNow(ctx context.Context, d *messaging.Message) (string, error) {
	h, err := a.readHoldReasons(ctx)
	if err != nil {
		return "", err
	}
	if why := h.of(&MessageView{MessageStory: store.MessageStory{Message: *d}}); why != "" || a.Daemon == nil || d.Category.Urgent() {
		return why, nil
	}
	if v := a.Daemon.View(); v.Disk != nil && v.Disk.Held {
		return "marketing waits, because the disk is nearly full", nil
	}
	return "", nil
}

// setHeld says of each message that waits what holds it.
func (h holdReasons) setHeld(messages []MessageView) {
	for i := range messages {
		if m := &messages[i]; m.State == messaging.StateWaiting {
			m.Held = h.of(m)
		}
	}
}

// of is what holds a message that waits, in words; "" for nothing but its time.
func (h holdReasons) of(m *MessageView) string {
	var facts messaging.DueFacts
	for _, one := range h.holds {
		if one.Stops(&m.Message) {
			facts.Held = one.Why()
			break
		}
	}
	for _, a := range h.halts {
		if !m.DueAt.After(h.now) && facts.Service == "" && a.Stops(m.Account, m.Category) {
			facts.Service = a.Words(h.now)
		}
	}
	return duerules.MayGo(nil, &m.Message, &facts, h.now).Reason // what the rules say it says itself, when it is due
}
