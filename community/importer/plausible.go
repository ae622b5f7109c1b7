package importer

import (
	"strings"

	"github.com/catchment-bgp/catchment/community"
)

// isTime reports whether a text is the hour and minute, or with the second, of a day, or
// from one to another.
func isTime(text string) bool {
	if text == "" || !isDigit(text[0]) {
		return false
	}
	if from, to, ok := strings.Cut(text, "-"); ok && strings.Count(text, ":") == 2 && strings.Contains(from, ":") {
		return isTime(from) && isTime(to)
	}
	parts := strings.Split(text, ":")
	for i, p := range parts {
		if len(p) > 2 || p == "" || strings.Trim(p, "0123456789") != "" || i > 0 && (len(p) != 2 || p > "59") {
			return false
		}
	}
	return len(parts[0]) == 1 || parts[0] <= "24"
}

// leftOf is the number on the left, if it is one.
func leftOf(p community.Pattern) (uint32, bool) { return p.First() }

// plausible leaves the tokens that are communities in a document of owner: no times, and
// none after a word such as RD or port.
func plausible(s string, tokens []token, owner uint32) []token {
	kept := tokens[:0]
	for _, t := range tokens {
		left, ok := leftOf(t.pattern)
		own := ok && owner != 0 && left == owner
		listed := len(kept) > 0 && strings.Trim(s[kept[len(kept)-1].to:t.from], ", ") == "" && kept[len(kept)-1].to < t.from
		if isTime(t.text) && !own && !listed && !strings.HasPrefix(strings.TrimLeft(s[t.to:], " "), "=") {
			continue
		}
		if notBefore[wordBefore(s, t.from)] {
			continue
		}
		kept = append(kept, t)
	}
	return kept
}

// wordBefore is the word that ends before i, in lower case.
func wordBefore(s string, i int) string {
	s = strings.TrimRight(s[:i], " \t:=(")
	from := len(s)
	for from > 0 && len(s)-from < 24 && (isLetter(s[from-1]) || s[from-1] >= 0x80) {
		from--
	}
	return strings.ToLower(s[from:])
}
