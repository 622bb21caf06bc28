package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/store"
)

// A daemon is found by its socket, which lies beside its data. Where storage: of the config was edited since the
// daemon started, the socket is beside the old data, so each daemon leaves a note for its user: where
// the daemon of this config listens. A note that was left by one that died leads to a socket that
// nobody listens on.

// noteFile is where the daemon of a config leaves its note.
func noteFile(configFile string) (string, error) {
	folder, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("folder of notes: %w", err)
	}
	path, err := filepath.Abs(configFile)
	if err != nil {
		return "", fmt.Errorf("folder of notes: %w", err)
	}
	h := fnv.New64a()
	h.Write([]byte(path))
	return filepath.Join(folder, "nudgewire", fmt.Sprintf("daemon-%016x", h.Sum64())), nil
}

// leaveNote notes where the daemon of a config listens, which has its data behind dsn, until the returned function is called. Where
// it cannot, commands still find the daemon by what the config says.
func leaveNote(configFile, dsn string, log *zap.Logger) (remove func()) {
	file, err := noteFile(configFile)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	socket := app.SocketPath(dsn) // and not dsn, which may hold a password
	if err == nil {
		err = os.WriteFile(file, []byte(socket), 0o600)
	}
	if err != nil {
		log.Debug("no note was left of where the data is", zap.Error(err))
		return func() {}
	}
	return func() {
		if notedSocket(configFile) != socket {
			return // a later daemon of the same config, over other data, has left its own
		}
		if err := os.Remove(file); err != nil {
			log.Debug("the note of where the data is stays", zap.Error(err))
		}
	}
}

// notedSocket is where the last daemon of a config listened for commands; "" when nobody says.
func notedSocket(configFile string) string {
	file, err := noteFile(configFile)
	if err != nil {
		return ""
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return string(text)
}

// dial returns a client of the daemon over dsn or, when nobody listens there, of the one that was started with this
// config over other data.
func (c *cli) dial(dsn string) *server.Client {
	sockets := []string{app.SocketPath(dsn)}
	if noted := notedSocket(c.config); noted != "" && noted != sockets[0] {
		sockets = append(sockets, noted)
	}
	return server.Dial(sockets...)
}

// noDaemon says that nobody listens beside the data, and looks whether somebody does at the door.
func (c *cli) noDaemon(ctx context.Context) error {
	cfg, _ := config.Load(c.config, os.LookupEnv)
	if cfg == nil || cfg.Storage == "" {
		return server.ErrNoDaemon
	}
	d := &doctor{cfg: cfg}
	if why := d.starting(ctx); why != "" {
		return fail(exitTryLater, "it goes on by itself when that ends", "the daemon cannot open its data: %s", why)
	}
	if d.answers(ctx) {
		return fail(exitNoDaemon, elsewhereHint, "%w over %s, but %s", server.ErrNoDaemon, store.Name(cfg.Storage), d.elsewhere())
	}
	path, yet := store.Path(cfg.Storage), ""
	if store.OnServer(cfg.Storage) {
		return fail(exitNoDaemon, "start it with: nudgewire serve; or ask on a machine where one runs", "%w of this machine over %s", server.ErrNoDaemon, store.Name(cfg.Storage))
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		yet = ", which does not exist yet"
	}
	return fail(exitNoDaemon, "start it with: nudgewire serve", "%w over %s%s", server.ErrNoDaemon, path, yet)
}

// answers reports whether a daemon answers at the door that the config names.
func (d *doctor) answers(ctx context.Context) bool {
	if d.cfg.Server.Listen == "" {
		return false
	}
	v, status, err := d.readiness(ctx, localURL(d.cfg))
	return err == nil && v.Starting == "" && (v.Ready || status == http.StatusServiceUnavailable)
}

// starting is what the daemon at the door waits for before it can open its data; "" for none.
func (d *doctor) starting(ctx context.Context) string {
	if d.cfg.Server.Listen == "" {
		return ""
	}
	v, _, _ := d.readiness(ctx, localURL(d.cfg))
	return v.Starting
}

// elsewhere is a daemon at the door whose socket is not beside the data.
func (d *doctor) elsewhere() string {
	return fmt.Sprintf("a daemon answers on %s whose data is elsewhere", d.cfg.Server.Listen)
}

const elsewhereHint = "was it started with another config or by another user, or was storage: changed since? name that config with --config, put storage: back, or ask as that user"

// explained is err, with more words where no daemon was found.
func (c *cli) explained(ctx context.Context, err error) error {
	if _, told := errors.AsType[*exitError](err); errors.Is(err, server.ErrNoDaemon) && !told {
		return c.noDaemon(ctx)
	}
	return err
}
