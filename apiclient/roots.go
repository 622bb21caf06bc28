package apiclient

import (
	"crypto/x509"
	"fmt"

	"github.com/nudgewire/nudgewire/internal/regular"
)

// Roots are the authorities that this machine trusts and those in the file at path, in PEM; nil, which is those of the
// machine alone, without a path.
func Roots(path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil
	}
	pem, err := regular.ReadSmall(path)
	if err != nil {
		return nil, fmt.Errorf("certificates of authorities: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil { // a system without any, such as an empty image
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("certificates of authorities: %s holds none", path)
	}
	return roots, nil
}
