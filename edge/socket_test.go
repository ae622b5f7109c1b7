package edge

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/catchment-bgp/catchment/edge/config"
)

func TestTheSocketIsForOwnerAndGroup(t *testing.T) {
	path := newWorld(t).dir + "/run/edge.sock"
	l, err := ListenControl(path)
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil || st.Mode()&fs.ModeSocket == 0 || st.Mode().Perm() != 0o660 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if err := os.WriteFile(path+".new", nil, 0o600); err != nil { // of another that starts
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path + ".new"); err != nil {
		t.Errorf("another's socket went: %v", err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
	if err := l.Close(); err == nil {
		t.Error("closed twice without an error")
	}
}

func TestASocketThatNobodyServesIsReplaced(t *testing.T) {
	path := newWorld(t).dir + "/edge.sock"
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	stale.Close()
	if err := os.WriteFile(path+".new", nil, 0o600); err != nil { // of a start that was killed
		t.Fatal(err)
	}
	l, err := ListenControl(path)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

func TestASocketThatIsServedIsAnError(t *testing.T) {
	path := newWorld(t).dir + "/edge.sock"
	l, err := ListenControl(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := ListenControl(path); err == nil || !strings.Contains(err.Error(), "is catchment-edge running already?") {
		t.Errorf("%v", err)
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatalf("the first one is no longer served: %v", err)
	}
	c.Close()
}

func TestASocketWhoseServerIsBusyIsAnError(t *testing.T) {
	path := newWorld(t).dir + "/edge.sock"
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: path}), unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	for range 10 { // nobody accepts: the queue is soon full
		c, err := net.Dial("unix", path)
		if err != nil {
			break
		}
		defer c.Close()
	}
	if _, err := ListenControl(path); err == nil || !strings.Contains(err.Error(), "is served by another process") {
		t.Errorf("%v", err)
	}
}

func TestWhatIsNoSocketIsLeftAlone(t *testing.T) {
	dir := newWorld(t).dir
	path := dir + "/edge.sock"
	if err := os.WriteFile(path, []byte("notes"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ListenControl(path); err == nil || !strings.Contains(err.Error(), "is not a socket") {
		t.Errorf("%v", err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "notes" {
		t.Errorf("%q, %v", data, err)
	}
	for _, path := range []string{path + "/edge.sock", dir + "/" + strings.Repeat("x", 200)} {
		if _, err := ListenControl(path); err == nil || !strings.HasPrefix(err.Error(), "edge: control: ") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// The daemon binds beside the path, which takes four bytes more: what the
// configuration accepts must be enough.
func TestTheLongestPathThatTheConfigurationTakesWorks(t *testing.T) {
	dir, err := os.MkdirTemp("", "edge")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for long := 100; long < 108; long++ {
		path := filepath.Join(dir, strings.Repeat("s", long-len(dir)-1))
		file := strings.ReplaceAll(strings.Replace(baseConfig, "DIR/edge.sock", path, 1), "DIR", dir)
		_, _, err := config.Parse("edge.yaml", []byte(file), config.Options{})
		if refused := err != nil && strings.Contains(err.Error(), "the path has"); refused != (long > 103) {
			t.Errorf("%d bytes: %v", long, err)
		}
		l, err := ListenControl(path)
		if (err == nil) != (long <= 103) {
			t.Errorf("%d bytes: %v", long, err)
		}
		if err == nil {
			l.Close()
		}
	}
}
