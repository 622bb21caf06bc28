// Package pgaddress reads the address of a PostgreSQL database, whoever uses it.
package pgaddress

import (
	"fmt"
	"net/url"

	"github.com/jackc/pgx/v5"

	"github.com/nudgewire/nudgewire/internal/regular"
)

// files are the parameters of an address that name files. The driver reads them while it reads the address, and would wait for a pipe.
var files = [...]string{"sslrootcert", "sslcert", "sslkey", "passfile", "servicefile"}

// A FileError says that a file that an address names cannot be read. It repeats nothing else of the address.
type FileError struct {
	Parameter string
	Err       error
}

func (e *FileError) Error() string { return fmt.Sprintf("%s: %v", e.Parameter, e.Err) }
func (e *FileError) Unwrap() error { return e.Err }

// Parse reads an address as the driver does. Errors: a *FileError, and the driver's own, which may repeat a password.
func Parse(address string) (*pgx.ConnConfig, error) {
	if u, err := url.Parse(address); err == nil {
		named := u.Query()
		for _, parameter := range files {
			path := named.Get(parameter)
			if path == "" || parameter == "sslrootcert" && path == "system" {
				continue
			}
			if _, err := regular.ReadSmall(path); err != nil {
				return nil, &FileError{parameter, err}
			}
		}
	}
	return pgx.ParseConfig(address)
}
