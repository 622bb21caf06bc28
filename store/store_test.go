package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/nudgewire/nudgewire/store/storetest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := stopPostgres(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func TestSQLite(t *testing.T) {
	storetest.Run(t, func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "data", "nudgewire.db") })
}
