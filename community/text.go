package community

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// The first octet of an extended community, its type.
const (
	typeTwoOctetAS  = 0x00 // RFC 4360, section 3.1
	typeIPv4        = 0x01 // RFC 4360, section 3.2
	typeFourOctetAS = 0x02 // RFC 5668, section 2
	nonTransitive   = 0x40 // the bit of the types that stay in an AS (RFC 4360, section 2)
)

// The second octet, the sub-type, under each of the three types above.
const (
	subTypeRouteTarget = 0x02 // RFC 4360, section 4
	subTypeRouteOrigin = 0x03 // RFC 4360, section 5
)

// longest is the length of the longest text that is a community: a large one.
const longest = len("4294967295:4294967295:4294967295")

// String returns the canonical text of v: numbers, never a well-known name.
// Parse(v.String()) is v. The zero Value gives "".
func (v Value) String() string {
	switch v.kind {
	case Standard:
		return fmt.Sprintf("%d:%d", binary.BigEndian.Uint16(v.wire[0:]), binary.BigEndian.Uint16(v.wire[2:]))
	case Extended:
		return v.extendedString()
	case Large:
		n, _ := v.Large()
		return fmt.Sprintf("%d:%d:%d", n[0], n[1], n[2])
	}
	return ""
}

func (v Value) extendedString() string {
	prefix := ""
	switch v.wire[1] {
	case subTypeRouteTarget:
		prefix = "rt"
	case subTypeRouteOrigin:
		prefix = "ro"
	}
	value := v.wire[2:8]
	if prefix != "" {
		switch v.wire[0] {
		case typeTwoOctetAS:
			return fmt.Sprintf("%s:%d:%d", prefix, binary.BigEndian.Uint16(value), binary.BigEndian.Uint32(value[2:]))
		case typeIPv4:
			return fmt.Sprintf("%s:%s:%d", prefix, netip.AddrFrom4([4]byte(value[:4])), binary.BigEndian.Uint16(value[4:]))
		case typeFourOctetAS:
			// A small ASN in four octets is another community than the same ASN in
			// two (RFC 5668); only its digits in hex tell them apart.
			if asn := binary.BigEndian.Uint32(value); asn > 0xFFFF {
				return fmt.Sprintf("%s:%d:%d", prefix, asn, binary.BigEndian.Uint16(value[4:]))
			}
		}
	}
	return fmt.Sprintf("0x%016x", v.wire[:8])
}

// Parse reads one community in any of the forms that the package comment lists.
// It refuses numbers that are out of range or have signs, blanks or leading
// zeros; the error quotes the text and says what to write.
func Parse(s string) (Value, error) {
	v, err := parse(s)
	if err == nil {
		return v, nil
	}
	if len(s) <= 2*longest {
		// How the names stand in RFCs and in the output of routers.
		near := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(s), "_", "-"))
		if _, nearErr := parse(near); nearErr == nil {
			err = fmt.Errorf("write %s", near)
		}
	}
	return Value{}, fmt.Errorf("%s: %w", quote(s), err)
}

// quote returns s for an error message: as it stands if it consists of what
// communities are made of, else quoted and cut to a bearable length.
func quote(s string) string {
	if len(s) > 2*longest {
		return strconv.Quote(s[:2*longest]) + "..."
	}
	odd := func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune(":.-+_", r)
	}
	if s == "" || strings.ContainsFunc(s, odd) {
		return strconv.Quote(s)
	}
	return s
}

var errForm = errors.New("not a community; write for example 57629:101, 57629:1:101, rt:57629:101 or no-export")

func parse(s string) (Value, error) {
	if len(s) > longest {
		return Value{}, errForm
	}
	if v, ok := named(s); ok {
		return v, nil
	}
	if digits, ok := strings.CutPrefix(s, "0x"); ok {
		if strings.Contains(digits, ":") {
			return parseTyped(s)
		}
		return parseHex(digits)
	}
	parts := strings.Split(s, ":")
	switch {
	case parts[0] == "rt":
		return parseRoute(subTypeRouteTarget, parts)
	case parts[0] == "ro", parts[0] == "soo":
		return parseRoute(subTypeRouteOrigin, parts)
	case len(parts) == 2:
		return parseStandard(parts)
	case len(parts) == 3:
		return parseLarge(parts)
	}
	return Value{}, errForm
}

