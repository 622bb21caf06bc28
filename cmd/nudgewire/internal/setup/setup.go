// Package setup is the first run in the browser: pages of this machine alone that ask for what a first config needs, write it, start the
// daemon with it, and show the first webhook and the first message.
package setup

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/listeners"
	"github.com/nudgewire/nudgewire/internal/sandbox"
)

type commands struct{ *terminal.CLI }

// Commands are the group's, for the root of the program.
func Commands(cli *terminal.CLI) []*cobra.Command { return []*cobra.Command{commands{cli}.setup()} }

func (c commands) setup() *cobra.Command {
	var at string
	var noBrowser bool
	cmd := &cobra.Command{
		Use: "setup [FILE]", Short: "Begin in the browser: service, shop, first rule, first message; it writes the config", Args: cobra.MaximumNArgs(1),
		Long: `setup leads through the first run on a page of this machine: the messaging service with its key, the first
shop or CRM, a rule in mode shadow, a first message to your own phone. It writes config.yaml and a folder with
the secrets, only where neither is there, and runs the daemon until you stop it with Ctrl-C. From then on
"nudgewire serve" starts it. The page opens by the link that is printed, once, and from this machine alone.`,
		Example: "  nudgewire setup\n  nudgewire setup /etc/nudgewire/config.yaml --no-browser",
		RunE: func(cmd *cobra.Command, args []string) error {
			path := c.Config
			if path == terminal.InstalledConfig { // which is there already, and was not named
				path = terminal.OwnConfig
			}
			if len(args) == 1 {
				path = args[0]
			}
			if err := fresh(path); err != nil {
				return err
			}
			return c.run(cmd.Context(), path, at, !noBrowser)
		},
	}
	cmd.Flags().StringVar(&at, "listen", "127.0.0.1:0", "address of the page, on this machine; port 0 is any that is free")
	cmd.Flags().BoolVar(&noBrowser, "no-browser", false, "print the link, and open no browser")
	return cmd
}

// fresh refuses where there is something that setup would write.
func fresh(path string) error {
	there := path
	_, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		there = filepath.Join(filepath.Dir(path), secretsFolder)
		var inside []os.DirEntry
		if inside, err = os.ReadDir(there); errors.Is(err, os.ErrNotExist) || err == nil && len(inside) == 0 {
			return nil
		}
	}
	return exit.Fail(exit.Failed, `setup writes a first config: edit that one and start it with "nudgewire serve", or name another file`, "%s is there already", there)
}

func (c commands) run(ctx context.Context, path, at string, browse bool) (err error) {
	host, _, err := net.SplitHostPort(at)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return exit.Fail(exit.Usage, "such as 127.0.0.1:8090", "--listen %q is no address of this machine alone", at)
	}
	l, err := listen(ctx, at)
	if err != nil {
		return fmt.Errorf("setup: %w", err)
	}
	g := newGuide(c.CLI, path)
	address := "http://" + l.Addr().String() + "/?link=" + g.link
	c.Note("setup, in a browser of this machine: %s", address)
	c.Note("stop with Ctrl-C\n")
	if browse && c.Watched(os.Getenv) {
		terminal.OpenBrowser(ctx, address+"#begin")
	}
	defer func() { err = errors.Join(err, g.stop()) }()
	return listeners.Serve(ctx, l, g.handler(), nil, time.Second, zap.NewNop())
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	var lc net.ListenConfig
	return lc.Listen(ctx, "tcp", address)
}

// A service is the pretended one, while it runs.
type service struct {
	address string
	box     *sandbox.Sandbox
	done    sync.WaitGroup
	end     context.CancelFunc
}

// servicePort is that of "nudgewire sandbox", too.
const servicePort = 8091

// startService starts the pretended service, at the first port from its own on that is free.
func startService() (*service, error) {
	ctx, end := context.WithCancel(context.Background())
	l, err := firstFree(ctx, servicePort, "")
	if err != nil {
		end()
		return nil, fmt.Errorf("start the pretended service: %w", err)
	}
	s := &service{address: l.Addr().String(), end: end, box: sandbox.New(sandbox.Options{
		Templates: []sandbox.Template{{Name: "*", Language: "*", Variables: -1, Header: "*"}}, Campaigns: []string{"*"}, Points: -1, Price: 1,
		Pace: sandbox.Pace{Sent: time.Second, Delivered: 2 * time.Second, Read: 5 * time.Second},
	})}
	s.done.Go(func() { _ = listeners.Serve(ctx, l, s.box.Handler(), nil, time.Second, zap.NewNop()) })
	return s, nil
}

func (s *service) stop() {
	if s == nil {
		return
	}
	s.end()
	s.box.Close()
	s.done.Wait()
}

// firstFree listens on the first port of this machine, from one on, that nobody has. taken is an address that somebody will have.
func firstFree(ctx context.Context, port int, taken string) (l net.Listener, err error) {
	for ; port < 1<<16; port++ {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		if address == taken {
			continue
		}
		if l, err = listen(ctx, address); err == nil {
			return l, nil
		}
	}
	return nil, err
}

// freeAddress is an address to propose: who has it by the time of the start is told by the start.
func freeAddress(port int, taken string) string {
	l, err := firstFree(context.Background(), port, taken)
	if err != nil {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	}
	defer l.Close()
	return l.Addr().String()
}

// sameOrigin refuses what other sites ask for, and names that lead here though they are none of this machine.
func sameOrigin(h http.Handler) http.Handler {
	var origin http.CrossOriginProtection
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "open the page by the link that setup printed", http.StatusForbidden)
			return
		}
		origin.Handler(h).ServeHTTP(w, r)
	})
}
