package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/nudgewire/nudgewire/internal/bucket"
	"github.com/nudgewire/nudgewire/internal/netguard"
	"github.com/nudgewire/nudgewire/internal/secret"
)

// S3 is a place for files in a storage that speaks S3.
type S3 struct {
	Bucket       string        `yaml:"bucket" validate:"required" doc:"Name of the bucket. Keep its versioning off: what is forgotten would stay in old versions." example:"nudgewire-files"`
	Prefix       string        `yaml:"prefix" default:"runs" doc:"What the names of all objects begin with."`
	Endpoint     string        `yaml:"endpoint" default:"https://s3.amazonaws.com" doc:"Address of the storage."`
	Region       string        `yaml:"region" doc:"Its region." example:"eu-central-1"`
	AccessKey    secret.Secret `yaml:"access_key" validate:"required" doc:"Access key: it needs to list, read, write and delete objects with this prefix, and to list and end unfinished uploads." example:"${S3_ACCESS_KEY}"`
	SecretKey    secret.Secret `yaml:"secret_key" validate:"required" doc:"Secret key." example:"${S3_SECRET_KEY}"`
	AllowPrivate bool          `yaml:"allow_private" doc:"Let the address lead into this machine or its private network."`
}

// Root is the folder of the place.
func (s *S3) Root() string { return "s3" + schemeEnd + strings.TrimRight(s.Bucket+"/"+s.Prefix, "/") }

const (
	// sliceBytes is how much of a file is in memory before it is sent, the least that S3 takes. 10,000 of them are the most
	// that a file has.
	sliceBytes = 5 << 20
	// bucketIdle ends a reading of which nothing comes.
	bucketIdle = time.Minute
	// bucketTries is how often a request is made that was not answered, or answered that the storage is busy.
	bucketTries = 4
)

// A Bucket keeps files as objects in S3.
type Bucket struct {
	client       *minio.Client
	transport    *http.Transport
	root, bucket string
}

// InBucket makes a Bucket. It connects when it is used, and is closed at the end.
func InBucket(s *S3) (*Bucket, error) {
	t := &http.Transport{
		DialContext:           netguard.Dialer(10*time.Second, s.AllowPrivate).DialContext, // by no proxy: behind one, nobody could tell where the address leads
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   4,
		IdleConnTimeout:       30 * time.Second,
		TLSHandshakeTimeout:   15 * time.Second,
		ResponseHeaderTimeout: bucketIdle,
	}
	client, err := bucket.Client(bucket.Address{Endpoint: s.Endpoint, Region: s.Region, AccessKey: s.AccessKey, SecretKey: s.SecretKey, Tries: bucketTries}, t)
	if err != nil {
		return nil, err
	}
	return &Bucket{client, t, s.Root(), s.Bucket}, nil
}

// Close ends what connections are idle.
func (b *Bucket) Close() { b.transport.CloseIdleConnections() }

// Root implements Store.
func (b *Bucket) Root() string { return b.root }

func (b *Bucket) has(folder string) bool { return strings.HasPrefix(folder+"/", b.root+"/") }

// key is the object of a path.
func (b *Bucket) key(path string) string {
	return strings.TrimPrefix(path, "s3"+schemeEnd+b.bucket+"/")
}

func (b *Bucket) path(key string) string { return "s3" + schemeEnd + b.bucket + "/" + key }

// Create implements Store.
func (b *Bucket) Create(ctx context.Context, path string) (Writer, error) {
	ctx, cancel := context.WithCancel(ctx)
	r, w := io.Pipe()
	one := &objectWriter{PipeWriter: w, of: b, cancel: cancel, sent: make(chan struct{})}
	go func() {
		defer close(one.sent)
		_, one.err = b.client.PutObject(ctx, b.bucket, b.key(path), r, -1, minio.PutObjectOptions{PartSize: sliceBytes, ContentType: "text/csv"})
		_ = r.CloseWithError(one.err) // whoever writes on hears of it
	}()
	return one, nil
}

type objectWriter struct {
	*io.PipeWriter
	of     *Bucket
	cancel context.CancelFunc
	sent   chan struct{}
	err    error // of sending it; read once sent is closed
	ended  bool
}

func (w *objectWriter) Write(p []byte) (int, error) {
	n, err := w.PipeWriter.Write(p)
	return n, w.of.words(err)
}

// Sync has nothing to do: S3 knows only whole objects.
func (w *objectWriter) Sync() error { return nil }

func (w *objectWriter) Commit() error {
	if w.ended {
		return fs.ErrClosed
	}
	w.ended = true
	_ = w.Close() // it never fails
	<-w.sent
	w.cancel()
	return w.of.words(w.err)
}

