package scenarios

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/catchment-bgp/catchment/lab/clab"
	"github.com/catchment-bgp/catchment/lab/runner"
)

// holder is what keeps a namespace of a lab alive: a process, by its number and its start, or a mount. What a namespace is
// called says little once it is gone: the kernel gives its number to the next one.
type holder struct {
	pid   int // 0: a mount
	start string
	what  string
}

var namespaceKinds = []string{"net", "mnt", "pid", "uts", "ipc"}

// holdersOf lists what keeps the namespaces of a lab's nodes alive.
func holdersOf(t *clab.Topology) (list []holder) {
	namespaces := map[string]bool{}
	for _, n := range runner.List(t) {
		for _, kind := range namespaceKinds {
			if name, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", n.PID, kind)); err == nil {
				namespaces[name] = true
			}
		}
	}
	for _, pid := range processes() {
		for _, kind := range namespaceKinds {
			name, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, kind))
			if err == nil && namespaces[name] {
				list = append(list, holder{pid, startOf(pid), fmt.Sprintf("process %d (%s) in a node's namespace", pid, commandOf(pid))})
				break
			}
		}
	}
	for line := range mounts() {
		for name := range namespaces {
			if strings.Contains(line, name) {
				list = append(list, holder{what: "mount " + line})
			}
		}
	}
	return list
}

// remains lists what there still is of the lab when all should be gone, of what held it before it went down: processes,
// in its namespaces or with its label; mounts; files. Interfaces live in those namespaces and go with them.
func (w *world) remains(before []holder, within time.Duration) (left []string) {
	_ = until(within, func() error {
		if left = append(remainingHolders(before), remainsOf(w.topology.Name)...); len(left) > 0 {
			return errors.New("something is left")
		}
		return nil
	})
	return left
}

func remainingHolders(before []holder) (left []string) {
	now := slices.Collect(mounts())
	for _, h := range before {
		if h.pid > 0 && startOf(h.pid) == h.start || h.pid == 0 && slices.Contains(now, strings.TrimPrefix(h.what, "mount ")) {
			left = append(left, h.what)
		}
	}
	return left
}

// remainsOf lists what names the lab.
func remainsOf(lab string) (left []string) {
	label := []byte("CATCHMENT_LAB=" + lab + "\x00")
	for _, pid := range processes() {
		env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if bytes.Contains(env, label) {
			left = append(left, fmt.Sprintf("process %d (%s)", pid, commandOf(pid)))
		}
	}
	for line := range mounts() {
		if slices.ContainsFunc(strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" /:,=", r) }), func(word string) bool { return word == lab }) {
			left = append(left, "mount "+line)
		}
	}
	for _, path := range []string{filepath.Join(runner.BaseDir, lab), filepath.Join(runner.BaseDir, lab+".lock")} {
		if _, err := os.Lstat(path); err == nil {
			left = append(left, "file "+path)
		}
	}
	return left
}

func processes() (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// startOf is when a process started, in the kernel's ticks (field 22 of proc(5)'s stat); empty when it is dead.
func startOf(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ := strings.Cut(string(text), ") ") // the name may hold spaces
	fields := strings.Fields(after)
	if len(fields) < 20 || fields[0] == "Z" {
		return ""
	}
	return fields[19]
}

func commandOf(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return strings.TrimSpace(strings.ReplaceAll(string(text), "\x00", " "))
}

// mounts are the lines of this process's mountinfo.
func mounts() iter.Seq[string] {
	text, _ := os.ReadFile("/proc/self/mountinfo")
	return strings.SplitSeq(strings.TrimSpace(string(text)), "\n")
}
