package store

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nudgewire/nudgewire/internal/disk"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// A contact that was forgotten stays blocked, though its phone is kept nowhere: what is kept is a hash of the phone, with
// a key. Without the key nobody can try all phones there are until a hash fits, so the key lies beside the data and not in it:
// a copy of the database alone tells of nobody.

// keySize is the length of the key, in bytes.
const keySize = 32

// erasureHashes makes those hashes, by which the audit names contacts, too. Until somebody is forgotten or told of it has no key, and costs one
// atomic read.
type erasureHashes struct {
	data string      // the database, beside which the key lies
	any  atomic.Bool // somebody is forgotten
	mu   sync.Mutex
	key  []byte
}

// A LostKeyError says that there are forgotten contacts and nobody can know them again.
type LostKeyError struct{ Path string }

// Error says what is missing and the next step.
func (e *LostKeyError) Error() string {
	return e.Path + ` is missing or damaged, and without it those who were forgotten are not known again and would be messaged; ` +
		`restore it from the backup that the database came from. If it is gone for good, put a new one there: openssl rand -hex 32`
}

func (m *erasureHashes) path() string { return m.data + ".forgotten-key" }

// load reads the key where somebody is forgotten.
func (m *erasureHashes) load(ctx context.Context, s *Store) error {
	return s.Rows(ctx, `SELECT mark FROM forgotten LIMIT 1`, nil, func(*engine.Row) error {
		m.any.Store(true)
		return m.need(false)
	})
}

// need has the key ready, and makes one where there is none yet and that may be.
func (m *erasureHashes) need(create bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.key != nil {
		return nil
	}
	text, err := os.ReadFile(m.path())
	switch {
	case err == nil:
		key, err := hex.DecodeString(strings.TrimSpace(string(text)))
		if err != nil || len(key) != keySize {
			return &LostKeyError{m.path()}
		}
		m.key = key
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the key of forgotten contacts: %w", err)
	case !create:
		return &LostKeyError{m.path()}
	}
	key := newKey()
	if err := writeKey(m.path(), key); err != nil {
		return fmt.Errorf("the key of forgotten contacts: %w", err)
	}
	m.key = key
	return nil
}

func newKey() []byte {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // it never fails
	return key
}

// writeKey is durable when it returns, and never leaves half a key.
func writeKey(path string, key []byte) error {
	temp := path + ".new"
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(hex.EncodeToString(key) + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return disk.SyncFolder(filepath.Dir(path))
}

// of is the mark of a phone; the key must be there.
func (m *erasureHashes) of(phone messaging.Phone) string { return m.hash(string(phone)) }

func (m *erasureHashes) hash(text string) string {
	h := hmac.New(sha256.New, m.key)
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil))
}

// forgotten is when a contact was forgotten, 0 for one that was not or was allowed again, and whether a person had blocked it.
func (t *Tx) forgotten(phone messaging.Phone) (at int64, byHand bool, err error) {
	at, byHand, allowed, err := t.everForgotten(phone)
	if allowed {
		return 0, false, err
	}
	return at, byHand, err
}

var forgottenSQL = engine.SQL(`SELECT at, by_hand, allowed FROM forgotten WHERE mark = ?1`)

func scanForgotten(r *engine.Row) (at int64, byHand, allowed bool) {
	return r.Int(), r.Int() == 1, r.Int() == 1
}

// everForgotten is forgotten also of a contact that was allowed again since.
func (t *Tx) everForgotten(phone messaging.Phone) (at int64, byHand, allowed bool, err error) {
	if !t.marks.any.Load() || phone == "" {
		return 0, false, false, nil
	}
	err = t.Query(forgottenSQL, func(r *engine.Row) error {
		at, byHand, allowed = scanForgotten(r)
		return r.Err
	}, t.marks.of(phone))
	return at, byHand, allowed, Wrap(err, "who was forgotten")
}

// usedKey stands for the dedupe key of an event that is forgotten: nobody reads it there, and the same request is known again.
func (m *erasureHashes) usedKey(key string) string {
	if strings.HasPrefix(key, usedKeys) {
		return key // it is one already
	}
	return usedKeys + m.hash("key "+key) // never that of a phone
}

const usedKeys = messaging.ForgottenWords + ": "

// isUsed reports whether a stored key stands for key.
func (t *Tx) isUsed(stored, key string) bool {
	return strings.HasPrefix(stored, usedKeys) && t.marks.need(false) == nil && stored == t.marks.usedKey(key)
}

// Forgotten is which of the phones are of contacts that were forgotten, and since when. It costs nothing while nobody was.
func (s *Store) Forgotten(ctx context.Context, phones []messaging.Phone) (map[messaging.Phone]time.Time, error) {
	if !s.marks.any.Load() {
		return nil, nil
	}
	out := map[messaging.Phone]time.Time{}
	for some := range slices.Chunk(phones, engine.PerList) {
		by := make(map[string]messaging.Phone, len(some))
		hashes := make([]string, len(some))
		for i, p := range some {
			hashes[i] = s.marks.of(p)
			by[hashes[i]] = p
		}
		in, args := engine.ListOf(hashes)
		err := s.Rows(ctx, `SELECT mark, at FROM forgotten WHERE allowed = 0 AND mark IN (`+in+`)`, args, func(r *engine.Row) error {
			out[by[r.Text()]] = r.Time()
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("ask who was forgotten: %w", err)
		}
	}
	return out, nil
}

var eraseEventSQL = engine.SQL(`UPDATE events SET phone = '', phone_problem = ?2, dedupe_key = ?3, cleared = 'forgotten', content_type = '', content = ?4 WHERE id = ?1`)

// EraseEvent takes out of an event whom it is about. Its key stays known as one that was used.
func (t *Tx) EraseEvent(id int64) error {
	if err := t.marks.need(true); err != nil {
		return err
	}
	known, err := t.eventKey(id)
	if err != nil {
		return err
	}
	return t.Put(eraseEventSQL, id, messaging.ForgottenWords, t.marks.usedKey(known.key), []byte{})
}
