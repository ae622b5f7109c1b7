package mrt

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"pgregory.net/rapid"

	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/update"
)

// This file writes MRT: an encoder of its own for what the reader reads.

var be = binary.BigEndian

// recordOf returns a record.
func recordOf(at time.Time, kind, subtype uint16, body []byte) []byte {
	b := be.AppendUint32(nil, uint32(at.Unix()))
	b = be.AppendUint16(be.AppendUint16(b, kind), subtype)
	if kind == typeBGP4MPET {
		body = append(be.AppendUint32(nil, uint32(at.Nanosecond()/1000)), body...)
	}
	return append(be.AppendUint32(b, uint32(len(body))), body...)
}

// attr appends a path attribute.
func attr(b []byte, kind byte, value []byte) []byte {
	if len(value) < 256 {
		return append(append(b, 0x40, kind, byte(len(value))), value...)
	}
	return append(be.AppendUint16(append(b, 0x40|update.FlagExtended, kind), uint16(len(value))), value...)
}

// pathOf writes AS_PATH.
func pathOf(p Path, width int) []byte {
	var b []byte
	for _, s := range p {
		b = append(b, byte(s.Type), byte(len(s.ASNs)))
		for _, asn := range s.ASNs {
			if width == 2 {
				b = be.AppendUint16(b, uint16(asn))
			} else {
				b = be.AppendUint32(b, asn)
			}
		}
	}
	return b
}

// attrsOf writes the attributes of e, and those in more.
func attrsOf(e Entry, width int, more ...[]byte) []byte {
	b := attr(attr(nil, 1, []byte{0}), update.AttrASPath, pathOf(e.Path, width))
	for _, kind := range []struct {
		kind community.Kind
		attr byte
	}{{community.Standard, update.AttrCommunities}, {community.Extended, update.AttrExtended}, {community.Large, update.AttrLarge}} {
		if values := e.Communities.Of(kind.kind); len(values) > 0 {
			var wire []byte
			for _, v := range values {
				wire = v.AppendWire(wire)
			}
			b = attr(b, kind.attr, wire)
		}
	}
	for _, m := range more {
		b = append(b, m...)
	}
	return b
}

// nlriOf writes one prefix.
func nlriOf(e Entry, addPath bool) []byte {
	var b []byte
	if addPath {
		b = be.AppendUint32(b, e.PathID)
	}
	return append(append(b, byte(e.Prefix.Bits())), e.Prefix.Addr().AsSlice()[:(e.Prefix.Bits()+7)/8]...)
}

// hopOf is the attribute of the next hop: whole, or with short as tables have it.
func hopOf(e Entry, short bool, nlri []byte) []byte {
	if e.Prefix.Addr().Is4() && e.NextHop.Is4() {
		return attr(nil, update.AttrNextHop, e.NextHop.AsSlice())
	}
	hop := append([]byte{16}, e.NextHop.AsSlice()...)
	if short {
		return attr(nil, update.AttrReach, hop)
	}
	head := []byte{0, update.AFIv6, update.SAFIUnicast}
	if e.Prefix.Addr().Is4() {
		head[1] = update.AFIv4
	}
	return attr(nil, update.AttrReach, append(append(append(head, hop...), 0), nlri...))
}

// addresses are those of a session, the peer's and ours.
func addresses(b []byte, peer netip.Addr) []byte {
	ours := make([]byte, len(peer.AsSlice()))
	b = be.AppendUint16(b, 0)
	if peer.Is4() {
		b = be.AppendUint16(b, update.AFIv4)
	} else {
		b = be.AppendUint16(b, update.AFIv6)
	}
	return append(append(b, peer.AsSlice()...), ours...)
}

// sized writes b behind its length in two octets.
func sized(b []byte) []byte { return append(be.AppendUint16(nil, uint16(len(b))), b...) }

// message writes a record of BGP4MP with an UPDATE for e.
func message(e Entry, et, addPath bool, width int) []byte {
	var withdrawn, attrs, nlri []byte
	switch four := e.Prefix.Addr().Is4(); {
	case e.Withdrawn && four:
		withdrawn = nlriOf(e, addPath)
	case e.Withdrawn:
		attrs = attr(nil, update.AttrUnreach, append([]byte{0, update.AFIv6, update.SAFIUnicast}, nlriOf(e, addPath)...))
	case four && e.NextHop.Is4():
		nlri = nlriOf(e, addPath)
		attrs = attrsOf(e, width, hopOf(e, false, nil))
	default:
		attrs = attrsOf(e, width, hopOf(e, false, nlriOf(e, addPath)))
	}
	update := append(append(sized(withdrawn), sized(attrs)...), nlri...)
	b := be.AppendUint16(append([]byte(nil), marker...), uint16(bgpHeader+len(update)))
	b = append(append(b, bgpUpdate), update...)
	kind, subtype := uint16(typeBGP4MP), uint16(mpMessage)
	if et {
		kind = typeBGP4MPET
	}
	for i, m := range messages {
		if m.width == width && m.local == e.Local && m.addPath == addPath {
			subtype = uint16(i)
		}
	}
	return recordOf(e.Time, kind, subtype, append(session2(e, width), b...))
}

