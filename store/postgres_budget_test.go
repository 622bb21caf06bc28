//go:build unix

package store_test

import (
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/store/storetest"
)

func TestNodesShareRatesAndLimits(t *testing.T) {
	storetest.RunSharing(t, newDatabase, func(t testing.TB, dsn string) string {
		address, _, _ := strings.Cut(dsn, "#")
		return address + "#" + t.TempDir()
	})
}
