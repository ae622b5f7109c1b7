package netlab

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// crashVariable makes the test binary build a lab and die in it: see TestKilledTestIsCleanedUpByTheNextOne.
const crashVariable = "NETLAB_TEST_CRASH"

func TestMain(m *testing.M) {
	if os.Getenv(crashVariable) != "" {
		crash()
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		RemoveBinaries()
		os.Exit(code)
	}))
}

// recorder is a TB that keeps what is said to it, for tests of failures.
type recorder struct {
	mu       sync.Mutex
	log      []string
	failed   bool
	skipped  bool
	cleanups []func()
}

func (r *recorder) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, fmt.Sprintf(format, args...))
}

func (r *recorder) Helper()                       {}
func (r *recorder) Name() string                  { return "recorder" }
func (r *recorder) Failed() bool                  { return r.failed }
func (r *recorder) Cleanup(f func())              { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Logf(text string, args ...any) { r.note(text, args...) }

func (r *recorder) Errorf(text string, args ...any) {
	r.failed = true
	r.note(text, args...)
}

func (r *recorder) Fatalf(text string, args ...any) {
	r.Errorf(text, args...)
	runtime.Goexit()
}

func (r *recorder) Skipf(text string, args ...any) {
	r.skipped = true
	r.note(text, args...)
	runtime.Goexit()
}

// run runs a test body as the testing package would, with its cleanups.
func (r *recorder) run(body func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for i := len(r.cleanups) - 1; i >= 0; i-- {
				r.cleanups[i]()
			}
		}()
		body()
	}()
	<-done
}

func (r *recorder) text() string { return strings.Join(r.log, "\n") }
