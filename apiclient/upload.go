package apiclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/textproto"
	"strconv"
	"time"
)

// MaxFile is the most bytes that the service takes as one CSV file. It is not enforced here, as the service's own refusal says more:
// scheduler/job_compile.go holds max_size to it, and scheduler/part_cut.go cuts files by max_size.
//
// Source: Messaging Automation Service API v1, section 8, "10 MB maximum", read as the smaller of its two meanings.
const MaxFile = 10_000_000

const (
	slowest     = 64 << 10 // bytes a second that an upload must reach at the least
	askFirst    = 1 << 20  // a file larger than this waits for the service's go-ahead
	csvMimeType = "text/csv"
)

// CreateCampaign uploads a CSV file as a new bulk campaign, streaming it: size is its exact
// length in bytes, and file is read once, never after CreateCampaign has returned.
//
// Source: Messaging Automation Service API v1, 4.3 (POST /campaigns/create-with-csv). fileName
// ends in .csv; the file's columns are phone, var_1, var_2 and so on.
//
// The call may take Options.Timeout plus the time that the file needs at 64 KB/s. A large
// file is announced first (Expect: 100-continue), so that a wrong key or a file too large is
// refused before it travels. Errors are those of SendTemplate; once a part of the file has
// left, a broken call is InDoubt, because the service may act on rows as they come.
// ErrFileSize is among the causes when file is shorter or longer than size.
func (c *Client) CreateCampaign(ctx context.Context, name string, templateID int64, fileName string, file io.Reader, size int64) (Answer, error) {
	local := func(err error) (Answer, error) {
		return Answer{}, &CallError{Call: c.upload.name, Outcome: Rejected, Err: err}
	}
	if file == nil || size < 0 {
		return local(errors.New("no file to upload"))
	}
	if err := checked(c.upload.name, &upload{name, templateID, fileName}); err != nil {
		return Answer{}, err
	}
	head, tail, contentType, err := frame(name, templateID, fileName)
	if err != nil {
		return local(err)
	}
	b := &body{src: io.MultiReader(
		bytes.NewReader(head),
		&exactly{r: file, size: size},
		bytes.NewReader(tail),
	)}
	defer b.seal()
	pattern := *c.upload.pattern
	pattern.Header = pattern.Header.Clone()
	pattern.Header.Set("Content-Type", contentType)
	if size > askFirst {
		pattern.Header.Set("Expect", "100-continue")
	}
	total := int64(len(head)) + size + int64(len(tail))
	patience := c.timeout + time.Duration(size)*time.Second/slowest
	answer, err := c.post(ctx, c.upload, &pattern, b, total, patience)
	if call, ok := errors.AsType[*CallError](err); ok && call.HTTPStatus == 0 && b.taken > 0 && b.taken < total {
		call.Err = fmt.Errorf("cut after at most %d of %d bytes: %w", b.taken, total, call.Err)
	}
	return answer, err
}

// frame is what comes before and after the file in the form.
func frame(name string, templateID int64, fileName string) (head, tail []byte, contentType string, err error) {
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	// Writes to a bytes.Buffer cannot fail, but the form writer may refuse its own use.
	err = errors.Join(
		w.WriteField("name", name),
		w.WriteField("template_id", strconv.FormatInt(templateID, 10)),
	)
	if err == nil {
		_, err = w.CreatePart(textproto.MIMEHeader{
			"Content-Disposition": {multipart.FileContentDisposition("file", fileName)},
			"Content-Type":        {csvMimeType},
		})
	}
	cut := buf.Len()
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, nil, "", fmt.Errorf("write the form: %w", err)
	}
	return buf.Bytes()[:cut], buf.Bytes()[cut:], w.FormDataContentType(), nil
}

// exactly reads size bytes of r and makes sure that there are neither fewer nor more: the
// closing line of the form is not sent for a file of another size than announced.
type exactly struct {
	r    io.Reader
	size int64
	read int64
}

func (x *exactly) Read(p []byte) (int, error) {
	if x.read == x.size {
		var one [1]byte
		for {
			n, err := x.r.Read(one[:])
			switch {
			case n > 0:
				return 0, fmt.Errorf("%w: longer than %d bytes", ErrFileSize, x.size)
			case err != nil:
				return 0, err
			}
		}
	}
	if int64(len(p)) > x.size-x.read {
		p = p[:x.size-x.read]
	}
	n, err := x.r.Read(p)
	x.read += int64(n)
	if errors.Is(err, io.EOF) {
		if x.read < x.size {
			return n, fmt.Errorf("%w: ended after %d of %d bytes", ErrFileSize, x.read, x.size)
		}
		err = nil // the next read ends it
	}
	return n, err
}
