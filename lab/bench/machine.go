package bench

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Machine says where figures come from.
type Machine struct {
	Processor  string `json:"processor"`
	Processors int    `json:"processors"`
	Memory     uint64 `json:"memory_bytes"`
	Kernel     string `json:"kernel"`
	Go         string `json:"go"`
	// Load is the number of threads that were ready to run over the last minute, before the benchmarks began.
	Load string `json:"load"`
}

// ThisMachine describes the machine as it is now. What the kernel does not tell stays empty.
func ThisMachine() Machine {
	m := Machine{Processors: runtime.NumCPU(), Go: runtime.Version()}
	cpu, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(cpu)) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == "model name" {
			m.Processor = strings.TrimSpace(value)
			break
		}
	}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		m.Memory = uint64(info.Totalram) * uint64(info.Unit)
	}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		m.Kernel = unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Release[:])
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load, _, _ = strings.Cut(string(load), " ")
	}
	return m
}

// String is one line for people.
func (m Machine) String() string {
	return fmt.Sprintf("%d processors (%s), %.1f GB, %s, %s, load %s", m.Processors, m.Processor, float64(m.Memory)/1e9, m.Kernel, m.Go, m.Load)
}
