package scheduler

import (
	"testing"

	"go.uber.org/goleak"

	_ "github.com/mattn/go-sqlite3" // as package store registers it
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
