package mrt

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/catchment-bgp/catchment/community/update"
)

// The subtypes of BGP4MP (RFC 6396, section 4.4; RFC 8050, section 3).
const (
	mpStateChange    = 0
	mpMessage        = 1
	mpEntry          = 2 // RFC 6396, appendix B.2.7
	mpMessageAS4     = 4
	mpStateChangeAS4 = 5
	mpLast           = 11
)

// messages has what the subtypes that hold a BGP message differ in.
var messages = [mpLast + 1]struct {
	width   int // octets of an ASN; 0: no such subtype
	local   bool
	addPath bool
}{
	mpMessage:    {width: 2},
	mpMessageAS4: {width: 4},
	6:            {width: 2, local: true},
	7:            {width: 4, local: true},
	8:            {width: 2, addPath: true},
	9:            {width: 4, addPath: true},
	10:           {width: 2, local: true, addPath: true},
	11:           {width: 4, local: true, addPath: true},
}

// The subtypes of BGP (RFC 6396, appendix B.2.5).
const (
	oldUpdate      = 1
	oldStateChange = 3
	oldLast        = 7
)

const (
	established = 6 // the state of a session in which it has routes (RFC 4271, section 8.2.2)
	bgpUpdate   = 2 // the type of the message (RFC 4271, section 4.1)
	bgpHeader   = 19
)

// marker leads each BGP message (RFC 4271, section 4.1).
var marker = bytes.Repeat([]byte{0xff}, 16)

// bgp4mpET reads BGP4MP_ET, BGP4MP with microseconds before it, which the length counts
// (RFC 6396, section 3).
func (r *Reader) bgp4mpET(rec record) error {
	if len(rec.body) < 4 {
		return update.ErrShort
	}
	micros := binary.BigEndian.Uint32(rec.body)
	rec.body = rec.body[4:]
	if micros >= 1e6 {
		return fmt.Errorf("%d microseconds, not less than a second", micros)
	}
	return r.bgp4mp(rec, rec.time().Add(time.Duration(micros)*time.Microsecond))
}

// bgp4mp reads BGP4MP.
func (r *Reader) bgp4mp(rec record, at time.Time) error {
	switch rec.subtype {
	case mpStateChange:
		return r.stateChange(rec.body, at, 2)
	case mpStateChangeAS4:
		return r.stateChange(rec.body, at, 4)
	case mpEntry:
		return r.oldEntry(rec.body, at)
	}
	if rec.subtype > mpLast || messages[rec.subtype].width == 0 {
		return errNotRead
	}
	m := messages[rec.subtype]
	c := update.Cursor{B: rec.body}
	e, err := sessionOf(&c, m.width)
	if err != nil {
		return err
	}
	e.Time, e.Local = at, m.local
	update, err := updateOf(c.B)
	if update == nil || err != nil {
		return err
	}
	return r.update(e, update, m.width, m.addPath)
}

// sessionOf reads what leads the records of BGP4MP: the peer, and us.
func sessionOf(c *update.Cursor, width int) (e Entry, err error) {
	e.PeerASN = c.ASN(width)
	c.ASN(width) // ours
	if bytes.HasPrefix(c.B, marker) {
		return e, nil // Zebra wrote OPEN messages without the addresses
	}
	c.U16() // the interface
	afi := c.U16()
	if !c.Short && afi != update.AFIv4 && afi != update.AFIv6 {
		return e, fmt.Errorf("a session of address family %d, neither 1 (IPv4) nor 2 (IPv6)", afi)
	}
	e.Peer = c.Addr(afi)
	c.Addr(afi) // ours
	if c.Short {
		return e, update.ErrShort
	}
	return e, nil
}

// errNoPeer is that of a record whose peer is not known.
var errNoPeer = errors.New("a record without the address of the peer")

// updateOf returns what is behind the header of an UPDATE; nil if b is another message.
func updateOf(b []byte) ([]byte, error) {
	if len(b) < bgpHeader {
		return nil, update.ErrShort
	}
	if !bytes.HasPrefix(b, marker) {
		return nil, errors.New("a BGP message that does not start with 16 octets of 255")
	}
	if b[18] != bgpUpdate {
		return nil, nil
	}
	if size := int(binary.BigEndian.Uint16(b[16:])); size != len(b) {
		return nil, fmt.Errorf("a BGP message of %d octets, with %d there", size, len(b))
	}
	return b[bgpHeader:], nil
}

