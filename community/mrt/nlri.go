package mrt

import (
	"encoding/binary"
	"errors"
	"net/netip"
)

// Address families (RFC 4760, section 3; IANA's registries).
const (
	afiIPv4     = 1
	afiIPv6     = 2
	safiUnicast = 1
)

// target is the prefix whose routes are wanted, in the form in which it is compared.
type target struct {
	all  bool
	afi  uint16
	bits byte
	addr [16]byte // the first octets are the address
}

// newTarget returns the target of one prefix; its host bits are ignored.
func newTarget(p netip.Prefix) target {
	p = p.Masked()
	t := target{afi: afiIPv4, bits: byte(p.Bits())}
	if p.Addr().Is6() {
		t.afi = afiIPv6
	}
	copy(t.addr[:], p.Addr().AsSlice())
	return t
}

// covers reports whether the prefix of this many bits, whose first octets are b, is wanted.
func (t *target) covers(afi uint16, bits byte, b []byte) bool {
	if t.all {
		return true
	}
	if bits != t.bits || afi != t.afi {
		return false
	}
	whole := int(bits) / 8
	for i := range whole {
		if b[i] != t.addr[i] {
			return false
		}
	}
	// "The value of trailing bits is irrelevant" (RFC 4271, section 4.3).
	rest := bits % 8
	return rest == 0 || (b[whole]^t.addr[whole])>>(8-rest) == 0
}

// NLRI that cannot be read.
var (
	errPrefixCut  = errors.New("a prefix ends behind its field")
	errPrefixBits = errors.New("a prefix is longer than an address")
)

// eachPrefix calls found for each prefix of NLRI that t covers (RFC 4271, section 4.3; with
// addPath RFC 7911, section 3). It allocates nothing, and stops
// where the lengths do not add up.
func (t *target) eachPrefix(afi uint16, nlri []byte, addPath bool, found func(p netip.Prefix, pathID uint32)) error {
	for len(nlri) > 0 {
		var id uint32
		if addPath {
			if len(nlri) < 5 {
				return errPrefixCut
			}
			id, nlri = binary.BigEndian.Uint32(nlri), nlri[4:]
		}
		bits := nlri[0]
		size, err := octets(afi, bits)
		if err != nil {
			return err
		}
		if nlri = nlri[1:]; len(nlri) < size {
			return errPrefixCut
		}
		if t.covers(afi, bits, nlri) {
			found(toPrefix(afi, bits, nlri), id)
		}
		nlri = nlri[size:]
	}
	return nil
}

// octets is how many a prefix of this many bits has.
func octets(afi uint16, bits byte) (int, error) {
	if bits > 128 || afi == afiIPv4 && bits > 32 {
		return 0, errPrefixBits
	}
	return (int(bits) + 7) / 8, nil
}

// toPrefix returns the prefix of bits bits whose first octets are b.
func toPrefix(afi uint16, bits byte, b []byte) netip.Prefix {
	size := (int(bits) + 7) / 8
	if afi == afiIPv4 {
		var a [4]byte
		copy(a[:], b[:size])
		return netip.PrefixFrom(netip.AddrFrom4(a), int(bits)).Masked()
	}
	var a [16]byte
	copy(a[:], b[:size])
	return netip.PrefixFrom(netip.AddrFrom16(a), int(bits)).Masked()
}
