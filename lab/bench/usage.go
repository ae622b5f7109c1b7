package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/catchment-bgp/catchment/internal/procstat"
)

// Usage is what processes hold and have used so far.
type Usage struct {
	RSS uint64        // bytes
	CPU time.Duration // in user and kernel mode, to 10 ms
	// Switches are how often its threads have gone to sleep or made way for another, of one process only.
	Switches uint64
}

// UsageOf reads one process (proc_pid_stat(5)); with children, those that it has waited for are in its time. The
// error says that there is no such process, or that what the kernel says of it is not understood.
func UsageOf(pid int, children bool) (Usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Usage{}, err
	}
	fields := procstat.Fields(string(stat))
	if len(fields) < 22 {
		return Usage{}, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	var u Usage
	times := fields[11:13] // utime, stime: fields 14 and 15 of proc_pid_stat(5)
	if children {
		times = fields[11:15]
	}
	for _, field := range times {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return Usage{}, err
		}
		u.CPU += time.Duration(ticks) * 10 * time.Millisecond
	}
	pages, err := strconv.ParseUint(fields[21], 10, 64)
	u.RSS = pages * uint64(os.Getpagesize())
	if err == nil {
		u.Switches, err = switchesOf(pid)
	}
	return u, err
}

// switchesOf adds up the context switches of a process's threads (proc_pid_status(5)). Go programs keep their threads.
func switchesOf(pid int) (sum uint64, err error) {
	paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil {
		return 0, err
	}
	for _, path := range paths {
		status, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		for line := range strings.Lines(string(status)) {
			name, value, _ := strings.Cut(line, ":")
			if !strings.HasSuffix(name, "voluntary_ctxt_switches") { // or nonvoluntary
				continue
			}
			n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
			if err != nil {
				return 0, err
			}
			sum += n
		}
	}
	return sum, nil
}
