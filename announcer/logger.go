package announcer

import (
	"context"
	"crypto/rand"
	"log/slog"

	"github.com/osrg/gobgp/v3/pkg/log"
)

// quietLogger takes GoBGP's log lines to debug level. GoBGP's own logger would
// end the process in Fatal and Panic; this one never does.
type quietLogger struct{ to *slog.Logger }

func (l quietLogger) put(level, msg string, f log.Fields) {
	if !l.to.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	attrs := []any{"gobgp", level}
	for k, v := range f {
		attrs = append(attrs, k, v)
	}
	l.to.Debug(msg, attrs...)
}

func (l quietLogger) Panic(msg string, f log.Fields) { l.put("panic", msg, f) }
func (l quietLogger) Fatal(msg string, f log.Fields) { l.put("fatal", msg, f) }
func (l quietLogger) Error(msg string, f log.Fields) { l.put("error", msg, f) }
func (l quietLogger) Warn(msg string, f log.Fields)  { l.put("warn", msg, f) }
func (l quietLogger) Info(msg string, f log.Fields)  { l.put("info", msg, f) }
func (l quietLogger) Debug(msg string, f log.Fields) { l.put("debug", msg, f) }

// SetLevel does nothing: slog's handler decides.
func (l quietLogger) SetLevel(log.LogLevel) {}

// GetLevel says that debug lines would be dropped, so that GoBGP does not build them.
func (l quietLogger) GetLevel() log.LogLevel { return log.InfoLevel }

// randomKey makes the TCP MD5 key of the loopback legs of this process.
func randomKey() string { return rand.Text() }
