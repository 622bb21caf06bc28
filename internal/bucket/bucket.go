// Package bucket reaches storages that speak S3.
package bucket

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/nudgewire/nudgewire/internal/secret"
)

// Amazon is the storage that is meant where no address is said.
const Amazon = "https://s3.amazonaws.com"

// An Address is a storage and who asks it.
type Address struct {
	Endpoint             string // "" for Amazon
	Region               string // "" to ask for it
	AccessKey, SecretKey secret.Secret
	Tries                int // of a request; 0 for as many as the library makes
}

// Client makes a client of a storage. It connects when it is used, by t.
func Client(a Address, t *http.Transport) (*minio.Client, error) {
	u, err := url.Parse(cmp.Or(a.Endpoint, Amazon))
	if err != nil || u.Host == "" {
		return nil, errors.New("endpoint is not a web address")
	}
	return minio.New(u.Host, &minio.Options{
		Creds:     credentials.NewStaticV4(a.AccessKey.Reveal(), a.SecretKey.Reveal(), ""),
		Secure:    u.Scheme != "http",
		Region:    a.Region,
		Transport: t, MaxRetries: a.Tries,
	})
}
