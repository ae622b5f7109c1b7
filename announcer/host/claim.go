package host

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// claimName is an abstract unix socket, which each network namespace has its
// own names of, and which vanishes with its process.
const claimName = "@catchment/addresses"

// claim says that the addresses with our mark in a network namespace belong to
// this process: the mark does not tell one catchment from another, and of two
// each would remove what the other one added.
type claim struct {
	ns       Namespace
	listener net.Listener // nil: not held
	done     sync.WaitGroup
}

// take holds the claim from now on. Another catchment that holds it is an error.
// A socket of some other user's is none: nobody shall keep us from our work.
func (c *claim) take() error {
	if c.listener != nil {
		return nil
	}
	fd, err := inNamespace(c.ns, claimSocket)
	if err != nil || fd < 0 {
		return err
	}
	f := os.NewFile(uintptr(fd), claimName)
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", claimName, err)
	}
	c.listener = l
	c.done.Go(func() { // who asks finds the queue empty
		for {
			conn, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil { // out of file descriptors
				time.Sleep(time.Second)
				continue
			}
			conn.Close()
		}
	})
	return nil
}

// Close lets others have it.
func (c *claim) Close() error {
	if c.listener == nil {
		return nil
	}
	err := c.listener.Close()
	c.listener = nil
	c.done.Wait()
	return err
}

// claimSocket gives the bound socket; -1: somebody who cannot be a catchment with
// addresses has it.
func claimSocket() (int, error) {
	name := &unix.SockaddrUnix{Name: claimName}
	fd, err := newUnixSocket()
	if err != nil {
		return -1, err
	}
	err = unix.Bind(fd, name)
	if err == nil {
		err = unix.Listen(fd, 16)
	}
	if err == nil {
		return fd, nil
	}
	unix.Close(fd)
	if !errors.Is(err, unix.EADDRINUSE) {
		return -1, fmt.Errorf("bind %s: %w", claimName, err)
	}
	holder, err := claimHolder(name)
	switch {
	case err != nil, holder.Uid != 0 && int(holder.Uid) != os.Geteuid():
		return -1, nil
	case int(holder.Pid) == os.Getpid():
		return -1, nil // this process knows what it does
	}
	return -1, fmt.Errorf("process %d holds VIPs here already: run one catchment-edge with VIPs in a network namespace", holder.Pid)
}

// claimHolder asks the kernel who listens.
func claimHolder(name *unix.SockaddrUnix) (*unix.Ucred, error) {
	fd, err := newUnixSocket()
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, name); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", claimName, err)
	}
	return unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
}

func newUnixSocket() (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, fmt.Errorf("open a unix socket: %w", err)
	}
	return fd, nil
}
