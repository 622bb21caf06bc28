package sqlite

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/nudgewire/nudgewire/internal/disk"
)

// FaultFile is where the fault of the database at path stands. What is lost must be known for as long as nobody has reviewed it, and the log that shows it is gone with the first
// checkpoint, even that of a connection that is closed. So it is written to a file of its own before the first
// connection is opened, and stays there until the hold is in the database.
func FaultFile(path string) string { return path + ".damaged" }

// FindFault is what the log beside the database at path has lost; nil for nothing. What it finds it writes down first.
// Nobody may have the database open; alone is asked once more whether that is so before anything is written.
func FindFault(path string, alone func() (bool, error)) (*Fault, error) {
	text, err := os.ReadFile(FaultFile(path))
	if err == nil {
		var fault Fault
		if err := json.Unmarshal(text, &fault); err != nil {
			return nil, fmt.Errorf("%s: %w", FaultFile(path), err)
		}
		return &fault, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("what is known of damage: %w", err)
	}
	fault, err := inspectLog(path)
	if err != nil || fault == nil {
		return nil, err
	}
	if yes, err := alone(); err != nil || !yes {
		return nil, err
	}
	text, err = json.Marshal(fault)
	if err == nil {
		err = disk.WriteFile(FaultFile(path), text)
	}
	if err != nil {
		return fault, fmt.Errorf("write down that the log is damaged: %w", err)
	}
	return fault, nil
}

// FaultBeside is FindFault for a store that only reads: its connections, too, would end the log. A daemon has looked
// itself, and its log changes while it is read.
func FaultBeside(path string) (*Fault, error) {
	alone := func() (bool, error) { return Unlocked(path + ".lock") }
	if free, err := alone(); err != nil || !free {
		return nil, err
	}
	fault, err := FindFault(path, alone)
	if fault != nil {
		return fault, nil // who may not write here cannot end the log, either
	}
	return nil, err
}

// ErrNotData means that the file is no database, or that its beginning is damaged.
var ErrNotData = errors.New("this is not a database, or its beginning is damaged; restore a backup, or move it away to begin anew")

// LooksWhole tells a file that is no database before SQLite says so in words of its own.
func LooksWhole(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("storage file: %w", err)
	}
	begins := make([]byte, len(fileBegins))
	_, err = io.ReadFull(f, begins)
	if err = errors.Join(ended(err), f.Close()); err != nil {
		return fmt.Errorf("storage file: %w", err)
	}
	if string(begins) != fileBegins {
		return ErrNotData
	}
	return nil
}

// fileBegins is what every SQLite file begins with.
const fileBegins = "SQLite format 3\x00"
