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

const (
	// claimTries is how often a holder is asked who it is, claimWait apart. One
	// that is busy, or about to listen or to end, answers one of them; what never
	// answers is no catchment.
	claimTries = 10
	claimWait  = 20 * time.Millisecond
	claimQueue = 128
)

// claimSocket gives the listening socket; -1: somebody who cannot be a catchment
// with addresses has it, or this process has.
func claimSocket() (int, error) {
	for range claimTries {
		fd, err := bindClaim()
		if !errors.Is(err, unix.EADDRINUSE) {
			return fd, err
		}
		holder, err := claimHolder()
		if err != nil {
			time.Sleep(claimWait)
			continue
		}
		if holder.Uid != 0 && int(holder.Uid) != os.Geteuid() || int(holder.Pid) == os.Getpid() {
			break
		}
		return -1, fmt.Errorf("process %d holds VIPs here already: run one catchment-edge with VIPs in a network namespace", holder.Pid)
	}
	return -1, nil
}

func bindClaim() (int, error) {
	fd, err := newUnixSocket()
	if err != nil {
		return -1, err
	}
	err = unix.Bind(fd, &unix.SockaddrUnix{Name: claimName})
	if err == nil {
		err = unix.Listen(fd, claimQueue)
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("listen on %s: %w", claimName, err)
	}
	return fd, nil
}

// claimHolder asks the kernel who listens.
func claimHolder() (*unix.Ucred, error) {
	fd, err := newUnixSocket()
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: claimName}); err != nil {
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
