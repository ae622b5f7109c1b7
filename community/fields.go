package community

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Field is a part of the digits of one number, as draft-ietf-grow-yang-bgp-communities
// describes it: a name, a number of digits or bits, and what they may be.
type Field struct {
	Name string
	// Length is the number of digits or bits; 0: all of the number, which then has no
	// other field.
	Length int
	// Expression is a POSIX ERE, anchored at both ends, over the digits or bits.
	Expression string
}

// Layout is how one number of a community is made of fields, from left to right. A
// decimal number that has fewer digits than its fields is filled up with zeros on the
// left, and one that has more does not match; the digits of a single field are taken
// without those zeros, too. A binary number has all of its 16 or 32 bits.
type Layout struct {
	Binary bool
	Fields []Field
}

// NewFields returns the pattern of one administrator and the layouts of the numbers
// after it: one of a standard community, two of a large one. Each number is spelled
//
//	dec(NAME/LENGTH=ERE;NAME/LENGTH=ERE) or bin(NAME/LENGTH=ERE)
//
// as in 65001:dec(Continent/3=200;Prepend/1=[1-5]), without /LENGTH where it is not
// given. What is neither a letter, a digit nor one of . _ - in a name is written as %
// and two hexadecimal digits. [ParsePattern] reads that spelling back. It is an error
// if the fields do not fit the number, or if an ERE is none.
func NewFields(kind Kind, admin uint32, layouts ...Layout) (Pattern, error) {
	if kind != Standard && kind != Large {
		return Pattern{}, errors.New("an extended community has a type; use NewExtendedFields")
	}
	return ParsePattern(spellFields(strconv.FormatUint(uint64(admin), 10), layouts))
}

// NewExtendedFields is NewFields for an extended community of a type that has an AS
// number: 0x00, 0x40 (2 octets), 0x02, 0x42 (4 octets). The pattern is spelled
// 0x00:0x03:65001:dec(Peer-AS=.*): it matches that type only, where rt: and ro: match
// an AS number of 2 and of 4 octets.
func NewExtendedFields(typ, subType byte, admin uint32, layout Layout) (Pattern, error) {
	return ParsePattern(spellFields(fmt.Sprintf("0x%02x:0x%02x:%d", typ, subType, admin), []Layout{layout}))
}

func spellFields(text string, layouts []Layout) string {
	for _, l := range layouts {
		text += ":" + l.String()
	}
	return text
}

// String is the spelling of one number in a pattern.
func (l Layout) String() string {
	var b strings.Builder
	b.WriteString("dec(")
	if l.Binary {
		b.Reset()
		b.WriteString("bin(")
	}
	for i, f := range l.Fields {
		if i > 0 {
			b.WriteByte(';')
		}
		b.WriteString(escape(f.Name, isNameRune))
		if f.Length > 0 {
			fmt.Fprintf(&b, "/%d", f.Length)
		}
		b.WriteByte('=')
		if balanced(f.Expression) {
			b.WriteString(f.Expression)
		} else {
			b.WriteString(escape(f.Expression, func(r rune) bool { return !strings.ContainsRune("()[]{}", r) }))
		}
	}
	b.WriteByte(')')
	return b.String()
}

func isNameRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-", r)
}

