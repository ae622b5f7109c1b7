package guard

import (
	"bufio"
	"encoding/binary"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// Both hold several of the longest messages. There is one of each for every
	// neighbour, so that they are most of what a session costs.
	readBuffer = 16 << 10 // what the router writes: it may flood
	sendBuffer = 8 << 10  // what the leg writes
	// standInEvery is how often dropped UPDATEs become a KEEPALIVE to the leg:
	// often enough for the shortest hold time, 3 s.
	standInEvery = time.Second
	// keepaliveEvery bounds how often KEEPALIVEs are passed on.
	keepaliveEvery = 500 * time.Millisecond
	// refreshEvery bounds how often ROUTE-REFRESHes of one family are passed on.
	refreshEvery = time.Second
)

// inbound reads what the router writes. It is the only code that sees those
// bytes; the leg gets messages of its making.
type inbound struct {
	r    *bufio.Reader
	leg  legWriter
	now  func() time.Time
	tell inboundEvents

	// confirmed is set before our KEEPALIVE is written: from then on the
	// router may be Established and send UPDATEs.
	confirmed *atomic.Bool
	count     *counters

	opened    bool
	alive     bool // the router's first KEEPALIVE came
	live      bool // the leg is Established
	agreed    agreement
	passed    time.Time // the last KEEPALIVE to the leg
	refreshed [IPv6 + 1]time.Time
	late      familySet // families whose refresh came too soon

	mu       sync.Mutex // held while received runs
	stopped  bool
	received func([]byte)
	body     [maxBody]byte
}

// legWriter is the way to the leg.
type legWriter interface {
	// write sends one message. It is never called before live returned true.
	write(msg []byte) error
}

// inboundEvents is what an inbound tells about the session.
type inboundEvents struct {
	// open judges the router's OPEN.
	open func(open) (agreement, *fault)
	// alive says that the router's first KEEPALIVE came.
	alive func()
	// live waits until the leg is Established; false: the connection is over.
	live func() bool
}

// counters are shared with Status.
type counters struct {
	updatesDropped, bytesDropped, updatesSent atomic.Uint64
	refreshPassed, refreshDropped, sessions   atomic.Uint64
}

// run reads until the connection ends, and says why it did.
func (in *inbound) run() *fault {
	for {
		if f := in.message(); f != nil {
			return f
		}
	}
}

// stop makes this the last that received hears.
func (in *inbound) stop() {
	in.mu.Lock()
	in.stopped = true
	in.mu.Unlock()
}

// message deals with one message.
func (in *inbound) message() *fault {
	h, err := in.r.Peek(headerLen)
	if err != nil {
		return readFault(err)
	}
	kind, length, f := checkHeader(h)
	if f != nil {
		return f
	}
	if f := in.expected(kind); f != nil {
		return f
	}
	if _, err := in.r.Discard(headerLen); err != nil {
		return readFault(err)
	}
	switch kind {
	case typeUpdate:
		return in.update(length - headerLen)
	case typeKeepalive:
		return in.keepalive()
	case typeRefresh:
		return in.refresh(length - headerLen)
	}
	body := in.body[:length-headerLen]
	if _, err := io.ReadFull(in.r, body); err != nil {
		return readFault(err)
	}
	if kind == typeNotification {
		n := parseNotification(body)
		return &fault{reason: "neighbour sent " + n.String(), received: &n}
	}
	return in.open(body)
}

// expected refuses messages that do not belong where the session stands (RFC
// 4271, section 8.2.2; subcodes of RFC 6608). A NOTIFICATION always may come.
func (in *inbound) expected(kind byte) *fault {
	switch {
	case kind == typeNotification:
		return nil
	case !in.opened:
		if kind == typeOpen {
			return nil
		}
		return unexpected(fsmOpenSent, kind)
	case kind == typeKeepalive:
		return nil
	case !in.alive || !in.confirmed.Load():
		return unexpected(fsmOpenConfirm, kind)
	case kind == typeOpen:
		return unexpected(fsmEstablished, kind)
	}
	if !in.live {
		if !in.tell.live() {
			return &fault{reason: "the session is over"}
		}
		in.live = true
	}
	return nil
}