func parseStandard(parts []string) (Value, error) {
	asn, err := number(parts[0])
	if err != nil {
		return Value{}, err
	}
	v, err := number(parts[1])
	if err != nil {
		return Value{}, err
	}
	if asn > 0xFFFF {
		return Value{}, fmt.Errorf("AS %d does not fit a standard community; write %d:0:%d", asn, asn, v)
	}
	if v > 0xFFFF {
		return Value{}, fmt.Errorf("%d does not fit a standard community (0..65535); write %d:0:%d", v, asn, v)
	}
	return NewStandard(uint16(asn), uint16(v)), nil
}

func parseLarge(parts []string) (Value, error) {
	var n [3]uint32
	for i, part := range parts {
		var err error
		if n[i], err = number(part); err != nil {
			return Value{}, err
		}
	}
	return NewLarge(n[0], n[1], n[2]), nil
}

// parseRoute reads a route target or origin; parts are the prefix, an ASN or an
// IPv4 address, and a number.
func parseRoute(subType byte, parts []string) (Value, error) {
	if len(parts) != 3 {
		return Value{}, fmt.Errorf("write %[1]s:ASN:number or %[1]s:IPv4:number, for example %[1]s:57629:101", parts[0])
	}
	n, err := number(parts[2])
	if err != nil {
		return Value{}, err
	}
	octets := [8]byte{1: subType}
	if strings.Contains(parts[1], ".") {
		addr, err := netip.ParseAddr(parts[1])
		if err != nil || !addr.Is4() {
			return Value{}, fmt.Errorf("%s is no IPv4 address; write for example %s:192.0.2.1:5", quote(parts[1]), parts[0])
		}
		if n > 0xFFFF {
			return Value{}, fmt.Errorf("%d is out of range; beside an IPv4 address write 0..65535", n)
		}
		octets[0] = typeIPv4
		binary.BigEndian.PutUint16(octets[6:], uint16(n))
		ip := addr.As4()
		copy(octets[2:], ip[:])
		return NewExtended(octets), nil
	}
	asn, err := number(parts[1])
	switch {
	case err != nil:
		return Value{}, err
	case asn <= 0xFFFF:
		octets[0] = typeTwoOctetAS
		binary.BigEndian.PutUint16(octets[2:], uint16(asn))
		binary.BigEndian.PutUint32(octets[4:], n)
		return NewExtended(octets), nil
	case n > 0xFFFF:
		return Value{}, fmt.Errorf("%d is out of range; beside the 4-octet AS %d write 0..65535", n, asn)
	}
	octets[0] = typeFourOctetAS
	binary.BigEndian.PutUint32(octets[2:], asn)
	binary.BigEndian.PutUint16(octets[6:], uint16(n))
	return NewExtended(octets), nil
}

// Typed is the text of an extended community with its type and sub-type in front, as
// draft-ietf-grow-yang-bgp-communities writes it: 0x00:0x03:65001:4200000001. The
// octets after those are an ASN of 2 octets and a number, of types 0x02 and 0x42 an ASN
// of 4, and of 0x01 and 0x41 an IPv4 address. Parse(v.Typed()) is v. Of other kinds it
// is String.
func (v Value) Typed() string {
	if v.kind != Extended {
		return v.String()
	}
	admin, local := fmt.Sprint(binary.BigEndian.Uint16(v.wire[2:])), binary.BigEndian.Uint32(v.wire[4:])
	switch v.wire[0] &^ nonTransitive {
	case typeIPv4:
		admin, local = netip.AddrFrom4([4]byte(v.wire[2:6])).String(), uint32(binary.BigEndian.Uint16(v.wire[6:]))
	case typeFourOctetAS:
		admin, local = fmt.Sprint(binary.BigEndian.Uint32(v.wire[2:])), uint32(binary.BigEndian.Uint16(v.wire[6:]))
	}
	return fmt.Sprintf("0x%02x:0x%02x:%s:%d", v.wire[0], v.wire[1], admin, local)
}