// errAbandoned ends an upload.
var errAbandoned = errors.New("the file was given up")

func (w *objectWriter) Abandon() error {
	if w.ended {
		return nil
	}
	w.ended = true
	_ = w.CloseWithError(errAbandoned) // it never fails
	<-w.sent
	w.cancel()
	return nil
}

// words puts ours to an error of the storage.
func (b *Bucket) words(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	no, answered := errors.AsType[minio.ErrorResponse](err)
	switch {
	case !answered:
	case no.Code == minio.NoSuchKey, no.Code == minio.NoSuchUpload:
		return fmt.Errorf("%s: %w", b.root, fs.ErrNotExist)
	case no.StatusCode == http.StatusInsufficientStorage, no.Code == "QuotaExceeded", no.Code == "XMinioStorageFull":
		return fmt.Errorf("%s: %w (%s)", b.root, syscall.ENOSPC, no.Message)
	}
	return &AwayError{b.root, err}
}

// Open implements Store.
func (b *Bucket) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	r := &objectReader{ctx: ctx, of: b, key: b.key(path)}
	if err := r.open(); err != nil {
		return nil, err
	}
	return r, nil
}

// An objectReader reads one object. Rows may be handed over over hours, and no connection lives that long: one that ended is
// made anew, from where it was, as long as it leads to the same object.
type objectReader struct {
	ctx  context.Context //nolint:containedctx // of one file being read, as Store.Open says
	of   *Bucket
	key  string
	etag string
	at   int64
	size int64
	body io.ReadCloser // nil when the connection has ended
	end  context.CancelFunc
}

func (r *objectReader) open() error {
	ctx, end := context.WithCancel(r.ctx)
	var o minio.GetObjectOptions
	var err error
	if r.at > 0 {
		err = errors.Join(o.SetRange(r.at, 0), o.SetMatchETag(r.etag))
	}
	var info minio.ObjectInfo
	if err == nil {
		r.body, info, _, err = (&minio.Core{Client: r.of.client}).GetObject(ctx, r.of.bucket, r.key, o)
	}
	if err != nil {
		end()
		r.body = nil
		return r.of.words(err)
	}
	if r.end = end; r.at == 0 {
		r.etag, r.size = info.ETag, info.Size
	}
	return nil
}

func (r *objectReader) Read(p []byte) (n int, err error) {
	for tries := 1; ; tries++ {
		if r.at > 0 && r.at >= r.size {
			return 0, io.EOF
		}
		if r.body == nil {
			err = r.open()
		}
		if err == nil {
			idle := time.AfterFunc(bucketIdle, r.end)
			n, err = r.body.Read(p)
			idle.Stop()
			r.at += int64(n)
		}
		if err == nil || errors.Is(err, io.EOF) || errors.Is(err, fs.ErrNotExist) || r.ctx.Err() != nil {
			return n, err
		}
		_ = r.Close() // it has failed
		if n > 0 {
			return n, nil // the next call goes on
		}
		if tries == bucketTries {
			return 0, r.of.words(err)
		}
	}
}

func (r *objectReader) Close() error {
	if r.body == nil {
		return nil
	}
	defer r.end()
	body := r.body
	r.body = nil
	return body.Close()
}

// List implements Store.
func (b *Bucket) List(ctx context.Context, folder string) (paths []string, err error) {
	if folder == "" {
		folder = b.root
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	prefix := b.key(folder) + "/"
	for one := range b.client.ListObjectsIter(ctx, b.bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		if one.Err != nil {
			return nil, b.words(one.Err)
		}
		paths = append(paths, b.path(one.Key))
	}
	for one := range b.client.ListIncompleteUploads(ctx, b.bucket, prefix, true) {
		if one.Err != nil { // some storages call it missing that there is none
			return paths, ignoreGone(b.words(one.Err))
		}
		paths = append(paths, b.path(one.Key)+ofUnfinished)
	}
	return paths, nil
}

// Remove implements Store.
func (b *Bucket) Remove(ctx context.Context, paths ...string) (err error) {
	for _, path := range paths {
		var failed error
		if key := b.key(path); Unfinished(path) {
			failed = b.client.RemoveIncompleteUpload(ctx, b.bucket, strings.TrimSuffix(key, ofUnfinished))
		} else {
			failed = b.client.RemoveObject(ctx, b.bucket, key, minio.RemoveObjectOptions{})
		}
		err = errors.Join(err, ignoreGone(b.words(failed)))
	}
	return err
}

// RemoveFolder implements Store.
func (b *Bucket) RemoveFolder(ctx context.Context, folder string) error {
	paths, err := b.List(ctx, folder)
	if err != nil {
		return err
	}
	return b.Remove(ctx, paths...)
}
