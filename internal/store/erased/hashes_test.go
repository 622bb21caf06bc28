package erased

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

func made(t *testing.T, data string) *Hashes {
	t.Helper()
	m := &Hashes{Data: data}
	if err := m.Need(true); err != nil {
		t.Fatal(err)
	}
	return m
}

// With the key a contact is known again, also on another engine; without it the hash says nothing.
func TestAHashIsKnownByItsKeyAlone(t *testing.T) {
	const phone = messaging.Phone("447700900123")
	data := filepath.Join(t.TempDir(), "nudgewire.db")
	first := made(t, data)
	again, other, server := made(t, data), made(t, filepath.Join(t.TempDir(), "nudgewire.db")), &Hashes{}
	text, err := KeyBeside(data)
	if err == nil {
		err = server.TakeKey(text)
	}
	moved := filepath.Join(t.TempDir(), "moved.db")
	if err == nil {
		err = PutBeside(moved, text)
	}
	if err != nil {
		t.Fatal(err)
	}
	want := first.Of(phone)
	for name, m := range map[string]*Hashes{"the next process": again, "a server": server, "a file that was moved to": made(t, moved)} {
		if m.Of(phone) != want {
			t.Errorf("%s does not know the contact again", name)
		}
	}
	if other.Of(phone) == want || strings.Contains(want, string(phone)) {
		t.Error("the hash is not made with the key")
	}
}

func TestAKeyThatIsLostIsToldAndNeverReplaced(t *testing.T) {
	for name, text := range map[string]string{"none": "", "damaged": "xyz", "too short": "abcd"} {
		data := filepath.Join(t.TempDir(), "nudgewire.db")
		if text != "" {
			if err := os.WriteFile(keyFile(data), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		m := Hashes{Data: data}
		if err := m.Need(text != ""); !errors.As(err, new(*LostKeyError)) {
			t.Errorf("%s: %v", name, err)
		}
		if left, _ := os.ReadFile(keyFile(data)); string(left) != text {
			t.Errorf("%s: the file is %q now", name, left)
		}
	}
	if text, err := KeyBeside(filepath.Join(t.TempDir(), "nudgewire.db")); text != "" || err != nil {
		t.Errorf("where nobody was forgotten the key is %q (%v)", text, err)
	}
	if err := new(Hashes).TakeKey("abcd"); err == nil {
		t.Error("a damaged key of a server is taken")
	}
}

func TestAUsedKeyIsKnownAgain(t *testing.T) {
	m := made(t, filepath.Join(t.TempDir(), "nudgewire.db"))
	rapid.Check(t, func(rt *rapid.T) {
		key, other := rapid.String().Draw(rt, "key"), rapid.String().Draw(rt, "other")
		used := m.UsedKey(key)
		if !m.IsUsed(used, key) || m.UsedKey(used) != used || m.IsUsed(key, key) != strings.HasPrefix(key, usedKeys) {
			rt.Fatalf("%q is not known again by %q", key, used)
		}
		if key != other && m.IsUsed(used, other) {
			rt.Fatalf("%q is taken for %q", other, key)
		}
	})
}
