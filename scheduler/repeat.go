package scheduler

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/units"
)

// digest tells one list as it was built from another: the hash of its file, or, of several, the hash of
// their hashes.
func digest(parts []nudgewire.Part) string {
	if len(parts) == 1 {
		return parts[0].SHA256
	}
	sum := sha256.New()
	for i := range parts {
		sum.Write([]byte(parts[i].SHA256))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// repeated is the job's newest run that was sent, where r would send the same list with the same template
// once more: everybody on it would get the same message twice. ok is false where it would not, and for a
// job that may (guard.repeat).
func (s *Scheduler) repeated(ctx context.Context, j *Compiled, r nudgewire.Run) (last nudgewire.Run, ok bool, err error) {
	if j.Guard.Repeat == RepeatSend || r.Tally.Kept == 0 {
		return last, false, nil
	}
	last, ok, err = s.Ledger.LastSent(ctx, j.Name)
	same := last.Tally.SHA256 == r.Tally.SHA256 && last.TemplateID == r.TemplateID && last.Template == r.Template && last.Language == r.Language
	return last, ok && same, err
}

// repeatWords says what would be sent once more.
func repeatWords(rows int64, last nudgewire.Run) string {
	return fmt.Sprintf("%s, the same list that run %d sent on %s", units.Count(rows, "row"), last.ID, last.EndedAt.UTC().Format("2006-01-02 15:04:05 UTC"))
}

// addressed gives r what the job sends.
func (j *Compiled) addressed(r nudgewire.Run) nudgewire.Run {
	r.TemplateID, r.Template, r.Language, r.Expires = 0, "", "", 0
	if j.Campaign != nil {
		r.TemplateID = j.Campaign.TemplateID
	}
	if m := j.Send; m != nil {
		r.Template, r.Language, r.Expires = m.Template, j.language, m.Expires.D()
	}
	return r
}
