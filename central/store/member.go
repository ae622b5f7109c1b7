package store

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"golang.org/x/sys/unix"
)

// stopWithin is how long an embedded member may take to stop.
const stopWithin = 10 * time.Second

// member is the etcd member in this process. A nil one is a cluster elsewhere.
type member struct {
	dir     string
	minFree int64
	quota   int64
	used    func() int64 // bytes of the database
	lock    *os.File
	etcd    *embed.Etcd

	once   sync.Once
	failed chan struct{} // closed when reason and err are set
	reason error
	err    error
}

// fail records why the member cannot go on; the first reason stays.
func (m *member) fail(reason string) {
	m.once.Do(func() {
		m.reason = errors.New(reason)
		m.err = fmt.Errorf("the store in %s has failed (%s): what was acknowledged is on disk; look at the disk and its free space and start again, or restore a backup into an empty directory: %w",
			m.dir, reason, ErrUnavailable)
		close(m.failed)
	})
}

// failure returns why the member cannot go on, or nil.
func (m *member) failure() error {
	if m == nil {
		return nil
	}
	select {
	case <-m.failed:
		return m.err
	default:
		return nil
	}
}

// space returns ErrFull when nothing may be added.
func (m *member) space() error {
	if m == nil {
		return nil
	}
	if used := m.used(); used > m.quota {
		return fmt.Errorf("the store in %s has %d MiB and may have %d: nothing is written until it has shrunk or may have more: %w",
			m.dir, used>>20, m.quota>>20, ErrFull)
	}
	return m.disk()
}

// disk returns ErrFull when so little of the disk is free that etcd's next
// file might not fit: without space it could not go on.
func (m *member) disk() error {
	if m == nil {
		return nil
	}
	free, err := freeBytes(m.dir)
	if err != nil {
		return err
	}
	if free < m.minFree {
		return fmt.Errorf("the disk of %s has %d MiB free and needs %d: nothing is written until there is space: %w",
			m.dir, free>>20, m.minFree>>20, ErrFull)
	}
	return nil
}

// stop ends the member and gives up the directory.
func (m *member) stop() error {
	if m == nil {
		return nil
	}
	if m.etcd != nil {
		if err := m.halt(); err != nil {
			return err // the directory stays locked
		}
	}
	return m.lock.Close()
}

// halt ends etcd.
func (m *member) halt() error {
	stopped := make(chan struct{})
	etcd := m.etcd
	go func() {
		defer close(stopped)
		etcd.Close()
	}()
	select {
	case <-stopped:
		m.etcd = nil
		return nil
	case <-time.After(stopWithin):
		return fmt.Errorf("the store in %s does not stop; what was acknowledged is on disk, end the process", m.dir)
	}
}

// lockDir takes the directory for this process. Another one's hold on it is an
// error at once; etcd itself would wait for ever.
func lockDir(dir string) (*os.File, error) {
	path := lockPath(dir)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		err = f.Truncate(0)
		if err == nil {
			_, err = fmt.Fprintln(f, os.Getpid())
		}
		if errors.Is(err, unix.ENOSPC) {
			err = nil // the number is for people only
		}
		if err == nil {
			return f, nil
		}
	}
	f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, fmt.Errorf("%s is in use by another process%s: end that one, or use another directory", dir, holder(path))
	}
	return nil, fmt.Errorf("cannot lock %s: %w", path, err)
}

// holder returns " (PID)" of the process that wrote the lock file, or "".
func holder(path string) string {
	text, err := os.ReadFile(path)
	var pid int
	if err != nil {
		return ""
	}
	if _, err := fmt.Sscan(string(text), &pid); err != nil {
		return ""
	}
	return fmt.Sprintf(" (%d)", pid)
}

// freeBytes returns what an ordinary user may still write to the disk of dir.
func freeBytes(dir string) (int64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	return int64(stat.Bavail) * stat.Bsize, nil
}
