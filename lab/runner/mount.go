package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// devices gives the node a /dev of its own, with those of the machine's devices that can do no harm to it.
func devices(at string) error {
	if err := unix.Mount("tmpfs", at, "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, "mode=755,size=1m"); err != nil {
		return err
	}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty", "net/tun"} {
		if err := bindPath(filepath.Join("/dev", name), filepath.Join(at, name), false); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	for _, m := range []struct{ kind, name, options string }{
		{"devpts", "pts", "newinstance,ptmxmode=666,mode=620"}, {"tmpfs", "shm", "mode=1777,size=64m"},
	} {
		if err := os.Mkdir(filepath.Join(at, m.name), 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.kind, filepath.Join(at, m.name), m.kind, unix.MS_NOSUID|unix.MS_NOEXEC, m.options); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	for name, target := range map[string]string{"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"} {
		if err := os.Symlink(target, filepath.Join(at, name)); err != nil {
			return err
		}
	}
	return nil
}

// realMounts lists mounts below / that hold files, not the kernel's own views; /run and /tmp are the node's own anyway.
func realMounts() ([]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var paths []string
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		dash := slices.Index(fields, "-")
		if len(fields) < 5 || dash < 0 || dash+1 >= len(fields) {
			continue
		}
		path, kind := fields[4], fields[dash+1]
		if path == "/" || strings.Contains(path, `\`) || !slices.Contains([]string{"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "overlay", "nfs", "nfs4", "virtiofs", "9p", "fuse"}, kind) {
			continue
		}
		if slices.ContainsFunc([]string{"/proc", "/sys", "/dev", "/run", "/tmp"}, func(own string) bool { return path == own || strings.HasPrefix(path, own+"/") }) {
			continue
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// bindPath shows a file or folder at another place. Mounts below it stay out.
func bindPath(from, to string, readOnly bool) error {
	f, err := os.OpenFile(from, unix.O_PATH, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := mountFile(f, to, 0); err != nil || !readOnly {
		return err
	}
	return protect(f, to, 0)
}

// bindFile shows a file, or a folder with the mounts below it, at another place.
func bindFile(from *os.File, to string, readOnly bool) error {
	if err := mountFile(from, to, unix.MS_REC); err != nil || !readOnly {
		return err
	}
	return protect(from, to, unix.AT_RECURSIVE)
}

// mountFile binds from at a place, which is made when it is not there.
func mountFile(from *os.File, to string, flags uintptr) error {
	info, err := from.Stat()
	if err != nil {
		return err
	}
	if _, missing := os.Stat(to); errors.Is(missing, os.ErrNotExist) {
		if err := place(to, info.IsDir()); err != nil {
			return err
		}
	}
	if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", from.Fd()), to, "", unix.MS_BIND|flags, ""); err != nil {
		return fmt.Errorf("mounting %s: %w", from.Name(), err)
	}
	return nil
}

// place makes an empty folder or file.
func place(at string, folder bool) error {
	if folder {
		return os.MkdirAll(at, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(at, os.O_CREATE|os.O_RDONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// protect makes a mount read-only and, with AT_RECURSIVE, those below it, which kernels before 5.12 cannot.
func protect(from *os.File, at string, flags uint) error {
	err := unix.MountSetattr(unix.AT_FDCWD, at, flags, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	if errors.Is(err, unix.ENOSYS) {
		err = unix.Mount("", at, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
	}
	if err != nil {
		return fmt.Errorf("making %s read-only: %w", from.Name(), err)
	}
	return nil
}

// pivot makes top the root. The old one stays mounted over the current folder, for whoever still has files of it open.
func pivot(top string) error {
	if err := unix.Chdir(top); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	return nil
}
