package store

import (
	"context"
	"log/slog"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// zapLogger returns a logger for etcd that writes to log: its information is
// our debug. A message that it takes to be fatal ends the goroutine, never the
// process, after fatal has it.
func zapLogger(log *slog.Logger, fatal func(string)) *zap.Logger {
	hook := fatalHook(func(entry zapcore.Entry, fields []zapcore.Field) {
		if fatal != nil {
			fatal(entry.Message + cause(fields))
		}
	})
	return zap.New(slogCore{log: log}, zap.WithFatalHook(hook), zap.WithPanicHook(hook))
}

// fatalHook runs instead of what a fatal message does otherwise.
type fatalHook func(zapcore.Entry, []zapcore.Field)

// OnWrite implements zapcore.CheckWriteHook.
func (h fatalHook) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	h(entry.Entry, fields)
	zapcore.WriteThenGoexit.OnWrite(entry, fields)
}

// cause returns the error among the fields, after a colon, or "".
func cause(fields []zapcore.Field) string {
	for _, f := range fields {
		if err, ok := f.Interface.(error); ok && f.Type == zapcore.ErrorType {
			return ": " + err.Error()
		}
	}
	return ""
}

// slogCore writes zap's entries to a slog.Logger.
type slogCore struct {
	log    *slog.Logger
	fields []zapcore.Field
}

// level returns ours for one of zap's.
func level(l zapcore.Level) slog.Level {
	switch {
	case l >= zapcore.ErrorLevel:
		return slog.LevelError
	case l == zapcore.WarnLevel:
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

// Enabled implements zapcore.LevelEnabler. What etcd takes to be fatal is always enabled.
func (c slogCore) Enabled(l zapcore.Level) bool {
	return l > zapcore.ErrorLevel || c.log.Enabled(context.Background(), level(l))
}

// With implements zapcore.Core.
func (c slogCore) With(fields []zapcore.Field) zapcore.Core {
	c.fields = append(c.fields[:len(c.fields):len(c.fields)], fields...)
	return c
}

// Check implements zapcore.Core.
func (c slogCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) {
		return checked.AddCore(entry, c)
	}
	return checked
}

// Write implements zapcore.Core.
func (c slogCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	values := zapcore.NewMapObjectEncoder()
	for _, f := range c.fields {
		f.AddTo(values)
	}
	for _, f := range fields {
		f.AddTo(values)
	}
	attrs := make([]slog.Attr, 0, len(values.Fields))
	for name, value := range values.Fields {
		attrs = append(attrs, slog.Any(name, value))
	}
	c.log.LogAttrs(context.Background(), level(entry.Level), "etcd: "+entry.Message, attrs...)
	return nil
}

// Sync implements zapcore.Core.
func (slogCore) Sync() error { return nil }
