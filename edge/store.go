package edge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/catchment-bgp/catchment/policy"
)

// stored is what survives a restart.
type stored struct {
	Overrides []policy.Override `json:"overrides"`
	Pins      []policy.Pin      `json:"pins"`
	Policy    policy.State      `json:"policy"`
	Centre    *storedCentre     `json:"centre,omitempty"`
	// Ladders say what the rungs of Pins and Policy do, by neighbour.
	Ladders map[string][]step `json:"ladders,omitempty"`
}

// store keeps it in one file of the state directory. A goroutine of its own
// writes, so that a slow disk never delays a withdrawal.
type store struct {
	path string
	lock *os.File // of the directory, until the last write; nil: it cannot be locked
	last []byte   // what was handed over for writing
	jobs chan job
	done chan struct{}
	fail func(error) // told once of each new reason why the file could not be written
	end  error       // of the last write, once done is closed
}

type job struct {
	data    []byte
	written chan<- error // nil: nobody waits
}

const stateFile = "state.json"

// openStore takes the directory and reads what an earlier run left. A directory
// that another process has is an error: each would write over the other's state.
// So is a file that cannot be read: without it a node that an operator withdrew
// would announce again.
func openStore(dir string, fail func(error)) (*store, stored, error) {
	var s stored
	st := &store{path: filepath.Join(dir, stateFile), jobs: make(chan job, 1), done: make(chan struct{}), fail: fail}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, s, fmt.Errorf("edge: state_dir: %w; create it for the user that runs catchment-edge", err)
	}
	var err error
	if st.lock, err = lockDir(dir); errors.Is(err, errInUse) {
		return nil, s, err
	} else if err != nil {
		fail(err)
	}
	if err := st.load(&s); err != nil {
		st.lock.Close()
		return nil, s, err
	}
	go st.write()
	return st, s, nil
}

// load reads the file into s, if there is one.
func (st *store) load(s *stored) error {
	data, err := os.ReadFile(st.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("edge: read the state: %w", err)
	}
	if err := s.read(data); err != nil {
		return fmt.Errorf("edge: %s is damaged (%w): it held operators' overrides; move it away to start without them", st.path, err)
	}
	st.last = data
	return nil
}

// read fills s from the content of a state file.
func (s *stored) read(data []byte) error {
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		return errors.New("it says null")
	}
	if err := json.Unmarshal(data, s); err != nil {
		return err
	}
	for i, o := range s.Overrides {
		if o.Service == "" || o.Verb == 0 {
			return fmt.Errorf("override %d has no service or no verb", i)
		}
	}
	for i, p := range s.Pins {
		if p.Neighbor == "" || p.Rung < 0 {
			return fmt.Errorf("pin %d has no neighbour or no rung", i)
		}
	}
	return nil
}

// save has s written in the background if it differs from what was saved last.
func (st *store) save(s stored) { _ = st.put(s, nil) }

// saved is save, and a channel that gets the outcome.
func (st *store) saved(s stored) <-chan error {
	written := make(chan error, 1)
	if err := st.put(s, written); err != nil {
		written <- err
	}
	return written
}

func (st *store) put(s stored, written chan<- error) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("edge: write the state: %w", err)
	}
	if bytes.Equal(data, st.last) && written == nil {
		return nil
	}
	st.last = data
	next := job{data, written}
	for {
		select {
		case st.jobs <- next:
			return nil
		case old := <-st.jobs: // not begun yet: the newer one stands for both
			next.written = both(old.written, next.written)
		}
	}
}

// both passes one outcome on to two waiters.
func both(a, b chan<- error) chan<- error {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	c := make(chan error, 1)
	go func() {
		err := <-c
		a <- err
		b <- err
	}()
	return c
}

// write writes what is handed over until close. What could not be written is
// tried again until it is, or something newer stands for it.
func (st *store) write() {
	defer close(st.done)
	defer st.lock.Close()
	var left []byte // could not be written yet
	retry := time.NewTimer(retryAfter)
	defer retry.Stop()
	told := ""
	attempt := func(data []byte) {
		left, st.end = nil, writeFile(st.path, data, 0o640)
		if st.end == nil {
			told = ""
			return
		}
		left = data
		retry.Reset(retryAfter)
		if reason := st.end.Error(); reason != told {
			told = reason
			st.fail(st.end)
		}
	}
	for {
		select {
		case j, ok := <-st.jobs:
			switch {
			case ok:
				attempt(j.data)
				if j.written != nil {
					j.written <- st.end
				}
				continue
			case left != nil:
				attempt(left)
			}
			return
		case <-retry.C:
			if left != nil {
				attempt(left)
			}
		}
	}
}

// close writes what is left; the context bounds the wait. It says if that could
// not be written.
func (st *store) close(ctx context.Context) error {
	close(st.jobs)
	select {
	case <-st.done:
		return st.end
	case <-ctx.Done():
		return fmt.Errorf("edge: write the state: %w", ctx.Err())
	}
}

// writeFile replaces a file so that after a crash either the old or the new
// content is there: write beside it, fsync, rename, fsync the directory.
func writeFile(path string, data []byte, mode fs.FileMode) error {
	tmp, err := writeBeside(path, data, mode)
	if err != nil {
		return err
	}
	return moveInto(tmp, path)
}

// writeBeside writes data to a new file in the directory of path. Its name is
// always the same, so that a crash leaves one behind at most.
func writeBeside(path string, data []byte, mode fs.FileMode) (tmp string, err error) {
	tmp = filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("edge: write beside %s: %w", path, err)
	}
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fmt.Errorf("edge: write beside %s: %w", path, err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		os.Remove(tmp)
		return "", fmt.Errorf("edge: write %s: %w", path, err)
	}
	return tmp, nil
}

func moveInto(tmp, path string) error {
	if err := os.Rename(tmp, path); err != nil {
		os.Remove(tmp)
		return fmt.Errorf("edge: replace %s: %w", path, err)
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("edge: sync the directory of %s: %w", path, err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("edge: sync the directory of %s: %w", path, err)
	}
	return nil
}
