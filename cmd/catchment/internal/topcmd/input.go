package topcmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// escapeWait is how long the rest of a sequence may take, in milliseconds: over a slow
// line it comes in pieces.
const escapeWait = 50

// input reads keys from a terminal. Unlike a Read of the file it can be ended, and it
// leaves the file's flags, which the shell shares, as they are.
type input struct {
	fd         int
	wake, stop *os.File
}

func openInput(in *os.File) (*input, error) {
	wake, stop, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("preparing to read keys: %w", err)
	}
	return &input{fd: int(in.Fd()), wake: wake, stop: stop}, nil
}

// end ends read for ever.
func (i *input) end() { _ = i.stop.Close() }

// close frees what is left after read has ended.
func (i *input) close() { _ = i.wake.Close() }

// read gives keys to each until that is false or end was called (nil), or the terminal
// is gone.
func (i *input) read(each func([]key) bool) error {
	for {
		ready, err := i.wait(-1)
		if err != nil || !ready {
			return err
		}
		got, err := i.some()
		if err != nil {
			return err
		}
		for unfinished(got) {
			ready, err := i.wait(escapeWait)
			if err != nil || !ready {
				break // the key Escape, or the end, which is seen above
			}
			more, err := i.some()
			if err != nil {
				return err
			}
			got = append(got, more...)
		}
		if !each(decode(got)) {
			return nil
		}
	}
}

// wait is false after end, or when the time (milliseconds; below 0: for ever) is over.
func (i *input) wait(limit int) (bool, error) {
	fds := []unix.PollFd{{Fd: int32(i.fd), Events: unix.POLLIN}, {Fd: int32(i.wake.Fd()), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, limit)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return false, fmt.Errorf("waiting for keys: %w", err)
		}
		return n > 0 && fds[1].Revents == 0, nil
	}
}

func (i *input) some() ([]byte, error) {
	buf := make([]byte, 256)
	n, err := unix.Read(i.fd, buf)
	switch {
	case errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("the terminal is gone: %w", err)
	case n == 0:
		return nil, fmt.Errorf("the terminal is gone: %w", io.EOF)
	}
	return buf[:n], nil
}

// unfinished reports whether a sequence has begun whose end is missing.
func unfinished(in []byte) bool {
	at := bytes.LastIndexByte(in, 0x1b)
	if at < 0 || len(in)-at > 16 {
		return false
	}
	rest := in[at+1:]
	if len(rest) == 0 {
		return true
	}
	if rest[0] != '[' && rest[0] != 'O' {
		return false
	}
	return !bytes.ContainsFunc(rest[1:], func(r rune) bool { return r >= 0x40 && r <= 0x7e })
}
