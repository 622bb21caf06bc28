package place

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/disk"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

const instanceMagic = "nudgewire instance 1"

// InstanceFile stands beside data, and says which data it is.
func InstanceFile(path string) string { return path + ".instance" }

// NoteFile is what "nudgewire restore" leaves beside the database that it put there.
func NoteFile(path string) string { return path + ".restored" }

// A RestoredNote says of a database where it was restored from.
type RestoredNote struct {
	From string    `json:"from"`
	At   time.Time `json:"at"` // when the copy was made
}

// WriteRestoredNote leaves the note for the next start.
func WriteRestoredNote(dsn string, n RestoredNote) error {
	text, err := json.Marshal(n)
	if err == nil {
		err = disk.WriteFile(NoteFile(engine.Path(dsn)), text)
	}
	return wrap(err, "note where the data came from")
}

// ReadRestoredNote reads what WriteRestoredNote left.
func ReadRestoredNote(path string) (n RestoredNote, found bool, err error) {
	text, err := os.ReadFile(NoteFile(path))
	if errors.Is(err, fs.ErrNotExist) {
		return n, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &n)
	}
	return n, err == nil, wrap(err, "where the data came from")
}

// NoInstance is what a file has that is not whole. No data has it for a token.
const NoInstance = -1

// ReadInstance reads the file beside the data: the token, and the number of the database's file, "" where it is not known.
func ReadInstance(path string) (token int64, number string, err error) {
	text, err := os.ReadFile(InstanceFile(path))
	if err != nil {
		return NoInstance, "", err //nolint:wrapcheck // the callers say what for
	}
	lines := append(strings.Split(string(text), "\n"), "", "", "")
	token, err = strconv.ParseInt(lines[1], 16, 64)
	if err != nil || lines[0] != instanceMagic {
		return NoInstance, "", nil //nolint:nilerr // it is damaged, and so the file of no data
	}
	return token, lines[2], nil
}

// WriteInstance writes the file beside the data.
func WriteInstance(path string, token int64) error {
	return disk.WriteFile(InstanceFile(path), fmt.Appendf(nil, "%s\n%x\n%s\n", instanceMagic, token, disk.FileNumber(path))) //nolint:wrapcheck // the caller says what for
}

// markFile stands beside data that is being restored, and is not whole.
func markFile(path string) string { return path + ".restore-cut-off" }

// A CutOffError says that a restoration was cut off, and the data is not whole.
type CutOffError struct{ From string }

// Error says so, and the next step.
func (e *CutOffError) Error() string {
	return fmt.Sprintf("a restoration from %s was cut off; do it again: nudgewire restore %s", filepath.Base(e.From), e.From)
}

// MarkRestore keeps every start from the data until UnmarkRestore.
func MarkRestore(dsn, from string) error {
	return wrap(disk.WriteFile(markFile(engine.Path(dsn)), []byte(from)), "mark the restoration")
}

// UnmarkRestore says that the data is whole again.
func UnmarkRestore(dsn string) error {
	path := markFile(engine.Path(dsn))
	return wrap(errors.Join(os.Remove(path), disk.SyncFolder(filepath.Dir(path))), "end the restoration")
}

// CutOff is a *CutOffError where a restoration of the data at path was cut off.
func CutOff(path string) error {
	from, err := os.ReadFile(markFile(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("whether a restoration was cut off: %w", err)
	}
	return &CutOffError{strings.TrimSpace(string(from))}
}

// ErrEmptied means that the file held data and is empty.
var ErrEmptied = errors.New("the file held data and is empty now, so it was cut off; restore a backup, or move it away with all whose names begin with its own to begin anew")

// Emptied is ErrEmptied for a file that was cut off to nothing. Whoever opens it has SQLite remove its log, which may hold all that was
// answered.
func Emptied(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Size() > 0 {
		return nil //nolint:nilerr // who opens it says so
	}
	for _, side := range []string{path + "-wal", InstanceFile(path)} {
		if info, err := os.Stat(side); err == nil && info.Size() > 0 {
			return ErrEmptied
		}
	}
	return nil
}
