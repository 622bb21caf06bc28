package terminal

import (
	"errors"
	"fmt"
	"io"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

// Logger writes the daemon's log to standard error. format is json or console, "" for lines for people on a terminal
// and JSON otherwise.
func (c *CLI) Logger(level, format string) (*zap.Logger, error) {
	switch format {
	case "json", "console":
	case "":
		if format = "json"; IsTerminal(c.Err) && !c.JSON {
			format = "console"
		}
	default:
		return nil, exit.Fail(exit.Usage, "one of: json, console", "--log-format %q is unknown", format)
	}
	at, err := zapcore.ParseLevel(level)
	if err != nil || at > zapcore.ErrorLevel {
		return nil, exit.Fail(exit.Usage, "one of: debug, info, warn, error", "--log-level %q is unknown", level)
	}
	enc := zap.NewProductionEncoderConfig()
	enc.EncodeTime = zapcore.ISO8601TimeEncoder
	encoder, safe := zapcore.NewJSONEncoder(enc), plain.JSON
	if format == "console" {
		enc.EncodeLevel = zapcore.CapitalLevelEncoder
		enc.EncodeTime = zapcore.TimeEncoderOfLayout("2006-01-02 15:04:05.000")
		encoder = zapcore.NewConsoleEncoder(enc)
		safe = func(entry []byte) []byte { return []byte(plain.Lines(string(entry))) }
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(logWriter{c.Err, safe})), at)), nil
}

// A logWriter takes from whole log entries what steers a terminal.
type logWriter struct {
	to   io.Writer
	safe func([]byte) []byte
}

func (w logWriter) Write(entry []byte) (int, error) {
	if _, err := w.to.Write(w.safe(entry)); err != nil {
		return 0, err
	}
	return len(entry), nil
}

// FailApp gives the errors of building the daemon their exit statuses.
func (c *CLI) FailApp(err error) error {
	if bad, ok := errors.AsType[*app.ConfigError](err); ok {
		return c.BadConfig(bad.Problems)
	}
	if locked, ok := errors.AsType[*sqlite.LockedError](err); ok {
		return exit.Fail(exit.TryLater, `"nudgewire status" shows the one that runs`, "%w", locked)
	}
	if port, ok := errors.AsType[*app.PortError](err); ok {
		return exit.Fail(exit.Failed, port.Hint(), "start: %w", port)
	}
	if err := FailServer(err); err != nil {
		return err
	}
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	return nil
}
