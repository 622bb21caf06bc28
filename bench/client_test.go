package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAnAnswersEndIsFound(t *testing.T) {
	type want struct {
		End, Size int
		OK        bool
	}
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
	tests := map[string]struct {
		answer string
		want   want
	}{
		"half a head is no answer yet":            {head, want{}},
		"a body is as long as the head says":      {head + "Content-Length: 12\r\n\r\nhalf", want{len(head) + 22, 12, true}},
		"an empty body":                           {head + "Content-Length: 0\r\n\r\n", want{len(head) + 21, 0, true}},
		"no length":                               {head + "\r\n", want{len(head) + 2, -1, true}},
		"a length that is not a number":           {head + "Content-Length: x\r\n\r\n", want{len(head) + 21, -1, true}},
		"a length in the body is not the head's ": {head + "\r\n\r\nContent-Length: 9\r\n\r\n", want{len(head) + 2, -1, true}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got want
			got.End, got.Size, got.OK = answerEnd([]byte(tt.answer))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("answerEnd (-want +got):\n%s", diff)
			}
		})
	}
}

// answering is a server that answers one request after the other with the texts given, each
// in two writes.
func answering(t *testing.T, texts ...string) *wire {
	t.Helper()
	here, there := net.Pipe()
	t.Cleanup(func() { here.Close(); there.Close() })
	if err := here.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	go func() {
		in := bufio.NewReader(there)
		for _, text := range texts {
			req, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			io.Copy(io.Discard, req.Body)
			io.WriteString(there, text[:len(text)/2])
			io.WriteString(there, text[len(text)/2:])
		}
		there.Close()
	}()
	return &wire{conn: here, buf: make([]byte, 4<<10)}
}

func TestAnExchangeEndsWithItsAnswer(t *testing.T) {
	const request = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi"
	const good = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
	w := answering(t, good, good, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy")
	for range 2 {
		if err := w.exchange([]byte(request)); err != nil {
			t.Fatalf("a good answer: %v", err)
		}
	}
	err := w.exchange([]byte(request))
	if want := `answered "HTTP/1.1 503 Service Unavailable busy"`; err == nil || err.Error() != want {
		t.Errorf("a refusal: %v, want %s", err, want)
	}
	if err := w.exchange([]byte(request)); err == nil {
		t.Error("a closed connection passed for an answer")
	}
}
