package server

import (
	"io"
	"net/http"
	"strconv"
)

// inProcess answers requests with a handler of this process. The answer streams: its body is
// read while the handler still writes. A handler that panics ends its answer and, as in a server, nothing else.
type inProcess struct {
	h   http.Handler
	who Who // where the request names nobody
}

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, known := WhoOf(r.Context()); !known {
		r = r.WithContext(WithWho(r.Context(), p.who))
	}
	if r.Body == nil {
		r.Body = http.NoBody // as a server has it
	}
	body, to := io.Pipe()
	w := &pipeWriter{header: http.Header{}, status: http.StatusOK, to: to, begun: make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() {
			if recover() == nil { // Admin wrote what it was
				_ = to.Close() // it has no error to give
				return
			}
			w.WriteHeader(http.StatusInternalServerError)
			_ = to.CloseWithError(io.ErrUnexpectedEOF) // it has no error to give
		}()
		p.h.ServeHTTP(w, r)
		w.begin()
	}()
	<-w.begun
	return &http.Response{
		StatusCode: w.status, Status: strconv.Itoa(w.status) + " " + http.StatusText(w.status),
		Header: w.header, Body: pipeBody{body, ended}, Request: r,
	}, nil
}

// A pipeWriter is the handler's end. It is used by the handler alone until begun is closed, and
// its header and status by the reader alone after that.
type pipeWriter struct {
	header http.Header
	status int
	told   bool
	to     *io.PipeWriter
	begun  chan struct{}
}

func (w *pipeWriter) Header() http.Header { return w.header }

func (w *pipeWriter) WriteHeader(status int) {
	if !w.told {
		w.status = status
	}
	w.begin()
}

func (w *pipeWriter) begin() {
	if !w.told {
		w.told = true
		close(w.begun)
	}
}

func (w *pipeWriter) Write(b []byte) (int, error) {
	w.begin()
	return w.to.Write(b)
}

// A pipeBody is the reader's end. Close makes the handler's next write fail and waits for the
// handler to return.
type pipeBody struct {
	*io.PipeReader
	ended <-chan struct{}
}

func (b pipeBody) Close() error {
	err := b.PipeReader.Close()
	<-b.ended
	return err
}
