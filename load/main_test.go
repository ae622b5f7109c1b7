package load

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

func TestMain(m *testing.M) {
	if what := os.Getenv(holdVariable); what != "" {
		fmt.Fprintln(os.Stderr, hold(what))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// patience bounds every wait.
const patience = 10 * time.Second

// start is where the time of pure tests begins.
var start = time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)

func after(seconds float64) time.Time {
	return start.Add(time.Duration(seconds * float64(time.Second)))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantReason checks that err is a refusal for a reason.
func wantReason(t *testing.T, err error, want Reason) {
	t.Helper()
	r, ok := errors.AsType[*Refusal](err)
	if !ok || r.Reason != want {
		t.Errorf("error %v, want a refusal: %v", err, want)
	}
}

// kernelOf opens a kernel in a node's namespace.
func kernelOf(t testing.TB, n *netlab.Node) *kernel {
	t.Helper()
	var k *kernel
	must(t, n.Do(func() (err error) {
		k, err = openKernel()
		return err
	}))
	t.Cleanup(func() {
		if err := k.close(); err != nil {
			t.Error(err)
		}
	})
	return k
}

// logBuffer keeps what is logged.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.FieldsFunc(l.b.String(), func(r rune) bool { return r == '\n' })
}

func newLog() (*slog.Logger, *logBuffer) {
	b := &logBuffer{}
	return slog.New(slog.NewTextHandler(b, nil)), b
}
