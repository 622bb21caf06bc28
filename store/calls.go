package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/nudgewire/nudgewire"
)

// Claims run ahead of calls, so after a crash most of what was claimed had not left. Which calls had
// begun stands in a small file beside the database, one slot for each of the sender's workers: written
// just before the call, and used again only once the outcome of that call is on disk. So the slots
// hold exactly the calls that may be under way. The file is never synced: it must survive the process,
// not the machine, and its head says of which process and which boot of the machine it tells
// (decision 18).

const (
	callsHead  = 512 // bytes: a line with what it is, one with the owner, one with the boot; zeros
	callsMagic = "nudgewire calls begun 1"
	callSlot   = 16       // bytes: dispatch 8, attempt 4, checksum of both 4
	callsSize  = 64 << 10 // made at once, so that no disk is too full for a slot later
)

// bootFile names the boot of the machine where the system tells it; a variable for tests.
var bootFile = "/proc/sys/kernel/random/boot_id"

// calls is the file of one store.
type calls struct {
	path string

	mu    sync.Mutex
	file  *os.File // nil until an owner began
	owner string
}

// A begun call is what a slot holds.
type begun struct {
	id      nudgewire.DispatchID
	attempt int
}

// BeginCall notes that the call for a claim is about to begin; slot is the caller's own, counted from
// 0, and free because the outcome of the last call that was noted there is on disk. No call may be
// made when it fails. It costs one small write to a file.
func (s *Store) BeginCall(slot int, id nudgewire.DispatchID, attempt int) error {
	s.calls.mu.Lock()
	file := s.calls.file
	s.calls.mu.Unlock()
	if file == nil {
		return errors.New("note the begin of a call: the store knows no owner yet; call Abandon first")
	}
	var b [callSlot]byte
	putCall(b[:], begun{id, attempt})
	if _, err := file.WriteAt(b[:], callsHead+int64(slot)*callSlot); err != nil {
		return fmt.Errorf("note the begin of a call: %w", err)
	}
	return nil
}

func putCall(b []byte, c begun) {
	binary.LittleEndian.PutUint64(b, uint64(c.id))
	binary.LittleEndian.PutUint32(b[8:], uint32(c.attempt))
	binary.LittleEndian.PutUint32(b[12:], crc32.ChecksumIEEE(b[:12]))
}

// begin makes the file anew for owner. What it held is settled by now. Where it cannot be made no
// call can.
func (c *calls) begin(owner string) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file != nil && c.owner == owner {
		return nil
	}
	if c.file != nil {
		err, c.file = c.file.Close(), nil
	}
	page := make([]byte, callsSize)
	copy(page, callsMagic+"\n"+owner+"\n"+bootID()+"\n")
	// A new file in the place of the old one: a crash leaves one or the other.
	fresh := c.path + ".new"
	file, made := os.OpenFile(fresh, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if made == nil {
		if _, made = file.Write(page); made == nil {
			made = os.Rename(fresh, c.path)
		}
		if made != nil {
			made = errors.Join(made, file.Close())
		}
	}
	if err = errors.Join(err, made); err != nil {
		return fmt.Errorf("make %s: %w", filepath.Base(c.path), err)
	}
	c.file, c.owner = file, owner
	return nil
}

// left is what the file says of an owner that is dead: which calls it had begun. known is false when
// that cannot be trusted: another owner's file, another boot of the machine, or one that cannot be read.
func (c *calls) left(owner string) (all map[begun]bool, known bool) {
	page, err := os.ReadFile(c.path)
	if err != nil || len(page) < callsHead {
		return nil, false
	}
	head := strings.Split(string(bytes.TrimRight(page[:callsHead], "\x00")), "\n")
	boot := bootID()
	if len(head) != 4 || head[0] != callsMagic || head[1] != owner || boot == "" || head[2] != boot {
		return nil, false
	}
	all = map[begun]bool{}
	for slots := page[callsHead:]; len(slots) >= callSlot; slots = slots[callSlot:] {
		one := begun{nudgewire.DispatchID(binary.LittleEndian.Uint64(slots)), int(binary.LittleEndian.Uint32(slots[8:]))}
		if one == (begun{}) {
			continue
		}
		if binary.LittleEndian.Uint32(slots[12:]) != crc32.ChecksumIEEE(slots[:12]) {
			return nil, false
		}
		all[one] = true
	}
	return all, true
}

func (c *calls) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil {
		return nil
	}
	err := c.file.Close()
	c.file = nil
	return err
}

// bootID names the present boot of the machine, "" where the system does not tell.
func bootID() string {
	text, err := os.ReadFile(bootFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// callsLeft is what a dead owner's file says, held against the ledger: a slot that tells of a later
// attempt than the ledger knows was written after it, so the ledger is an older copy, and nothing
// that the file does not tell of can be said not to have left.
func (t *tx) callsLeft(owner string) (all map[begun]bool, known bool, err error) {
	if all, known = t.calls.left(owner); !known {
		return nil, false, nil
	}
	for one := range all {
		var attempt int
		err := t.query(stDispatch, func(r *row) error {
			d, _ := scanDispatch(r)
			attempt = d.Attempt
			return r.err
		}, int64(one.id))
		if err != nil {
			return nil, false, err
		}
		if attempt < one.attempt {
			return nil, false, nil
		}
	}
	return all, true, nil
}
