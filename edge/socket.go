package edge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
)

// ListenControl opens the unix socket of the local API with mode 0660. A socket
// that an earlier run left is replaced; one that somebody serves is an error.
func ListenControl(path string) (net.Listener, error) {
	if err := clearSocket(path); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("edge: control: %w", err)
	}
	// The mode is set before the socket can be connected to: umask is for the
	// whole process, so bind beside the path and rename.
	tmp := path + ".new"
	os.Remove(tmp)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: tmp, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("edge: control: %w", err)
	}
	l.SetUnlinkOnClose(false)
	if err := errors.Join(os.Chmod(tmp, 0o660), os.Rename(tmp, path)); err != nil {
		l.Close()
		os.Remove(tmp)
		return nil, fmt.Errorf("edge: control: %w", err)
	}
	return &unlinking{l, path}, nil
}

// clearSocket removes a socket that nobody serves.
func clearSocket(path string) error {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("edge: control: %w", err)
	case st.Mode()&fs.ModeSocket == 0:
		return fmt.Errorf("edge: control: %s exists and is not a socket: remove it or name another path", path)
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	switch {
	case err == nil:
		c.Close()
		fallthrough
	case !errors.Is(err, unix.ECONNREFUSED) && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("edge: control: %s is served by another process: is catchment-edge running already?", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("edge: control: %w", err)
	}
	return nil
}

// unlinking removes the socket when the listener is closed.
type unlinking struct {
	net.Listener
	path string
}

func (u *unlinking) Close() error {
	err := u.Listener.Close()
	if err == nil {
		os.Remove(u.path)
	}
	return err
}

// Serve answers the local API on a listener until the context is done.
func (e *Edge) Serve(ctx context.Context, l net.Listener) error {
	s := grpc.NewServer(
		grpc.Creds(peerCredentials{}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	)
	edgev1.RegisterEdgeServer(s, api{edge: e})
	reflection.Register(s)
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		s.Stop()
	})
	err := s.Serve(l)
	if !stop() {
		<-stopped
		return nil
	}
	s.Stop()
	return fmt.Errorf("edge: local API: %w", err)
}

// peerCredentials tells who is at the other end of a unix socket, as the kernel
// says.
type peerCredentials struct{}

// callerInfo names a user: "root (uid 0)".
type callerInfo string

// AuthType says where the name comes from.
func (callerInfo) AuthType() string { return "SO_PEERCRED" }

func (peerCredentials) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return c, callerInfo(c.RemoteAddr().String()), nil
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return nil, nil, err
	}
	var cred *unix.Ucred
	var sockErr error
	err = raw.Control(func(fd uintptr) {
		cred, sockErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err := errors.Join(err, sockErr); err != nil {
		return nil, nil, err
	}
	id := strconv.FormatUint(uint64(cred.Uid), 10)
	name := "uid " + id
	if who, err := user.LookupId(id); err == nil {
		name = who.Username + " (" + name + ")"
	}
	return c, callerInfo(name), nil
}

func (peerCredentials) ClientHandshake(_ context.Context, _ string, c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return c, callerInfo(""), nil
}

func (peerCredentials) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "unix"}
}
func (p peerCredentials) Clone() credentials.TransportCredentials { return p }
func (peerCredentials) OverrideServerName(string) error           { return nil }
