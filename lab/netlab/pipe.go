package netlab

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// makePipe makes a named pipe, in place of one that is there.
func makePipe(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return unix.Mkfifo(path, 0o600)
}

// openPipe opens a named pipe to write. It does not wait for a reader: without one it is an error.
func openPipe(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0)
}
