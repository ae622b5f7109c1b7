package graph

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// longest is how many characters of a text stand in a box; the tooltip has all.
const longest = 24

// short cuts a text that is too long, and spells no control character.
func short(text string) string {
	var out []rune
	for _, r := range text {
		if !unicode.IsPrint(r) {
			r = utf8.RuneError
		}
		out = append(out, r)
	}
	if len(out) > longest {
		out = append(out[:longest-1], '…')
	}
	return string(out)
}

// width is what a text takes at most at a size of 13 pixels, in pixels: no font is at hand to measure with.
func width(text string) int {
	total := 0
	for _, r := range text {
		switch {
		case r >= 0x1100:
			total += 14
		case unicode.IsUpper(r), strings.ContainsRune("mw%@—…\ufffd", r), r >= 0x300:
			total += 12
		default:
			total += 8
		}
	}
	return total
}

// escape makes a text fit for XML 1.0: marks are written as entities, and what may not stand in a document at all (section
// 2.2) as U+FFFD.
func escape(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '"':
			b.WriteString("&quot;")
		case r == '\t' || r == '\n' || r == '\r', r < 0x20, r == 0xFFFE, r == 0xFFFF:
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
