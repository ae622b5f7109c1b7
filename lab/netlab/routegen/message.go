package routegen

import (
	"encoding/binary"
	"fmt"
	"io"
	"net/netip"
	"time"
)

// Message types (RFC 4271 section 4.1, RFC 2918).
const (
	TypeOpen         = 1
	TypeUpdate       = 2
	TypeNotification = 3
	TypeKeepalive    = 4
	TypeRouteRefresh = 5
)

const (
	headerLen  = 19
	maxMessage = 4096
	asTrans    = 23456 // RFC 6793
)

// Message is one that the other side sent.
type Message struct {
	At   time.Time // when its last byte was read
	Type byte
	Body []byte // without the 19 bytes of the header
}

// Frame puts the header before a body. The length is not limited, so that wrong messages can be made.
func Frame(kind byte, body []byte) []byte {
	m := make([]byte, headerLen, headerLen+len(body))
	for i := range 16 {
		m[i] = 0xff
	}
	binary.BigEndian.PutUint16(m[16:], uint16(headerLen+len(body)))
	m[18] = kind
	return append(m, body...)
}

// readMessage reads one message; its header must be sound.
func readMessage(r io.Reader) (Message, error) {
	var header [headerLen]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return Message{}, err
	}
	for _, b := range header[:16] {
		if b != 0xff {
			return Message{}, fmt.Errorf("marker %x", header[:16])
		}
	}
	size := int(binary.BigEndian.Uint16(header[16:]))
	if size < headerLen || size > maxMessage {
		return Message{}, fmt.Errorf("message of type %d: length %d", header[18], size)
	}
	body := make([]byte, size-headerLen)
	if _, err := io.ReadFull(r, body); err != nil {
		return Message{}, fmt.Errorf("message of type %d: %w", header[18], err)
	}
	return Message{At: time.Now(), Type: header[18], Body: body}, nil
}

// Notification is a NOTIFICATION that the other side sent; as an error it says why the session ended.
type Notification struct {
	Code, Subcode byte
	Data          []byte
}

// Error tells code, subcode and data.
func (n *Notification) Error() string {
	return fmt.Sprintf("NOTIFICATION %d/%d %q", n.Code, n.Subcode, n.Data)
}

// ParseNotification reads the body of a NOTIFICATION (RFC 4271 section 4.5).
func ParseNotification(body []byte) (*Notification, error) {
	if len(body) < 2 {
		return nil, fmt.Errorf("NOTIFICATION of %d bytes", len(body))
	}
	return &Notification{Code: body[0], Subcode: body[1], Data: body[2:]}, nil
}

// Family is an address family (AFI and SAFI of RFC 4760).
type Family struct {
	AFI  uint16
	SAFI byte
}

// The families that catchment announces.
var (
	IPv4 = Family{1, 1}
	IPv6 = Family{2, 1}
)

// Capability is one of an OPEN (RFC 5492).
type Capability struct {
	Code  byte
	Value []byte
}

// Capability codes.
const (
	CapMultiprotocol   = 1  // RFC 4760
	CapRouteRefresh    = 2  // RFC 2918
	CapExtendedNextHop = 5  // RFC 8950
	CapRole            = 9  // RFC 9234
	CapFourOctetASN    = 65 // RFC 6793
)

// Open is the content of an OPEN.
type Open struct {
	ASN          uint32 // from the capability when there is one
	HoldTime     time.Duration
	RouterID     netip.Addr
	Capabilities []Capability
}

// Capability finds the first of a code.
func (o Open) Capability(code byte) ([]byte, bool) {
	for _, c := range o.Capabilities {
		if c.Code == code {
			return c.Value, true
		}
	}
	return nil, false
}

// ParseOpen reads the body of an OPEN (RFC 4271 section 4.2).
func ParseOpen(body []byte) (Open, error) {
	if len(body) < 10 || len(body) != 10+int(body[9]) {
		return Open{}, fmt.Errorf("OPEN of %d bytes: lengths do not agree", len(body))
	}
	open := Open{
		ASN:      uint32(binary.BigEndian.Uint16(body[1:])),
		HoldTime: time.Duration(binary.BigEndian.Uint16(body[3:])) * time.Second,
		RouterID: netip.AddrFrom4([4]byte(body[5:9])),
	}
	for rest := body[10:]; len(rest) > 0; {
		kind, value, after, err := cutTLV(rest)
		if err != nil {
			return Open{}, fmt.Errorf("OPEN: parameter: %w", err)
		}
		rest = after
		if kind != 2 {
			continue
		}
		for len(value) > 0 {
			var c Capability
			if c.Code, c.Value, value, err = cutTLV(value); err != nil {
				return Open{}, fmt.Errorf("OPEN: capability: %w", err)
			}
			open.Capabilities = append(open.Capabilities, c)
		}
	}
	if v, ok := open.Capability(CapFourOctetASN); ok && len(v) == 4 {
		open.ASN = binary.BigEndian.Uint32(v)
	}
	return open, nil
}

// cutTLV splits a type, a length of one byte and a value off the front.
func cutTLV(b []byte) (kind byte, value, rest []byte, err error) {
	if len(b) < 2 || len(b) < 2+int(b[1]) {
		return 0, nil, nil, io.ErrUnexpectedEOF
	}
	return b[0], b[2 : 2+int(b[1])], b[2+int(b[1]):], nil
}

// Message composes the whole OPEN message.
func (o Open) Message() []byte {
	var caps []byte
	for _, c := range o.Capabilities {
		caps = append(append(caps, c.Code, byte(len(c.Value))), c.Value...)
	}
	asn := o.ASN
	if asn > 0xffff {
		asn = asTrans
	}
	body := []byte{4}
	body = binary.BigEndian.AppendUint16(body, uint16(asn))
	body = binary.BigEndian.AppendUint16(body, uint16(o.HoldTime/time.Second))
	id := o.RouterID.As4()
	body = append(body, id[:]...)
	if len(caps) == 0 {
		return Frame(TypeOpen, append(body, 0))
	}
	body = append(body, byte(len(caps)+2), 2, byte(len(caps)))
	return Frame(TypeOpen, append(body, caps...))
}
