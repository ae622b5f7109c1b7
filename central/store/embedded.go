package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
)

const (
	defaultKeep    = 10 * time.Minute
	defaultQuota   = 4 << 30
	defaultMinFree = 256 << 20
	// startFree is what must be free to open a directory: etcd writes its files anew at a start.
	startFree = 64 << 20
	// tickMs makes a start take 0.1 s, where etcd's own default takes 0.6 s: the
	// member elects itself after ten ticks, and there is no network to allow for.
	tickMs = 20
	// memberName and memberURL are this member's for itself; nothing listens there.
	memberName = "catchment"
	memberURL  = "http://127.0.0.1:2380"
)

// startWithin is how long etcd may take to be ready. Tests shorten it.
var startWithin = 30 * time.Second

// OpenEmbedded returns the store in a directory, made if absent, with an etcd
// member in this process that listens nowhere. A directory in use, a disk that
// is nearly full, files that cannot be read, or those of another schema are an
// error that says what to do. It waits for the member, at most 30 s.
func OpenEmbedded(ctx context.Context, dir string, opts Options) (*Etcd, error) {
	opts = opts.withDefaults()
	opts.Keep = cmp.Or(opts.Keep, defaultKeep)
	opts.Quota = cmp.Or(opts.Quota, defaultQuota)
	opts.MinFree = cmp.Or(opts.MinFree, defaultMinFree)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("directory of the store: %w", err)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	m := &member{dir: dir, minFree: opts.MinFree, quota: opts.Quota, lock: lock, failed: make(chan struct{})}
	if err := m.start(ctx, opts); err != nil {
		return nil, errors.Join(err, m.stop())
	}
	return newEtcd(ctx, v3client.New(m.etcd.Server), m, opts)
}

// lockPath is the file by which a process holds dir.
func lockPath(dir string) string { return filepath.Join(dir, "LOCK") }

// start runs the member until it can be asked.
func (m *member) start(ctx context.Context, opts Options) error {
	switch free, err := freeBytes(m.dir); {
	case err != nil:
		return err
	case free < startFree:
		return fmt.Errorf("the disk of %s has %d MiB free and a start needs %d: make space: %w", m.dir, free>>20, startFree>>20, ErrFull)
	}
	if err := m.create(ctx, opts); err != nil {
		return err
	}
	if err := m.checkFiles(); err != nil {
		return err
	}
	if err := m.launch(ctx, m.data(), opts); err != nil {
		return err
	}
	m.used = m.etcd.Server.Backend().SizeInUse
	return nil
}

// create makes etcd's files where there are none, elsewhere and then in one step: a
// member that is killed in its first moments leaves files with which it can
// never again be ready.
func (m *member) create(ctx context.Context, opts Options) error {
	if _, err := os.Stat(m.data()); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	fresh := m.data() + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	err := m.launch(ctx, fresh, opts)
	if m.etcd != nil {
		err = errors.Join(err, m.halt())
	}
	if err != nil {
		return err
	}
	if err := os.Rename(fresh, m.data()); err != nil {
		return err
	}
	return syncDir(m.dir)
}

// launch starts etcd and waits until it can be asked.
func (m *member) launch(ctx context.Context, data string, opts Options) error {
	if err := m.begin(data, opts); err != nil {
		return err
	}
	select {
	case <-m.etcd.Server.ReadyNotify():
		return nil
	case <-m.failed:
		return m.unreadable(m.reason)
	case <-m.etcd.Server.StopNotify():
		return m.unreadable(errors.New("etcd stopped at its start"))
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(startWithin):
		return m.unreadable(fmt.Errorf("etcd was not ready after %s", startWithin))
	}
}

// begin starts etcd in a goroutine of its own, which is all that ends where
// etcd would end the process.
func (m *member) begin(data string, opts Options) error {
	done := make(chan error, 1)
	go func() {
		err := errors.New("etcd gave no reason")
		defer func() {
			if reason := recover(); reason != nil {
				err = fmt.Errorf("%v", reason)
			}
			done <- err
		}()
		debug.SetPanicOnFault(true)
		m.etcd, err = embed.StartEtcd(m.config(data, opts.Log))
	}()
	err := <-done
	if err != nil {
		return m.unreadable(err)
	}
	return nil
}

// config is etcd's configuration.
func (m *member) config(data string, log *slog.Logger) *embed.Config {
	c := embed.NewConfig()
	c.Name = memberName
	c.Dir = data
	here, _ := url.Parse(memberURL)
	c.AdvertisePeerUrls = []url.URL{*here}
	c.AdvertiseClientUrls = []url.URL{*here}
	c.ListenPeerUrls, c.ListenClientUrls = nil, nil
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.TickMs, c.ElectionMs = tickMs, 10*tickMs
	// No other member needs to catch up from the log, which etcd has in memory.
	c.SnapshotCount, c.SnapshotCatchUpEntries = 1000, 100
	c.QuotaBackendBytes = -1 // etcd's own makes the change and then refuses it
	c.EnableGRPCGateway = false
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zapLogger(log, m.fail))
	return c
}

// data is where etcd has its files.
func (m *member) data() string { return filepath.Join(m.dir, "etcd") }

// checkFiles looks for what etcd would make anew where it is missing, as if
// nothing had been stored, and reads every page of the database: a damaged page
// would end the process when etcd meets it.
func (m *member) checkFiles() (err error) {
	logs, err := filepath.Glob(filepath.Join(m.data(), "member", "wal", "*.wal"))
	if err != nil || len(logs) == 0 {
		return m.unreadable(fmt.Errorf("no log in %s", filepath.Join(m.data(), "member", "wal")))
	}
	path := filepath.Join(m.data(), "member", "snap", "db")
	if _, err := os.Stat(path); err != nil {
		return m.unreadable(err)
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if reason := recover(); reason != nil {
			err = m.unreadable(fmt.Errorf("%s: %v", path, reason))
		}
	}()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return m.unreadable(fmt.Errorf("%s: %w", path, err))
	}
	defer db.Close()
	err = db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(_ []byte, b *bbolt.Bucket) error {
			return b.ForEach(func(_, _ []byte) error { return nil })
		})
	})
	if err != nil {
		return m.unreadable(fmt.Errorf("%s: %w", path, err))
	}
	return nil
}

// unreadable says what to do about files that cannot be used.
func (m *member) unreadable(err error) error {
	if m.failure() != nil {
		err = m.reason
	}
	return fmt.Errorf("the store in %s cannot be read; move the directory away and restore the last backup into an empty one: %w", m.dir, err)
}
