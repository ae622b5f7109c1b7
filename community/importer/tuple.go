package importer

import (
	"strconv"
	"strings"
)

// longestTuple bounds the text between the brackets of a tuple.
const longestTuple = 120

// tupleAt reads what stands in brackets at i: (64500:100), (64500, 1, *), (rt, 1, 2).
func (x *lexicon) tupleAt(s string, i int) (token, bool) {
	inside := i + 1
	for inside < len(s) && s[inside] == ' ' {
		inside++
	}
	if inside >= len(s) || !opens(s[inside]) || s[inside] == '(' {
		return token{}, false
	}
	if t, ok := x.insideBrackets(s, i, inside); ok {
		return t, true
	}
	parts, end, ok := commaParts(s, inside)
	if !ok || end >= len(s) || s[end] != ')' {
		return token{}, false
	}
	t, ok := x.tupleOf(parts)
	t.from, t.to, t.bracket = i, end+1, true
	return t, ok && ends(s, t.to)
}

// insideBrackets reads (64500:100) and (rt:1:2).
func (x *lexicon) insideBrackets(s string, i, inside int) (token, bool) {
	t, ok := x.tokenAt(s, inside)
	if !ok || t.to >= len(s) {
		return token{}, false
	}
	end := t.to
	for end < len(s) && s[end] == ' ' {
		end++
	}
	if end >= len(s) || s[end] != ')' {
		return token{}, false
	}
	t.from, t.to, t.bracket = i, end+1, true
	return t, true
}

// commaParts reads numbers with commas and blanks between them.
func commaParts(s string, i int) (parts []string, end int, ok bool) {
	limit := min(len(s), i+longestTuple)
	for len(parts) < 5 {
		for i < limit && s[i] == ' ' {
			i++
		}
		end = segmentEnd(s, i)
		if end == i || end > limit {
			return nil, i, false
		}
		parts = append(parts, s[i:end])
		for i = end; i < limit && s[i] == ' '; {
			i++
		}
		if i >= len(s) || s[i] != ',' {
			return parts, i, true
		}
		i++
	}
	return nil, i, false
}

// tupleOf makes a token of a tuple's parts. Lists of small numbers, such as (1,2,4), are
// none.
func (x *lexicon) tupleOf(parts []string) (token, bool) {
	if len(parts) == 4 && strings.EqualFold(parts[0], "generic") || len(parts) < 2 {
		return token{}, false
	}
	if routeWord(parts[0]+",", 0) {
		if len(parts) != 3 {
			return token{}, false
		}
	} else if len(parts) > 3 || !isTupleStart(parts) {
		return token{}, false
	}
	return x.parse(token{text: strings.Join(parts, ":")})
}

// isTupleStart reports whether the first number may be an ASN.
func isTupleStart(parts []string) bool {
	if !isFirst(parts[0]) {
		return false
	}
	n, err := strconv.ParseUint(parts[0], 10, 64)
	if err != nil {
		return strings.Trim(parts[0], "0123456789") != ""
	}
	second, err := strconv.ParseUint(parts[1], 10, 64)
	return n >= 1000 || n == 0 && (err != nil || second >= 1000)
}

// extendedAt reads rt:1:2, rt 1:2 and rt, 1, 2, of which the word is n octets long.
func (x *lexicon) extendedAt(s string, i, n int) (token, bool) {
	j := i + n
	if s[j] == ':' || s[j] == ' ' {
		j++
		for j < len(s) && s[j] == ' ' {
			j++
		}
		parts, end := partsAt(s, min(j, len(s)))
		if len(parts) != 2 || !ends(s, end) {
			return token{}, false
		}
		return x.parse(token{from: i, to: end, text: routeName(s[i:i+n]) + ":" + strings.Join(parts, ":")})
	}
	parts, end, ok := commaParts(s, j+1)
	if !ok || len(parts) != 2 {
		return token{}, false
	}
	for end > j && s[end-1] == ' ' {
		end--
	}
	return x.parse(token{from: i, to: end, text: routeName(s[i:i+n]) + ":" + strings.Join(parts, ":")})
}

// routeName is the word as patterns print it.
func routeName(word string) string {
	if strings.EqualFold(word, "rt") {
		return "rt"
	}
	return "ro"
}

// joinRange makes one token of 64500:1 - 64500:9, and returns where to go on.
func (x *lexicon) joinRange(s string, t token) (token, int) {
	lo, isOne := t.pattern.Value()
	if t.err != nil || !isOne || t.bracket {
		return t, t.to
	}
	j := t.to
	for j < len(s) && s[j] == ' ' {
		j++
	}
	dash := ""
	for _, mark := range []string{"-", "–", "—", "..."} {
		if strings.HasPrefix(s[j:], mark) {
			dash = mark
		}
	}
	if dash == "" {
		return t, t.to
	}
	for j += len(dash); j < len(s) && s[j] == ' '; {
		j++
	}
	if j >= len(s) || !isDigit(s[j]) {
		return t, t.to
	}
	u, ok := x.tokenAt(s, j)
	if !ok || u.err != nil {
		return t, t.to
	}
	hi, isOne := u.pattern.Value()
	cut := strings.LastIndexByte(t.text, ':')
	prefix, last := t.text[:cut+1], strings.TrimPrefix(u.text, t.text[:cut+1])
	if !isOne || hi.Kind() != lo.Kind() || !strings.HasPrefix(u.text, prefix) {
		return t, t.to
	}
	joined, ok := x.parse(token{from: t.from, to: u.to, text: t.text + "-" + last})
	if !ok || joined.err != nil {
		return t, t.to
	}
	return joined, joined.to
}
