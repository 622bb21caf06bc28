package store_test

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/nudgewire/nudgewire/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSQLite(t *testing.T) {
	storetest.Run(t, func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "data", "nudgewire.db") })
}
