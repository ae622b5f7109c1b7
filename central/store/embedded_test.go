package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestADirectoryInUseIsAnErrorAtOnce(t *testing.T) {
	dir := t.TempDir()
	p := spawn(t, "opener", dir)
	p.line(t)
	start := time.Now()
	_, err := OpenEmbedded(t.Context(), dir, Options{})
	wanted := fmt.Sprintf("%s is in use by another process (%d): end that one, or use another directory", dir, p.cmd.Process.Pid)
	if err == nil || err.Error() != wanted {
		t.Errorf("error %v\nwant  %s", err, wanted)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
	p.kill()
	put(t, openDir(t, dir), "a", `1`)
}

func TestWhatIsStoredOutlivesTheProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there")
	s := openDir(t, dir)
	first := put(t, s, "a", `1`)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openDir(t, dir)
	items, r := list(t, s, "")
	want(t, "after a restart", text(items), []string{fmt.Sprintf("a=1@%d", first)})
	if next := put(t, s, "b", `1`); next <= r {
		t.Errorf("revision %d after %d", next, r)
	}
}

func TestNothingListens(t *testing.T) {
	before := listening(t)
	openDir(t, t.TempDir())
	want(t, "listening sockets", listening(t), before)
}

// listening returns how many listening TCP and unix sockets this process has.
func listening(t *testing.T) int {
	t.Helper()
	fds, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, path := range fds {
		fd, err := strconv.Atoi(filepath.Base(path))
		if err != nil {
			t.Fatal(err)
		}
		if on, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN); err == nil && on == 1 {
			n++
		}
	}
	return n
}

func TestDamagedFilesAreAnErrorThatSaysWhatToDo(t *testing.T) {
	good := t.TempDir()
	s := openDir(t, good)
	for i := range 300 {
		put(t, s, fmt.Sprint("k", i), `"`+strings.Repeat("x", 2000)+`"`)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	const db = "etcd/member/snap/db"
	for name, damage := range map[string]func(dir string) error{
		"an empty database":         func(dir string) error { return os.Truncate(filepath.Join(dir, db), 0) },
		"half of a database":        func(dir string) error { return os.Truncate(filepath.Join(dir, db), 300<<10) },
		"another file's head":       func(dir string) error { return scribble(filepath.Join(dir, db), 0, 8192) },
		"noise within the database": func(dir string) error { return scribble(filepath.Join(dir, db), 16<<10, 200<<10) },
		"no database":               func(dir string) error { return os.Remove(filepath.Join(dir, db)) },
		"no log":                    func(dir string) error { return os.RemoveAll(filepath.Join(dir, "etcd/member/wal")) },
		"noise within the log":      func(dir string) error { return scribbleLog(dir, 100<<10, 1<<10) },
		"noise at the log's head":   func(dir string) error { return scribbleLog(dir, 0, 1<<10) },
		"half of the log":           func(dir string) error { return truncateLog(dir, 100<<10) },
		"an empty log":              func(dir string) error { return truncateLog(dir, 0) },
		"a file instead of directory": func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, "etcd")), os.WriteFile(filepath.Join(dir, "etcd"), nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(good)); err != nil {
				t.Fatal(err)
			}
			if err := damage(dir); err != nil {
				t.Fatal(err)
			}
			p := spawn(t, "opener", dir)
			ended := time.AfterFunc(time.Minute, p.kill)
			defer ended.Stop()
			if p.out.Scan() {
				t.Fatalf("it opened: %q", p.out.Text())
			}
			p.cmd.Wait()
			got := p.errors.String()
			if !strings.HasPrefix(got, "the store in "+dir+" cannot be read; move the directory away and restore the last backup") || strings.Count(got, "\n") != 1 {
				t.Errorf("it said: %s", got)
			}
		})
	}
}

// scribble writes noise over n bytes of a file.
func scribble(path string, at int64, n int) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	noise := make([]byte, n)
	for i := range noise {
		noise[i] = byte(i*7 + 13)
	}
	_, err = f.WriteAt(noise, at)
	return errors.Join(err, f.Close())
}

// theLog returns the file of the write-ahead log.
func theLog(dir string) (string, error) {
	files, err := fs.Glob(os.DirFS(dir), "etcd/member/wal/*.wal")
	if err != nil || len(files) != 1 {
		return "", fmt.Errorf("log files %v: %w", files, err)
	}
	return filepath.Join(dir, files[0]), nil
}

func scribbleLog(dir string, at int64, n int) error {
	path, err := theLog(dir)
	if err != nil {
		return err
	}
	return scribble(path, at, n)
}

func truncateLog(dir string, n int64) error {
	path, err := theLog(dir)
	if err != nil {
		return err
	}
	return os.Truncate(path, n)
}

func TestAnotherSchemaIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		s    schema
		want string
	}{
		"newer":      {schema{Version: 2}, "the store has schema version 2 and this program knows 1"},
		"unfinished": {schema{Version: 1, Restoring: true}, "a restore into this store did not finish"},
	} {
		dir := t.TempDir()
		s := openDir(t, dir)
		if err := s.writeSchema(t.Context(), test.s); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenEmbedded(t.Context(), dir, Options{}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestPastRevisionsAreDroppedInTime(t *testing.T) {
	s, err := OpenEmbedded(t.Context(), t.TempDir(), Options{Keep: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	first := put(t, s, "a", `1`)
	deadline := time.Now().Add(10 * time.Second)
	for err == nil && time.Now().Before(deadline) {
		put(t, s, "a", `2`)
		_, _, err = s.Range(t.Context(), Span{At: first})
	}
	wantError(t, "Range", err, ErrCompacted)
}

func TestAMemberThatFailsEndsAllCallsWithTheReason(t *testing.T) {
	s := openDir(t, t.TempDir())
	put(t, s, "a", `1`)
	events := s.Watch(t.Context(), "", 1)
	lost := make(chan struct{})
	go func() {
		defer close(lost)
		zapLogger(slog.New(slog.DiscardHandler), s.member.fail).Fatal("no space left on device")
		t.Error("a fatal message did not end the goroutine")
	}()
	<-lost
	<-s.Failed()
	_, err := s.Commit(t.Context(), nil, []Op{{"a", []byte(`2`)}})
	wantError(t, "Commit", err, ErrUnavailable)
	if !strings.Contains(err.Error(), "no space left on device") || !strings.Contains(err.Error(), s.member.dir) {
		t.Errorf("error %q", err)
	}
	_, err = s.Get(t.Context(), "a")
	wantError(t, "Get", err, ErrUnavailable)
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	for e := range events {
		err = e.Err
	}
	if !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrClosed) {
		t.Errorf("the watch ended with %v", err)
	}
}

func TestTheLogOfEtcdIsOurs(t *testing.T) {
	var out strings.Builder
	log := zapLogger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn})), nil)
	log.Info("not this")
	log.Sugar().With("a", 1).Warnw("slow", "took", "1s")
	if got := out.String(); strings.Contains(got, "not this") || !strings.Contains(got, `level=WARN msg="etcd: slow"`) ||
		!strings.Contains(got, "took=1s") || !strings.Contains(got, "a=1") {
		t.Errorf("logged %s", got)
	}
}

func TestAContextEndsAnOpening(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	_, err := OpenEmbedded(ctx, dir, Options{})
	wantError(t, "OpenEmbedded", err, context.Canceled)
	openDir(t, dir)
}
