package setup

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/signin"
)

// A daemon is the one that setup started.
type daemon struct {
	cfg       *config.Config
	ask       *server.Client
	connector string
	trigger   string

	end    context.CancelFunc
	ended  chan error // gets one value
	unnote func()
}

// startDaemon starts the daemon with the config at path. It lives until stop.
func startDaemon(ctx context.Context, cli *terminal.CLI, path string) (*daemon, error) {
	cfg, problems := config.Load(path, os.LookupEnv)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	log, err := cli.Logger("warn", "")
	if err != nil {
		return nil, err
	}
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	a, err := app.New(running, app.Options{ConfigFile: path, Env: os.LookupEnv, Version: cli.Version, Log: log})
	if err != nil {
		end()
		return nil, cli.FailApp(err)
	}
	d := &daemon{cfg: cfg, ask: server.Dial(app.SocketPath(cfg.Storage)), end: end, ended: make(chan error, 1), unnote: terminal.LeaveNote(path, a.Storage(), log)}
	go func() { d.ended <- a.Run(running) }()
	return d, nil
}

func (d *daemon) stop() error {
	if d == nil {
		return nil
	}
	d.end()
	err := <-d.ended
	d.ask.Close()
	d.unnote()
	return err
}

// first is how far it came with the first webhook and the first message.
type first struct {
	Event    *server.EventView
	Rejected *messaging.RejectedRequest // newer than Event; nil for none
	Message  *server.MessageView        // the test; nil before one was sent
	Trouble  string
}

// look asks the daemon what came.
func (d *daemon) look(ctx context.Context, test messaging.MessageID) (f first) {
	events, err := server.ListEvents.Call(ctx, d.ask, server.ListQuery{Connector: d.connector, Limit: 1})
	if err == nil && len(events) > 0 {
		f.Event = &events[0]
	}
	refused, refusedErr := server.ListRejectedRequests.Call(ctx, d.ask, server.ListQuery{Connector: d.connector, Limit: 1})
	if refusedErr == nil && len(refused) > 0 && (f.Event == nil || refused[0].At.After(f.Event.ReceivedAt)) {
		f.Rejected = &refused[0]
	}
	var messageErr error
	if test != 0 {
		var m server.MessageView
		if m, messageErr = server.ShowMessage.Call(ctx, d.ask, strconv.FormatInt(int64(test), 10)); messageErr == nil {
			f.Message = &m
		}
	}
	if err := errors.Join(err, refusedErr, messageErr); err != nil {
		f.Trouble = err.Error()
	}
	return f
}

// postSample posts the sender's sample to the daemon, signed as the sender signs.
func (d *daemon) postSample(ctx context.Context) error {
	c := d.cfg.Receivers[d.connector]
	now := time.Now()
	samples := c.SamplesAt(now, int(now.Unix()%1e6)+1)
	if len(samples) == 0 {
		return errors.New("there is no sample of this sender")
	}
	req := connectors.Request{Method: samples[0].Method, Path: "/hooks/" + c.Name(), URL: terminal.HookURL(d.cfg, c.Name()), Header: http.Header{}, Body: samples[0].Body, Now: now}
	for name, value := range samples[0].Header {
		req.Header.Set(name, value)
	}
	if req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req, err := c.Sign(req)
	if err != nil {
		return fmt.Errorf("sign the sample: %w", err)
	}
	client := terminal.LocalClient(d.cfg, 10*time.Second)
	defer client.CloseIdleConnections()
	status, said, err := terminal.PostWebhook(ctx, client, terminal.LocalURL(d.cfg), req)
	if err != nil {
		return err
	}
	if status >= http.StatusBadRequest {
		return fmt.Errorf("the daemon answered %d to the sample: %s", status, strings.TrimSpace(string(said)))
	}
	return nil
}

// sendTest sends one message of the rule to the number "me", once for each key.
func (d *daemon) sendTest(ctx context.Context, event messaging.EventID, key string) (messaging.MessageID, error) {
	v, err := server.SendTest.Call(ctx, d.ask, preview.TestSendRequest{Trigger: d.trigger, To: "me", Event: event, IdempotencyKey: []string{key}})
	return v.Message, err
}

// consoleLink is a link that signs in to the console, once.
func (d *daemon) consoleLink(ctx context.Context) (string, error) {
	made, err := server.LinkToConsole.Call(ctx, d.ask, signin.LinkRequest{})
	return made.URL, err
}
