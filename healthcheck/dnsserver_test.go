package healthcheck

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// nameServer answers on one port, over UDP and TCP, what reply makes of each
// query: the messages to send, none for silence.
type nameServer struct {
	address string
	sources chan netip.Addr // of the queries
	done    sync.WaitGroup
}

type replier func(query dnsmessage.Message, network string) [][]byte

func newNameServer(t testing.TB, reply replier) *nameServer {
	t.Helper()
	packets, streams := listenBoth(t)
	s := &nameServer{address: packets.LocalAddr().String(), sources: make(chan netip.Addr, 1000)}
	s.done.Go(func() { s.servePackets(packets, reply) })
	s.done.Go(func() { s.serveStreams(streams, reply) })
	t.Cleanup(func() {
		packets.Close()
		streams.Close()
		s.done.Wait()
	})
	return s
}

// listenBoth finds a port that is free for UDP and TCP.
func listenBoth(t testing.TB) (net.PacketConn, net.Listener) {
	t.Helper()
	for range 20 {
		packets, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		streams, err := net.Listen("tcp", packets.LocalAddr().String())
		if err == nil {
			return packets, streams
		}
		packets.Close()
	}
	t.Fatal("no port is free for both")
	return nil, nil
}

// note remembers who asked, of the first queries.
func (s *nameServer) note(from netip.AddrPort) {
	select {
	case s.sources <- from.Addr().Unmap():
	default:
	}
}

func (s *nameServer) servePackets(conn net.PacketConn, reply replier) {
	buffer := make([]byte, 4096)
	for {
		n, from, err := conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		s.note(from.(*net.UDPAddr).AddrPort())
		var query dnsmessage.Message
		if query.Unpack(buffer[:n]) != nil {
			continue
		}
		for _, message := range reply(query, "udp") {
			conn.WriteTo(message, from)
		}
	}
}

func (s *nameServer) serveStreams(l net.Listener, reply replier) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		s.note(conn.RemoteAddr().(*net.TCPAddr).AddrPort())
		s.serveStream(conn, reply)
		conn.Close()
	}
}

func (s *nameServer) serveStream(conn net.Conn, reply replier) {
	conn.SetDeadline(time.Now().Add(patience))
	var length [2]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return
	}
	message := make([]byte, binary.BigEndian.Uint16(length[:]))
	var query dnsmessage.Message
	if _, err := io.ReadFull(conn, message); err != nil || query.Unpack(message) != nil {
		return
	}
	answers := reply(query, "tcp")
	for _, answer := range answers {
		conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
	}
	if len(answers) == 0 {
		io.Copy(io.Discard, conn) // silence, until the client gives up
	}
}

// response is a message that answers query with bodies, changed by change.
func response(query dnsmessage.Message, change func(*dnsmessage.Message), bodies ...dnsmessage.ResourceBody) []byte {
	m := dnsmessage.Message{Header: query.Header, Questions: query.Questions}
	m.Response = true
	for _, body := range bodies {
		m.Answers = append(m.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName("www.example."), Class: dnsmessage.ClassINET, TTL: 60},
			Body:   body,
		})
	}
	if change != nil {
		change(&m)
	}
	wire, err := m.Pack()
	if err != nil {
		return nil
	}
	return wire
}

// always is the replier that sends one answer.
func always(change func(*dnsmessage.Message), bodies ...dnsmessage.ResourceBody) replier {
	return func(q dnsmessage.Message, _ string) [][]byte { return [][]byte{response(q, change, bodies...)} }
}

func aRecord(s string) *dnsmessage.AResource {
	return &dnsmessage.AResource{A: netip.MustParseAddr(s).As4()}
}

func alias(s string) *dnsmessage.CNAMEResource {
	return &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName(s)}
}