// escape writes the octets of the runes that may not stay as % and hexadecimal digits.
func escape(text string, stays func(rune) bool) string {
	var b strings.Builder
	for i, r := range text {
		size := len(string(r))
		if r == unicode.ReplacementChar && !strings.HasPrefix(text[i:], string(r)) {
			size = 1 // an octet that is no UTF-8
		} else if stays(r) {
			b.WriteRune(r)
			continue
		}
		for _, c := range []byte(text[i : i+size]) {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func unescape(text string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			b.WriteByte(text[i])
			continue
		}
		if i+2 >= len(text) {
			return "", fmt.Errorf("%s ends in the middle of %%XX", quote(text))
		}
		c, err := strconv.ParseUint(text[i+1:i+3], 16, 8)
		if err != nil {
			return "", fmt.Errorf("%s is no octet; write %% and two hexadecimal digits", quote(text[i:i+3]))
		}
		b.WriteByte(byte(c))
		i += 2
	}
	return b.String(), nil
}

// balanced reports whether the brackets of a text open and close in turn, so that a
// pattern can be cut at its separators without reading the ERE.
func balanced(text string) bool {
	deep := 0
	for _, c := range text {
		switch {
		case strings.ContainsRune("([{", c):
			deep++
		case strings.ContainsRune(")]}", c):
			deep--
		}
		if deep < 0 {
			return false
		}
	}
	return deep == 0 && !strings.Contains(text, ";")
}

// isLayout reports whether a text is spelled as a layout.
func isLayout(text string) bool {
	return (strings.HasPrefix(text, "dec(") || strings.HasPrefix(text, "bin(")) && strings.HasSuffix(text, ")")
}

// parseLayout reads the spelling of a layout.
func parseLayout(text string) (Layout, error) {
	l := Layout{Binary: text[0] == 'b'}
	for part := range strings.SplitSeq(text[len("dec("):len(text)-1], ";") {
		head, expression, ok := strings.Cut(part, "=")
		name, length, hasLength := strings.Cut(head, "/")
		if !ok || name == "" {
			return Layout{}, fmt.Errorf("%s is no field; write NAME/LENGTH=ERE", quote(part))
		}
		f := Field{}
		var err error
		if f.Name, err = unescape(name); err != nil {
			return Layout{}, err
		}
		if f.Expression, err = unescape(expression); err != nil {
			return Layout{}, err
		}
		if hasLength {
			if f.Length, err = strconv.Atoi(length); err != nil || f.Length < 1 || f.Length > 255 {
				return Layout{}, fmt.Errorf("%s is no length of a field; write 1..255", quote(length))
			}
		}
		l.Fields = append(l.Fields, f)
	}
	return l, nil
}

// Layout returns the fields of the number at a place, 0 being the administrator; false
// if it has none.
func (p Pattern) Layout(place int) (Layout, bool) {
	if place < 0 || place >= len(p.segs) || p.segs[place].form != fielded {
		return Layout{}, false
	}
	return p.segs[place].layout, true
}

// size is the number of bits or of digits of the largest number.
func (l Layout) size(widest uint32) int {
	switch {
	case l.Binary && widest == 0xFFFF:
		return 16
	case l.Binary:
		return 32
	case widest == 0xFFFF:
		return 5
	}
	return longestNumber
}

// check returns the digits or bits that the fields have together, 0 if the only one
// has no length, or what is wrong with the lengths.
func (l Layout) check(widest uint32) (total int, err error) {
	unit := "digits"
	if l.Binary {
		unit = "bits"
	}
	for _, f := range l.Fields {
		if f.Length == 0 && len(l.Fields) > 1 {
			return 0, fmt.Errorf("the field %s has no length, though there are others beside it", quote(f.Name))
		}
		total += f.Length
	}
	size := l.size(widest)
	switch {
	case len(l.Fields) == 0:
		return 0, errors.New("there is no field")
	case total > size:
		return 0, fmt.Errorf("the fields have %d %s together, the number has %d", total, unit, size)
	case l.Binary && total > 0 && total < size:
		return 0, fmt.Errorf("the fields have %d bits together, the number has %d; which of them are meant is not said", total, size)
	}
	return total, nil
}

// parseFields makes a segment of a layout.
func (s *segment) parseFields() error {
	var err error
	if s.layout, err = parseLayout(s.text); err != nil {
		return err
	}
	total, err := s.layout.check(s.widest)
	if err != nil {
		return err
	}
	size := total
	if size == 0 {
		size = s.layout.size(s.widest)
	}
	var parts []*automaton
	for _, f := range s.layout.Fields {
		length := f.Length
		if length == 0 {
			length = size
		}
		a, err := s.layout.field(f, length)
		if err != nil {
			return err
		}
		s.widen(a, length)
		parts = append(parts, a)
	}
	switch only := s.layout.Fields[0]; {
	case s.layout.Binary:
		s.bits = chain(parts)
		s.count = s.bits.countTexts(size)
	case total == 0:
		s.auto = compile(only.Expression, s.widest)
	case len(parts) == 1:
		s.auto = unpadded(parts[0], total, texts(only.Expression), s.widest)
	default:
		s.auto = unpadded(chain(parts), total, nil, s.widest)
	}
	if !s.layout.Binary {
		if s.auto == nil {
			return fmt.Errorf("%s is too complex", quote(s.text))
		}
		s.count = s.auto.count()
	}
	switch {
	case s.count == 1:
		s.lo = s.only()
		s.hi, s.rankClass, s.open = s.lo, 0, 0
	case s.count > float64(s.widest):
		s.rankClass, s.open = 4, 1
	case total == 0 && !s.layout.Binary && !s.auto.bounded:
		s.rankClass, s.open = 3, 1
	case total == 0 && !s.layout.Binary:
		s.rankClass = 1
	}
	return nil
}

// field is the automaton of the texts of one field, which have exactly length digits
// or bits.
func (l Layout) field(f Field, length int) (*automaton, error) {
	a := textsOf(f.Expression, length)
	if a == nil {
		return nil, fmt.Errorf("the pattern %s of the field %s is no POSIX ERE, or is too complex", quote(f.Expression), quote(f.Name))
	}
	if f.Length == 0 && !l.Binary {
		return a, nil
	}
	symbols := 10
	if l.Binary {
		symbols = 2
	}
	exact := a.and(ofLength(length, symbols)).trim()
	exact.bounded = a.bounded
	if exact.countTexts(length) == 0 && (l.Binary || len(l.Fields) > 1) {
		return nil, fmt.Errorf("the pattern %s of the field %s matches nothing of its length, %d", quote(f.Expression), quote(f.Name), length)
	}
	return exact, nil
}

// widen makes the segment's rank that of a field if that is less specific.
func (s *segment) widen(a *automaton, length int) {
	switch {
	case a.countTexts(length) == 1:
	case a.bounded:
		s.rankClass = max(s.rankClass, 1)
	default:
		s.rankClass, s.open = max(s.rankClass, 2), s.open+length
	}
}

// fieldTexts are the digits or bits of a number, in the fields' places.
func (s *segment) fieldTexts(n uint32) []string {
	text := strconv.FormatUint(uint64(n), 10)
	switch total, _ := s.layout.check(s.widest); {
	case s.layout.Binary:
		text = fmt.Sprintf("%0*b", s.layout.size(s.widest), n)
	case len(s.layout.Fields) > 1:
		text = fmt.Sprintf("%0*d", total, n)
	}
	if len(s.layout.Fields) == 1 {
		return []string{text}
	}
	var out []string
	for _, f := range s.layout.Fields {
		out = append(out, text[:f.Length])
		text = text[f.Length:]
	}
	return out
}

// fillFields makes a number of digits or bits that are given by the fields' names. A
// field that can be only one text needs none.
func (s *segment) fillFields(set func(string) (string, bool)) (uint32, error) {
	base, digits := 10, "0123456789"
	if s.layout.Binary {
		base, digits = 2, "01"
	}
	var text string
	for _, f := range s.layout.Fields {
		part, ok := set(f.Name)
		if !ok {
			if part = strings.TrimSuffix(strings.TrimPrefix(f.Expression, "^"), "$"); strings.Trim(part, digits) != "" || part == "" {
				return 0, fmt.Errorf("%s is not given", f.Name)
			}
		}
		if part == "" || strings.Trim(part, digits) != "" || f.Length > 0 && len(part) > f.Length {
			return 0, fmt.Errorf("%s has room for %d of %s, not for %s", f.Name, f.Length, digits, quote(part))
		}
		text += strings.Repeat("0", max(0, f.Length-len(part))) + part
	}
	n, err := strconv.ParseUint(text, base, 64)
	if err != nil || n > uint64(s.widest) {
		return 0, fmt.Errorf("%s is %w, the largest is %d", text, errTooLarge, s.widest)
	}
	if !s.match(uint32(n)) {
		return 0, fmt.Errorf("%d is none of %s", n, s.text)
	}
	return uint32(n), nil
}
