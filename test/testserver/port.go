package testserver

import (
	"context"
	"math/rand/v2"
	"net"
	"strconv"
)

// FreePort is a port of this machine that nobody listened on a moment ago. It is none of those that a system gives to whoever
// asks for any: each of the tests beside this one asks for many, and could get it while a server or a daemon starts, or is stopped for a while.
func FreePort() (port int, err error) {
	var lc net.ListenConfig
	for range 100 {
		port = 10_000 + rand.IntN(20_000)
		var l net.Listener
		if l, err = lc.Listen(context.Background(), "tcp", "127.0.0.1:"+strconv.Itoa(port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, err
}

// FreeAddress is a FreePort of this machine alone, as host:port.
func FreeAddress() (string, error) {
	port, err := FreePort()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), err
}
