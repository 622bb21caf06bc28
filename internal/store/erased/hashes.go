// Package erased knows those again who were forgotten. A contact that was forgotten stays blocked, though its phone is kept nowhere: what is
// kept is a hash of the phone, with a key. Without the key nobody can try all phones there are until a hash fits, so the key of a file's data lies
// beside it and not in it: a copy of the database alone tells of nobody.
package erased

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nudgewire/nudgewire/internal/disk"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// keySize is the length of the key, in bytes.
const keySize = 32

// Hashes makes those hashes, by which the audit names contacts, too. Until somebody is forgotten or told of it has no key, and costs one
// atomic read.
type Hashes struct {
	Data string      // the database, beside which the key lies
	Any  atomic.Bool // somebody is forgotten
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

// keyFile is the file of the key, beside the database.
func keyFile(data string) string { return data + ".forgotten-key" }

// Need has the key ready, and makes one where there is none yet and that may be. Errors: a *LostKeyError.
func (m *Hashes) Need(create bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.key != nil {
		return nil
	}
	path := keyFile(m.Data)
	text, err := os.ReadFile(path)
	switch {
	case err == nil:
		if m.key, err = parseKey(string(text)); err != nil {
			return &LostKeyError{path}
		}
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the key of forgotten contacts: %w", err)
	case !create:
		return &LostKeyError{path}
	}
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // it never fails
	if err := PutBeside(m.Data, hex.EncodeToString(key)); err != nil {
		return err
	}
	m.key = key
	return nil
}

var errNoKey = errors.New("it is no key")

func parseKey(text string) ([]byte, error) {
	key, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil || len(key) != keySize {
		return nil, errNoKey
	}
	return key, nil
}

// TakeKey takes the key as a server's data has it, which all processes make the hashes with.
func (m *Hashes) TakeKey(text string) error {
	key, err := parseKey(text)
	if err != nil {
		return errors.New("the table forgotten_key is damaged, and without it those who were forgotten are not known again; restore it from the backup that the database came from")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.key = key
	return nil
}

// KeyBeside is the key that lies beside a file's data, as a server's data has it; "" where nobody was ever forgotten.
func KeyBeside(data string) (text string, err error) {
	if _, err := os.Stat(keyFile(data)); errors.Is(err, fs.ErrNotExist) {
		return "", nil // the file does not open without its key
	}
	m := Hashes{Data: data}
	if err := m.Need(false); err != nil {
		return "", err
	}
	return hex.EncodeToString(m.key), nil
}

// PutBeside puts a key, as a server's data has it, beside a file.
func PutBeside(data, text string) error {
	if err := disk.WriteFile(keyFile(data), []byte(text+"\n")); err != nil {
		return fmt.Errorf("the key of forgotten contacts: %w", err)
	}
	return nil
}

// Of is the mark of a phone; the key must be there.
func (m *Hashes) Of(phone messaging.Phone) string { return m.Hash(string(phone)) }

// Hash is the hash of a text; the key must be there.
func (m *Hashes) Hash(text string) string {
	h := hmac.New(sha256.New, m.key)
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil))
}

// Contact is a contact as the audit names it: by as much of its mark as tells contacts apart. Without the key nobody can try phones until
// one fits, so forgetting a contact leaves its entries as they are.
func (m *Hashes) Contact(phone messaging.Phone) (string, error) {
	if err := m.Need(true); err != nil {
		return "", err
	}
	return m.contact(phone), nil
}

// Known is Contact where a contact was ever named; "" where none was.
func (m *Hashes) Known(phone messaging.Phone) (string, error) {
	err := m.Need(false)
	if _, none := errors.AsType[*LostKeyError](err); none && !m.Any.Load() {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return m.contact(phone), nil
}

func (m *Hashes) contact(phone messaging.Phone) string { return "contact " + m.Of(phone)[:16] }

// Secret names a secret that stands in a config without telling it; "" where the key is lost.
func (m *Hashes) Secret(text string) string {
	if m.Need(true) != nil {
		return ""
	}
	return m.Hash("config\x00" + text)[:16]
}

const usedKeys = messaging.ForgottenWords + ": "

// UsedKey stands for the dedupe key of an event that is forgotten: nobody reads it there, and the same request is known again.
func (m *Hashes) UsedKey(key string) string {
	if strings.HasPrefix(key, usedKeys) {
		return key // it is one already
	}
	return usedKeys + m.Hash("key "+key) // never that of a phone
}

// IsUsed reports whether a stored key stands for key.
func (m *Hashes) IsUsed(stored, key string) bool {
	return strings.HasPrefix(stored, usedKeys) && m.Need(false) == nil && stored == m.UsedKey(key)
}
