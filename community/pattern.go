package community

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
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
//
// Two numbers make a standard community, three a large one; rt, ro or soo in front
// make it extended. Numbers are compared as numbers: 7 matches 007.
type Pattern struct {
	kind Kind
	// subType of an extended community; only with kind Extended.
	subType byte
	text    string
	segs    []segment
}

// longestPattern bounds the text of a pattern.
const longestPattern = 256

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
	if len(text) > longestPattern {
		return Pattern{}, fmt.Errorf("longer than %d octets", longestPattern)
	}
	parts, subType, err := split(text)
	if err != nil {
		return Pattern{}, err
	}
	p := Pattern{kind: Standard, subType: subType}
	switch {
	case subType != 0 && len(parts) == 2:
		p.kind = Extended
	case subType != 0:
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
	}
	p.text = p.spell(parts)
	return p, nil
}

// widest is the largest number at a place.
func (p Pattern) widest(i int) uint32 {
	if p.kind == Standard {
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
	switch p.subType {
	case subTypeRouteTarget:
		return "rt:" + text
	case subTypeRouteOrigin:
		return "ro:" + text
	}
	return text
}

// split cuts a text at its separators, and takes the word for an extended community
// off.
func split(text string) (parts []string, subType byte, err error) {
	text = strings.Join(strings.FieldsFunc(text, unicode.IsSpace), " ")
	if inner, ok := strings.CutPrefix(text, "("); ok && strings.HasSuffix(inner, ")") && !strings.ContainsAny(inner[:len(inner)-1], "()") {
		text = strings.TrimSpace(inner[:len(inner)-1])
	}
	text, subType = cutWord(text)
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
		return nil, 0, errPattern
	}
	if parts, err = joinRange(parts); err != nil {
		return nil, 0, err
	}
	for i, p := range parts {
		if p == "" {
			return nil, 0, errors.New("a number is missing beside a colon")
		}
		parts[i] = tight(p)
	}
	return parts, subType, nil
}

// depths is how many brackets are open at each octet of a text. A < in front of a
// digit opens none.
func depths(text string) []int {
	out, deep := make([]int, len(text)), 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '<' && i+1 < len(text) && text[i+1] >= '0' && text[i+1] <= '9':
		case strings.IndexByte("<[({", c) >= 0:
			deep++
		case strings.IndexByte(">])}", c) >= 0:
			deep = max(0, deep-1)
		}
		out[i] = deep
	}
	return out
}

// outside is text without what stands in brackets.
func outside(text string) string {
	var b strings.Builder
	for i, deep := range depths(text) {
		if deep == 0 {
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

// cutWord takes rt, ro or soo off the front.
func cutWord(text string) (rest string, subType byte) {
	word := strings.IndexAny(text, " :,")
	if word < 0 {
		return text, 0
	}
	switch strings.ToLower(text[:word]) {
	case "rt":
		subType = subTypeRouteTarget
	case "ro", "soo":
		subType = subTypeRouteOrigin
	default:
		return text, 0
	}
	return strings.TrimLeft(text[word:], " :,"), subType
}

// joinRange makes A:b - A:c the two parts A and b-c.
func joinRange(parts []string) ([]string, error) {
	for i, p := range parts {
		lo, first, ok := strings.Cut(p, " - ")
		if !ok || i == 0 || i == len(parts)-1 {
			continue
		}
		// parts[:i] and lo are the first value; first and parts[i+1:] the second.
		from, to := append(append([]string{}, parts[:i]...), lo), append([]string{first}, parts[i+1:]...)
		if len(from) != len(to) {
			return nil, errors.New("a range from one value to another needs two of a kind")
		}
		last := len(from) - 1
		for j := range last {
			if from[j] != to[j] {
				return nil, fmt.Errorf("a range of values may differ in the last number only, not %s and %s", from[j], to[j])
			}
		}
		return append(from[:last], from[last]+"-"+to[last]), nil
	}
	return parts, nil
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
		if s.form != literal {
			return Value{}, false
		}
		n[i] = s.lo
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
		octets := [8]byte{1: p.subType}
		switch {
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
		if v.wire[1] != p.subType {
			return n, false
		}
		switch v.wire[0] {
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
	if len(p.segs) == 0 || p.segs[0].form != literal {
		return 0, false
	}
	return p.segs[0].lo, true
}

// Compare puts the more specific pattern first: one value, then ranges and sets,
// then templates, those with the fewest digits left open first, then what bounds no
// number of digits, then placeholders. Of equal ones that with fewer values is first,
// then the text decides.
func (p Pattern) Compare(q Pattern) int {
	pr, qr := p.rank(), q.rank()
	return cmp.Or(cmp.Compare(pr.class, qr.class), cmp.Compare(pr.open, qr.open), cmp.Compare(pr.values, qr.values), cmp.Compare(p.text, q.text))
}

type rank struct {
	class  int     // of the least specific segment
	open   int     // digits or numbers left open
	values float64 // how many are matched, at most
}

func (p Pattern) rank() rank {
	r := rank{values: 1}
	for i := range p.segs {
		s := &p.segs[i]
		class, open := s.class()
		r.class, r.open, r.values = max(r.class, class), r.open+open, r.values*s.count
	}
	return r
}

// Covers reports whether every value of q is one of p.
func (p Pattern) Covers(q Pattern) bool {
	if !p.comparable(q) {
		return false
	}
	for i := range p.segs {
		if !covers(&p.segs[i], &q.segs[i]) {
			return false
		}
	}
	return true
}

// Overlaps reports whether p and q have a value in common.
func (p Pattern) Overlaps(q Pattern) bool {
	if !p.comparable(q) {
		return false
	}
	for i := range p.segs {
		if !overlaps(&p.segs[i], &q.segs[i]) {
			return false
		}
	}
	return true
}

func (p Pattern) comparable(q Pattern) bool {
	return p.kind != 0 && p.kind == q.kind && p.subType == q.subType
}

// Binding is what one variable of a pattern stands for in a value.
type Binding struct {
	Name string // as the pattern writes it: x, NN, <ASN>, peer-as
	Text string // the digits
}

// Names are the variables of p from left to right, as the pattern writes them.
func (p Pattern) Names() []string {
	var names []string
	for i := range p.segs {
		names = append(names, p.segs[i].names()...)
	}
	return names
}

// Bind returns what each variable of p stands for in v; false if v does not match.
func (p Pattern) Bind(v Value) ([]Binding, bool) {
	if !p.Match(v) {
		return nil, false
	}
	n, _ := p.numbers(v)
	var out []Binding
	for i := range p.segs {
		out = p.segs[i].bind(n[i], out)
	}
	return out, true
}

// Fill returns the value in which each variable stands for the digits that set gives
// it. It returns an error if one is missing or is not of the digits that the pattern
// has room for, such as a 4-octet ASN in a standard community, or if p leaves open what
// is no variable, such as a range.
func (p Pattern) Fill(set func(name string) (digits string, ok bool)) (Value, error) {
	var n [3]uint32
	for i := range p.segs {
		var err error
		if n[i], err = p.segs[i].fill(set, p.widest(i)); err != nil {
			return Value{}, fmt.Errorf("%s: %w", p.text, err)
		}
	}
	v, err := p.compose(n)
	if err != nil {
		return Value{}, fmt.Errorf("%s: %w", p.text, err)
	}
	return v, nil
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

// PatternOf returns the pattern of one value; of an extended community that is neither
// a route target nor a route origin of an ASN, the zero Pattern.
func PatternOf(v Value) Pattern {
	p, err := ParsePattern(v.String())
	if err != nil {
		return Pattern{}
	}
	return p
}
