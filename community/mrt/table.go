package mrt

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/catchment-bgp/catchment/community/update"
)

// The subtypes of TABLE_DUMP_V2 (RFC 6396, section 4.3; RFC 8050, section 4).
const (
	v2PeerIndexTable = 1
	v2IPv4           = 2
	v2IPv6           = 4
	v2IPv4AddPath    = 8
	v2IPv6AddPath    = 10
)

// The bits of a peer's type (RFC 6396, section 4.3.1).
const (
	peerIPv6 = 0x01
	peerAS4  = 0x02
)

// peer is one of a PEER_INDEX_TABLE.
type peer struct {
	asn  uint32
	addr netip.Addr
}

// tableDump reads TABLE_DUMP (RFC 6396, section 4.2), whose subtype is an AFI.
func (r *Reader) tableDump(rec record) error {
	afi := rec.subtype
	size := 4
	switch afi {
	case update.AFIv4:
	case update.AFIv6:
		size = 16
	default:
		return errNotRead
	}
	fixed := size + 1 + 1 + 4 + size + 2 + 2 // a route up to its update.Attributes
	at := 4                                  // behind the view and the sequence number
	for first := true; first || at < len(rec.body); first = false {
		end := at + fixed
		if end <= len(rec.body) {
			end += int(rec.body[end-2])<<8 | int(rec.body[end-1])
		}
		if end > len(rec.body) {
			// Records of 2000 have many routes behind one view and sequence number, which
			// the length does not count.
			if first || end-len(rec.body) > 4 || !r.moreOf(&rec, at, fixed) {
				return update.ErrShort
			}
			end = len(rec.body)
		}
		if err := r.tableRoute(rec, afi, size, rec.body[at:end]); final(err) {
			return err
		} else if err != nil { // the routes behind it can still be read
			r.problem(rec.offset, fmt.Sprintf("%v; this route was left out", err))
		}
		at = end
	}
	return nil
}

// moreOf extends a record by the four octets that its length does not count, if the route
// at octet at ends with them.
func (r *Reader) moreOf(rec *record, at, fixed int) bool {
	longer, ok := r.frames.longer(*rec, 4)
	end := at + fixed
	ok = ok && end <= len(longer.body) && end+int(longer.body[end-2])<<8+int(longer.body[end-1]) == len(longer.body)
	if ok {
		r.frames.skip(4)
	} else {
		longer.body = longer.body[:len(rec.body)]
	}
	*rec = longer
	return ok
}

// tableRoute reads one route of TABLE_DUMP, whose addresses have size octets.
func (r *Reader) tableRoute(rec record, afi uint16, size int, b []byte) error {
	bits := b[size]
	if _, err := update.Octets(afi, bits); err != nil {
		return err
	}
	if !r.want.Covers(afi, bits, b) {
		return nil
	}
	c := update.Cursor{B: b[size+2+4:]} // behind the prefix, the status, which is unused, and the time of the last change
	e := Entry{Time: rec.time(), Prefix: update.ToPrefix(afi, bits, b), Peer: c.Addr(afi), PeerASN: c.ASN(2)}
	attrs := c.Bytes(int(c.U16()))
	if c.Short {
		return update.ErrShort
	}
	return r.tableEntry(e, attrs, 2)
}

// tableEntry yields e with its attributes.
func (r *Reader) tableEntry(e Entry, b []byte, width int) error {
	if err := r.attrs.Split(b); err != nil {
		return err
	}
	// An IPv4 route has its next hop in MP_REACH_NLRI where that is an IPv6 one (RFC 8950).
	mp := r.attrs[update.AttrReach] != nil && (e.Prefix.Addr().Is6() || r.attrs[update.AttrNextHop] == nil)
	route, err := r.attrs.Decode(width, mp)
	if err != nil {
		return err
	}
	e.Path, e.Communities = route.Path, route.Communities
	if route.NextHop.IsValid() {
		e.NextHop = route.NextHop
	}
	return r.emit(e, len(b))
}

// tableDumpV2 reads TABLE_DUMP_V2.
func (r *Reader) tableDumpV2(rec record) error {
	switch rec.subtype {
	case v2PeerIndexTable:
		return r.peerIndex(rec.body)
	case v2IPv4, v2IPv4AddPath:
		return r.rib(rec, update.AFIv4, rec.subtype == v2IPv4AddPath)
	case v2IPv6, v2IPv6AddPath:
		return r.rib(rec, update.AFIv6, rec.subtype == v2IPv6AddPath)
	}
	return errNotRead
}

// peerIndex reads a PEER_INDEX_TABLE, to which the tables behind it refer.
func (r *Reader) peerIndex(b []byte) error {
	r.peers, r.indexed = r.peers[:0], false
	c := update.Cursor{B: b}
	c.U32() // the collector's identifier
	c.Bytes(int(c.U16()))
	for range c.U16() {
		kind := c.U8()
		c.U32() // the peer's identifier
		afi, width := uint16(update.AFIv4), 2
		if kind&peerIPv6 != 0 {
			afi = update.AFIv6
		}
		if kind&peerAS4 != 0 {
			width = 4
		}
		p := peer{addr: c.Addr(afi), asn: c.ASN(width)}
		if c.Short {
			return update.ErrShort
		}
		r.peers = append(r.peers, p)
	}
	if c.Short {
		return update.ErrShort
	}
	r.indexed = true
	return nil
}

// errNoIndex is that of a table whose peers are not known.
var errNoIndex = errors.New("a table without a PEER_INDEX_TABLE before it: nothing says whose routes these are")

// rib reads RIB_IPV4_UNICAST and the like (RFC 6396, sections 4.3.2 and 4.3.4; RFC 8050,
// section 4).
func (r *Reader) rib(rec record, afi uint16, addPath bool) error {
	b := rec.body
	if len(b) < 5 {
		return update.ErrShort
	}
	bits := b[4]
	size, err := update.Octets(afi, bits)
	if err != nil {
		return err
	}
	if b = b[5:]; len(b) < size+2 {
		return update.ErrShort
	}
	if !r.want.Covers(afi, bits, b) {
		return nil
	}
	if !r.indexed {
		return errNoIndex
	}
	c := update.Cursor{B: b[size:]}
	prefix := update.ToPrefix(afi, bits, b)
	var failed error
	for range c.U16() {
		if err := r.ribEntry(&c, Entry{Time: rec.time(), Prefix: prefix}, addPath); c.Short || final(err) {
			return err
		} else if err != nil {
			failed = err // the routes behind it can still be read
			r.problem(rec.offset, fmt.Sprintf("%v; this route to %v was left out", err, prefix))
		}
	}
	if failed == nil && len(c.B) > 0 {
		return fmt.Errorf("%d octets are left behind the routes to %v, which were read", len(c.B), prefix)
	}
	return nil
}

// ribEntry reads and yields one route of a table.
func (r *Reader) ribEntry(c *update.Cursor, e Entry, addPath bool) error {
	index := int(c.U16())
	c.U32() // when the route was learnt
	if addPath {
		e.PathID = c.U32()
	}
	attrs := c.Bytes(int(c.U16()))
	if c.Short {
		return update.ErrShort
	}
	if index >= len(r.peers) {
		return fmt.Errorf("peer %d of a PEER_INDEX_TABLE of %d", index, len(r.peers))
	}
	e.PeerASN, e.Peer = r.peers[index].asn, r.peers[index].addr
	return r.tableEntry(e, attrs, 4)
}

// time is when the record was written.
func (rec record) time() time.Time { return time.Unix(int64(rec.seconds), 0).UTC() }
