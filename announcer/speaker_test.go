package announcer

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"testing"

	"github.com/osrg/gobgp/v3/pkg/packet/bgp"

	"github.com/catchment-bgp/catchment/announcer/internal/gobgp"
)

// buffers counts the goroutines of GoBGP's queues.
func buffers() int {
	stacks := make([]byte, 1<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "infiniteBuffer")
}

func TestPartDuringAHandshakeLeavesNoGoroutine(t *testing.T) {
	s := &speaker{bgp: gobgp.New(nil)} // without a key a plain connection will do
	if err := s.listen(); err != nil {
		t.Fatal(err)
	}
	before := buffers()
	for range 200 {
		if err := s.join(ourASN, 65001, true, false); err != nil {
			t.Fatal(err)
		}
		halfHandshake(t, s.addr)
		if err := s.part(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "GoBGP's queues to be gone", func() error {
		if n := buffers(); n > before {
			return fmt.Errorf("%d, before %d", n, before)
		}
		return nil
	})
}

// halfHandshake sends OPEN and KEEPALIVE and hangs up.
func halfHandshake(t *testing.T, to netip.AddrPort) {
	t.Helper()
	var header [19]byte
	eventually(t, "GoBGP's OPEN", func() error {
		conn, err := net.Dial("tcp", to.String())
		if err != nil {
			return err
		}
		defer conn.Close()
		if _, err := io.ReadFull(conn, header[:]); err != nil {
			return err // GoBGP was not ready
		}
		for _, m := range []*bgp.BGPMessage{bgp.NewBGPOpenMessage(65001, 90, "10.0.0.9", nil), bgp.NewBGPKeepAliveMessage()} {
			raw, err := m.Serialize()
			if err != nil {
				return err
			}
			if _, err := conn.Write(raw); err != nil {
				return err
			}
		}
		return nil
	})
}
