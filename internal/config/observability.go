package config

import (
	"net"
	"net/netip"
	"strings"
)

// Metrics is the private listener.
type Metrics struct {
	Listen string `yaml:"listen" example:"127.0.0.1:9464" doc:"Address and port of a listener of its own for /metrics (Prometheus) and /debug/pprof/. Unless set: none. See docs/metrics.md."`
}

// Tracing says where spans go.
type Tracing struct {
	Endpoint string  `yaml:"endpoint" validate:"http_url" example:"http://127.0.0.1:4318" doc:"Address of an OpenTelemetry collector that takes OTLP over HTTP. Unless set, the environment variable OTEL_EXPORTER_OTLP_ENDPOINT says it; with neither, nothing is traced. See docs/log.md."`
	Sample   float64 `yaml:"sample" validate:"min=0,max=1" default:"1" doc:"The share of webhooks that is traced, from 0 to 1; with what follows from them."`
}

func (k *checker) tracing(t *Tracing) {
	if !k.written("tracing.endpoint") {
		return
	}
	if u := k.url("tracing.endpoint", t.Endpoint); u != nil && strings.Trim(u.Path, "/") == "" {
		t.Endpoint = strings.TrimRight(t.Endpoint, "/") + "/v1/traces" // the path that the protocol has
	}
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
		k.warn("metrics-open", "metrics.listen", "is all addresses of this machine: who reaches it reads the names of your triggers and may have the processor measured", "write 127.0.0.1:9464, or the address of a private network")
	}
}
