package community

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// form is how a segment says which numbers it has.
type form uint8

const (
	literal   form = iota // lo
	ranged                // spans, of which lo..hi is the first
	template              // digits, and letters for digits
	expressed             // an ERE, or digits with *
	anything              // a placeholder or *
	fielded               // fields of digits or bits
)

// segment is one number of a pattern.
type segment struct {
	form   form
	text   string
	lo, hi uint32
	spans  []span
	vars   []run   // of a template
	shape  *shaped // of a template
	auto   *automaton
	widest uint32
	// least and largest bound the numbers.
	least, largest uint32
	count          float64 // of numbers matched
	open           int     // digits left open by a template or by fields

	// Of fields; auto is that of decimal ones.
	layout    Layout
	bits      *automaton
	rankClass int
}

type span struct{ lo, hi uint32 }

// run is the place of a variable in a template.
type run struct {
	name     string
	from, to int
}

// errTooLarge is a number that does not fit.
var errTooLarge = errors.New("out of range")

// parseSegment reads one number of a pattern, which may be at most widest.
func parseSegment(text string, widest uint32) (segment, error) {
	s := segment{text: text, widest: widest}
	var err error
	switch {
	case isLayout(text):
		s.form = fielded
		err = s.parseFields()
	case text == "*" || isPlaceholder(text):
		s.form, s.hi, s.count = anything, widest, float64(widest)+1
	case isDigits(text):
		s.form, s.count = literal, 1
		s.lo, err = bounded(text, widest)
		s.hi = s.lo
	case text[0] == '{':
		s.form = ranged
		err = s.parseSet()
	case isRange(text):
		s.form = ranged
		err = s.parseSpan(text)
	case text[0] == '<':
		s.form = ranged
		err = s.parseLess()
	case isTemplate(text):
		s.form = template
		err = s.parseTemplate()
	default:
		s.form = expressed
		err = s.parseExpression()
	}
	if err == nil && s.count == 0 {
		err = fmt.Errorf("%s has no number of 0..%d", quote(text), widest)
	}
	if err == nil {
		s.least, s.largest = s.bounds()
	}
	return s, err
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// bounded reads a number as people write it, leading zeros and all.
func bounded(text string, widest uint32) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > uint64(widest) {
		return 0, fmt.Errorf("%s is %w, the largest is %d", text, errTooLarge, widest)
	}
	return uint32(n), nil
}

// isPlaceholder reports whether a text names any number: a name in <>, [] or after $,
// a word, or a run of one letter that says no number of digits.
func isPlaceholder(text string) bool {
	if name, ok := strings.CutPrefix(text, "$"); ok {
		return isWord(name) || isDigits(name)
	}
	if len(text) > 2 && (text[0] == '<' && text[len(text)-1] == '>' || text[0] == '[' && text[len(text)-1] == ']') {
		name := text[1 : len(text)-1]
		return strings.ContainsFunc(name, func(r rune) bool { return r > 127 || isLetter(byte(r)) }) && !strings.ContainsAny(name, `<>[]\^*|`) && !isClass(name)
	}
	return isWord(text) && !isCode(text)
}

// isClass tells an ERE's set of letters and digits from a name.
func isClass(name string) bool {
	return strings.Contains(name, "-") && strings.ContainsAny(name, "0123456789")
}

// isWord reports whether a text is a name: letters, digits, -, _ and single blanks between
// words, of which the first is a letter. With digits it is one only if it cannot be a template, as in as4byte.
func isWord(text string) bool {
	if text == "" || !isLetter(text[0]) {
		return false
	}
	digits, letters := false, map[byte]bool{}
	for i := range len(text) {
		switch c := text[i]; {
		case isLetter(c):
			letters[c] = true
		case c >= '0' && c <= '9':
			digits = true
		case c != '-' && c != '_' && c != ' ':
			return false
		}
	}
	return !digits || strings.ContainsAny(text, "-_ ") || len(letters) > 2
}

// placeholders are words of capital letters that look like a code of digits.
var placeholders = []string{"AS", "ASN", "ASNN", "PEER", "PEERAS", "PEERASN", "PEERASNUM", "ANY"}

// isCode reports whether a word of letters only gives each digit a letter: xx, xxx,
// xxxx, or capitals of which one is repeated or the first is alone, as in PXX and CTLLL.
func isCode(text string) bool {
	if len(text) < 2 || len(text) > 5 || strings.ContainsAny(text, "-_ 0123456789") || slices.Contains(placeholders, strings.ToUpper(text)) {
		return false
	}
	if strings.Trim(text, text[:1]) == "" { // a run of one letter
		return len(text) < 5 && (text[0] == 'x' || text[0] == 'X')
	}
	if text != strings.ToUpper(text) {
		return false
	}
	for i := range len(text) - 1 {
		if text[i] == text[i+1] {
			return true
		}
	}
	return false
}

