package healthcheck

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func fileCheck(f File) Check {
	return Check{Name: "file", File: &f, Interval: 10 * time.Second, Timeout: 5 * time.Second, Rise: 1, Fall: 1}
}

func TestFileProbe(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("plain", "disk change DE-1234 \nuntil noon\n")
	write("empty", "")
	write("strange", "\x00a\xff\tb\x1b[1m\nc")
	write("long", strings.Repeat("x", 10000))
	if err := os.Symlink("nowhere", filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	write("old", "")
	write("future", "")
	for name, at := range map[string]time.Time{"old": old, "future": time.Now().Add(90 * time.Minute)} {
		if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		file File
		want string
	}{
		{"no disable file passes", File{Path: "none"}, ""},
		{"no folder for it, either", File{Path: "none/none"}, ""},
		{"nor below something that is no folder", File{Path: "plain/none"}, ""},
		{"a link to nothing is no file", File{Path: "dangling"}, ""},
		{"a disable file fails with its first line", File{Path: "plain"}, "disabled by DIR/plain: disk change DE-1234"},
		{"an empty one fails", File{Path: "empty"}, "disabled by DIR/empty"},
		{"a folder fails", File{Path: "."}, "disabled by DIR"},
		{"a pipe fails and is not read", File{Path: "pipe"}, "disabled by DIR/pipe"},
		{"control characters are left out", File{Path: "strange"}, "disabled by DIR/strange: a b [1m"},
		{"a file that must exist", File{Path: "plain", Present: true}, ""},
		{"and does not", File{Path: "none", Present: true}, "DIR/none does not exist"},
		{"a fresh file", File{Path: "plain", Present: true, MaxAge: time.Minute}, ""},
		{"a stale file", File{Path: "old", Present: true, MaxAge: time.Minute}, "DIR/old was written 1h0m"},
		{"a stale file of any age", File{Path: "old", Present: true}, ""},
		{"a file from the future", File{Path: "future", Present: true, MaxAge: time.Minute}, "DIR/future was written 1h"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.file.Path = filepath.Join(dir, c.file.Path)
			got := strings.ReplaceAll(oneProbe(t, fileCheck(c.file)), dir, "DIR")
			if c.file.MaxAge > 0 && c.want != "" {
				got = got[:min(len(got), len(c.want))]
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	if got := oneProbe(t, fileCheck(File{Path: filepath.Join(dir, "long")})); len(got) > maxError {
		t.Errorf("%d bytes of error", len(got))
	}
	tooLong := File{Path: "/" + strings.Repeat("x", 300)}
	if got := oneProbe(t, fileCheck(tooLong)); !strings.HasPrefix(got, "cannot look at /xxx") {
		t.Errorf("who cannot look does not know, yet: %q", got)
	}
}

// The age limit is an interval around now; elsewhere the file fails.
func TestFileAgeBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "limit"))
		age := time.Duration(rapid.Int64Range(-int64(2*time.Hour), int64(2*time.Hour)).Draw(t, "age"))
		p := fileProbe{File: File{Path: "/x", Present: true, MaxAge: limit}}
		if err := p.checkAge(age); (err == nil) != (age >= -limit && age <= limit) {
			t.Fatalf("age %v, limit %v: %v", age, limit, err)
		}
	})
}

func TestNewRefusesBadFiles(t *testing.T) {
	for want, f := range map[string]File{
		`file.path: "" is not an absolute path: write for example /run/catchment/disable`:                  {},
		`file.path: "run/disable" is not an absolute path: write for example /run/catchment/disable`:       {Path: "run/disable"},
		`file.max_age: -1s is below zero: write for example 60s`:                                           {Path: "/x", Present: true, MaxAge: -time.Second},
		`file.max_age: a disable file counts however old it is: write present: true, or leave max_age out`: {Path: "/x", MaxAge: time.Second},
	} {
		refusedWith(t, fileCheck(f), want)
	}
}

func TestWhatHangsIsLeftBehindOnce(t *testing.T) {
	var a alone
	release, begun := make(chan struct{}), 0
	hang := func() error {
		begun++
		<-release
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.do(ctx, 0, hang); err != context.Canceled {
		t.Errorf("a call that hangs: %v", err)
	}
	for range 3 {
		if err := a.do(t.Context(), 0, hang); err != errStuck {
			t.Errorf("a call while it hangs: %v", err)
		}
	}
	close(release)
	waitFor(t, "free again", func() bool { return a.do(t.Context(), 0, func() error { return nil }) == nil })
	if begun != 1 {
		t.Errorf("%d calls begun, want 1", begun)
	}
}
