package importer

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/catchment-bgp/catchment/community"
)

// token is what stands in a line like a community or a pattern of them.
type token struct {
	from, to int    // its place in the line, brackets included
	text     string // as the source has it, a tuple with colons
	pattern  community.Pattern
	err      error // why it is none
	bracket  bool
}

// scan finds the tokens of a line. It looks at each octet a bounded number of times.
func (x *lexicon) scan(s string) []token {
	// A token has one of these marks in it, so that none begins behind the last.
	last := max(strings.LastIndexByte(s, ':'), strings.LastIndexByte(s, ','))
	var out []token
	forced := false // a label with a colon stands before
	for i := 0; i < last; {
		c := s[i]
		if !forced && !boundary(s, i) || !opens(c) {
			forced = false
			i = skip(s, i)
			continue
		}
		forced = false
		if t, ok := x.namedAt(s, i); ok {
			out, i = append(out, t), t.to
			continue
		}
		if isLetter(c) && !routeWord(s, i) {
			if end := label(s, i); end > 0 {
				i, forced = end, true
				continue
			}
		}
		if t, ok := x.tokenAt(s, i); ok {
			t, i = x.joinRange(s, t)
			out = append(out, t)
			continue
		}
		if c == '(' || c == '[' || c == '{' || c == '<' {
			i++
		} else {
			i = skip(s, i)
		}
	}
	return out
}

// namedAt reads AS64500:100, which is 64500:100.
func (x *lexicon) namedAt(s string, i int) (token, bool) {
	if len(s) < i+6 || s[i]|0x20 != 'a' || !strings.EqualFold(s[i:i+2], "as") || !isDigit(s[i+2]) {
		return token{}, false
	}
	t, ok := x.tokenAt(s, i+2)
	t.from = i
	_, first := t.pattern.First()
	return t, ok && first
}

// opens reports whether a token may begin with an octet.
func opens(c byte) bool {
	return openers[c]
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// boundary reports whether a word may begin at i.
func boundary(s string, i int) bool {
	if i == 0 {
		return true
	}
	switch c := s[i-1]; {
	case c < utf8.RuneSelf:
		return before[c] || c == '-' && strings.Trim(s[:i], " \t-*|>") == "" || c == ':' && i > 1 && s[i-2] == ')'
	}
	r, _ := utf8.DecodeLastRuneInString(s[:i])
	return !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// skip goes to where the next word may begin.
func skip(s string, i int) int {
	start := i
	for i < len(s) {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if i += size; !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				return i
			}
			continue
		}
		if inside[c] || c == '/' && i+1 < len(s) && s[i+1] == '/' {
			i++
			continue
		}
		break
	}
	return max(i, start+1)
}

// label returns where a word of letters and a colon ends that stand right before a
// value, as in large:64500:1:2; 0: no such.
func label(s string, i int) int {
	j := i
	for j < len(s) && (isLetter(s[j]) || s[j] == '-') {
		j++
	}
	if j+1 >= len(s) || s[j] != ':' || !isDigit(s[j+1]) || j-i < 3 || notBefore[strings.ToLower(s[i:j])] {
		return 0
	}
	return j + 1
}

// routeWord reports whether rt, ro or soo stands at i.
func routeWord(s string, i int) bool { return routeLen(s, i) > 0 }

func routeLen(s string, i int) int {
	if i >= len(s) || s[i]|0x20 != 'r' && s[i]|0x20 != 's' {
		return 0
	}
	for _, word := range []string{"rt", "ro", "soo"} {
		if n := len(word); len(s) > i+n && strings.EqualFold(s[i:i+n], word) && strings.IndexByte(":, ", s[i+n]) >= 0 {
			return n
		}
	}
	return 0
}

// tokenAt reads the token that begins at i.
func (x *lexicon) tokenAt(s string, i int) (token, bool) {
	if s[i] == '(' {
		return x.tupleAt(s, i)
	}
	if n := routeLen(s, i); n > 0 {
		return x.extendedAt(s, i, n)
	}
	parts, end := partsAt(s, i)
	if len(parts) < 2 || !ends(s, end) {
		return token{}, false
	}
	return x.parse(token{from: i, to: end, text: s[i:end]})
}

