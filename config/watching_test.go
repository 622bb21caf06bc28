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
