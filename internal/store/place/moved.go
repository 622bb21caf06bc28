package place

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/disk"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/numbers"
	"github.com/nudgewire/nudgewire/internal/store/schema"
)

// Data moves from one engine to the other while nobody uses it (package transfer copies it). What is here opens both places for that, and
// says of each whether its data may be used: the old place has a mark that the data was moved, and the new one that a copy began and did not
// end. No daemon starts on either: both would send the same.

// A TransferError says what keeps data from moving.
type TransferError struct{ Words, Hint string }

func (e *TransferError) Error() string { return e.Words }

// A MovedError says that data was moved to another engine.
type MovedError struct {
	To   string // where to; without a secret
	At   time.Time
	Undo string `json:"-"` // what takes the mark away
}

// Error names where the data is and the next step.
func (e *MovedError) Error() string {
	return fmt.Sprintf("this data was moved to %s at %s by \"nudgewire store copy\", and a daemon on both would send twice; name that one under storage. "+
		"Only if no daemon ever started there, this data may be used again: %s", e.To, e.At.UTC().Format(time.RFC3339), e.Undo)
}

// An UnfinishedError says that a copy to here was cut off, or failed, and the data is not whole.
type UnfinishedError struct {
	Place string // without a secret
	Undo  string // what makes the place one that nobody copies to
}

// Error names the next step.
func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("\"nudgewire store copy\" to %s began and did not end, so the data is not here: give the same command again while no daemon runs. "+
		"Only to begin here with no data: %s", e.Place, e.Undo)
}

// movedFile stands beside data that was moved away.
func movedFile(path string) string { return path + ".moved" }

// MarkMoved has no daemon start on the data at path any more: it is at to.
func MarkMoved(path, to string) error {
	text, err := json.Marshal(MovedError{To: to, At: time.Now()})
	if err == nil {
		err = disk.WriteFile(movedFile(path), text)
	}
	return wrap(err, "mark the old data")
}

// MovedAway is a *MovedError where the data at path was moved. again is where it is being moved to, which may be done once more: the
// other side is known to be empty.
func MovedAway(path, again string) error {
	text, err := os.ReadFile(movedFile(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	moved := &MovedError{Undo: "remove " + movedFile(path)}
	if err == nil {
		err = json.Unmarshal(text, moved)
	}
	if err != nil {
		return fmt.Errorf("whether the data was moved: %w", err)
	}
	if again != "" && moved.To == again {
		return nil
	}
	return moved
}

// CopyingFile is what data is called that is being copied, beside where it will be.
func CopyingFile(path string) string { return path + ".copying" }

// CopyCutOff is an *UnfinishedError where a copy to a file began and did not end.
func CopyCutOff(path string) error {
	_, err := os.Stat(CopyingFile(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("whether a copy to here ended: %w", err)
	}
	return &UnfinishedError{path, "remove " + CopyingFile(path)}
}

// NewFile makes a database with the schema, to be filled and given its name when it is whole. A crash leaves one that is made anew, so
// nothing is synced before that.
func NewFile(ctx context.Context, path string) (*sql.DB, error) {
	err := disk.Remove(path)
	if err == nil {
		err = engine.CreateFile(path)
	}
	if err != nil {
		return nil, err
	}
	c, err := engine.NewConnector(path)
	if err != nil {
		return nil, err
	}
	if err := c.Prepare(ctx, path, schema.Steps); err != nil {
		return nil, err
	}
	return engine.OpenFile(path, "PRAGMA synchronous = OFF", "PRAGMA journal_mode = OFF", "PRAGMA cache_size = -65536", "PRAGMA temp_store = MEMORY")
}

// The counters of one place alone: which data it is, how far its keys are written, what its file has to do, what was moved.
const (
	movedAt    = "moved/at"
	movedTo    = "moved/to"
	expectedAt = "expected/at"
)

// RewriteDue is the counter that is 1 from the end of forgetting until nothing can be left between the rows of a file.
const RewriteDue = "forgetting/rewrite"

// IsOfOnePlace reports whether a counter is of the place that it is in, and does not move.
func IsOfOnePlace(counter string) bool {
	return counter == RewriteDue || slices.ContainsFunc([]string{"instance/", "keyed/", "moved/", "expected/", numbers.Prefix}, func(prefix string) bool { return strings.HasPrefix(counter, prefix) })
}

// wrap adds what was done to err; nil stays nil.
func wrap(err error, what string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
