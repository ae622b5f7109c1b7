package netlab

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A lab is alive as long as its process holds a lock on BASE/ID.lock. The kernel drops the lock with the process, so a
// lock that can be taken marks leftovers, whatever ended their owner and whoever has its process number now.

const netnsDir = "/run/netns"

// netnsName is the name of a node's network namespace under /run/netns.
func netnsName(id, node string) string { return "cl-" + id + "-" + node }

// claim makes and locks the lock file of a new lab.
func claim(base string) (id string, lock *os.File, err error) {
	if err := os.MkdirAll(base, 0o755); err != nil {
		return "", nil, err
	}
	for range 100 {
		var random [3]byte
		if _, err := rand.Read(random[:]); err != nil {
			return "", nil, err
		}
		id = hex.EncodeToString(random[:])
		path := filepath.Join(base, id+".lock")
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return "", nil, err
		}
		// A sweep may find the file before it is locked: it is then locked, or gone, and another name is tried.
		if tryLock(f) && sameFile(f, path) {
			return id, f, nil
		}
		_ = f.Close()
	}
	return "", nil, fmt.Errorf("no free lab name in %s", base)
}

func tryLock(f *os.File) bool {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

func sameFile(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}

// sweep removes every lab under base that has no owner any more.
func sweep(base string) error {
	locks, err := filepath.Glob(filepath.Join(base, "*.lock"))
	if err != nil {
		return err
	}
	var errs []error
	for _, path := range locks {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue // its owner has just removed it
		}
		if tryLock(f) && sameFile(f, path) {
			id := strings.TrimSuffix(filepath.Base(path), ".lock")
			errs = append(errs, removeLeftovers(base, id), os.Remove(path))
		}
		_ = f.Close()
	}
	return errors.Join(errs...)
}

// removeLeftovers kills the processes in a dead lab's namespaces and removes namespaces and files.
func removeLeftovers(base, id string) error {
	var errs []error
	for _, path := range labNamespaces(id) {
		errs = append(errs, killInside(path), removeNamespace(path))
	}
	return errors.Join(append(errs, os.RemoveAll(filepath.Join(base, id)))...)
}

// remains lists what there still is of a lab: for the check at the end of a test.
func remains(base, id string) []string {
	left := labNamespaces(id)
	if _, err := os.Lstat(filepath.Join(base, id)); err == nil {
		left = append(left, filepath.Join(base, id))
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, base+"/"+id+"/") || strings.Contains(line, "/cl-"+id+"-") {
			left = append(left, "mount: "+strings.TrimSpace(line))
		}
	}
	return left
}

func labNamespaces(id string) []string {
	paths, _ := filepath.Glob(filepath.Join(netnsDir, netnsName(id, "*")))
	return paths
}

// removeNamespace takes a namespace's name away; the kernel removes it and its interfaces when no process is in it.
func removeNamespace(path string) error {
	if err := unix.Unmount(path, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("unmounting %s: %w", path, err)
	}
	return os.Remove(path)
}

// inside lists the processes of a network namespace, except this one.
func inside(namespace string) ([]int, error) {
	var want unix.Stat_t
	if err := unix.Stat(namespace, &want); err != nil {
		return nil, err
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(namespace, &fs); err != nil {
		return nil, err
	}
	if fs.Type != unix.NSFS_MAGIC {
		return nil, nil // a plain file, left by a reboot
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		var have unix.Stat_t
		if unix.Stat("/proc/"+entry.Name()+"/ns/net", &have) == nil && have.Ino == want.Ino && have.Dev == want.Dev {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// killInside ends every process in a network namespace and waits until none is there.
func killInside(namespace string) error {
	deadline := time.Now().Add(stopWait)
	for {
		pids, err := inside(namespace)
		if err != nil || len(pids) == 0 {
			return err
		}
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes %v in %s do not end", pids, namespace)
		}
		<-time.After(PollEvery / 4)
	}
}
