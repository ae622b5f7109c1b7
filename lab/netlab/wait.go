package netlab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// PollEvery is the time between two tries of Eventually.
const PollEvery = 20 * time.Millisecond

// Eventually calls check until it returns nil, every 20 ms, and ends the test with check's last error when it has not
// within the given time. what completes the sentence "waited 5s for ...".
func Eventually(t TB, within time.Duration, what string, check func() error) {
	t.Helper()
	if err := poll(context.Background(), within, check); err != nil {
		t.Fatalf("waited %v for %s: %v", within, what, err)
	}
}

// poll calls check until nil; the error is check's last one.
func poll(ctx context.Context, within time.Duration, check func() error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(PollEvery)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

var binaries struct {
	sync.Mutex
	dir   string
	built map[string]string
}

// Binary builds a main package of this module ("./cmd/catchment-edge", from the module's root) without the race
// detector, once for the process, and returns the program's path. RemoveBinaries takes the programs away.
func Binary(t TB, pkg string) string {
	t.Helper()
	binaries.Lock()
	defer binaries.Unlock()
	if path := binaries.built[pkg]; path != "" {
		return path
	}
	path, err := buildBinary(pkg)
	if err != nil {
		t.Fatalf("building %s: %v", pkg, err)
	}
	binaries.built[pkg] = path
	return path
}

func buildBinary(pkg string) (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	if binaries.dir == "" {
		if binaries.dir, err = os.MkdirTemp("", "catchment-bin-"); err != nil {
			return "", err
		}
		binaries.built = map[string]string{}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	path := filepath.Join(binaries.dir, filepath.Base(pkg))
	build := exec.CommandContext(ctx, "go", "build", "-race=false", "-o", path, pkg)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
}

// RemoveBinaries deletes what Binary built. A TestMain calls it after m.Run.
func RemoveBinaries() {
	binaries.Lock()
	defer binaries.Unlock()
	if binaries.dir != "" {
		_ = os.RemoveAll(binaries.dir)
	}
	binaries.dir, binaries.built = "", nil
}

// moduleRoot is the nearest folder above the working directory that holds a go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no go.mod above %s", dir)
		}
	}
}
