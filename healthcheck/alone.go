package healthcheck

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errStuck is the failure of probes that come while an earlier one still hangs.
var errStuck = errors.New("an earlier probe still hangs in the kernel")

// alone runs what the kernel may hold for ever, such as a look at a file on a
// dead file server, or the end of a process that waits for one. What hangs is
// left behind, once: until it is back, all further calls fail.
type alone struct {
	mu   sync.Mutex
	last chan struct{} // closed when the last call's function has returned
}

// do calls f and returns what it returns, or ctx's error when that takes longer
// than grace after ctx's end.
func (a *alone) do(ctx context.Context, grace time.Duration, f func() error) error {
	done := make(chan struct{})
	if !a.begin(done) {
		return errStuck
	}
	var err error
	go func() {
		defer close(done)
		err = f()
	}()
	select {
	case <-done:
		return err
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-done:
		return err
	case <-timer.C:
		return ctx.Err()
	}
}

// begin makes done the last call, unless the one before is not over.
func (a *alone) begin(done chan struct{}) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last != nil {
		select {
		case <-a.last:
		default:
			return false
		}
	}
	a.last = done
	return true
}
