package guard

import (
	"encoding/binary"
	"fmt"
)

// Lengths of messages, headers included (RFC 4271, section 4.1).
const (
	headerLen  = 19
	maxMessage = 4096
	maxBody    = maxMessage - headerLen
	refreshLen = 23
)

// Types of message.
const (
	typeOpen = iota + 1
	typeUpdate
	typeNotification
	typeKeepalive
	typeRefresh // RFC 2918
)

const safiUnicast = 1

var marker = [16]byte{
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
}

// keepalive is the only KEEPALIVE that there is. It is never written to.
var keepalive = appendHeader(nil, typeKeepalive, 0)

func appendHeader(b []byte, kind byte, body int) []byte {
	b = append(b, marker[:]...)
	b = binary.BigEndian.AppendUint16(b, uint16(headerLen+body))
	return append(b, kind)
}

// appendRefresh composes a ROUTE-REFRESH (RFC 2918, section 3).
func appendRefresh(b []byte, f Family) []byte {
	b = appendHeader(b, typeRefresh, refreshLen-headerLen)
	b = binary.BigEndian.AppendUint16(b, f.afi())
	return append(b, 0, safiUnicast)
}

// checkHeader takes the first 19 bytes of a message apart. The fault is what
// RFC 4271, section 6.1, wants said.
func checkHeader(h []byte) (kind byte, length int, f *fault) {
	if [16]byte(h[:16]) != marker {
		return 0, 0, &fault{
			reason: "neighbour sent a message without the marker of all ones",
			notify: &notification{code: codeHeader, subcode: 1},
		}
	}
	length, kind = int(binary.BigEndian.Uint16(h[16:18])), h[18]
	least, most := headerLen, maxMessage
	switch kind {
	case typeOpen:
		least = 29
	case typeUpdate:
		least = 23
	case typeNotification:
		least = 21
	case typeKeepalive:
		most = headerLen
	case typeRefresh:
		least = refreshLen
	}
	if length < least || length > most {
		return 0, 0, &fault{
			reason: fmt.Sprintf("neighbour sent a message of type %d with the impossible length %d", kind, length),
			notify: &notification{code: codeHeader, subcode: 2, data: []byte{h[16], h[17]}},
		}
	}
	if kind < typeOpen || kind > typeRefresh {
		return 0, 0, &fault{
			reason: fmt.Sprintf("neighbour sent a message of the unknown type %d", kind),
			notify: &notification{code: codeHeader, subcode: 3, data: []byte{kind}},
		}
	}
	return kind, length, nil
}
