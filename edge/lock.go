package edge

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// errInUse says that another process has the state directory.
var errInUse = errors.New("another catchment-edge runs with it; stop that one, or give this one a state_dir of its own")

// lockDir takes a directory for this process until the file is closed, or the
// process ends, however it does. The directory itself is locked: that works on a
// full disk, and leaves nothing behind. If it is taken the error is errInUse; with
// another one, as of file systems that lock no directories, nobody is kept out.
func lockDir(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		err = errInUse
	case err != nil:
		err = fmt.Errorf("lock it: %w; a second catchment-edge with it would not be noticed", err)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("edge: state_dir %s: %w", dir, err)
	}
	return f, nil
}
