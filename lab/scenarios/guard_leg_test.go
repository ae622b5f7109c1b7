package scenarios

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catchment-bgp/catchment/lab/netlab"
	"github.com/catchment-bgp/catchment/lab/netlab/routegen"
)

// The daemon's BGP servers listen on loopback ports. Another process of the machine, even of root, must not get a word
// out of them, and nothing that it says may be announced.
func TestStrangerOnTheLoopbackLegIsRefused(t *testing.T) {
	t.Parallel()
	h := newHub(t, netlab.FRRouting, netlab.BIRDRouting)
	f, b := h.spoke("frr"), h.spoke("bird")
	frr := f.node.FRR(netlab.FRRConfig{ASN: frrASN, RouterID: f.Peer4.String(), Neighbors: []netlab.FRRNeighbor{
		{Address: f.Edge4, ASN: edgeASN},
	}}.String())
	bird := b.node.BIRD(netlab.BIRDConfig{ASN: birdASN, RouterID: b.Peer4.String(), Neighbors: []netlab.BIRDNeighbor{
		{Name: "edge", Address: b.Edge4, ASN: edgeASN},
	}}.String())
	d := h.start(always(f.neighbor(frrASN), b.neighbor(birdASN, "listen: true")))
	awaitPath(t, sessionWait, frr, video4, nil)
	awaitPath(t, sessionWait, bird, video4, nil)
	before := map[netlab.Router]netlab.Session{frr: awaitSession(t, frr, f.Edge4), bird: awaitSession(t, bird, b.Edge4)}

	ports := legs(t, d)
	if len(ports) != 2 {
		t.Fatalf("the daemon listens on the loopback ports %v, want one for each neighbour", ports)
	}
	strangers := map[string]stranger{
		"without a key":        {source: "127.0.0.1"},
		"with another key":     {source: "127.0.0.1", key: "guessed"},
		"from another address": {source: "127.0.0.2"},
		"keyed from another":   {source: "127.0.0.2", key: "guessed"},
	}
	done := make(chan error)
	for name, s := range strangers {
		for _, port := range ports {
			go func() { done <- s.speak(h.edge, port, name) }()
		}
	}
	for range len(strangers) * len(ports) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	for _, port := range ports {
		address := netip.AddrPortFrom(f.Edge4, port).String()
		if conn, err := h.edge.DialContext(t.Context(), "tcp", address); err == nil {
			_ = conn.Close()
			t.Errorf("%s can be reached", address)
		}
	}
	for r, s := range map[netlab.Router]*spoke{frr: f, bird: b} {
		sameSession(t, r, s.Edge4, before[r])
		if paths, err := r.Routes(forged); err != nil || len(paths) > 0 {
			t.Errorf("%s has learned what a stranger said: %+v, %v", s.name, paths, err)
		}
	}

	// While sessions come and go, the servers' neighbours are made anew.
	quit, tried := make(chan struct{}), make(chan error)
	for _, port := range ports {
		go func() { tried <- strangers["without a key"].insist(h.edge, port, quit) }()
	}
	for range 5 {
		was := awaitSession(t, bird, b.Edge4)
		if _, err := bird.Birdc("restart edge"); err != nil {
			t.Fatal(err)
		}
		netlab.Eventually(t, sessionWait, "a new session", func() error {
			now, err := bird.Session(b.Edge4)
			if err == nil && (now.State != netlab.Established || now.Instance == was.Instance) {
				err = fmt.Errorf("%+v", now)
			}
			return err
		})
	}
	close(quit)
	for range ports {
		if err := <-tried; err != nil {
			t.Error(err)
		}
	}
	awaitPath(t, soon, bird, video4, nil)
	if paths, err := bird.Routes(forged); err != nil || len(paths) > 0 {
		t.Errorf("BIRD has learned what a stranger said: %+v, %v", paths, err)
	}
}

// forged is what strangers announce.
var forged = netip.MustParsePrefix("192.0.2.0/24")

// legs finds the loopback ports that the daemon listens on, without that of /metrics.
func legs(t testing.TB, d *daemon) []uint16 {
	t.Helper()
	var ports []uint16
	mine := fmt.Sprintf("pid=%d,", d.proc.PID())
	for line := range strings.Lines(d.node.MustRun("ss", "-Hltnp")) {
		if !strings.Contains(line, mine) {
			continue
		}
		at := listensAt.FindString(line)
		address, err := netip.ParseAddrPort(at)
		if err != nil {
			t.Fatalf("ss: %q: %v", line, err)
		}
		if address.Addr().IsLoopback() && at != metricsAddress {
			ports = append(ports, address.Port())
		}
	}
	return ports
}

var listensAt = regexp.MustCompile(`[0-9.]+:[0-9]+`)

// stranger is a process that speaks BGP to what is not its neighbour.
type stranger struct{ source, key string }

// strangerWait is how long it waits for an answer.
const strangerWait = 2 * time.Second

// speak says all that a neighbour would say; an answer is an error.
func (s stranger) speak(node *netlab.Node, port uint16, name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), strangerWait)
	defer cancel()
	conn, err := s.dial(ctx, node, port)
	if err != nil {
		return nil
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(strangerWait))
	open := routegen.Open{ASN: frrASN, HoldTime: 90 * time.Second, RouterID: netip.MustParseAddr("10.0.0.9")}
	route := routegen.BuildUpdate(nil, routegen.PathAttrs([]uint32{frrASN}, netip.MustParseAddr("10.0.0.9"), 1), []netip.Prefix{forged})
	for _, m := range [][]byte{open.Message(), routegen.Frame(routegen.TypeKeepalive, nil), route} {
		_, _ = conn.Write(m)
	}
	answer, err := io.ReadAll(conn)
	if len(answer) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("a stranger %s on port %d was let in: %x, %v", name, port, answer, err)
	}
	return nil
}

// insist speaks again and again.
func (s stranger) insist(node *netlab.Node, port uint16, quit <-chan struct{}) error {
	for {
		select {
		case <-quit:
			return nil
		default:
		}
		if err := s.speak(node, port, "who insists"); err != nil {
			return err
		}
	}
}

func (s stranger) dial(ctx context.Context, node *netlab.Node, port uint16) (conn net.Conn, err error) {
	to := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port)
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(s.source)}, Control: func(_, _ string, raw syscall.RawConn) error {
		if s.key == "" {
			return nil
		}
		key := unix.TCPMD5Sig{Keylen: uint16(len(s.key))}
		key.Addr.Family = unix.AF_INET
		copy(key.Addr.Data[2:], to.Addr().AsSlice())
		copy(key.Key[:], s.key)
		var err error
		e := raw.Control(func(fd uintptr) { err = unix.SetsockoptTCPMD5Sig(int(fd), unix.IPPROTO_TCP, unix.TCP_MD5SIG, &key) })
		return errors.Join(err, e)
	}}
	dialer.SetMultipathTCP(false)
	err = node.Do(func() (err error) {
		conn, err = dialer.DialContext(ctx, "tcp4", to.String())
		return err
	})
	return conn, err
}
