package importer

import (
	"strings"
	"unicode/utf8"
)

// decode makes UTF-8 of a line: as it stands if it is valid, else it is Latin-1 (ISO
// 8859-1), as the RIPE database writes it.
func decode(text []byte) string {
	if isPlain(text) {
		return string(text)
	}
	s := string(text)
	if !utf8.Valid(text) {
		var b strings.Builder
		b.Grow(2 * len(text))
		for _, c := range text {
			b.WriteRune(rune(c))
		}
		s = b.String()
	}
	return clean(s)
}

// isPlain reports whether a text is ASCII without control characters.
func isPlain(text []byte) bool {
	for _, c := range text {
		if c >= 0x80 || c < ' ' && c != '\t' {
			return false
		}
	}
	return true
}

// clean makes blanks of the blanks that do not break, and takes out what cannot be seen:
// soft hyphens, joiners, marks of order and control characters.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return r
		case r == 0xA0 || r == 0x202F || r == 0x2007 || r == 0x3000 || r >= 0x2000 && r <= 0x200A:
			return ' '
		case r < ' ' || r >= 0x7F && r < 0xA0 || r == 0xAD || r >= 0x200B && r <= 0x200F || r == 0x2060 || r == 0xFEFF:
			return -1
		}
		return r
	}, s)
}

// brief cuts a text to what a problem shows.
func brief(s string) string {
	s = strings.TrimSpace(s)
	if len(s) <= longestText {
		return s
	}
	cut := longestText
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "..."
}
