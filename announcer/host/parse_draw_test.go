package host

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"pgregory.net/rapid"
)

// params draws a session.
func params(t *rapid.T) DefaultParams {
	return DefaultParams{
		IPv4: rapid.Bool().Draw(t, "ipv4"), IPv6: rapid.Bool().Draw(t, "ipv6"),
		ExtendedNextHop: rapid.Bool().Draw(t, "extended"), TwoOctetAS: rapid.Bool().Draw(t, "two octets"),
		LocalASN: ours,
	}
}

// drawing makes UPDATEs. Every second one is well-formed; in the others any part
// may be spoilt.
type drawing struct {
	t      *rapid.T
	width  int // octets of an ASN in AS_PATH
	spoilt bool
	attrs  []byte
}

func pick[V any](t *rapid.T, name string, from ...V) V { return rapid.SampledFrom(from).Draw(t, name) }

// or draws from good, and where spoiling is allowed sometimes gives bad.
func (d *drawing) or(bad byte, good ...byte) byte {
	if d.spoil() {
		return bad
	}
	return pick(d.t, "good", good...)
}

func (d *drawing) spoil() bool { return d.spoilt && rapid.IntRange(0, 5).Draw(d.t, "spoil") == 0 }

func (d *drawing) octets(n int) []byte { return rapid.SliceOfN(rapid.Byte(), n, n).Draw(d.t, "octets") }

func (d *drawing) list(v6 bool) (b []byte) {
	for range rapid.IntRange(0, 3).Draw(d.t, "prefixes") {
		bits := d.or(129, 0, 0, 8, 17, 32)
		if v6 {
			bits = d.or(129, 0, 0, 3, 48, 128)
		}
		b = append(append(b, bits), d.octets((int(bits)+7)/8)...)
	}
	return b
}

func (d *drawing) path(width int) (b []byte) {
	for range rapid.IntRange(0, 2).Draw(d.t, "segments") {
		n := d.or(0, 1, 2)
		b = append(b, d.or(9, 1, 2, 2, 2, 3), n)
		for range n {
			asn := binary.BigEndian.AppendUint32(nil, pick(d.t, "asn", 65001, 65002, 65003, uint32(ours)))
			b = append(b, asn[4-width:]...)
		}
	}
	return b
}

func (d *drawing) hop(v6 bool) (b []byte) {
	if !v6 && rapid.Bool().Draw(d.t, "IPv4 hop") {
		return netip.MustParseAddr(pick(d.t, "hop", "192.0.2.1", "10.0.0.1", "0.0.0.0", "127.0.0.1", "224.0.0.1", "240.0.0.1")).AsSlice()
	}
	for range d.or(3, 1, 2) {
		b = append(b, netip.MustParseAddr(pick(d.t, "hop", "2001:db8::1", "fe80::1", "::", "::ffff:1.2.3.4", "ff02::1")).AsSlice()...)
	}
	return b
}

func (d *drawing) add(flags, kind byte, value []byte) {
	if d.spoil() {
		flags ^= 0x80
	}
	if rapid.Bool().Draw(d.t, "extended length") {
		d.attrs = append(binary.BigEndian.AppendUint16(append(d.attrs, flags|0x10, kind), uint16(len(value))), value...)
	} else {
		d.attrs = append(append(d.attrs, flags, kind, byte(len(value))), value...)
	}
}

func (d *drawing) attribute(kind byte) {
	v6 := rapid.Bool().Draw(d.t, "IPv6")
	family := []byte{0, 1, d.or(128, 1, 1, 1, 2)}
	if v6 {
		family[1] = 2
	}
	switch kind {
	case 1:
		d.add(0x40, kind, []byte{d.or(3, 0, 1, 2)})
	case 2:
		d.add(0x40, kind, d.path(d.width))
	case 3:
		d.add(0x40, kind, d.octets(int(d.or(5, 4))))
	case 14:
		hop := d.hop(v6)
		d.add(0x80, kind, slices.Concat(family, []byte{byte(len(hop))}, hop, []byte{0}, d.list(v6)))
	case 15:
		d.add(0x80, kind, append(family, d.list(v6)...))
	case 17:
		d.add(0xC0, kind, d.path(4))
	default:
		d.add(0xC0, kind, d.octets(4))
	}
}

func drawUpdate(t *rapid.T, width int) []byte {
	d := &drawing{t: t, width: width, spoilt: rapid.Bool().Draw(t, "spoilt")}
	optional := map[byte]bool{8: true, 14: true, 15: true, 17: true}
	for _, kind := range rapid.Permutation([]byte{1, 2, 3, 8, 14, 15, 17}).Draw(t, "order") {
		if !optional[kind] && !d.spoil() || optional[kind] && rapid.Bool().Draw(t, "present") {
			d.attribute(kind)
		}
	}
	withdrawn := d.list(false)
	b := binary.BigEndian.AppendUint16(nil, uint16(len(withdrawn)))
	b = binary.BigEndian.AppendUint16(append(b, withdrawn...), uint16(len(d.attrs)))
	b = append(append(b, d.attrs...), d.list(false)...)
	if d.spoil() {
		b = b[:rapid.IntRange(0, len(b)).Draw(t, "cut")]
	}
	return b
}
