package doctor

import (
	"fmt"
	"slices"
)

// Level is how a check came out.
type Level string

// The levels. A check is skipped when what it needs is not known; Found says why.
const (
	OK   Level = "ok"
	Warn Level = "warn"
	Fail Level = "fail"
	Skip Level = "skip"
)

// Result is what one check came to.
type Result struct {
	Check string `json:"check"`
	Level Level  `json:"level"`
	// Found is what was seen, Mend the command or the line that mends it: never empty
	// for Warn and Fail.
	Found string `json:"found"`
	Mend  string `json:"mend"`
}

// Failed reports whether any check failed.
func Failed(all []Result) bool {
	return slices.ContainsFunc(all, func(r Result) bool { return r.Level == Fail })
}

// Count is how many came out so.
func Count(all []Result, l Level) int {
	n := 0
	for _, r := range all {
		if r.Level == l {
			n++
		}
	}
	return n
}

// Summary counts all levels in a line.
func Summary(all []Result) string {
	return fmt.Sprintf("%d ok, %s, %s, %d skipped", Count(all, OK), counted(Count(all, Warn), "warning"), counted(Count(all, Fail), "failure"), Count(all, Skip))
}

// report collects results.
type report struct{ all []Result }

func (r *report) add(l Level, check, found, mend string) {
	r.all = append(r.all, Result{check, l, found, mend})
}

func (r *report) ok(check, found string, args ...any) {
	r.add(OK, check, fmt.Sprintf(found, args...), "")
}

func (r *report) skip(check, found string, args ...any) {
	r.add(Skip, check, fmt.Sprintf(found, args...), "")
}
