package lists

import (
	"database/sql/driver"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/minio/minio-go/v7"
	"github.com/pkg/sftp"

	"github.com/nudgewire/nudgewire/internal/netguard"
)

// An awayError is a source that does not answer in time, or whose answer breaks off.
type awayError struct{ error }

func (e *awayError) Unwrap() error { return e.error }

// A noFileError is a name that no file has, or that the files of a pattern do not have yet.
type noFileError struct{ text string }

func (e *noFileError) Error() string      { return e.text }
func (*noFileError) Is(target error) bool { return target == fs.ErrNotExist }

// Away reports whether reading a source failed for a reason that ends by itself: it is not there yet, nobody answers, the answer
// broke off, or somebody was writing to it. Read once more later, it may be well. A list that was read and cannot be used, a key
// that is refused, and an address that is wrong stay as they are until a person mends them.
func Away(err error) bool {
	if err == nil || errors.Is(err, netguard.ErrPrivate) {
		return false
	}
	if errors.Is(err, ErrChanged) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) ||
		errors.Is(err, sftp.ErrSSHFxConnectionLost) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) {
		return true
	}
	if _, away := errors.AsType[*awayError](err); away {
		return true
	}
	if refused, ok := errors.AsType[*statusError](err); ok {
		return awayStatus(refused.code)
	}
	if refused, ok := errors.AsType[minio.ErrorResponse](err); ok {
		return awayStatus(refused.StatusCode)
	}
	if said, ok := errors.AsType[*pgconn.PgError](err); ok {
		// Classes of the server: connection, insufficient resources, operator intervention (PostgreSQL, appendix A).
		return strings.HasPrefix(said.Code, "08") || strings.HasPrefix(said.Code, "53") || strings.HasPrefix(said.Code, "57P")
	}
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return true
	}
	late, ok := errors.AsType[net.Error](err) // also what the system says
	return ok && late.Timeout() || errors.Is(err, syscall.EIO) || errors.Is(err, syscall.ESTALE)
}

// awayStatus reports whether an HTTP status says that the list is not there at present.
func awayStatus(code int) bool {
	switch code {
	case http.StatusNotFound, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	default:
		return code >= http.StatusInternalServerError
	}
}