// stateChange reads STATE_CHANGE: with the session a peer's routes are gone.
func (r *Reader) stateChange(b []byte, at time.Time, width int) error {
	c := update.Cursor{B: b}
	if len(b) == 2*width+4 {
		return errNoPeer // Zebra wrote some without the addresses
	}
	e, err := sessionOf(&c, width)
	if err != nil {
		return err
	}
	e.Time = at
	return r.changed(e, &c)
}

// changed reads the states, old and new, of the session of e.
func (r *Reader) changed(e Entry, c *update.Cursor) error {
	c.U16()
	now := c.U16()
	if c.Short {
		return update.ErrShort
	}
	if now != established {
		r.state.down(e)
	}
	return nil
}

// bgp reads BGP, type 5, with 2-octet ASNs and IPv4 addresses, and messages without their header.
func (r *Reader) bgp(rec record) error {
	c := update.Cursor{B: rec.body}
	e := Entry{Time: rec.time(), PeerASN: uint32(c.U16()), Peer: c.Addr(update.AFIv4)}
	switch {
	case rec.subtype > oldLast:
		return errNotRead
	case rec.subtype == oldStateChange:
		return r.changed(e, &c)
	case rec.subtype != oldUpdate:
		return nil
	}
	c.Bytes(6) // ours
	if c.Short {
		return update.ErrShort
	}
	return r.update(e, c.B, 2, false)
}

// oldEntry reads BGP4MP_ENTRY, one route of a table.
func (r *Reader) oldEntry(b []byte, at time.Time) error {
	c := update.Cursor{B: b}
	e, err := sessionOf(&c, 2)
	if err != nil {
		return err
	}
	e.Time = at
	c.Bytes(2 + 2 + 4) // the view, the status, and the time of the last change
	afi, safi := c.U16(), c.U8()
	hop := c.Bytes(int(c.U8()))
	bits := c.U8()
	size, err := update.Octets(afi, bits)
	if err != nil {
		return err
	}
	prefix := c.Bytes(size)
	attrs := c.Bytes(int(c.U16()))
	if c.Short {
		return update.ErrShort
	}
	if safi != update.SAFIUnicast || afi != update.AFIv4 && afi != update.AFIv6 || !r.want.Covers(afi, bits, prefix) {
		return nil
	}
	e.Prefix = update.ToPrefix(afi, bits, prefix)
	if e.NextHop, err = update.ParseHop(hop); err != nil {
		return err
	}
	return r.tableEntry(e, attrs, 2)
}

// update reads an UPDATE of the peer in e (RFC 4271, section 4.3; RFC 4760).
func (r *Reader) update(e Entry, b []byte, width int, addPath bool) error {
	fields, size, err := r.attrs.Fields(b)
	if err != nil {
		return err
	}
	var hits [len(fields)]int // how many of the prefixes of each are wanted
	for i, f := range fields {
		err := r.want.EachPrefix(f.AFI, f.NLRI, addPath, func(netip.Prefix, uint32) { hits[i]++ })
		if err != nil {
			return err
		}
	}
	var failed error
	for i, f := range fields {
		if hits[i] == 0 {
			continue
		}
		if err := r.apply(e, f, width, addPath, size); final(err) {
			return err
		} else if err != nil {
			failed = err
		}
	}
	return failed
}

// apply takes in the wanted prefixes of f. Where its attributes are malformed they are
// withdrawn (RFC 7606, section 2).
func (r *Reader) apply(e Entry, f update.Field, width int, addPath bool, size int) error {
	e.Withdrawn = !f.Announced
	var failed error
	if f.Announced {
		route, err := r.attrs.Decode(width, f.MP)
		if err != nil {
			failed = fmt.Errorf("%w; its routes count as withdrawn", err)
			e.Withdrawn = true
		}
		e.Path, e.NextHop, e.Communities = route.Path, route.NextHop, route.Communities
	}
	var stopped error
	err := r.want.EachPrefix(f.AFI, f.NLRI, addPath, func(p netip.Prefix, id uint32) {
		if stopped == nil {
			e.Prefix, e.PathID = p, id
			stopped = r.learn(e, size)
		}
	})
	return cmp.Or(stopped, err, failed)
}
