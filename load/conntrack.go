package load

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Of linux/netfilter/nfnetlink_conntrack.h.
const (
	conntrackGet = 1<<8 | 1 // subsystem conntrack, IPCTNL_MSG_CT_GET
	ctTupleOrig  = 1
	ctMark       = 8
	ctTupleIP    = 1
	ctTupleProto = 2
	ctProtoNum   = 1
	ctSourcePort = 2
	ctTargetPort = 3
	nfHead       = 4 // struct nfgenmsg
)

// mark is the connection mark of a connection that its remote end began. False:
// connection tracking does not know it.
func (k *kernel) mark(c connection) (mark uint32, known bool, err error) {
	if k.tracks == nil {
		return 0, false, errNoTracks
	}
	err = k.tracks.request(conntrackGet, unix.NLM_F_ACK, markRequest(c), func(b []byte) {
		mark, known = parseMark(b)
	})
	switch {
	case errors.Is(err, unix.ENOENT):
		return 0, false, nil
	case errors.Is(err, unix.EPERM):
		return 0, false, fmt.Errorf("connection marks: %w: asking connection tracking needs CAP_NET_ADMIN", err)
	case err != nil:
		return 0, false, fmt.Errorf("connection marks: %w", err)
	}
	return mark, known, nil
}

func markRequest(c connection) []byte {
	family, source, target := byte(unix.AF_INET), uint16(1), uint16(2) // CTA_IP_V4_SRC and _DST
	if c.local.Addr().Is6() {
		family, source, target = unix.AF_INET6, 3, 4
	}
	const nested = unix.NLA_F_NESTED
	ip := attr(nil, source, c.remote.Addr().AsSlice())
	ip = attr(ip, target, c.local.Addr().AsSlice())
	proto := attr(nil, ctProtoNum, []byte{unix.IPPROTO_TCP})
	proto = attr(proto, ctSourcePort, binary.BigEndian.AppendUint16(nil, c.remote.Port()))
	proto = attr(proto, ctTargetPort, binary.BigEndian.AppendUint16(nil, c.local.Port()))
	tuple := attr(attr(nil, ctTupleIP|nested, ip), ctTupleProto|nested, proto)
	return attr([]byte{family, 0, 0, 0}, ctTupleOrig|nested, tuple)
}

// parseMark reads struct nfgenmsg and the attribute with the mark; a connection
// without that attribute has the mark 0.
func parseMark(b []byte) (mark uint32, ok bool) {
	if len(b) < nfHead {
		return 0, false
	}
	for kind, value := range attrs(b[nfHead:]) {
		if kind == ctMark && len(value) == 4 {
			mark = binary.BigEndian.Uint32(value)
		}
	}
	return mark, true
}
