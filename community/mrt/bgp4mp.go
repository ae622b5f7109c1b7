package mrt

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"
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
		return errShort
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
	c := cursor{b: rec.body}
	e, err := sessionOf(&c, m.width)
	if err != nil {
		return err
	}
	e.Time, e.Local = at, m.local
	update, err := updateOf(c.b)
	if update == nil || err != nil {
		return err
	}
	return r.update(e, update, m.width, m.addPath)
}

// sessionOf reads what leads the records of BGP4MP: the peer, and us.
func sessionOf(c *cursor, width int) (e Entry, err error) {
	e.PeerASN = c.asn(width)
	c.asn(width) // ours
	if bytes.HasPrefix(c.b, marker) {
		return e, nil // Zebra wrote OPEN messages without the addresses
	}
	c.u16() // the interface
	afi := c.u16()
	if !c.short && afi != afiIPv4 && afi != afiIPv6 {
		return e, fmt.Errorf("a session of address family %d, neither 1 (IPv4) nor 2 (IPv6)", afi)
	}
	e.Peer = c.addr(afi)
	c.addr(afi) // ours
	if c.short {
		return e, errShort
	}
	return e, nil
}

// errNoPeer is that of a record whose peer is not known.
var errNoPeer = errors.New("a record without the address of the peer")

// updateOf returns what is behind the header of an UPDATE; nil if b is another message.
func updateOf(b []byte) ([]byte, error) {
	if len(b) < bgpHeader {
		return nil, errShort
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
	c := cursor{b: b}
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
func (r *Reader) changed(e Entry, c *cursor) error {
	c.u16()
	now := c.u16()
	if c.short {
		return errShort
	}
	if now != established {
		r.state.down(e)
	}
	return nil
}

// bgp reads BGP, type 5, with 2-octet ASNs and IPv4 addresses, and messages without their header.
func (r *Reader) bgp(rec record) error {
	c := cursor{b: rec.body}
	e := Entry{Time: rec.time(), PeerASN: uint32(c.u16()), Peer: c.addr(afiIPv4)}
	switch {
	case rec.subtype > oldLast:
		return errNotRead
	case rec.subtype == oldStateChange:
		return r.changed(e, &c)
	case rec.subtype != oldUpdate:
		return nil
	}
	c.bytes(6) // ours
	if c.short {
		return errShort
	}
	return r.update(e, c.b, 2, false)
}

// oldEntry reads BGP4MP_ENTRY, one route of a table.
func (r *Reader) oldEntry(b []byte, at time.Time) error {
	c := cursor{b: b}
	e, err := sessionOf(&c, 2)
	if err != nil {
		return err
	}
	e.Time = at
	c.bytes(2 + 2 + 4) // the view, the status, and the time of the last change
	afi, safi := c.u16(), c.u8()
	hop := c.bytes(int(c.u8()))
	bits := c.u8()
	size, err := octets(afi, bits)
	if err != nil {
		return err
	}
	prefix := c.bytes(size)
	attrs := c.bytes(int(c.u16()))
	if c.short {
		return errShort
	}
	if safi != safiUnicast || afi != afiIPv4 && afi != afiIPv6 || !r.want.covers(afi, bits, prefix) {
		return nil
	}
	e.Prefix = toPrefix(afi, bits, prefix)
	if e.NextHop, err = parseHop(hop); err != nil {
		return err
	}
	return r.tableEntry(e, attrs, 2)
}

// update reads an UPDATE of the peer in e (RFC 4271, section 4.3; RFC 4760).
func (r *Reader) update(e Entry, b []byte, width int, addPath bool) error {
	c := cursor{b: b}
	withdrawn := c.bytes(int(c.u16()))
	attrs := c.bytes(int(c.u16()))
	if c.short {
		return errShort
	}
	if err := r.attrs.split(attrs); err != nil {
		return err
	}
	mpReach, err := parseReach(r.attrs[attrReach], false)
	if err != nil {
		return err
	}
	mpUnreach, err := parseUnreach(r.attrs[attrUnreach])
	if err != nil {
		return err
	}
	// What is withdrawn and announced at once is announced (RFC 4271, section 4.3).
	fields := [...]field{
		{reach: reach{afi: afiIPv4, safi: safiUnicast, nlri: withdrawn}},
		{reach: mpUnreach},
		{reach: mpReach, announced: true, mp: true},
		{reach: reach{afi: afiIPv4, safi: safiUnicast, nlri: c.b}, announced: true},
	}
	for i := range fields {
		f := &fields[i]
		if f.safi != safiUnicast || f.afi != afiIPv4 && f.afi != afiIPv6 {
			f.nlri = nil
		}
		err := r.want.eachPrefix(f.afi, f.nlri, addPath, func(netip.Prefix, uint32) { f.hits++ })
		if err != nil {
			return err
		}
	}
	var failed error
	for _, f := range fields {
		if f.hits == 0 {
			continue
		}
		if err := r.apply(e, f, width, addPath, len(attrs)); final(err) {
			return err
		} else if err != nil {
			failed = err
		}
	}
	return failed
}

// field is one of the four of an UPDATE that have prefixes.
type field struct {
	reach
	announced bool
	mp        bool
	hits      int // how many of its prefixes are wanted
}

// apply takes in the wanted prefixes of f. Where its attributes are malformed they are
// withdrawn (RFC 7606, section 2).
func (r *Reader) apply(e Entry, f field, width int, addPath bool, size int) error {
	e.Withdrawn = !f.announced
	var failed error
	if f.announced {
		route, err := r.attrs.decode(width, f.mp)
		if err != nil {
			failed = fmt.Errorf("%w; its routes count as withdrawn", err)
			e.Withdrawn = true
		}
		e.Path, e.NextHop, e.Communities = route.path, route.nextHop, route.communities
	}
	var stopped error
	err := r.want.eachPrefix(f.afi, f.nlri, addPath, func(p netip.Prefix, id uint32) {
		if stopped == nil {
			e.Prefix, e.PathID = p, id
			stopped = r.learn(e, size)
		}
	})
	return cmp.Or(stopped, err, failed)
}