// parse makes the pattern; false if the text does not even look like one.
func (x *lexicon) parse(t token) (token, bool) {
	t.pattern, t.err = x.pattern(t.text)
	if t.err == nil {
		return t, true
	}
	// A number too large or the like is told; words are just words.
	return t, strings.Trim(t.text, "0123456789:xXnN") == ""
}

// partsAt reads two or three numbers with colons between them.
func partsAt(s string, i int) (parts []string, end int) {
	first := segmentEnd(s, i)
	if first == i || first == len(s) || s[first] != ':' || !isFirst(s[i:first]) {
		return nil, i
	}
	parts, end = append(parts, s[i:first]), first
	for len(parts) < 3 && end+1 < len(s) && s[end] == ':' {
		next := segmentEnd(s, end+1)
		if next == end+1 || !isLater(s, end+1, next) {
			break
		}
		parts, end = append(parts, s[end+1:next]), next
	}
	return parts, end
}

// isFirst reports whether a text may be the first number: digits, alone or in a range, a
// set or a template, or a placeholder that says it is an ASN.
func isFirst(seg string) bool {
	switch c := seg[0]; {
	case c == '<':
		return len(seg) > 1 && !isDigit(seg[1])
	case c == '$' || c == '[' || c == '{':
		return true
	case isDigit(c):
		return strings.Trim(seg, "0123456789") == "" && len(seg) <= 10 || isSpan(seg) || len(seg) <= 7 && isTemplate(seg)
	}
	return isASNName(seg)
}

func isSpan(seg string) bool {
	for _, mark := range []string{"..", "-", "–", "—"} {
		if lo, hi, ok := strings.Cut(seg, mark); ok {
			return lo != "" && hi != "" && strings.Trim(lo+hi, "0123456789") == ""
		}
	}
	return false
}

// isTemplate reports whether a text is digits with letters for some, which are n, x, y
// and the like, alike if side by side, and no units.
func isTemplate(seg string) bool {
	letters := strings.Trim(seg, "0123456789")
	return letters == "" || strings.Trim(letters, letters[:1]) == "" && strings.Contains("nxyzNXYZ", letters[:1])
}

// isASNName reports whether a word names an ASN: asn, peer-as, rs_as.
func isASNName(word string) bool {
	lower := strings.ToLower(word)
	switch lower {
	case "asn", "peeras", "peerasn", "yourasn", "youras", "myas", "myasn":
		return true
	}
	cut := strings.IndexAny(lower, "-_")
	if cut < 0 || strings.HasPrefix(lower, "as-") || strings.HasPrefix(lower, "as_") {
		return false
	}
	last := lower[strings.LastIndexAny(lower, "-_")+1:]
	return last == "as" || last == "asn"
}

// isLater reports whether s[from:to] may be the second or third number.
func isLater(s string, from, to int) bool {
	seg := s[from:to]
	switch c := seg[0]; {
	case isSetName(seg):
		return false
	case isDigit(c) || strings.IndexByte("$<[{(*.\\", c) >= 0:
		return true
	case !isLetter(c):
		return false
	case len(seg) <= 5 && (strings.ToUpper(seg) == seg || seg == strings.ToLower(seg)) || strings.ContainsAny(seg, "0123456789") && len(seg) <= 10:
	case strings.ContainsAny(seg, "-_"):
	case !placeholderWord(seg):
		return false
	}
	return true
}

// isSetName reports whether a word is the name of an RPSL set (RFC 2622, section 5).
func isSetName(seg string) bool {
	prefix, _, ok := strings.Cut(strings.ToLower(seg), "-")
	return ok && (prefix == "as" || prefix == "rs" || prefix == "fltr" || prefix == "prng" || prefix == "rtrs")
}

// placeholderWord reports whether a word is one that stands for a number.
func placeholderWord(seg string) bool {
	lower := strings.ToLower(seg)
	for _, part := range []string{"asn", "peer", "neighbor", "neighbour", "region", "country", "city", "location", "code", "number", "metric", "group", "member", "client"} {
		if strings.Contains(lower, part) {
			return true
		}
	}
	return strings.Trim(lower, lower[:1]) == "" || strings.ToUpper(seg) == seg
}

// segmentEnd returns where the number, placeholder or expression that begins at i ends.
func segmentEnd(s string, i int) int {
	j := i
	if j < len(s) && s[j] == '<' {
		return angleEnd(s, j)
	}
	for j < len(s) && j-i < 128 {
		next := pieceEnd(s, i, j)
		if next == j {
			break
		}
		j = next
	}
	return j
}

