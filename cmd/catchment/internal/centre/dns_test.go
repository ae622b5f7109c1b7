package centre

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
	"google.golang.org/grpc/credentials/insecure"
)

// nameServer knows every name as 127.0.0.1, and notes the types that it is asked for.
type nameServer struct {
	conn  net.PacketConn
	mu    sync.Mutex
	asked []dnsmessage.Type
}

// serve answers until the socket is closed.
func (s *nameServer) serve() {
	buf := make([]byte, 1500)
	for {
		n, from, err := s.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		if answer, err := s.answer(buf[:n]); err == nil {
			_, _ = s.conn.WriteTo(answer, from)
		}
	}
}

func (s *nameServer) answer(question []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(question); err != nil {
		return nil, err
	}
	m.Response, m.Additionals = true, nil
	for _, q := range m.Questions {
		s.mu.Lock()
		s.asked = append(s.asked, q.Type)
		s.mu.Unlock()
		if q.Type == dnsmessage.TypeA {
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 60},
				Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
			})
		}
	}
	return m.Pack()
}

func TestDNSIsAskedForAddressesOnly(t *testing.T) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &nameServer{conn: conn}
	var serving sync.WaitGroup
	serving.Go(server.serve)
	defer serving.Wait()
	defer conn.Close()
	before := net.DefaultResolver
	defer func() { net.DefaultResolver = before }()
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}

	// Nobody listens on port 1: what the call says is that the name was found.
	link, err := Dial("centre.example.net.:1", insecure.NewCredentials())
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	err = link.Invoke(t.Context(), "/any/Method", nil, nil)
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("the call says %v, want an error of 127.0.0.1:1", err)
	}
	server.mu.Lock()
	defer server.mu.Unlock()
	slices.Sort(server.asked)
	if got, want := slices.Compact(server.asked), []dnsmessage.Type{dnsmessage.TypeA, dnsmessage.TypeAAAA}; !slices.Equal(got, want) {
		t.Errorf("DNS is asked for %v, want %v", got, want)
	}
}
