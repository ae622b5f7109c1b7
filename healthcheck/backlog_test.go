package healthcheck

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// listenBacklog listens on a free loopback port with the backlog given.
func listenBacklog(backlog int) (net.Listener, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "listener")
	defer file.Close()
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return nil, err
	}
	if err := unix.Listen(fd, backlog); err != nil {
		return nil, err
	}
	l, err := net.FileListener(file)
	if err != nil {
		return nil, err
	}
	// net.FileListener keeps the backlog of the descriptor that it duplicates.
	return l, nil
}
