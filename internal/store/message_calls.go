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
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/edsrzf/mmap-go"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// Claims run ahead of calls, so after a crash most of what was claimed had not left. Which calls had
// begun stands in a small file beside the database, one slot for each of the sender's workers: written
// just before the call, and used again only once the outcome of that call is on disk. So the slots
// hold exactly the calls that may be under way. The file is mapped, as SQLite maps the index of its
// log, and never synced: it must survive the process, not the machine, and its head says of which
// process and which boot of the machine it tells (decision 4).

const (
	callsHead  = 512 // bytes: a line with what it is, one with the owner, one with the boot; zeros
	callsMagic = "nudgewire calls begun 1"
	callSlot   = 16        // bytes: message 8, attempt 4, checksum of both 4
	callsSize  = 256 << 10 // made at once, so that no disk is too full for a slot later
)

// bootFile names the boot of the machine where the system tells it; a variable for tests.
var bootFile = "/proc/sys/kernel/random/boot_id"

// calls is the file of one store.
type calls struct {
	path string

	mu    sync.RWMutex // held while a slot is written: what is not mapped any more must not be touched
	slots mmap.MMap    // the whole file; nil until an owner began
	owner string
	was   string // the owner before, as the file tells, until its claims are ended; see keepPredecessor
}

// CallSlots is how many slots there are for calls. The one behind them is for uploads.
const CallSlots = (callsSize-callsHead)/callSlot - 1

// A begun call is what a slot holds.
type begun struct {
	id      messaging.MessageID
	attempt int
}

// An upload has no slot of its own: its row says that it may be under way. The last one is noted all the same, so that a
// database from before it is known for a copy (see instance.go). It stands there as a negative number.
func uploadCall(run messaging.RunID, part, attempt int) begun {
	return begun{messaging.MessageID(-(int64(run)<<partBits | int64(part))), attempt}
}

// partBits is how many bits of that number the part has.
const partBits = 20

func (b begun) upload() (run, part int64, is bool) {
	n := -int64(b.id)
	return n >> partBits, n & (1<<partBits - 1), n > 0
}

// BeginCall notes that the call for a claim is about to begin; slot is the caller's own, counted from
// 0, and free because the outcome of the last call that was noted there is on disk. No call may be
// made when it fails.
func (s *Store) BeginCall(slot int, id messaging.MessageID, attempt int) error {
	if err := s.beat.Check(); err != nil {
		return err
	}
	if err := s.calls.note(slot, begun{id, attempt}); err != nil {
		return fmt.Errorf("note the begin of a call: %w", err)
	}
	s.beat.Calls.Add(1)
	return nil
}

func (c *calls) note(slot int, call begun) (err error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	at := callsHead + slot*callSlot
	switch {
	case c.slots == nil:
		return errors.New("the store knows no owner yet; call RescueClaims first")
	case slot < 0 || at+callSlot > len(c.slots):
		return fmt.Errorf("%s has no slot %d", filepath.Base(c.path), slot)
	}
	// A disk that cannot give the page is a fault of the memory here.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("write %s: %v", filepath.Base(c.path), fault)
		}
	}()
	putCall(c.slots[at:at+callSlot], call)
	return nil
}

// putCall writes a slot so that a kill in the middle leaves an empty one: its number comes last. The
// call that was noted there before is settled, and the new one has not begun.
func putCall(b []byte, c begun) {
	var whole [callSlot]byte
	binary.NativeEndian.PutUint64(whole[:], uint64(c.id))
	binary.NativeEndian.PutUint32(whole[8:], uint32(c.attempt))
	binary.NativeEndian.PutUint32(whole[12:], crc32.ChecksumIEEE(whole[:12]))
	id, rest := (*uint64)(unsafe.Pointer(&b[0])), (*uint64)(unsafe.Pointer(&b[8])) //nolint:gosec // plain stores might be left out or change places //nolint:gosec // a slot of the mapped file, aligned to its size
	atomic.StoreUint64(id, 0)
	atomic.StoreUint64(rest, binary.NativeEndian.Uint64(whole[8:]))
	atomic.StoreUint64(id, binary.NativeEndian.Uint64(whole[:]))
}

// begin makes the file anew for owner. What it held is settled by now. Where it cannot be made no
// call can.
func (c *calls) begin(owner string) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.slots != nil && c.owner == owner {
		return nil
	}
	err = c.unmap()
	page := make([]byte, callsSize)
	copy(page, callsMagic+"\n"+owner+"\n"+bootID()+"\n")
	// A new file in the place of the old one: a crash leaves one or the other.
	fresh := c.path + ".new"
	err = errors.Join(err, os.WriteFile(fresh, page, 0o600))
	if err == nil {
		err = os.Rename(fresh, c.path)
	}
	if err == nil {
		err = c.mapFile()
	}
	if err != nil {
		return fmt.Errorf("make %s: %w", filepath.Base(c.path), err)
	}
	c.owner, c.was = owner, ""
	return nil
}

// ownerNow is the owner of this process; "" before it began.
func (c *calls) ownerNow() string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.owner
}

// predecessor is the owner that had this folder before, while its claims are not ended; "" for none.
func (c *calls) predecessor() string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.was
}

func (c *calls) mapFile() error {
	file, err := os.OpenFile(c.path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	c.slots, err = mmap.Map(file, mmap.RDWR, 0)
	return errors.Join(err, file.Close())
}

func (c *calls) unmap() error {
	if c.slots == nil {
		return nil
	}
	return c.slots.Unmap() // which makes it nil
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
		one, whole := readCall(slots)
		if one.id == 0 {
			continue
		}
		if !whole {
			return nil, false
		}
		if _, _, upload := one.upload(); !upload {
			all[one] = true
		}
	}
	return all, true
}

// readCall reads a slot; id 0 is an empty one.
func readCall(slot []byte) (one begun, whole bool) {
	one = begun{messaging.MessageID(binary.NativeEndian.Uint64(slot)), int(binary.NativeEndian.Uint32(slot[8:]))}
	return one, binary.NativeEndian.Uint32(slot[12:]) == crc32.ChecksumIEEE(slot[:12])
}

func (c *calls) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unmap()
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
func (t *Tx) callsLeft(owner string) (all map[begun]bool, known bool, err error) {
	if all, known = t.calls.left(owner); !known {
		return nil, false, nil
	}
	for one := range all {
		var attempt int
		err := t.Query(MessageSQL, func(r *engine.Row) error {
			d, _ := ScanMessage(r)
			attempt = d.Attempt
			return r.Err
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
