package community

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Pattern is a set of communities of one kind, as a document writes it: each number
// stands as it is, or is a range, a set, a template of digits, a placeholder or a
// POSIX extended regular expression. The zero Pattern matches nothing.
//
//	57629:101            one value; leading zeros do not count
//	57629:4400-4499      a range; also 4400..4499, and 57629:4400 - 57629:4499
//	57629:{301,302,303}  a set of numbers and ranges
//	57629:1xx, 57629:3NNx  a template: each letter is one digit, equal ones side by side one variable
//	57629:1*0            * is any digits, or none; alone it is any number
//	57629:nnn, <ASN>, peer-as, $asn, [PEERASN]  a placeholder: any number
//	57629:<999           a number less than that
//	57629:2[1-4]0, .*    POSIX ERE over the decimal digits, anchored at both ends
//	57629:dec(Region/2=4[0-9];Use/2=.*)  fields of digits or bits, see [NewFields]
//
// Two numbers make a standard community, three a large one; rt, ro or soo in front
// make it extended, and so do a type and a sub-type as in 0x00:0x08:57629:nnn. Numbers are compared as numbers: 7 matches 007.
type Pattern struct {
	kind Kind
	ext  extended // of an extended community
	text string
	segs []segment
	// names are those of all variables.
	names []string
}

// extended is which extended communities a pattern is about.
type extended struct {
	subType byte
	typ     byte // only if exact
	exact   bool // of that type only; else of types 0x00 and 0x02, as rt: and ro: are
}

// is reports whether a pattern is about extended communities.
func (e extended) is() bool { return e.exact || e.subType != 0 }

// longestPattern bounds the text of a pattern, longestFields that of one with fields.
const (
	longestPattern = 256
	longestFields  = 1 << 16
)

// ParsePattern reads a pattern. Blanks around colons and commas, brackets around the
// whole and commas in place of colons (a tuple) are taken away. The error quotes what
// is wrong and says what to write.
func ParsePattern(text string) (Pattern, error) {
	p, err := parsePattern(text)
	if err != nil {
		return Pattern{}, fmt.Errorf("%s: %w", quote(text), err)
	}
	return p, nil
}

var errPattern = errors.New("not a pattern of communities; write for example 57629:1xx, 57629:1:<ASN>, rt:57629:nnn or 57629:4400-4499")

func parsePattern(text string) (Pattern, error) {
	limit := longestPattern
	if strings.Contains(text, ":dec(") || strings.Contains(text, ":bin(") {
		limit = longestFields
	}
	if len(text) > limit {
		return Pattern{}, fmt.Errorf("longer than %d octets", limit)
	}
	parts, ext, err := split(text)
	if err != nil {
		return Pattern{}, err
	}
	p := Pattern{kind: Standard, ext: ext}
	switch {
	case ext.is() && len(parts) == 2:
		p.kind = Extended
	case ext.is():
		return Pattern{}, errors.New("an extended community is rt, ro or soo and two numbers; write for example rt:57629:nnn")
	case len(parts) == 3:
		p.kind = Large
	case len(parts) != 2:
		return Pattern{}, errPattern
	}
	for i, part := range parts {
		s, err := parseSegment(part, p.widest(i))
		if err != nil {
			return Pattern{}, p.explain(err, parts)
		}
		p.segs = append(p.segs, s)
		p.names = append(p.names, s.names()...)
	}
	p.names = slices.Clip(p.names)
	p.text = p.spell(parts)
	return p, nil
}

// widest is the largest number at a place.
func (p Pattern) widest(i int) uint32 {
	if p.kind == Standard || p.ext.exact && (i == 0) == (p.ext.typ&^nonTransitive == typeTwoOctetAS) {
		return 0xFFFF
	}
	return 0xFFFFFFFF
}

// explain tells what to write where a number does not fit a standard community.
func (p Pattern) explain(err error, parts []string) error {
	if p.kind == Standard && errors.Is(err, errTooLarge) {
		return fmt.Errorf("%w; a standard community has two numbers of 0..65535, a large one (%s:0:%s) three of 0..4294967295", err, parts[0], parts[1])
	}
	return err
}

func (p Pattern) spell(parts []string) string {
	text := strings.Join(parts, ":")
	switch {
	case p.ext.exact:
		return fmt.Sprintf("0x%02x:0x%02x:%s", p.ext.typ, p.ext.subType, text)
	case p.ext.subType == subTypeRouteTarget:
		return "rt:" + text
	case p.ext.subType == subTypeRouteOrigin:
		return "ro:" + text
	}
	return text
}

// split cuts a text at its separators, and takes the word for an extended community
// off.
func split(text string) (parts []string, ext extended, err error) {
	text = strings.Join(strings.FieldsFunc(text, unicode.IsSpace), " ")
	if inner, ok := strings.CutPrefix(text, "("); ok && strings.HasSuffix(inner, ")") && !strings.ContainsAny(inner[:len(inner)-1], "()") {
		text = strings.TrimSpace(inner[:len(inner)-1])
	}
	if text, ext, err = cutType(text); err != nil {
		return nil, ext, err
	}
	var part strings.Builder
	mark := byte(':')
	if !strings.Contains(outside(text), ":") {
		mark = ','
	}
	for i, deep := range depths(text) {
		if deep == 0 && text[i] == mark {
			parts = append(parts, strings.TrimSpace(part.String()))
			part.Reset()
			continue
		}
		part.WriteByte(text[i])
	}
	parts = append(parts, strings.TrimSpace(part.String()))
	if len(parts) == 1 {
		return nil, ext, errPattern
	}
	if parts, err = joinRange(parts); err != nil {
		return nil, ext, err
	}
	for i, p := range parts {
		if p == "" {
			return nil, ext, errors.New("a number is missing beside a colon")
		}
		parts[i] = tight(p)
	}
	return parts, ext, nil
}

