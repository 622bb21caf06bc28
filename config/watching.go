package config

import (
	"net"
	"net/netip"
)

// Metrics is the private listener.
type Metrics struct {
	Listen string `yaml:"listen" example:"127.0.0.1:9464" doc:"Address and port of a listener of its own for /metrics (Prometheus) and /debug/pprof/. Unless set: none. See docs/metrics.md."`
}

func (k *checker) metrics(m *Metrics, s *Server) {
	if !k.written("metrics.listen") {
		return
	}
	if err := listenAddress(m.Listen); err != nil {
		k.bad("metrics.listen", err.Error(), "write 127.0.0.1:9464, or the address of a network that only your Prometheus is in")
		return
	}
	host, port, _ := net.SplitHostPort(m.Listen)
	_, other, _ := net.SplitHostPort(s.Listen)
	switch a, err := netip.ParseAddr(host); {
	case port != "0" && port == other:
		k.bad("metrics.listen", "has the port of server.listen, and webhooks must meet nothing but their own paths", "write another port, such as 127.0.0.1:9464")
	case host == "" || err == nil && a.IsUnspecified():
		k.warn("metrics.listen", "is all addresses of this machine: who reaches it reads the names of your triggers and may have the processor measured", "write 127.0.0.1:9464, or the address of a private network")
	}
}