// angleEnd ends <peer ASN> and <999.
func angleEnd(s string, i int) int {
	j := i + 1
	if j < len(s) && isDigit(s[j]) {
		for j < len(s) && isDigit(s[j]) {
			j++
		}
		return j
	}
	if end := closing(s, i, '>', 48); end > 0 && strings.ContainsFunc(s[i:end], unicode.IsLetter) {
		return end
	}
	return i
}

// closing returns the place after the mark that closes a bracket at i; 0: none near.
func closing(s string, i int, mark byte, within int) int {
	window := s[i+1 : min(len(s), i+1+within)]
	if n := strings.IndexByte(window, mark); n > 0 && strings.IndexByte(window[:n], ':') < 0 {
		return i + n + 2
	}
	return 0
}

// pieceEnd returns where one piece of a number ends: a letter or digit, a group or class
// of an expression with its quantifier, or a mark that stands between two others.
func pieceEnd(s string, start, j int) int {
	c := s[j]
	after := byte(0)
	if j+1 < len(s) {
		after = s[j+1]
	}
	switch {
	case isLetter(c) || isDigit(c) || c == '_':
		return j + 1
	case c == '$' && j == start && (isLetter(after) || isDigit(after)):
		return j + 1
	case c == '*':
		return j + 1
	case c == '-' && j > start && (isLetter(after) || isDigit(after) || after == '*'):
		return j + 1
	case c == '.' && j > start && after == '.' && j+2 < len(s) && isDigit(s[j+2]):
		return j + 2
	case c == '.' && (after == '*' || after == '+' || after == '?'):
		return j + 2
	case c == '\\' && after == 'd':
		return quantified(s, j+2)
	case c == '[':
		if end := closing(s, j, ']', 48); end > 0 && (j == start || isClass(s[j:end])) {
			return quantified(s, end)
		}
	case c == '(':
		if end := closing(s, j, ')', 96); end > 0 && strings.Trim(s[j:end], "0123456789|()-[]") == "" && strings.Contains(s[j:end], "|") {
			return quantified(s, end)
		}
	case c == '{' && j == start:
		if end := closing(s, j, '}', 200); end > 0 && strings.Trim(s[j:end], "{}0123456789,-. ") == "" {
			return end
		}
	case j > start && isDigit(s[j-1]):
		for _, dash := range []string{"–", "—"} {
			if rest, ok := strings.CutPrefix(s[j:], dash); ok && rest != "" && isDigit(rest[0]) {
				return j + len(dash)
			}
		}
	}
	return j
}

func isClass(text string) bool { return strings.Trim(text, "0123456789-[]^") == "" }

// quantified goes over + * ? or {n}.
func quantified(s string, j int) int {
	if j < len(s) && strings.IndexByte("+*?", s[j]) >= 0 {
		return j + 1
	}
	if j < len(s) && s[j] == '{' {
		if end := closing(s, j, '}', 12); end > 0 && strings.Trim(s[j:end], "{}0123456789,") == "" {
			return end
		}
	}
	return j
}

// ends reports whether a token may end at i: nothing goes on there that makes it an
// address, a time or part of a word.
func ends(s string, i int) bool {
	if i >= len(s) {
		return true
	}
	after := byte(0)
	if i+1 < len(s) {
		after = s[i+1]
	}
	switch c := s[i]; {
	case c == ':':
		return after != ':' && !isDigit(after) && !isHexWord(s[i+1:])
	case c == '.' || c == '/':
		return !isDigit(after) || c == '/' && strings.IndexByte(s[i+1:min(len(s), i+8)], ':') >= 0
	case c == '-' || c == '@' || c == '%' || c == '_' || c == '+' || c == '$':
		return false
	case isLetter(c) || isDigit(c):
		return false
	case c >= utf8.RuneSelf:
		r, _ := utf8.DecodeRuneInString(s[i:])
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}
	return true
}

// isHexWord reports whether a text begins with a group of an IPv6 or MAC address.
func isHexWord(s string) bool {
	n := 0
	for n < len(s) && (isDigit(s[n]) || s[n] >= 'a' && s[n] <= 'f' || s[n] >= 'A' && s[n] <= 'F') {
		n++
	}
	return n > 0 && (n == len(s) || s[n] == ':') && n <= 4
}
