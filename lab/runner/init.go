package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/catchment-bgp/catchment/lab/clab"
	"github.com/catchment-bgp/catchment/lab/images"
)

// Descriptors of a node's first process: what it is told, and where it says what went wrong.
const (
	specFD  = 3
	readyFD = 4
)

// programsDir is where a node finds the programs of [Options.Programs].
const programsDir = "/lab/bin"

// Init is the life of a node's first process: it makes the node's root and becomes the start script. It returns only with an
// error, which [Up] was told of. It must run in the namespaces that Up makes, with the descriptors that Up gives.
func Init() error {
	in, ready := os.NewFile(specFD, "spec"), os.NewFile(readyFD, "ready")
	if in == nil || ready == nil || os.Getpid() != 1 {
		return errors.New("this command is for the nodes of a lab only; write `catchment lab up FILE`")
	}
	s, err := readSpec(in)
	if err == nil {
		err = s.become(ready)
	}
	fmt.Fprint(ready, err)
	return err
}

// become makes the node and executes its start script.
func (s spec) become(ready *os.File) error {
	if err := s.root(); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(s.Node)); err != nil {
		return fmt.Errorf("naming the node: %w", err)
	}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return err
	}
	for key, value := range s.Sysctls {
		if err := os.WriteFile("/proc/sys/"+sysctlPath(key), []byte(value), 0); err != nil {
			return fmt.Errorf("sysctl %s: %w", key, err)
		}
	}
	for _, fd := range []int{specFD, readyFD} {
		unix.CloseOnExec(fd) // the end of ready says that all is well
	}
	start := filepath.Join(images.Dir, "start")
	return fmt.Errorf("%s: %w", start, unix.Exec(start, append([]string{start}, s.Cmd...), s.Env))
}

// sysctlPath turns net.ipv4.conf.eth1/10.rp_filter into a path, as sysctl(8) does.
func sysctlPath(key string) string {
	return strings.NewReplacer(".", "/", "/", ".").Replace(key)
}

// root gives the node an overlay of the machine's files as its root.
func (s spec) root() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	outer, err := realMounts()
	if err != nil {
		return err
	}
	if s.Programs != "" {
		s.Binds = append([]clab.Bind{{Source: s.Programs, Target: programsDir, ReadOnly: true}}, s.Binds...)
	}
	// Sources are opened now: their paths may mean something else below the new root.
	sources := make([]*os.File, len(s.Binds))
	for i, b := range s.Binds {
		if sources[i], err = os.OpenFile(b.Source, unix.O_PATH, 0); err != nil {
			return fmt.Errorf("what is to be bound to %s: %w; make it, or correct binds: of the node", b.Target, err)
		}
		defer sources[i].Close()
	}
	const stage = "/tmp"
	if err := unix.Mount("tmpfs", stage, "tmpfs", 0, "mode=755,size=1g"); err != nil {
		return fmt.Errorf("memory for the node: %w", err)
	}
	top := stage + "/root"
	for _, dir := range []string{"upper", "work", "root"} {
		if err := os.Mkdir(filepath.Join(stage, dir), 0o755); err != nil {
			return err
		}
	}
	options := fmt.Sprintf("lowerdir=/,upperdir=%s/upper,workdir=%s/work", stage, stage)
	if err := unix.Mount("overlay", top, "overlay", 0, options); err != nil {
		return fmt.Errorf("overlay of the machine's files (the kernel needs overlayfs, and a container must be privileged): %w", err)
	}
	if err := s.fill(top, outer); err != nil {
		return err
	}
	if err := pivot(top); err != nil {
		return err
	}
	// Targets are looked up in the node's own root: a link on their way (/var/run) must not lead to the machine's files.
	for i, b := range s.Binds {
		if err := bindFile(sources[i], b.Target, b.ReadOnly); err != nil {
			return fmt.Errorf("bind %s: %w", b.Target, err)
		}
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leaving the old root: %w", err)
	}
	return unix.Chdir("/")
}

// fill mounts what a node's root has of its own.
func (s spec) fill(top string, outer []string) error {
	for _, path := range outer {
		if err := bindPath(path, top+path, true); err != nil {
			return err
		}
	}
	for _, m := range []struct {
		kind, at, options string
		flags             uintptr
	}{
		{"proc", "/proc", "", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
		{"sysfs", "/sys", "", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
		{"tmpfs", "/run", "mode=755", unix.MS_NOSUID | unix.MS_NODEV},
		{"tmpfs", "/tmp", "mode=1777", unix.MS_NOSUID | unix.MS_NODEV},
	} {
		if err := unix.Mount(m.kind, top+m.at, m.kind, m.flags, m.options); err != nil {
			return fmt.Errorf("%s: %w", m.at, err)
		}
	}
	if err := devices(top + "/dev"); err != nil {
		return fmt.Errorf("/dev: %w", err)
	}
	if err := os.MkdirAll(top+images.Dir, 0o755); err != nil {
		return err
	}
	for name, text := range s.Scripts {
		if err := os.WriteFile(filepath.Join(top, images.Dir, name), []byte(text), 0o755); err != nil {
			return err
		}
	}
	return nil
}
