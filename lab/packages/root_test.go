package packages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

const (
	// rootsDir keeps the bare root for the next run.
	rootsDir = "/var/cache/catchment-packages"
	// rootAge is how old it may be.
	rootAge = 14 * 24 * time.Hour
)

// bareRoot is a Debian of this machine's release with systemd in it, as debootstrap makes one. Nothing changes it.
var bareRoot = sync.OnceValues(func() (string, error) {
	release, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return "", err
	}
	_, codename, ok := strings.Cut(string(release), "VERSION_CODENAME=")
	if !ok {
		return "", errors.New("/etc/os-release has no VERSION_CODENAME: this is no Debian")
	}
	codename, _, _ = strings.Cut(codename, "\n")
	if err := os.MkdirAll(rootsDir, 0o755); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(rootsDir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return "", err
	}
	dir := filepath.Join(rootsDir, codename+"-"+runtime.GOARCH)
	if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) < rootAge {
		return dir, nil
	}
	return dir, makeRoot(codename, dir)
})

func makeRoot(codename, dir string) error {
	fresh := dir + ".new"
	if err := errors.Join(os.RemoveAll(fresh), os.RemoveAll(dir)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	out, err := command(ctx, nil, "mmdebstrap", "--quiet", "--variant=minbase", "--include=systemd", "--dpkgopt=force-unsafe-io",
		"--dpkgopt=path-exclude=/usr/share/man/*", "--dpkgopt=path-exclude=/usr/share/locale/*", `--aptopt=Acquire::Languages "none"`,
		codename, fresh)
	if err != nil {
		return fmt.Errorf("mmdebstrap: %w\n%s", err, out)
	}
	now := time.Now()
	return errors.Join(os.Chtimes(fresh, now, now), os.Rename(fresh, dir))
}

// machine is a bare Debian that a test may change. The scripts of packages find a systemd there that is testdata/systemctl.
type machine struct {
	t    *testing.T
	root string
	node *netlab.Node // whose network it has; nil: this machine's
}

// newMachine makes a machine that lives until the test ends: the bare root below a layer of its own.
func newMachine(t *testing.T) *machine {
	t.Helper()
	netlab.Require(t, netlab.Root)
	tools(t, "mmdebstrap", "chroot")
	bare, err := bareRoot()
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, root: filepath.Join(t.TempDir(), "root")}
	layer := filepath.Join(t.TempDir(), "layer")
	mount := func(source, target, kind, options string) {
		t.Helper()
		if err := os.MkdirAll(target, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount(source, target, kind, 0, options); err != nil {
			t.Fatalf("mounting %s on %s: %v", kind, target, err)
		}
		t.Cleanup(func() {
			if err := unix.Unmount(target, unix.MNT_DETACH); err != nil {
				t.Errorf("unmounting %s: %v", target, err)
			}
		})
	}
	mount("layer", layer, "tmpfs", "mode=0755")
	upper, scratch := filepath.Join(layer, "upper"), filepath.Join(layer, "work")
	if err := errors.Join(os.Mkdir(upper, 0o755), os.Mkdir(scratch, 0o755)); err != nil {
		t.Fatal(err)
	}
	mount("root", m.root, "overlay", "lowerdir="+bare+",upperdir="+upper+",workdir="+scratch)
	mount("proc", filepath.Join(m.root, "proc"), "proc", "")
	m.copy("testdata/systemctl", "/usr/local/sbin/systemctl", 0o755)
	// The folder says that systemd runs; a bootstrapped root does not know its own name.
	if err := errors.Join(os.MkdirAll(m.path("/run/systemd/system"), 0o755), os.WriteFile(m.path("/etc/hosts"), []byte("127.0.0.1 localhost\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	return m
}

// path is where this machine finds a file of that one.
func (m *machine) path(name string) string { return filepath.Join(m.root, name) }

func (m *machine) copy(from, to string, mode fs.FileMode) {
	m.t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(m.path(to), text, mode)
	}
	if err == nil {
		err = os.Chmod(m.path(to), mode)
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// try runs a command there, and returns what it says.
func (m *machine) try(words ...string) (string, error) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), 2*time.Minute)
	defer cancel()
	words = append([]string{"chroot", m.root, "/usr/bin/env", "-i", "HOME=/root", "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive",
		"PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"}, words...)
	if m.node != nil {
		return m.node.Run(ctx, words...)
	}
	return command(ctx, nil, words...)
}

// run is try that must succeed.
func (m *machine) run(words ...string) string {
	m.t.Helper()
	out, err := m.try(words...)
	if err != nil {
		m.t.Fatalf("%s: %v\n%s", strings.Join(words, " "), err, out)
	}
	return out
}

// install has dpkg install packages of a release, and returns what it says.
func (m *machine) install(version string, names ...string) string {
	m.t.Helper()
	return m.run(m.dpkg(version, names...)...)
}

func (m *machine) dpkg(version string, names ...string) []string {
	m.t.Helper()
	words := []string{"dpkg", "--force-unsafe-io", "-i"}
	for _, name := range names {
		file := deb(m.t, version, name)
		m.copy(file, "/tmp/"+filepath.Base(file), 0o644)
		words = append(words, "/tmp/"+filepath.Base(file))
	}
	return words
}

// asked returns what systemctl was asked since the last call, but for is-active.
func (m *machine) asked() []string {
	m.t.Helper()
	text, err := os.ReadFile(m.path("/run/systemctl.log"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.t.Fatal(err)
	}
	if err == nil {
		if err := os.Truncate(m.path("/run/systemctl.log"), 0); err != nil {
			m.t.Fatal(err)
		}
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "is-active") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// exists says whether a file is there.
func (m *machine) exists(name string) bool {
	_, err := os.Lstat(m.path(name))
	return err == nil
}

// owner returns user, group and mode of a file, by the names that the machine has for them.
func (m *machine) owner(name string) string {
	m.t.Helper()
	return strings.TrimSpace(m.run("stat", "-c", "%U:%G %a", name))
}
