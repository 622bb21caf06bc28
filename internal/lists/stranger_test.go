package lists

import (
	"bufio"
	"net"
	"net/http"
	"strings"
	"testing"
)

// What stands in the place of HTTP, in the words of a status or in an address to go on to may be a phone or a secret of the address:
// the run's reason shows neither, and no sign that moves a terminal.
func TestWhatAStrangerAnswersIsNotShownAsItIs(t *testing.T) {
	const phone, key = "447700900123", "k3y-of-the-crm"
	for name, answer := range map[string]string{
		"no HTTP":               "220 " + phone + " " + key + " \x1b[2J ready\r\n",
		"a header that is none": "HTTP/1.1 200 OK\r\n" + phone + " " + key + "\r\n\r\n",
		"the words of a status": "HTTP/1.1 404 " + phone + " " + key + " \x1b[2J\r\nContent-Length: 0\r\n\r\n",
		"a place that is none":  "HTTP/1.1 302 Found\r\nLocation: http://[" + phone + "/" + key + "\r\nContent-Length: 0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan struct{})
			go func() {
				defer close(served)
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
						_, _ = c.Write([]byte(answer))
					}
					_ = c.Close()
				}
			}()
			t.Cleanup(func() { _ = l.Close(); <-served })
			got := readSource(t, web(t, HTTP{URL: "http://" + l.Addr().String() + "/list?token=" + key}, Origin{}))
			if got.End == "" || strings.Contains(got.End, phone) || strings.Contains(got.End, key) || strings.Contains(got.End, "\x1b") {
				t.Errorf("it ended with %q", got.End)
			}
		})
	}
}