// session2 leads a record of BGP4MP, with ASNs of width octets.
func session2(e Entry, width int) []byte {
	if width == 2 {
		return addresses(be.AppendUint16(be.AppendUint16(nil, uint16(e.PeerASN)), 64511), e.Peer)
	}
	return addresses(be.AppendUint32(be.AppendUint32(nil, e.PeerASN), 64511), e.Peer)
}

// downOf writes a STATE_CHANGE of the session of e.
func downOf(e Entry, now byte) []byte {
	return recordOf(e.Time, typeBGP4MP, mpStateChangeAS4, append(session2(e, 4), 0, established, 0, now))
}

// tableOf writes an index and a table of TABLE_DUMP_V2 with one prefix, that of all entries.
func tableOf(entries []Entry, addPath bool) []byte {
	index := append(be.AppendUint32(nil, 1), 0, 0)
	index = be.AppendUint16(index, uint16(len(entries)))
	rib := append(be.AppendUint32(nil, 0), nlriOf(entries[0], false)...)
	rib = be.AppendUint16(rib, uint16(len(entries)))
	for i, e := range entries {
		kind := byte(peerAS4)
		if e.Peer.Is6() {
			kind |= peerIPv6
		}
		index = append(append(append(index, kind), 0, 0, 0, 1), e.Peer.AsSlice()...)
		index = be.AppendUint32(index, e.PeerASN)
		rib = append(be.AppendUint16(rib, uint16(i)), 0, 0, 0, 9)
		if addPath {
			rib = be.AppendUint32(rib, e.PathID)
		}
		rib = append(rib, sized(attrsOf(e, 4, hopOf(e, true, nil)))...)
	}
	subtype := uint16(v2IPv4)
	if entries[0].Prefix.Addr().Is6() {
		subtype = v2IPv6
	}
	if addPath {
		subtype += 6
	}
	at := entries[0].Time
	return append(recordOf(at, typeTableDumpV2, v2PeerIndexTable, index), recordOf(at, typeTableDumpV2, subtype, rib)...)
}

// oldTableOf writes a record of TABLE_DUMP.
func oldTableOf(e Entry) []byte {
	b := append([]byte{0, 0, 0, 1}, e.Prefix.Addr().AsSlice()...)
	b = append(b, byte(e.Prefix.Bits()), 1, 0, 0, 0, 9)
	b = be.AppendUint16(append(b, e.Peer.AsSlice()...), uint16(e.PeerASN))
	subtype := uint16(update.AFIv4)
	if e.Prefix.Addr().Is6() {
		subtype = update.AFIv6
	}
	return recordOf(e.Time, typeTableDump, subtype, append(b, sized(attrsOf(e, 2, hopOf(e, false, nil)))...))
}

// drawEntry draws an announcement to p by one of a few peers, with ASNs of at most widest.
func drawEntry(t *rapid.T, p netip.Prefix, widest uint32, micros bool) Entry {
	e := Entry{
		Time:    time.Unix(int64(rapid.Uint32Range(0, 1<<31).Draw(t, "time")), 0).UTC(),
		PeerASN: rapid.SampledFrom([]uint32{64496, 64497, widest}).Draw(t, "ASN"),
		Prefix:  p,
		Path:    drawPath(t, widest),
		Peer:    netip.MustParseAddr(fmt.Sprintf("192.0.2.%d", rapid.IntRange(1, 3).Draw(t, "peer"))),
		NextHop: netip.MustParseAddr("192.0.2.9"),
	}
	if p.Addr().Is6() {
		e.Peer, e.NextHop = netip.MustParseAddr(fmt.Sprintf("2001:db8::%d", rapid.IntRange(1, 3).Draw(t, "peer"))), netip.MustParseAddr("2001:db8::9")
	}
	if micros {
		e.Time = e.Time.Add(time.Duration(rapid.IntRange(0, 999999).Draw(t, "microseconds")) * time.Microsecond)
	}
	var values []community.Value
	number := rapid.Uint32()
	for range rapid.IntRange(0, 80).Draw(t, "communities") {
		n := number.Draw(t, "number")
		switch rapid.IntRange(1, 3).Draw(t, "kind") {
		case 1:
			values = append(values, community.NewStandard(uint16(n>>16), uint16(n)))
		case 2:
			values = append(values, community.NewExtended([8]byte{byte(n), 2, 3, 4, 5, 6, 7, byte(n >> 8)}))
		default:
			values = append(values, community.NewLarge(n, 1, n))
		}
	}
	e.Communities = community.NewSet(values...)
	return e
}

// drawPath draws a path whose ASNs are at most widest.
func drawPath(t *rapid.T, widest uint32) Path {
	var p Path
	for range rapid.IntRange(0, 3).Draw(t, "segments") {
		p = append(p, update.Segment{
			Type: update.SegmentType(rapid.IntRange(1, 4).Draw(t, "type")),
			ASNs: rapid.SliceOfN(rapid.Uint32Range(0, widest), 1, 4).Draw(t, "ASNs"),
		})
	}
	return p
}
