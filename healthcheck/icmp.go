package healthcheck

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"
)

// ICMP sends echo requests (RFC 792, RFC 4443). An error that comes back, such as
// "no route to host", fails the probe at once.
type ICMP struct {
	// Address is who shall answer, without a zone.
	Address netip.Addr
	// Count is how many requests a probe sends, 1..100, the last one when half of the
	// Timeout is over; 0: one. A probe ends as soon as MinReplies have come.
	Count int
	// MinReplies is how many of them must be answered; 0: one.
	MinReplies int
	// Source is the address to ask from; the zero value: the kernel's choice.
	Source netip.Addr
}

// maxEchoes is the longest ICMP.Count.
const maxEchoes = 100

// icmpProbe is the kind icmp.
type icmpProbe struct {
	ICMP
	gap time.Duration // between requests
}

// icmpTarget is the kind icmp.
func icmpTarget(c Check) (*target, []error) {
	if c.ICMP == nil {
		return nil, nil
	}
	p := &icmpProbe{ICMP: *c.ICMP}
	p.Count, p.MinReplies = max(p.Count, 1), max(p.MinReplies, 1)
	p.gap = c.Timeout / time.Duration(2*p.Count)
	return &target{probe: p.attempt}, c.ICMP.validate()
}

func (i ICMP) validate() []error {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("icmp."+format, args...))
		}
	}
	a := i.Address
	refuse(!a.IsValid(), "address: there is none: write for example 192.0.2.1")
	refuse(a.IsUnspecified() || a.IsMulticast() || a.Zone() != "" || a.Is4In6() || a.Is6() && a.IsLinkLocalUnicast(),
		"address: %v is not the address of one machine: write for example 192.0.2.1 or 2001:db8::1", a)
	refuse(i.Count < 0 || i.Count > maxEchoes, "count: %d is out of range: write 1 to %d", i.Count, maxEchoes)
	refuse(i.MinReplies < 0 || i.MinReplies > max(i.Count, 1), "min_replies: %d is out of range: write 1 to the count, %d",
		i.MinReplies, max(i.Count, 1))
	if a.IsValid() {
		if err := checkSource(i.Source, net.JoinHostPort(a.String(), "0")); err != nil {
			errs = append(errs, fmt.Errorf("icmp.source: %w", err))
		}
	}
	return errs
}

func (p *icmpProbe) attempt(ctx context.Context) error {
	conn, err := dialEcho(p.Address, p.Source)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer bind(ctx, conn)()
	e := &echoes{conn: conn, probe: p, answered: make([]bool, p.Count)}
	if _, err := rand.Read(e.cookie[:]); err != nil {
		return err
	}
	return e.run(ctx)
}

// echoes is one probe's exchange.
type echoes struct {
	conn     *echoConn
	probe    *icmpProbe
	cookie   [16]byte // tells our replies from those of others
	sent     int
	answered []bool
	replies  int
}

// run sends and receives until there are enough replies or ctx ends.
func (e *echoes) run(ctx context.Context) error {
	buffer := make([]byte, 1500)
	var next time.Time // when the next request is due
	for e.replies < e.probe.MinReplies {
		if now := time.Now(); e.sent < e.probe.Count && !now.Before(next) {
			if err := e.send(); err != nil {
				return err
			}
			next = now.Add(e.probe.gap)
		}
		until := next
		if e.sent == e.probe.Count {
			until = time.Time{}
		}
		if err := e.conn.SetReadDeadline(until); err != nil {
			return err
		}
		if ctx.Err() != nil { // that deadline may have replaced the one of ctx's end
			return e.missing()
		}
		n, err := e.conn.Read(buffer)
		switch {
		case err == nil:
			e.take(e.conn.payload(buffer[:n]))
		case ctx.Err() != nil:
			return e.missing()
		case errors.Is(err, unix.EREMOTEIO): // a redirect, of which ping sockets tell as well
		case !errors.Is(err, os.ErrDeadlineExceeded) && !e.conn.concernsOthers(e.id()):
			return err
		}
	}
	return nil
}

func (e *echoes) missing() error {
	return progress(fmt.Sprintf("%d of %d replies, want %d", e.replies, e.sent, e.probe.MinReplies))
}

// id is the requests' identifier; a ping socket has one of its own in its place.
func (e *echoes) id() int { return int(e.cookie[0])<<8 | int(e.cookie[1]) }

func (e *echoes) send() error {
	request := icmp.Message{
		Type: ipv4.ICMPTypeEcho,
		Body: &icmp.Echo{ID: e.id(), Seq: e.sent, Data: e.cookie[:]},
	}
	if e.probe.Address.Is6() {
		request.Type = ipv6.ICMPTypeEchoRequest
	}
	wire, err := request.Marshal(nil) // the kernel fills in the checksum of ICMPv6
	if err != nil {
		return err
	}
	e.sent++
	_, err = e.conn.Write(wire)
	return err
}

// take counts a reply to a request of ours, once.
func (e *echoes) take(packet []byte) {
	protocol := ipv4.ICMPTypeEchoReply.Protocol()
	if e.probe.Address.Is6() {
		protocol = ipv6.ICMPTypeEchoReply.Protocol()
	}
	message, err := icmp.ParseMessage(protocol, packet)
	if err != nil || message.Type != ipv4.ICMPTypeEchoReply && message.Type != ipv6.ICMPTypeEchoReply {
		return
	}
	echo, ok := message.Body.(*icmp.Echo)
	if !ok || !bytes.Equal(echo.Data, e.cookie[:]) || echo.Seq >= e.sent || e.answered[echo.Seq] {
		return
	}
	e.answered[echo.Seq] = true
	e.replies++
}
