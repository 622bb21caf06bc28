package lists

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/nudgewire/nudgewire/internal/bucket"
)

// objects are those of S3 that a pattern names.
type objects struct{ S3 }

func openS3(o Origin, _ string) (Source, error) {
	return &fileSource{kind: "s3", where: o.S3.Bucket + "/" + o.S3.Key, finder: objects{*o.S3}, origin: o}, nil
}

// maxObjects bounds the listing: a pattern that matches more is a mistake.
const maxObjects = 10_000

func (b objects) find(ctx context.Context) ([]file, func() error, error) {
	t := transport(b.AllowPrivate)
	done := func() error { t.CloseIdleConnections(); return nil }
	client, err := bucket.Client(bucket.Address{Endpoint: b.Endpoint, Region: b.Region, AccessKey: b.AccessKey, SecretKey: b.SecretKey}, t)
	if err != nil {
		return nil, done, err
	}
	if !strings.ContainsAny(b.Key, "*?[") {
		return []file{object{client, b.Bucket, b.Key}}, done, nil
	}
	prefix := b.Key[:strings.IndexAny(b.Key, "*?[")]
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var files []file
	seen := 0
	for one := range client.ListObjects(ctx, b.Bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		if one.Err != nil {
			return nil, done, one.Err
		}
		if seen++; seen > maxObjects {
			return nil, done, fmt.Errorf("more than %d objects begin with %q: write a longer key", maxObjects, prefix)
		}
		ok, err := path.Match(b.Key, one.Key)
		if err != nil {
			return nil, done, fmt.Errorf("the key %q is no pattern: %w", b.Key, err)
		}
		if ok && !strings.HasSuffix(one.Key, "/") {
			files = append(files, object{client, b.Bucket, one.Key})
		}
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.name(), b.name()) })
	return files, done, nil
}

// An object is one file in a bucket.
type object struct {
	client      *minio.Client
	bucket, key string
}

func (o object) name() string { return o.bucket + "/" + o.key }

func (o object) open(ctx context.Context) (io.ReadCloser, error) {
	return o.client.GetObject(ctx, o.bucket, o.key, minio.GetObjectOptions{})
}

func (o object) stamp(ctx context.Context) (string, error) {
	info, err := o.client.StatObject(ctx, o.bucket, o.key, minio.StatObjectOptions{})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d %s", info.Size, info.ETag), nil
}