func (in *inbound) open(body []byte) *fault {
	o, f := parseOpen(body)
	if f != nil {
		return f
	}
	if in.agreed, f = in.tell.open(o); f != nil {
		return f
	}
	in.opened = true
	return nil
}

// keepalive passes a KEEPALIVE on. The first one is passed on by whoever
// brings the session up.
func (in *inbound) keepalive() *fault {
	if !in.alive {
		in.alive, in.passed = true, in.now()
		in.tell.alive()
		return nil
	}
	if !in.confirmed.Load() {
		return nil
	}
	if !in.live {
		if !in.tell.live() {
			return &fault{reason: "the session is over"}
		}
		in.live = true
	}
	return in.pass(keepaliveEvery)
}

// pass writes a KEEPALIVE to the leg unless the last one was just now.
func (in *inbound) pass(every time.Duration) *fault {
	now := in.now()
	if in.late != 0 {
		if f := in.catchUp(now); f != nil {
			return f
		}
	}
	if now.Sub(in.passed) < every {
		return nil
	}
	in.passed = now
	if err := in.leg.write(keepalive); err != nil {
		return legFault(err)
	}
	return nil
}

// update drops an UPDATE. The leg's hold timer must live through any number of
// them (RFC 4271, section 8.2.2: an UPDATE restarts it): a KEEPALIVE stands in.
func (in *inbound) update(n int) *fault {
	if in.received == nil {
		if _, err := in.r.Discard(n); err != nil {
			return readFault(err)
		}
	} else {
		body := in.body[:n]
		if _, err := io.ReadFull(in.r, body); err != nil {
			return readFault(err)
		}
		in.mu.Lock()
		if !in.stopped {
			in.received(body)
		}
		in.mu.Unlock()
	}
	in.count.updatesDropped.Add(1)
	in.count.bytesDropped.Add(uint64(headerLen + n))
	return in.pass(standInEvery)
}

// refresh composes a ROUTE-REFRESH for the leg if the router's is of the form
// of RFC 2918 for a family of the session. One that comes too soon after the
// last waits for a later message of the router: it may want what changed since.
// Everything else (ORF, BoRR, EoRR) needs no answer and is dropped.
func (in *inbound) refresh(n int) *fault {
	head, err := in.r.Peek(refreshLen - headerLen)
	if err != nil {
		return readFault(err)
	}
	f, known := familyOf(binary.BigEndian.Uint16(head), head[3])
	plain := n == refreshLen-headerLen && head[2] == 0
	if _, err := in.r.Discard(n); err != nil {
		return readFault(err)
	}
	if !known || !plain || !in.agreed.families.has(f) || !in.agreed.refresh {
		in.count.refreshDropped.Add(1)
		return nil
	}
	now := in.now()
	if now.Sub(in.refreshed[f]) < refreshEvery {
		in.late.add(f)
		in.count.refreshDropped.Add(1)
		return nil
	}
	return in.passRefresh(f, now)
}

func (in *inbound) passRefresh(f Family, now time.Time) *fault {
	in.refreshed[f] = now
	in.late &^= 1 << f
	in.count.refreshPassed.Add(1)
	if err := in.leg.write(refreshes[f]); err != nil {
		return legFault(err)
	}
	return nil
}

// catchUp passes on the refreshes that came too soon.
func (in *inbound) catchUp(now time.Time) *fault {
	for f := IPv4; f <= IPv6; f++ {
		if in.late.has(f) && now.Sub(in.refreshed[f]) >= refreshEvery {
			if fault := in.passRefresh(f, now); fault != nil {
				return fault
			}
		}
	}
	return nil
}

// refreshes holds the ROUTE-REFRESH of each family. It is never written to.
var refreshes = [IPv6 + 1][]byte{
	IPv4: appendRefresh(nil, IPv4),
	IPv6: appendRefresh(nil, IPv6),
}
