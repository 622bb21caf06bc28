package terminal

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/store/engine"
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

// LeaveNote notes where the daemon of a config listens, which has its data behind dsn, until the returned function is called. Where
// it cannot, commands still find the daemon by what the config says.
func LeaveNote(configFile, dsn string, log *zap.Logger) (remove func()) {
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
		if NotedSocket(configFile) != socket {
			return // a later daemon of the same config, over other data, has left its own
		}
		if err := os.Remove(file); err != nil {
			log.Debug("the note of where the data is stays", zap.Error(err))
		}
	}
}

// NotedSocket is where the last daemon of a config listened for commands; "" when nobody says.
func NotedSocket(configFile string) string {
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

// Dial returns a client of the daemon over dsn or, when nobody listens there, of the one that was started with this
// config over other data.
func (c *CLI) Dial(dsn string) *server.Client {
	sockets := []string{app.SocketPath(dsn)}
	if noted := NotedSocket(c.Config); noted != "" && noted != sockets[0] {
		sockets = append(sockets, noted)
	}
	return server.Dial(sockets...)
}

// noDaemon says that nobody listens beside the data, and looks whether somebody does at the door.
func (c *CLI) noDaemon(ctx context.Context) error {
	cfg, _ := config.Load(c.Config, os.LookupEnv)
	if cfg == nil || cfg.Storage == "" {
		return server.ErrNoDaemon
	}
	if why := DaemonStarts(ctx, cfg); why != "" {
		return exit.Fail(exit.TryLater, "it goes on by itself when that ends", "the daemon cannot open its data: %s", why)
	}
	if DaemonAnswers(ctx, cfg) {
		return exit.Fail(exit.NoDaemon, ElsewhereHint, "%w over %s, but %s", server.ErrNoDaemon, engine.Name(cfg.Storage), DaemonElsewhere(cfg))
	}
	path, yet := engine.Path(cfg.Storage), ""
	if engine.OnServer(cfg.Storage) {
		return exit.Fail(exit.NoDaemon, "start it with: nudgewire serve; or ask on a machine where one runs", "%w of this machine over %s", server.ErrNoDaemon, engine.Name(cfg.Storage))
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		yet = ", which does not exist yet"
	}
	return exit.Fail(exit.NoDaemon, "start it with: nudgewire serve", "%w over %s%s", server.ErrNoDaemon, path, yet)
}

// ExplainNoDaemon is err, with more words where no daemon was found.
func (c *CLI) ExplainNoDaemon(ctx context.Context, err error) error {
	if _, told := errors.AsType[*exit.Error](err); errors.Is(err, server.ErrNoDaemon) && !told {
		return c.noDaemon(ctx)
	}
	return err
}
