package guard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// drainIdle is how long the leg must have been silent before a closing session
// counts everything as read. What the leg wrote before is in our receive
// buffer already, since the leg is on the loopback.
const drainIdle = 10 * time.Millisecond

// deadliner is the part of a net.Conn that bounds reads.
type deadliner interface {
	SetReadDeadline(time.Time) error
}

// outbound carries what the leg writes to the router, unchanged.
type outbound struct {
	leg   io.Reader
	limit deadliner // of leg; nil: drain is not used
	write func([]byte) error
	sent  func([]byte) // or nil
	count *counters

	confirmed *atomic.Bool // set before our first KEEPALIVE is written
	confirm   func()       // called after it was written
	live      *atomic.Bool // set when the session is Established
	draining  atomic.Bool

	buf []byte
}

// errDrained ends an outbound that was asked to drain.
var errDrained = &fault{reason: "closed"}

// drain has run return as soon as the leg has nothing more to say.
func (o *outbound) drain() {
	o.draining.Store(true)
	_ = o.limit.SetReadDeadline(time.Now().Add(drainIdle))
}

// run carries messages until either side fails.
func (o *outbound) run() *fault {
	o.buf = make([]byte, sendBuffer)
	for fill := 0; ; {
		if o.draining.Load() {
			_ = o.limit.SetReadDeadline(time.Now().Add(drainIdle))
		}
		n, err := o.leg.Read(o.buf[fill:])
		fill += n
		whole, f := o.forward(o.buf[:fill])
		if f != nil {
			return f
		}
		fill = copy(o.buf, o.buf[whole:fill])
		switch {
		case err == nil:
		case o.draining.Load():
			return errDrained
		default:
			return legFault(err)
		}
	}
}

// forward writes the whole messages at the start of b with one call and
// returns their length.
func (o *outbound) forward(b []byte) (int, *fault) {
	whole, last, err := o.scan(b)
	if whole > 0 {
		if f := o.send(b[:whole]); f != nil {
			return 0, f
		}
	}
	switch {
	case err != nil:
		return 0, legFault(err)
	case last != nil:
		return 0, &fault{reason: lastWords(*last), told: true}
	}
	return whole, nil
}

// lastWords says why the leg ended the session.
func lastWords(n notification) string {
	if n.code == codeHold {
		return "neighbour was silent for the whole hold time"
	}
	return "the local BGP server ended the session with " + n.String()
}

// scan finds how much of b is whole messages that may go out, up to and with a
// NOTIFICATION.
func (o *outbound) scan(b []byte) (whole int, last *notification, err error) {
	for whole+headerLen <= len(b) {
		m := b[whole:]
		kind, length, f := checkHeader(m[:headerLen])
		if f != nil {
			return whole, nil, errors.New("its messages are out of step")
		}
		if length > len(m) {
			break
		}
		switch {
		case kind == typeOpen,
			kind != typeKeepalive && kind != typeNotification && !o.live.Load():
			return whole, nil, fmt.Errorf("it sent a message of type %d before its time", kind)
		case kind == typeNotification:
			n := parseNotification(m[headerLen:length])
			return whole + length, &n, nil
		}
		whole += length
	}
	return whole, nil, nil
}

// send writes whole messages and then tells of them.
func (o *outbound) send(b []byte) *fault {
	first := !o.confirmed.Load() && b[headerLen-1] == typeKeepalive
	if first {
		o.confirmed.Store(true)
	}
	if err := o.write(b); err != nil {
		return writeFault(err)
	}
	if first {
		o.confirm()
	}
	for len(b) > 0 {
		length := int(binary.BigEndian.Uint16(b[16:18]))
		if b[headerLen-1] == typeUpdate {
			o.count.updatesSent.Add(1)
			if o.sent != nil {
				o.sent(b[:length:length])
			}
		}
		b = b[length:]
	}
	return nil
}
