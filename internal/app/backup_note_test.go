package app_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// What is known of the last backup cannot be read: somebody is told, because nobody can say whether one is missed.
func TestABackupNoteThatCannotBeReadIsATrouble(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	h := open(t, options{folder: folder, config: plainConfig})
	data, err := filepath.Glob(filepath.Join(folder, "*.db"))
	if err != nil || len(data) != 1 {
		t.Fatalf("%q %v", data, err)
	}
	if err := os.WriteFile(data[0]+".backup", []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if all := h.status().Troubles; !slices.ContainsFunc(all, func(one messaging.Trouble) bool { return one.Code == messaging.TroubleBackup }) {
		t.Errorf("troubles: %+v", all)
	}
}