// isTemplate reports whether a text is digits and letters, each for one digit.
func isTemplate(text string) bool {
	if len(text) > 10 {
		return false
	}
	for i := range len(text) {
		if c := text[i]; !isLetter(c) && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

func isRange(text string) bool {
	lo, hi, ok := cutRange(text)
	return ok && isDigits(lo) && isDigits(hi)
}

func cutRange(text string) (lo, hi string, ok bool) {
	for _, mark := range []string{"..", "-", "–", "—"} {
		if lo, hi, ok = strings.Cut(text, mark); ok {
			return strings.TrimSpace(lo), strings.TrimSpace(hi), true
		}
	}
	return "", "", false
}

func (s *segment) parseSpan(text string) error {
	lo, hi, _ := cutRange(text)
	from, err := bounded(lo, s.widest)
	if err != nil {
		return err
	}
	to, err := bounded(hi, s.widest)
	switch {
	case err != nil:
		return err
	case from > to:
		return fmt.Errorf("the range %s ends before it begins", quote(text))
	}
	s.spans = append(s.spans, span{from, to})
	s.lo, s.hi = s.spans[0].lo, s.spans[0].hi
	s.count += float64(to-from) + 1
	return nil
}

func (s *segment) parseSet() error {
	inner, ok := strings.CutSuffix(s.text[1:], "}")
	if !ok {
		return fmt.Errorf("the set %s has no end", quote(s.text))
	}
	for part := range strings.SplitSeq(inner, ",") {
		part = strings.TrimSpace(part)
		switch {
		case isDigits(part):
			part += "-" + part
		case !isRange(part):
			return fmt.Errorf("a set has numbers and ranges, not %s", quote(part))
		}
		if err := s.parseSpan(part); err != nil {
			return err
		}
	}
	s.merge()
	return nil
}

// merge sorts the spans and takes overlaps out.
func (s *segment) merge() {
	slices.SortFunc(s.spans, func(a, b span) int {
		switch {
		case a.lo < b.lo:
			return -1
		case a.lo > b.lo:
			return 1
		}
		return 0
	})
	var out []span
	for _, sp := range s.spans {
		if n := len(out); n > 0 && (sp.lo <= out[n-1].hi || sp.lo == out[n-1].hi+1) {
			out[n-1].hi = max(out[n-1].hi, sp.hi)
			continue
		}
		out = append(out, sp)
	}
	s.spans, s.count = out, 0
	for _, sp := range out {
		s.count += float64(sp.hi-sp.lo) + 1
	}
	s.lo, s.hi = out[0].lo, out[0].hi
}

// parseLess reads <999 and <999>.
func (s *segment) parseLess() error {
	text := strings.TrimSuffix(s.text[1:], ">")
	if !isDigits(text) {
		return fmt.Errorf("%s is neither a placeholder, such as <ASN>, nor a bound, such as <999", quote(s.text))
	}
	n, err := bounded(text, s.widest)
	if err != nil {
		return err
	}
	if n == 0 {
		return errors.New("no number is less than 0")
	}
	return s.parseSpan(fmt.Sprintf("0-%d", n-1))
}

func (s *segment) parseTemplate() error {
	for i := range len(s.text) {
		c := s.text[i]
		if !isLetter(c) {
			continue
		}
		s.open++
		if n := len(s.vars); n > 0 && s.vars[n-1].to == i && s.vars[n-1].name[0] == c {
			s.vars[n-1].to++
			s.vars[n-1].name = s.text[s.vars[n-1].from:s.vars[n-1].to]
			continue
		}
		s.vars = append(s.vars, run{s.text[i : i+1], i, i + 1})
	}
	s.shape = &shaped{digits: digitsOf(s.text)}
	if s.count, s.largest = s.shape.upTo(s.widest); s.count == 0 {
		return fmt.Errorf("%s is %w, the largest is %d", s.text, errTooLarge, s.widest)
	}
	return nil
}

// templateExpression is a template as an ERE over numbers. To a template that begins
// with zeros numbers are filled up, as 7 to 007 for 0xx.
func templateExpression(text string) string {
	short := strings.TrimLeft(text, "0")
	var alternatives []string
	for from := range len(short) {
		if from > 0 && (short == text || short[from-1] != '0' && !isLetter(short[from-1])) {
			break // the digit before cannot be a zero that numbers do not have
		}
		if short[from] == '0' && from < len(short)-1 {
			continue
		}
		alternatives = append(alternatives, strings.Map(func(r rune) rune {
			if isLetter(byte(r)) {
				return '.'
			}
			return r
		}, short[from:]))
	}
	return strings.Join(alternatives, "|")
}

// starred reports whether * stands between digits as in 1*0, where it is any digits.
func starred(text string) bool {
	return strings.Contains(text, "*") && strings.Trim(text, "0123456789*") == ""
}

func (s *segment) parseExpression() error {
	expression := s.text
	if starred(expression) {
		expression = strings.ReplaceAll(expression, "*", "[0-9]*")
	}
	if _, err := regexp.CompilePOSIX(expression); err != nil || !strings.ContainsAny(expression, "0123456789.\\") {
		return fmt.Errorf("%s is neither a number, a range, a set, a template, a placeholder nor a POSIX ERE", quote(s.text))
	}
	if s.auto = compile(expression, s.widest); s.auto == nil {
		return fmt.Errorf("%s is too complex", quote(s.text))
	}
	s.count = s.auto.count()
	return nil
}

// match reports whether n is one of the segment's numbers.
func (s *segment) match(n uint32) bool {
	switch s.form {
	case literal:
		return n == s.lo
	case anything:
		return n <= s.widest
	case ranged:
		for _, sp := range s.spans {
			if sp.lo <= n && n <= sp.hi {
				return true
			}
		}
		return false
	case template:
		return n <= s.widest && s.shape.has(n)
	case fielded:
		if s.bits != nil {
			return s.bits.matchBits(n, s.layout.size(s.widest))
		}
	}
	return s.auto.match(n)
}

// single returns the number of a segment that has only one, by a number or by fields.
func (s *segment) single() (uint32, bool) {
	return s.lo, s.form == literal || s.form == fielded && s.count == 1
}
