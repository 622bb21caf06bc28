package scheduler

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A digest tells one list from another, by all rows that can be sent: it is taken before anybody is excluded,
// because who is blocked between two runs does not make another list of it.
type digest struct {
	sum  hash.Hash
	text []byte // of one batch
}

func (d *digest) add(b *batch) {
	if d.sum == nil {
		d.sum = sha256.New()
	}
	d.text = d.text[:0]
	put := func(cell string) {
		d.text = append(binary.AppendUvarint(d.text, uint64(len(cell))), cell...)
	}
	for i, p := range b.phones {
		put(string(p))
		for _, v := range b.vars[i*b.width : (i+1)*b.width] {
			put(v)
		}
	}
	d.sum.Write(d.text)
}

// String is hex.
func (d *digest) String() string {
	if d.sum == nil {
		return ""
	}
	return hex.EncodeToString(d.sum.Sum(nil))
}

// repeated is the job's newest run that was sent, where r would send the same list with the same template
// once more: everybody on it would get the same message twice. ok is false where it would not, and for a
// job that may (guard.repeat).
func (s *Scheduler) repeated(ctx context.Context, j *Compiled, r messaging.Run) (last messaging.Run, ok bool, err error) {
	if j.Guard.Repeat == RepeatSend || r.Tally.Kept == 0 {
		return last, false, nil
	}
	last, ok, err = s.Store.LastSent(ctx, j.Name)
	same := last.Tally.SHA256 == r.Tally.SHA256 && last.TemplateID == r.TemplateID && last.Send.Same(r.Send)
	// Whoever that run reached is excluded already: what is left is who it did not reach.
	passed := s.Now().Sub(last.StartedAt) < j.Exclude.MessagedWithin.D()
	return last, ok && same && !passed, err
}

// repeatWords says what would be sent once more.
func repeatWords(rows int64, last messaging.Run) string {
	sent := "sent"
	if last.State == messaging.RunCancelled {
		sent = "sent in part and was cancelled"
	}
	return fmt.Sprintf("%s, the same list that run %d %s on %s", units.Count(rows, "row"), last.ID, sent, last.EndedAt.UTC().Format("2006-01-02 15:04:05 UTC"))
}

// defaultExpires is how long a row waits where its job does not say.
const defaultExpires = 24 * time.Hour

// OwnExpiry reports whether the job says otherwise than by default how long its rows may wait.
func (j *Compiled) OwnExpiry() bool { return j.Send == nil || j.Send.Expires.D() != defaultExpires }

// addressed gives r what the job sends.
func (j *Compiled) addressed(r messaging.Run) messaging.Run {
	r.TemplateID, r.Send, r.Expires = 0, messaging.Send{}, 0
	if j.Campaign != nil {
		r.TemplateID = j.Campaign.TemplateID
	}
	if m := j.Send; m != nil {
		r.Send, r.Expires = j.send, m.Expires.D()
	}
	return r
}
