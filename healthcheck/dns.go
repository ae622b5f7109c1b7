package healthcheck

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// DNS asks a name server one question (RFC 1035), without EDNS, recursion
// desired. An answer that UDP cut short is asked for again over TCP. Only a
// message with the question's ID and the question itself is an answer.
type DNS struct {
	// Server is host:port.
	Server string
	// TCP asks over TCP only.
	TCP bool
	// Name is what is asked for, with or without the dot at its end.
	Name string
	// Type is a record type, such as AAAA, or TYPE257 for a number (RFC 3597); empty:
	// A. Class is IN, CH or HS; empty: IN.
	Type, Class string
	// RCode is the response code wanted, such as NXDOMAIN; empty: NOERROR.
	RCode string
	// Answer is a regular expression (RE2) that the text of one record must match;
	// empty: any. The text is the record's data as in a zone file, but the strings of
	// a TXT record are joined and unquoted; types without a form of their own have
	// that of RFC 3597.
	Answer string
	// MinAnswers is how many records of the type and class there must be in the answer
	// section, under whatever name, since CNAMEs lead on.
	MinAnswers int
	// Source is the address to ask from, such as the VIP, so that a node asks its
	// own server; the zero value: the kernel's choice.
	Source netip.Addr
}

// dnsProbe is the kind dns.
type dnsProbe struct {
	server   string
	tcp      bool
	dialer   net.Dialer
	source   netip.Addr
	question dnsmessage.Question
	query    []byte // with ID 0
	rcode    dnsmessage.RCode
	pattern  *regexp.Regexp // nil: any
	min      int
}

// dnsReply is an answer to our question.
type dnsReply struct {
	rcode     dnsmessage.RCode
	truncated bool
	records   []string // of the type asked for
}

func (p *dnsProbe) attempt(ctx context.Context) error {
	network := "udp"
	if p.tcp {
		network = "tcp"
	}
	reply, err := p.ask(ctx, network)
	if err == nil && reply.truncated && network == "udp" {
		reply, err = p.ask(ctx, "tcp")
	}
	if err != nil {
		return err
	}
	return p.judge(reply)
}

// ask sends the question and waits for its answer.
func (p *dnsProbe) ask(ctx context.Context, network string) (dnsReply, error) {
	d := p.dialer
	if p.source.IsValid() {
		d.LocalAddr, network = localAddress(network, p.source)
	}
	conn, err := dial(ctx, d, network, p.server)
	if err != nil {
		return dnsReply{}, err
	}
	defer conn.Close()
	defer bind(ctx, conn)()
	id := uint16(rand.Uint32())
	query := slices.Clone(p.query)
	binary.BigEndian.PutUint16(query, id)
	if strings.HasPrefix(network, "tcp") {
		return p.askStream(conn, query, id)
	}
	return p.askPackets(conn, query, id)
}

// localAddress is source as the dialer wants it, and the network that has only
// addresses of its family.
func localAddress(network string, source netip.Addr) (net.Addr, string) {
	family := "4"
	if source.Is6() {
		family = "6"
	}
	if network == "tcp" {
		return net.TCPAddrFromAddrPort(netip.AddrPortFrom(source, 0)), network + family
	}
	return net.UDPAddrFromAddrPort(netip.AddrPortFrom(source, 0)), network + family
}

// askPackets waits for the answer among whatever else arrives.
func (p *dnsProbe) askPackets(conn io.ReadWriter, query []byte, id uint16) (dnsReply, error) {
	if _, err := conn.Write(query); err != nil {
		return dnsReply{}, err
	}
	packet := make([]byte, 4<<10) // without EDNS a server sends 512
	for others := 0; ; others++ {
		n, err := conn.Read(packet)
		if err != nil && others > 0 && !refused(err) {
			return dnsReply{}, progress(fmt.Sprintf("%d packets that do not answer the question", others))
		}
		if err != nil {
			return dnsReply{}, err
		}
		reply, err := p.parse(packet[:n], id, false)
		if !errors.Is(err, errOther) {
			return reply, err
		}
	}
}

// askStream speaks TCP, where each message has its length before it (RFC 1035,
// section 4.2.2).
func (p *dnsProbe) askStream(conn io.ReadWriter, query []byte, id uint16) (dnsReply, error) {
	framed := binary.BigEndian.AppendUint16(nil, uint16(len(query)))
	if _, err := conn.Write(append(framed, query...)); err != nil {
		return dnsReply{}, err
	}
	var length [2]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return dnsReply{}, err
	}
	message := make([]byte, binary.BigEndian.Uint16(length[:]))
	if _, err := io.ReadFull(conn, message); err != nil {
		return dnsReply{}, err
	}
	return p.parse(message, id, true)
}

// errOther is a message that is no answer to our question.
var errOther = errors.New("the server answered something that was not asked")

// parse reads a message that came by packet or, whole, in a stream. An error other
// than errOther is about an answer of ours that is malformed.
func (p *dnsProbe) parse(message []byte, id uint16, whole bool) (dnsReply, error) {
	var parser dnsmessage.Parser
	header, err := parser.Start(message)
	if err != nil || !header.Response || header.ID != id || header.OpCode != 0 {
		return dnsReply{}, errOther
	}
	questions, err := parser.AllQuestions()
	if err != nil || !p.isQuestion(questions, header.RCode) {
		return dnsReply{}, errOther
	}
	reply := dnsReply{rcode: header.RCode, truncated: header.Truncated}
	if reply.truncated && !whole {
		return reply, nil // TCP will tell
	}
	answers, err := parser.AllAnswers()
	if err != nil {
		return dnsReply{}, fmt.Errorf("malformed answer: %w", err)
	}
	for _, r := range answers {
		if r.Header.Class == p.question.Class && (r.Header.Type == p.question.Type || p.question.Type == dnsmessage.TypeALL) {
			reply.records = append(reply.records, recordText(r.Body))
		}
	}
	return reply, nil
}

// isQuestion compares what a message answers with what was asked. A server that
// could not read the question may leave it out.
func (p *dnsProbe) isQuestion(got []dnsmessage.Question, rcode dnsmessage.RCode) bool {
	if len(got) == 0 {
		return rcode != dnsmessage.RCodeSuccess
	}
	q := got[0]
	return len(got) == 1 && q.Type == p.question.Type && q.Class == p.question.Class &&
		strings.EqualFold(q.Name.String(), p.question.Name.String())
}

func (p *dnsProbe) judge(r dnsReply) error {
	switch {
	case r.rcode != p.rcode:
		return fmt.Errorf("rcode %s, want %s", rcodeName(r.rcode), rcodeName(p.rcode))
	case len(r.records) < p.min:
		return fmt.Errorf("%d answers of type %s, want %d or more", len(r.records), typeName(p.question.Type), p.min)
	case p.pattern != nil && !slices.ContainsFunc(r.records, p.pattern.MatchString):
		return fmt.Errorf("no answer matches %q: %s", p.pattern, plain(strings.Join(r.records, ", ")))
	}
	return nil
}
