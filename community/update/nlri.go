package update

import (
	"encoding/binary"
	"errors"
	"net/netip"
)

// Address families, of which unicast alone is read (RFC 4760, section 3; IANA's registries).
const (
	AFIv4       = 1
	AFIv6       = 2
	SAFIUnicast = 1
)

// Target is the prefix whose routes are wanted, in the form in which it is compared.
type Target struct {
	All  bool // every prefix is wanted
	afi  uint16
	bits byte
	addr [16]byte // the first octets are the address
}

// Every is the target of all prefixes.
func Every() Target { return Target{All: true} }

// NewTarget returns the Target of one prefix; its host bits are ignored.
func NewTarget(p netip.Prefix) Target {
	p = p.Masked()
	t := Target{afi: AFIv4, bits: byte(p.Bits())}
	if p.Addr().Is6() {
		t.afi = AFIv6
	}
	copy(t.addr[:], p.Addr().AsSlice())
	return t
}

// Covers reports whether the prefix of this many bits, whose first octets are b, is wanted.
func (t *Target) Covers(afi uint16, bits byte, b []byte) bool {
	if t.All {
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
	ErrPrefixCut  = errors.New("a prefix ends behind its field")
	ErrPrefixBits = errors.New("a prefix is longer than an address")
)

// EachPrefix calls found for each prefix of NLRI that t covers (RFC 4271, section 4.3; with
// addPath RFC 7911, section 3). It allocates nothing, and stops
// where the lengths do not add up.
func (t *Target) EachPrefix(afi uint16, nlri []byte, addPath bool, found func(p netip.Prefix, pathID uint32)) error {
	for len(nlri) > 0 {
		var id uint32
		if addPath {
			if len(nlri) < 5 {
				return ErrPrefixCut
			}
			id, nlri = binary.BigEndian.Uint32(nlri), nlri[4:]
		}
		bits := nlri[0]
		size, err := Octets(afi, bits)
		if err != nil {
			return err
		}
		if nlri = nlri[1:]; len(nlri) < size {
			return ErrPrefixCut
		}
		if t.Covers(afi, bits, nlri) {
			found(ToPrefix(afi, bits, nlri), id)
		}
		nlri = nlri[size:]
	}
	return nil
}

// Octets is how many a prefix of this many bits has.
func Octets(afi uint16, bits byte) (int, error) {
	if bits > 128 || afi == AFIv4 && bits > 32 {
		return 0, ErrPrefixBits
	}
	return (int(bits) + 7) / 8, nil
}

// ToPrefix returns the prefix of bits bits whose first octets are b.
func ToPrefix(afi uint16, bits byte, b []byte) netip.Prefix {
	size := (int(bits) + 7) / 8
	if afi == AFIv4 {
		var a [4]byte
		copy(a[:], b[:size])
		return netip.PrefixFrom(netip.AddrFrom4(a), int(bits)).Masked()
	}
	var a [16]byte
	copy(a[:], b[:size])
	return netip.PrefixFrom(netip.AddrFrom16(a), int(bits)).Masked()
}
