package idle

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/catchment-bgp/catchment/internal/procstat"
	"github.com/catchment-bgp/catchment/lab/bench"
)

// helpersOf adds up the direct children of a process, with their own children's time.
func helpersOf(pid int) (sum bench.Usage, count int, err error) {
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return bench.Usage{}, 0, err
	}
	for _, path := range paths {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		fields := procstat.Fields(string(stat))
		if len(fields) < 2 || fields[1] != strconv.Itoa(pid) {
			continue
		}
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			return bench.Usage{}, 0, err
		}
		u, err := bench.UsageOf(child, true)
		if err != nil {
			return bench.Usage{}, 0, err
		}
		sum.RSS, sum.CPU, count = sum.RSS+u.RSS, sum.CPU+u.CPU, count+1
	}
	return sum, count, nil
}
