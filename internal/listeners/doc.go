// Package listeners serves HTTP on a listener and knows the other side of a connection: whether one more is welcome, from which
// address a request came behind which proxies, whose program is at a socket, by which id a request is found again. It knows no API.
package listeners
