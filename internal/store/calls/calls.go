package calls

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
)

const (
	headSize = 512 // bytes: a line with what it is, one with the owner, one with the boot; zeros
	magic    = "nudgewire calls begun 1"
	slotSize = 16        // bytes: message 8, attempt 4, checksum of both 4
	fileSize = 256 << 10 // made at once, so that no disk is too full for a slot later
)

// bootFile names the boot of the machine where the system tells it; a variable for tests.
var bootFile = "/proc/sys/kernel/random/boot_id"

// A File is that of one store.
type File struct {
	Path string

	mu    sync.RWMutex // held while a slot is written: what is not mapped any more must not be touched
	slots mmap.MMap    // the whole file; nil until an owner began
	owner string
	was   string // the owner before, as the file tells, until its claims are ended; see Keep
}

// Slots is how many calls may be under way at a time. The slot behind theirs is for uploads.
const Slots = (fileSize-headSize)/slotSize - 1

// A Call is what a slot holds: one that had begun.
type Call struct {
	Message messaging.MessageID
	Attempt int
}

// Upload is the call of a part of a run. It has no slot of its own: its row says that it may be under way. The last one is noted all the same, so
// that a database from before it is known for a copy (see internal/store/instance.go). It stands there as a negative number.
func Upload(run messaging.RunID, part, attempt int) Call {
	return Call{messaging.MessageID(-(int64(run)<<partBits | int64(part))), attempt}
}

// partBits is how many bits of that number the part has.
const partBits = 20

// Upload is what a call of that kind is about; is is false for one about a message.
func (c Call) Upload() (run, part int64, is bool) {
	n := -int64(c.Message)
	return n >> partBits, n & (1<<partBits - 1), n > 0
}

// Note writes a call into a slot, which must be free: the outcome of the call that was noted there before is on disk.
func (f *File) Note(slot int, call Call) (err error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	at := headSize + slot*slotSize
	switch {
	case f.slots == nil:
		return errors.New("the store knows no owner yet; call RescueClaims first")
	case slot < 0 || at+slotSize > len(f.slots):
		return fmt.Errorf("%s has no slot %d", filepath.Base(f.Path), slot)
	}
	// A disk that cannot give the page is a fault of the memory here.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("write %s: %v", filepath.Base(f.Path), fault)
		}
	}()
	putCall(f.slots[at:at+slotSize], call)
	return nil
}

// putCall writes a slot so that a kill in the middle leaves an empty one: its number comes last. The
// call that was noted there before is settled, and the new one has not begun.
func putCall(b []byte, c Call) {
	var whole [slotSize]byte
	binary.NativeEndian.PutUint64(whole[:], uint64(c.Message))
	binary.NativeEndian.PutUint32(whole[8:], uint32(c.Attempt))
	binary.NativeEndian.PutUint32(whole[12:], crc32.ChecksumIEEE(whole[:12]))
	id, rest := (*uint64)(unsafe.Pointer(&b[0])), (*uint64)(unsafe.Pointer(&b[8])) //nolint:gosec // plain stores might be left out or change places //nolint:gosec // a slot of the mapped file, aligned to its size
	atomic.StoreUint64(id, 0)
	atomic.StoreUint64(rest, binary.NativeEndian.Uint64(whole[8:]))
	atomic.StoreUint64(id, binary.NativeEndian.Uint64(whole[:]))
}

// Begin makes the file anew for owner. What it held is settled by now. Where it cannot be made no
// call can.
func (f *File) Begin(owner string) (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.slots != nil && f.owner == owner {
		return nil
	}
	err = f.unmap()
	page := make([]byte, fileSize)
	copy(page, magic+"\n"+owner+"\n"+bootID()+"\n")
	// A new file in the place of the old one: a crash leaves one or the other.
	fresh := f.Path + ".new"
	err = errors.Join(err, os.WriteFile(fresh, page, 0o600))
	if err == nil {
		err = os.Rename(fresh, f.Path)
	}
	if err == nil {
		err = f.mapFile()
	}
	if err != nil {
		return fmt.Errorf("make %s: %w", filepath.Base(f.Path), err)
	}
	f.owner, f.was = owner, ""
	return nil
}

// Owner is the owner of this process; "" before it began.
func (f *File) Owner() string {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.owner
}

// Predecessor is the owner that had this folder before, while its claims are not ended; "" for none.
func (f *File) Predecessor() string {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.was
}

// Keep reads whose file it was, before it is made anew; "" where there was none. It is the predecessor until Begin.
func (f *File) Keep() (owner string, err error) {
	page, err := os.ReadFile(f.Path)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("the calls of before: %w", err)
	}
	head := strings.SplitN(string(page[:min(len(page), headSize)]), "\n", 3)
	if len(head) == 3 && head[0] == magic {
		f.was = head[1]
	}
	return f.was, nil
}

// Noted are the calls that a file tells of, whoever wrote it; none where it cannot be read.
func Noted(path string) (all []Call) {
	page, err := os.ReadFile(path)
	if err != nil || len(page) < headSize || !strings.HasPrefix(string(page), magic) {
		return nil // what it might tell is not known
	}
	for slots := page[headSize:]; len(slots) >= slotSize; slots = slots[slotSize:] {
		if one, whole := readCall(slots); one.Message != 0 && whole {
			all = append(all, one)
		}
	}
	return all
}

func (f *File) mapFile() error {
	file, err := os.OpenFile(f.Path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	f.slots, err = mmap.Map(file, mmap.RDWR, 0)
	return errors.Join(err, file.Close())
}

func (f *File) unmap() error {
	if f.slots == nil {
		return nil
	}
	return f.slots.Unmap() // which makes it nil
}

// Left is what the file says of an owner that is dead: which calls it had begun. known is false when
// that cannot be trusted: another owner's file, another boot of the machine, or one that cannot be read.
func (f *File) Left(owner string) (all map[Call]bool, known bool) {
	page, err := os.ReadFile(f.Path)
	if err != nil || len(page) < headSize {
		return nil, false
	}
	head := strings.Split(string(bytes.TrimRight(page[:headSize], "\x00")), "\n")
	boot := bootID()
	if len(head) != 4 || head[0] != magic || head[1] != owner || boot == "" || head[2] != boot {
		return nil, false
	}
	all = map[Call]bool{}
	for slots := page[headSize:]; len(slots) >= slotSize; slots = slots[slotSize:] {
		one, whole := readCall(slots)
		if one.Message == 0 {
			continue
		}
		if !whole {
			return nil, false
		}
		if _, _, upload := one.Upload(); !upload {
			all[one] = true
		}
	}
	return all, true
}

// readCall reads a slot; id 0 is an empty one.
func readCall(slot []byte) (one Call, whole bool) {
	one = Call{messaging.MessageID(binary.NativeEndian.Uint64(slot)), int(binary.NativeEndian.Uint32(slot[8:]))}
	return one, binary.NativeEndian.Uint32(slot[12:]) == crc32.ChecksumIEEE(slot[:12])
}

// Close leaves the file as it is.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.unmap()
}

// bootID names the present boot of the machine, "" where the system does not tell.
func bootID() string {
	text, err := os.ReadFile(bootFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return strings.TrimSpace(string(text))
}
