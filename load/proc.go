package load

import (
	"bufio"
	"bytes"
	"errors"
	"strconv"
	"strings"
	"time"
)

// cpuTimes are what /proc/stat counts since the start, in ticks.
type cpuTimes struct{ busy, total uint64 }

// parseCPU reads the first line of /proc/stat: user, nice, system, idle, iowait,
// irq, softirq, steal; guests are part of user.
func parseCPU(stat []byte) (cpuTimes, error) {
	line, _, _ := bytes.Cut(stat, []byte("\n"))
	fields := strings.Fields(string(line))
	if len(fields) < 5 || fields[0] != "cpu" {
		return cpuTimes{}, errors.New("/proc/stat does not begin with a line cpu and its times")
	}
	var c cpuTimes
	for i, field := range fields[1:min(len(fields), 9)] {
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return cpuTimes{}, err
		}
		c.total += n
		if i != 3 && i != 4 { // idle, iowait
			c.busy += n
		}
	}
	return c, nil
}

// share is how much of the time between was busy. False: no time has passed.
func (c cpuTimes) share(before cpuTimes) (float64, bool) {
	if c.total <= before.total || c.busy < before.busy {
		return 0, false
	}
	return min(1, float64(c.busy-before.busy)/float64(c.total-before.total)), true
}

// parseDisks reads /proc/diskstats: for how many milliseconds each device had
// requests under way since the start.
func parseDisks(stats []byte) map[string]uint64 {
	busy := map[string]uint64{}
	lines := bufio.NewScanner(bytes.NewReader(stats))
	for lines.Scan() {
		// major minor name, then 11 numbers or more; the tenth is that time.
		fields := strings.Fields(lines.Text())
		if len(fields) < 13 {
			continue
		}
		if ms, err := strconv.ParseUint(fields[12], 10, 64); err == nil {
			busy[fields[2]] = ms
		}
	}
	return busy
}

// diskShare is the share of the time between in which a disk was busy. The counter
// of milliseconds has 32 bits and wraps.
func diskShare(before, now uint64, span time.Duration) (float64, bool) {
	if span <= 0 || now < before && now <= 1<<32-1 && before > 1<<32-1 {
		return 0, false
	}
	busy := time.Duration(uint32(now)-uint32(before)) * time.Millisecond
	// Milliseconds are rounded; much more than the time itself is another disk.
	if busy > span+span/10+10*time.Millisecond {
		return 0, false
	}
	return min(1, float64(busy)/float64(span)), true
}

// parsePressure reads a file of /proc/pressure: the microseconds in which some or
// all ("full") tasks waited, since the start.
func parsePressure(text []byte, line string) (uint64, error) {
	for part := range strings.Lines(string(text)) {
		fields := strings.Fields(part)
		if len(fields) == 0 || fields[0] != line {
			continue
		}
		for _, f := range fields[1:] {
			if total, ok := strings.CutPrefix(f, "total="); ok {
				return strconv.ParseUint(total, 10, 64)
			}
		}
	}
	return 0, errors.New("no line " + line + " with a total")
}

// pressureShare is the share of the time between in which tasks waited.
func pressureShare(before, now uint64, span time.Duration) (float64, bool) {
	if span <= 0 || now < before {
		return 0, false
	}
	return min(1, float64(now-before)/float64(span.Microseconds())), span >= time.Millisecond
}
