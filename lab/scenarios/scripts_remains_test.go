package scenarios

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/catchment-bgp/catchment/lab/clab"
	"github.com/catchment-bgp/catchment/lab/runner"
)

// namespacesOf lists the namespaces of a lab's nodes as the kernel names them: "net:[4026532281]".
func namespacesOf(t *clab.Topology) []string {
	var list []string
	for _, n := range runner.List(t) {
		for _, kind := range []string{"net", "mnt", "pid", "uts", "ipc"} {
			if name, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", n.PID, kind)); err == nil {
				list = append(list, name)
			}
		}
	}
	return list
}

// remains lists what there still is of the lab when all should be gone: processes with its label, processes in its
// namespaces, namespaces that a mount holds, mounts, files. Interfaces live in those namespaces and go with them.
func (w *world) remains(within time.Duration) (left []string) {
	_ = until(within, func() error {
		if left = remainsOf(w.topology.Name, w.namespaces); len(left) > 0 {
			return errors.New("something is left")
		}
		return nil
	})
	return left
}

func remainsOf(lab string, namespaces []string) (left []string) {
	label := []byte("CATCHMENT_LAB=" + lab + "\x00")
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range processes {
		env, _ := os.ReadFile(dir + "/environ")
		if bytes.Contains(env, label) {
			command, _ := os.ReadFile(dir + "/cmdline")
			left = append(left, fmt.Sprintf("process %s (%s)", filepath.Base(dir), bytes.ReplaceAll(command, []byte{0}, []byte(" "))))
		}
		for _, kind := range []string{"net", "mnt", "pid", "uts", "ipc"} {
			if name, err := os.Readlink(dir + "/ns/" + kind); err == nil && slices.Contains(namespaces, name) {
				left = append(left, fmt.Sprintf("namespace %s of process %s", name, filepath.Base(dir)))
			}
		}
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, lab) || slices.ContainsFunc(namespaces, func(n string) bool { return strings.Contains(line, n) }) {
			left = append(left, "mount "+strings.TrimSpace(line))
		}
	}
	files, _ := filepath.Glob(filepath.Join(runner.BaseDir, lab+"*"))
	return append(left, slices.DeleteFunc(files, func(path string) bool {
		name := strings.TrimSuffix(filepath.Base(path), ".lock")
		return name != lab // script-1-2 is no part of script-1-20
	})...)
}
