package backup

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/disk"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// A Last is what is known of the last backup of data, in a file beside it: it is not of the data itself, and data that was restored
// has none yet.
type Last struct {
	File    string    `json:"file"`
	At      time.Time `json:"at"` // the moment that it shows
	Bytes   int64     `json:"bytes"`
	Checked time.Time `json:"checked"` // when it was read whole last

	// Mark stands in the names of the backups that the daemon makes of this data, so that in a folder of several daemons each removes its own
	// alone. Data that was restored gets another: what was kept of the lost machine stays. "" before the first one.
	Mark string `json:"mark,omitempty"`
}

func lastFile(dsn string) string { return engine.Path(dsn) + ".backup" }

// ReadLast is the last backup of the data behind dsn; zero where none is known.
func ReadLast(dsn string) (l Last, err error) {
	text, err := os.ReadFile(lastFile(dsn))
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &l)
	}
	if err != nil {
		return Last{}, fmt.Errorf("what is known of the last backup: %w", err)
	}
	return l, nil
}

// Note keeps that r was made of the data behind dsn, or, where it is the last one, that it was checked.
func Note(dsn string, r Report) error {
	known, _ := ReadLast(dsn) // what cannot be read is written anew
	return writeLast(dsn, Last{r.Path, r.Manifest.At, r.Bytes, r.Checked, known.Mark})
}

// markOf is the Mark of the data behind dsn, which has one from then on.
func markOf(dsn string) (string, error) {
	l, err := ReadLast(dsn)
	if err == nil && l.Mark != "" {
		return l.Mark, nil
	}
	l.Mark = strings.ToLower(rand.Text()[:8])
	return l.Mark, writeLast(dsn, l)
}

func writeLast(dsn string, l Last) error {
	text, err := json.Marshal(l)
	if err == nil {
		err = disk.WriteFile(lastFile(dsn), text)
	}
	if err != nil {
		return fmt.Errorf("note the backup: %w", err)
	}
	return nil
}
