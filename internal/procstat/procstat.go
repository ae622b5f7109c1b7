// Package procstat reads what the kernel says of a process in /proc/PID/stat (proc_pid_stat(5)).
//
// In goes the file's text; out come its fields. It opens nothing.
package procstat

import "strings"

// Fields are the fields from the third on: field N of the manual is Fields(stat)[N-3]. The second, a name in brackets, may hold
// anything. A text that is cut short has fewer.
func Fields(stat string) []string {
	return strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
}