// tight takes the blanks out of ranges and sets, not out of the names of placeholders.
func tight(part string) string {
	if strings.ContainsAny(part[:1], "<[") {
		return part
	}
	var b strings.Builder
	for i := range len(part) {
		if part[i] != ' ' || i > 0 && i+1 < len(part) && isLetter(part[i-1]) && isLetter(part[i+1]) {
			b.WriteByte(part[i])
		}
	}
	return b.String()
}

// String returns the pattern as its source wrote it, without blanks around
// separators, with colons for the commas of a tuple, and rt or ro in front of an
// extended one. ParsePattern(p.String()) is the same pattern.
func (p Pattern) String() string { return p.text }

// Kind is the kind of the values that p matches.
func (p Pattern) Kind() Kind { return p.kind }

// Value returns the value that p is, if it is no more than one number at each place.
func (p Pattern) Value() (Value, bool) {
	var n [3]uint32
	for i, s := range p.segs {
		var ok bool
		if n[i], ok = s.single(); !ok {
			return Value{}, false
		}
	}
	v, err := p.compose(n)
	return v, err == nil
}

// compose makes a value of numbers that are in range, each for itself.
func (p Pattern) compose(n [3]uint32) (Value, error) {
	switch p.kind {
	case Standard:
		return NewStandard(uint16(n[0]), uint16(n[1])), nil
	case Large:
		return NewLarge(n[0], n[1], n[2]), nil
	case Extended:
		octets := [8]byte{0: p.ext.typ, 1: p.ext.subType}
		switch {
		case p.ext.exact && p.widest(0) > 0xFFFF:
			binary.BigEndian.PutUint32(octets[2:], n[0])
			binary.BigEndian.PutUint16(octets[6:], uint16(n[1]))
			return NewExtended(octets), nil
		case n[0] <= 0xFFFF:
			binary.BigEndian.PutUint16(octets[2:], uint16(n[0]))
			binary.BigEndian.PutUint32(octets[4:], n[1])
			return NewExtended(octets), nil
		case n[1] > 0xFFFF:
			return Value{}, fmt.Errorf("%d is out of range; beside the 4-octet AS %d write 0..65535", n[1], n[0])
		}
		octets[0] = typeFourOctetAS
		binary.BigEndian.PutUint32(octets[2:], n[0])
		binary.BigEndian.PutUint16(octets[6:], uint16(n[1]))
		return NewExtended(octets), nil
	}
	return Value{}, errors.New("the zero Pattern has no value")
}

// numbers takes a value apart as p sees it; false if it is of another kind.
func (p Pattern) numbers(v Value) (n [3]uint32, ok bool) {
	if v.kind != p.kind || p.kind == 0 {
		return n, false
	}
	switch v.kind {
	case Standard:
		n[0], n[1] = uint32(binary.BigEndian.Uint16(v.wire[0:])), uint32(binary.BigEndian.Uint16(v.wire[2:]))
	case Large:
		for i := range n {
			n[i] = binary.BigEndian.Uint32(v.wire[4*i:])
		}
	case Extended:
		typ := v.wire[0]
		if v.wire[1] != p.ext.subType || p.ext.exact && typ != p.ext.typ {
			return n, false
		}
		if p.ext.exact {
			typ &^= nonTransitive
		}
		switch typ {
		case typeTwoOctetAS:
			n[0], n[1] = uint32(binary.BigEndian.Uint16(v.wire[2:])), binary.BigEndian.Uint32(v.wire[4:])
		case typeFourOctetAS:
			n[0], n[1] = binary.BigEndian.Uint32(v.wire[2:]), uint32(binary.BigEndian.Uint16(v.wire[6:]))
		default:
			return n, false // an IPv4 address is no ASN
		}
	}
	return n, true
}

// Match reports whether v is one of p's values. It allocates nothing.
func (p Pattern) Match(v Value) bool {
	n, ok := p.numbers(v)
	if !ok {
		return false
	}
	for i := range p.segs {
		if !p.segs[i].match(n[i]) {
			return false
		}
	}
	return true
}

// First returns the number at the first place if it can be only one.
func (p Pattern) First() (uint32, bool) {
	if len(p.segs) == 0 {
		return 0, false
	}
	return p.segs[0].single()
}

// MarshalText returns String; the zero Pattern is an error.
func (p Pattern) MarshalText() ([]byte, error) {
	if p.kind == 0 {
		return nil, errors.New("the zero community.Pattern matches nothing")
	}
	return []byte(p.text), nil
}

// UnmarshalText reads what [ParsePattern] reads. On an error p is unchanged.
func (p *Pattern) UnmarshalText(text []byte) error {
	parsed, err := ParsePattern(string(text))
	if err == nil {
		*p = parsed
	}
	return err
}

// PatternOf returns the pattern of one value; of an extended community without an ASN,
// the zero Pattern.
func PatternOf(v Value) Pattern {
	text := v.String()
	if _, ok := v.Admin(); !ok && v.kind == Extended {
		return Pattern{} // an IPv4 address would be read as an ERE
	}
	if strings.HasPrefix(text, "0x") {
		text = v.Typed()
	}
	p, err := ParsePattern(text)
	if err != nil {
		return Pattern{}
	}
	return p
}
