package config

import (
	"strings"
	"testing"
)

// Where figures are shown is said where a mistake would show them to strangers.
func TestMetricsListen(t *testing.T) {
	const rest = "\napi: {base_url: https://api.example.com/api/v1, key: k}\nserver: {listen: 127.0.0.1:8080}\n"
	tests := map[string]struct {
		line, want string
		warning    bool
	}{
		"this machine":           {line: `metrics: {listen: "127.0.0.1:9464"}`},
		"a private network":      {line: `metrics: {listen: "10.0.0.7:9464"}`},
		"IPv6":                   {line: `metrics: {listen: "[::1]:9464"}`},
		"any free port":          {line: `metrics: {listen: "127.0.0.1:0"}`},
		"nothing":                {line: `metrics: {}`},
		"no port":                {line: `metrics: {listen: 127.0.0.1}`, want: "is not an address with a port"},
		"a word for a port":      {line: `metrics: {listen: "127.0.0.1:http"}`, want: "is not a port from 0 to 65535"},
		"all addresses":          {line: `metrics: {listen: ":9464"}`, want: "is all addresses of this machine", warning: true},
		"all of IPv4":            {line: `metrics: {listen: "0.0.0.0:9464"}`, want: "is all addresses of this machine", warning: true},
		"all of IPv6":            {line: `metrics: {listen: "[::]:9464"}`, want: "is all addresses of this machine", warning: true},
		"the port of webhooks":   {line: `metrics: {listen: "127.0.0.1:8080"}`, want: "has the port of server.listen"},
		"a misspelt key":         {line: `metrics: {lisen: "127.0.0.1:9464"}`, want: `did you mean "listen"?`},
		"an address for a table": {line: `metrics: "127.0.0.1:9464"`, want: "metrics"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, problems := Parse("config.yaml", []byte(tt.line+rest), nil)
			found := false
			for _, p := range problems {
				if !strings.HasPrefix(p.Path, "metrics") {
					continue
				}
				if found = true; tt.want == "" || !strings.Contains(p.Error(), tt.want) || p.Warning != tt.warning || p.Line != 1 {
					t.Errorf("said: %v (warning %v), want %q", p, p.Warning, tt.want)
				}
			}
			if !found && tt.want != "" {
				t.Errorf("nothing was said, want %q, but %v", tt.want, problems)
			}
		})
	}
}

// The address of a collector is one, and gets the path that the protocol has.
func TestTracing(t *testing.T) {
	const rest = "\napi: {base_url: https://api.example.com/api/v1, key: k}\n"
	tests := map[string]struct{ line, endpoint, want string }{
		"a collector":           {line: `tracing: {endpoint: "http://127.0.0.1:4318"}`, endpoint: "http://127.0.0.1:4318/v1/traces"},
		"with a slash":          {line: `tracing: {endpoint: "http://127.0.0.1:4318/"}`, endpoint: "http://127.0.0.1:4318/v1/traces"},
		"with a path":           {line: `tracing: {endpoint: "https://otel.example.com/in"}`, endpoint: "https://otel.example.com/in"},
		"none":                  {line: `tracing: {sample: 0.1}`},
		"no address":            {line: `tracing: {endpoint: "127.0.0.1:4318"}`, want: "tracing.endpoint", endpoint: "127.0.0.1:4318"},
		"a password in it":      {line: `tracing: {endpoint: "https://a:b@otel.example.com"}`, want: "user name or password", endpoint: "https://a:b@otel.example.com"},
		"over the net in clear": {line: `tracing: {endpoint: "http://otel.example.com"}`, want: "lets everybody on the way read", endpoint: "http://otel.example.com/v1/traces"},
		"too much of a share":   {line: `tracing: {sample: 50}`, want: "tracing.sample"},
		"less than nothing":     {line: `tracing: {sample: -1}`, want: "tracing.sample"},
		"a word for a share":    {line: `tracing: {sample: half}`, want: "tracing.sample"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, problems := Parse("config.yaml", []byte(tt.line+rest), nil)
			found := false
			for _, p := range problems {
				if strings.HasPrefix(p.Path, "tracing") {
					if found = true; tt.want == "" || !strings.Contains(p.Error(), tt.want) {
						t.Errorf("said: %v, want %q", p, tt.want)
					}
				}
			}
			if !found && tt.want != "" {
				t.Errorf("nothing was said, want %q", tt.want)
			}
			if c.Tracing.Endpoint != tt.endpoint {
				t.Errorf("the endpoint is %q, want %q", c.Tracing.Endpoint, tt.endpoint)
			}
			if !found && !strings.Contains(tt.line, "sample") && c.Tracing.Sample != 1 {
				t.Errorf("the share is %v", c.Tracing.Sample)
			}
		})
	}
}
