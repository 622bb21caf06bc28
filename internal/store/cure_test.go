package store

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// Trouble of this machine's disk and of a database server end in the same way, and are mended in different places.
func TestAHintNamesTheRightPlace(t *testing.T) {
	for why, tt := range map[string]struct {
		err  error
		want string
	}{
		"the disk is full":                            {syscall.ENOSPC, "make room on the disk of the data"},
		"the disk can only be read":                   {syscall.EROFS, "look at the disk of the data"},
		"the disk reports errors":                     {syscall.EIO, "look at the disk of the data"},
		"the disk of the database server is full":     {&engine.OutageError{Cause: &pgconn.PgError{Code: "53100"}}, "make room on the disk of the database server"},
		"the database server has no connection free":  {&engine.OutageError{Cause: &pgconn.PgError{Code: "53300"}}, "raise max_connections of the server"},
		"the database server is starting or stopping": {&engine.OutageError{Cause: &pgconn.PgError{Code: "57P03"}}, "look at the database server and the way to it"},
		"the database server cannot be reached":       {&engine.OutageError{Cause: errors.New("connection refused")}, "look at the database server and the way to it"},
		"":                                            {errors.New("another"), ""},
	} {
		if got := engine.Away(tt.err); got != why {
			t.Errorf("%v: %q, want %q", tt.err, got, why)
		}
		if got := engine.Hint(tt.err); !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%v: the hint is %q, want %q", tt.err, got, tt.want)
		}
	}
}
