package idle

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// usage is what processes hold and have used so far.
type usage struct {
	rss uint64        // bytes
	cpu time.Duration // in user and kernel mode, to 10 ms
	// switches are how often its threads have gone to sleep or made way for another, of one process only.
	switches uint64
}

// usageOf reads one process; with children, those that it has waited for are in its time.
func usageOf(pid int, children bool) (usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return usage{}, err
	}
	fields := fieldsOf(string(stat))
	if len(fields) < 22 {
		return usage{}, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	var u usage
	times := fields[11:13] // utime, stime: fields 14 and 15 of proc_pid_stat(5)
	if children {
		times = fields[11:15]
	}
	for _, field := range times {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return usage{}, err
		}
		u.cpu += time.Duration(ticks) * 10 * time.Millisecond
	}
	pages, err := strconv.ParseUint(fields[21], 10, 64)
	u.rss = pages * uint64(os.Getpagesize())
	if err == nil {
		u.switches, err = switchesOf(pid)
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

// fieldsOf are the fields of /proc/PID/stat from the third on; the second, in brackets, may hold anything.
func fieldsOf(stat string) []string { return strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:]) }

// helpersOf adds up the direct children of a process, with their own children's time.
func helpersOf(pid int) (sum usage, count int, err error) {
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return usage{}, 0, err
	}
	for _, path := range paths {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		fields := fieldsOf(string(stat))
		if len(fields) < 2 || fields[1] != strconv.Itoa(pid) {
			continue
		}
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			return usage{}, 0, err
		}
		u, err := usageOf(child, true)
		if err != nil {
			return usage{}, 0, err
		}
		sum.rss, sum.cpu, count = sum.rss+u.rss, sum.cpu+u.cpu, count+1
	}
	return sum, count, nil
}
