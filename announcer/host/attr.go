package host

import (
	"encoding/binary"
	"iter"

	"golang.org/x/sys/unix"
)

// attrTypeMask takes the flags off the type of an attribute.
const attrTypeMask = ^uint16(unix.NLA_F_NESTED | unix.NLA_F_NET_BYTEORDER)

// attrs walks netlink attributes in host byte order; it stops at one that does
// not fit. The values are parts of b.
func attrs(b []byte) iter.Seq2[uint16, []byte] {
	return func(yield func(uint16, []byte) bool) {
		for len(b) >= unix.SizeofRtAttr {
			n := int(binary.NativeEndian.Uint16(b))
			if n < unix.SizeofRtAttr || n > len(b) {
				return
			}
			kind := binary.NativeEndian.Uint16(b[2:]) & attrTypeMask
			if !yield(kind, b[unix.SizeofRtAttr:n]) {
				return
			}
			b = b[min(align(n), len(b)):]
		}
	}
}

// align rounds up to the four octets that netlink pads to.
func align(n int) int { return (n + 3) &^ 3 }

func uint32Of(b []byte) uint32 {
	if len(b) < 4 {
		return 0
	}
	return binary.NativeEndian.Uint32(b)
}

func uint32Bytes(v uint32) []byte { return binary.NativeEndian.AppendUint32(nil, v) }
