package connectors

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/nearest"
)

// sampleFlags choose the webhook that try, trigger and sign work on: one of the connector's
// own samples, or a file.
type sampleFlags struct {
	sample  string
	topic   string
	headers []string
	method  string
	number  int
	at      time.Time // when it arrives; zero is now
}

// now is when the webhook arrives.
func (f *sampleFlags) now() time.Time {
	if f.at.IsZero() {
		return time.Now()
	}
	return f.at
}

func (f *sampleFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.sample, "sample", "", "which of the connector's samples (default: the first)")
	cmd.Flags().IntVar(&f.number, "number", 0, "goes into the ids of a sample, and in the place of <<n>> in a file: a cart and an order of one number belong together (default: a new one)")
	cmd.Flags().StringVarP(&f.topic, "topic", "t", "", "the sender's topic, where it travels in a header (checkouts/update)")
	cmd.Flags().StringArrayVarP(&f.headers, "header", "H", nil, "a header, as Name: value; may be given again")
	cmd.Flags().StringVarP(&f.method, "method", "X", http.MethodPost, "HTTP method")
}

// receiver finds a connector of the config by name.
func receiver(cfg *config.Config, name string) (*connectors.Connector, error) {
	if r, ok := cfg.Receivers[name]; ok {
		return r, nil
	}
	var names []string
	for n := range cfg.Receivers {
		names = append(names, n)
	}
	slices.Sort(names)
	hint := "the config has: " + strings.Join(names, ", ")
	if near := nearest.Of(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return nil, exit.Fail(exit.Nothing, hint, "no connector %q in the config", name)
}

// webhook is the request that a command line asks for: args are a connector of the config
// and, where it is there, a file with the body.
func (c commands) webhook(load func() (*config.Config, error), args []string, f *sampleFlags) (*config.Config, *connectors.Connector, connectors.Request, error) {
	cfg, err := load()
	if err != nil {
		return nil, nil, connectors.Request{}, err
	}
	r, err := receiver(cfg, args[0])
	if err != nil {
		return nil, nil, connectors.Request{}, err
	}
	req, err := c.request(cfg, r, terminal.Argument(args, 1), f)
	return cfg, r, req, err
}

// request builds the webhook, signed as its sender would sign it. file is a body to send, "-"
// for standard input, "" for a sample.
func (c commands) request(cfg *config.Config, r *connectors.Connector, file string, f *sampleFlags) (connectors.Request, error) {
	req, err := c.unsigned(cfg, r, file, f)
	if err != nil {
		return req, err
	}
	return req, sign(&req, r)
}

// unsigned is the request with the headers that were given, and no signature of ours.
func (c commands) unsigned(cfg *config.Config, r *connectors.Connector, file string, f *sampleFlags) (connectors.Request, error) {
	req := connectors.Request{
		Method: f.method, Path: "/hooks/" + r.Name(), URL: terminal.HookURL(cfg, r.Name()), Header: http.Header{}, Now: f.now(),
	}
	if err := c.content(&req, r, file, f); err != nil {
		return req, err
	}
	for _, h := range f.headers {
		name, value, err := terminal.Header(h)
		if err != nil {
			return req, err
		}
		req.Header.Set(name, value)
	}
	return req, nil
}

// sign gives the request what its sender would sign it with: headers, a token in its URL, or a body that is one.
func sign(req *connectors.Request, r *connectors.Connector) error {
	signed, err := r.Sign(*req)
	if err != nil {
		return fmt.Errorf("sign: %w", err)
	}
	*req = signed
	return nil
}

// called makes req one to the address url. Its path stays the daemon's own, which a proxy's
// may be another than.
func called(req *connectors.Request, r *connectors.Connector, url string) {
	req.URL = url
	path, query, _ := strings.Cut(url, "?")
	req.RawQuery = query
	if r.TakesPath() {
		req.Path = "/hooks/" + r.Name() + path[strings.LastIndexByte(path, '/'):]
	}
}

// content fills in the body with the headers that belong to it.
func (c commands) content(req *connectors.Request, r *connectors.Connector, file string, f *sampleFlags) (err error) {
	if file != "" {
		if req.Body, err = c.bodyOf(file, req.Now, f); err != nil {
			return err
		}
	} else {
		sample, err := pickSample(r, f)
		if err != nil {
			return err
		}
		req.Method, req.Body = sample.Method, sample.Body
		for name, value := range sample.Header {
			req.Header.Set(name, value)
		}
	}
	if f.topic != "" {
		name := r.TopicHeader()
		if name == "" {
			return exit.Fail(exit.Usage, "", "connector %q takes the topic from the body, not from a header", r.Name())
		}
		req.Header.Set(name, f.topic)
	}
	if req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	return nil
}

// bodyOf is what a file holds, "-" for standard input.
func (c commands) bodyOf(file string, now time.Time, f *sampleFlags) (body []byte, err error) {
	if file == "-" {
		body, err = io.ReadAll(c.In)
	} else {
		body, err = os.ReadFile(file)
		body = connectors.FillSample(body, now, f.chosenNumber())
	}
	if err != nil {
		return nil, exit.Fail(exit.Usage, "", "read the body: %w", err)
	}
	return body, nil
}

// chosenNumber is the number that was given, else a new one.
func (f *sampleFlags) chosenNumber() int {
	if f.number != 0 {
		return f.number
	}
	return 100_000 + rand.IntN(900_000)
}

func pickSample(r *connectors.Connector, f *sampleFlags) (connectors.Sample, error) {
	name := f.sample
	samples := r.SamplesAt(f.now(), f.chosenNumber())
	if len(samples) == 0 {
		return connectors.Sample{}, exit.Fail(exit.Usage, "name a file with a body", "connector %q has no samples", r.Name())
	}
	var names []string
	for _, s := range samples {
		if name == "" || s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return connectors.Sample{}, exit.Fail(exit.Nothing, "it has: "+strings.Join(names, ", "), "connector %q has no sample %q", r.Name(), name)
}
