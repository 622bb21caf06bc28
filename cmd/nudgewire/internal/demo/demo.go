package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/story"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"

	_ "embed"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/listeners"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/signin"
	"github.com/nudgewire/nudgewire/internal/units"
)

//go:embed demo.yaml
var demoConfig string

func (c commands) demo() *cobra.Command {
	var length time.Duration
	var keep, noBrowser bool
	cmd := &cobra.Command{
		Use: "demo", Short: "Watch the whole thing work: a pretended shop and service, the real daemon, nothing to configure",
		Long: `demo starts a pretended messaging service and the real daemon on this machine, lets invented
customers of an invented shop fill carts and place orders, and tells what happens. Waits are
seconds where a shop would have minutes. The console opens in the browser where there is one, else its
link is printed. It ends at Ctrl-C, or after --for, and leaves nothing behind unless told to --keep.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if length < 0 {
				return exit.Fail(exit.Usage, "write a time such as 60s", "--for %s has no end that could come", length)
			}
			if length > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, length)
				defer cancel()
			}
			return c.runDemo(ctx, keep, !noBrowser)
		},
	}
	cmd.Flags().DurationVar(&length, "for", 0, "end by itself after this long (60s)")
	cmd.Flags().BoolVar(&noBrowser, "no-browser", false, "print the console's link, and open no browser")
	cmd.Flags().BoolVar(&keep, "keep", false, "keep the folder with the config and the database")
	return cmd
}

// A stage is everything a demo runs on.
type stage struct {
	folder  string
	service *sandbox.Sandbox
	at      net.Listener // where the service listens
	app     *app.App
	secret  string
	far     place // where it is night
}

func (c commands) runDemo(ctx context.Context, keep, browse bool) error {
	c.Zone = time.UTC // whatever the config of this folder says
	told := newNarrator(c.CLI)
	s, err := setStage(ctx, told)
	if err != nil {
		return err
	}
	defer s.clear(c.CLI, keep)
	c.Note("the pretended messaging service listens on %s, the daemon on %s", s.at.Addr(), s.app.Addr())
	c.Note("config: %s", filepath.Join(s.folder, "config.yaml"))
	c.Note("stop with Ctrl-C\n")

	// The shop stops first, so that the daemon's end is a calm one: it finishes what it holds.
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	g, running := errgroup.WithContext(running)
	g.Go(func() error { return s.app.Run(running) })
	g.Go(func() error {
		return listeners.Serve(running, s.at, s.service.Handler(), nil, time.Second, zap.NewNop())
	})
	ask := server.Dial(app.SocketPath("sqlite:" + filepath.Join(s.folder, "nudgewire.db")))
	defer ask.Close()
	if link, err := server.LinkToConsole.Call(ctx, ask, signin.LinkRequest{}); err == nil { // a demo without it is one, too
		address := link.URL + "#begin" // signs in at once, see console.js
		c.Note("the console, in a browser: %s", address)
		if browse && c.Watched(os.Getenv) {
			c.Note("it opens there by itself; --no-browser leaves that to you")
			terminal.OpenBrowser(ctx, address)
		}
		c.Note("to see why somebody got no reminder, look for +447700900102 at People\n")
	}
	shop := &shop{base: "http://" + s.app.Addr().String(), secret: s.secret, told: told, far: s.far}
	watching, silence := context.WithCancel(ctx)
	g.Go(func() error { told.watch(watching, ask); return nil })
	openErr := shop.open(ctx)
	silence()
	summaryErr := c.demoSummary(context.WithoutCancel(ctx), ask, told, s.service)
	stop()
	s.service.Close()
	return errors.Join(openErr, summaryErr, g.Wait())
}

// setStage writes the config into a new folder, starts the service and builds the daemon.
func setStage(ctx context.Context, told *narrator) (_ *stage, err error) {
	s := &stage{secret: rand.Text()}
	if s.folder, err = os.MkdirTemp("", "nudgewire-demo-"); err != nil {
		return nil, fmt.Errorf("set the stage: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(s.folder))
		}
	}()
	key := rand.Text()
	s.service = sandbox.New(demoService(key))
	var lc net.ListenConfig
	if s.at, err = lc.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("set the stage: %w", err)
	}
	file := filepath.Join(s.folder, "config.yaml")
	if err := os.WriteFile(file, []byte(demoConfig), 0o600); err != nil {
		return nil, fmt.Errorf("set the stage: %w", err)
	}
	if err := writeDemoList(filepath.Join(s.folder, "customers.csv")); err != nil {
		return nil, fmt.Errorf("set the stage: %w", err)
	}
	var quiet string
	if s.far, quiet, err = night(time.Now()); err != nil {
		return nil, fmt.Errorf("set the stage: %w", err)
	}
	env := map[string]string{
		"DEMO_NIGHT":   quiet,
		"DEMO_SERVICE": "http://" + s.at.Addr().String() + "/api/v1", "DEMO_KEY": key,
		"DEMO_SECRET": s.secret, "DEMO_FOLDER": s.folder,
	}
	s.app, err = app.New(ctx, app.Options{
		ConfigFile: file, Version: told.c.Version, Observer: told.observer(), JobClock: tenSoon(time.Now()),
		Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	})
	if err != nil {
		return nil, fmt.Errorf("set the stage: %w", err)
	}
	return s, nil
}

// clear takes the stage away.
func (s *stage) clear(c *terminal.CLI, keep bool) {
	if keep {
		c.Note("kept: %s", s.folder)
		return
	}
	if err := os.RemoveAll(s.folder); err != nil {
		c.Note("left behind: %v", err)
	}
}

// demoSummary prints the totals, and the story of somebody who got no message.
func (c commands) demoSummary(ctx context.Context, ask *server.Client, told *narrator, service *sandbox.Sandbox) error {
	status, err := server.ShowStatus.Call(ctx, ask, server.None{})
	if err != nil {
		return fmt.Errorf("sum up: %w", err)
	}
	told.silence()
	c.Say("\n%s\n", c.Paint(c.Out, "1", "In all"))
	blocks, err := server.ListBlocks.Call(ctx, ask, server.ListQuery{})
	if err != nil {
		return fmt.Errorf("sum up: %w", err)
	}
	c.totals(status, len(blocks))
	c.Say("  the service itself counts %s accepted, %s of them twice\n", units.Count(service.Stats().Messages, "message"), units.Number(int64(service.Stats().Duplicates)))
	cancelled, err := server.ListMessages.Call(ctx, ask, server.ListQuery{State: string(messaging.StateCancelled), Limit: 100})
	if err != nil {
		return fmt.Errorf("sum up: %w", err)
	}
	for _, m := range cancelled[max(0, len(cancelled)-1):] { // the first of all, which the story told of
		c.Say("\n%s\n", c.Paint(c.Out, "1", "nudgewire why +"+string(m.Phone)))
		stories, err := server.Why.Call(ctx, ask, server.ListQuery{Phone: string(m.Phone), Limit: 10})
		if err != nil {
			return fmt.Errorf("sum up: %w", err)
		}
		for _, s := range stories {
			story.TellStory(c.CLI, s)
		}
	}
	c.Note("\nnext: \"nudgewire setup\" begins with your own shop, in the browser")
	return nil
}