// parseTyped reads what Typed writes.
func parseTyped(s string) (Value, error) {
	parts := strings.Split(s, ":")
	if len(parts) != 4 {
		return Value{}, errors.New("write TYPE:SUBTYPE:ASN:number, for example 0x00:0x03:57629:101")
	}
	var octets [8]byte
	var err error
	if octets[0], err = parseOctet(parts[0]); err != nil {
		return Value{}, err
	}
	if octets[1], err = parseOctet(parts[1]); err != nil {
		return Value{}, err
	}
	n, err := number(parts[3])
	if err != nil {
		return Value{}, err
	}
	layout := octets[0] &^ nonTransitive
	if layout == typeIPv4 {
		addr, err := netip.ParseAddr(parts[2])
		if err != nil || !addr.Is4() {
			return Value{}, fmt.Errorf("%s is no IPv4 address; write for example 0x01:0x02:192.0.2.1:5", quote(parts[2]))
		}
		a := addr.As4()
		copy(octets[2:], a[:])
	} else {
		asn, err := number(parts[2])
		if err != nil {
			return Value{}, err
		}
		if layout != typeFourOctetAS {
			if asn > 0xFFFF {
				return Value{}, fmt.Errorf("AS %d has 4 octets, type %s has room for 2; write type 0x%02x", asn, parts[0], octets[0]&nonTransitive|typeFourOctetAS)
			}
			binary.BigEndian.PutUint16(octets[2:], uint16(asn))
			binary.BigEndian.PutUint32(octets[4:], n)
			return NewExtended(octets), nil
		}
		binary.BigEndian.PutUint32(octets[2:], asn)
	}
	if n > 0xFFFF {
		return Value{}, fmt.Errorf("%d is out of range; with type %s write 0..65535", n, parts[0])
	}
	binary.BigEndian.PutUint16(octets[6:], uint16(n))
	return NewExtended(octets), nil
}

// parseOctet reads 0x and two hexadecimal digits.
func parseOctet(s string) (byte, error) {
	digits, ok := strings.CutPrefix(s, "0x")
	n, err := strconv.ParseUint(digits, 16, 8)
	if !ok || err != nil || len(digits) != 2 {
		return 0, fmt.Errorf("%s is no octet; write 0x and two hexadecimal digits", quote(s))
	}
	return byte(n), nil
}

func parseHex(digits string) (Value, error) {
	n, err := strconv.ParseUint(digits, 16, 64)
	if err != nil || len(digits) != 16 {
		return Value{}, errors.New("write an extended community as 0x and 16 hexadecimal digits")
	}
	var octets [8]byte
	binary.BigEndian.PutUint64(octets[:], n)
	return NewExtended(octets), nil
}

// number reads a decimal number of at most 32 bits: digits only, and no leading
// zeros, which some would read as octal.
func number(s string) (uint32, error) {
	if s == "" {
		return 0, errors.New("a number is missing beside a colon")
	}
	if strings.Trim(s, "0123456789") != "" {
		return 0, fmt.Errorf("%s is no number; write digits only", quote(s))
	}
	if len(s) > 1 && s[0] == '0' {
		short := strings.TrimLeft(s, "0")
		if short == "" {
			short = "0"
		}
		return 0, fmt.Errorf("%s has leading zeros; write %s", s, short)
	}
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%s is out of range; the largest number is 4294967295", s)
	}
	return uint32(n), nil
}

// MarshalText returns the canonical text; encoding/json and yaml.v3 use it. The
// zero Value is an error.
func (v Value) MarshalText() ([]byte, error) {
	if v.kind == 0 {
		return nil, errors.New("the zero community.Value is no community")
	}
	return []byte(v.String()), nil
}

// UnmarshalText reads what [Parse] reads. On an error v is unchanged.
func (v *Value) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*v = parsed
	return nil
}
