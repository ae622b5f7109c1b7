package routegen

import (
	"encoding/binary"
	"net/netip"
)

// Table makes the UPDATEs of something like the Internet's table: 5 to 10 prefixes of different lengths in one UPDATE,
// with paths, communities and other attributes that differ from UPDATE to UPDATE. The same Table makes the same bytes.
type Table struct {
	Count   int        // IPv4 prefixes; at most 10,000,000
	ASN     uint32     // of the speaker: the first in each AS_PATH
	NextHop netip.Addr // IPv4
}

// chunks are the sizes of successive UPDATEs, and how many prefixes come before each in the group.
var (
	chunks = [...]int{5, 8, 10, 6, 9, 7}
	before = [...]int{0, 5, 13, 23, 29, 38}
)

const group = 45 // prefixes in UPDATEs of all sizes

// first is the number of the first prefix of an UPDATE.
func first(chunk int) int { return chunk/len(chunks)*group + before[chunk%len(chunks)] }

// Updates is the number of UPDATEs that announce the table once.
func (t Table) Updates() int {
	n := t.Count / group * len(chunks)
	for first(n) < t.Count {
		n++
	}
	return n
}

// Update is the i-th UPDATE of an endless run. Each pass over the table announces every prefix with attributes other
// than in the pass before; every eighth UPDATE of a later pass withdraws its prefixes instead.
func (t Table) Update(i int) []byte {
	n := t.Updates()
	chunk, pass := i%n, uint32(i/n)
	var prefixes []netip.Prefix
	for p := first(chunk); p < min(first(chunk+1), t.Count); p++ {
		prefixes = append(prefixes, tablePrefix(p))
	}
	if pass > 0 && (uint32(chunk)+pass)%8 == 0 {
		return BuildUpdate(prefixes, nil, nil)
	}
	return BuildUpdate(nil, t.attrs(uint32(chunk), pass), prefixes)
}

// tablePrefix is the i-th prefix: mostly /24s, with shorter ones over some of them.
func tablePrefix(i int) netip.Prefix {
	var raw [4]byte
	binary.BigEndian.PutUint32(raw[:], 20<<24+uint32(i)<<8)
	bits := 24
	for shorter := 4; bits > 16 && i%shorter == 0; shorter *= 4 {
		bits -= 2
	}
	return netip.PrefixFrom(netip.AddrFrom4(raw), bits)
}

// attrs are the attributes of an UPDATE.
func (t Table) attrs(chunk, pass uint32) []Attr {
	mix := (chunk + pass*7919) * 2654435761 // Knuth's multiplicative hash
	path := []uint32{t.ASN}
	for hop := range mix >> 29 {
		path = append(path, 1000+(mix>>hop)%60000)
	}
	if mix%3 == 0 {
		path = append(path, 4_200_000_000+mix%1000)
	}
	attrs := PathAttrs(path, t.NextHop, pass)
	attrs[0].Value[0] = byte(mix % 3) // IGP, EGP or INCOMPLETE
	if n := mix >> 8 % 12; n > 0 {
		var value []byte
		for c := range n {
			value = binary.BigEndian.AppendUint32(value, t.ASN<<16|(mix+c)&0xffff)
		}
		attrs = append(attrs, Attr{0xc0, AttrCommunities, value})
	}
	if mix%5 == 0 {
		aggregator := binary.BigEndian.AppendUint32(nil, path[len(path)-1])
		attrs = append(attrs, Attr{0x40, AttrAtomicAggregate, nil}, Attr{0xc0, AttrAggregator, append(aggregator, 192, 0, 2, byte(mix))})
	}
	if mix%7 == 0 {
		var value []byte
		for _, part := range []uint32{t.ASN, mix % 100, chunk} {
			value = binary.BigEndian.AppendUint32(value, part)
		}
		attrs = append(attrs, Attr{0xc0, AttrLargeCommunities, value})
	}
	return attrs
}
