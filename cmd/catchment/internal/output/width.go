package output

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Width is how many columns of a terminal s takes, which is free of control
// characters (see [OneLine]): an ideograph takes two, a combining mark none.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// Fit returns s in exactly n columns: filled with blanks, or cut, which shows as an
// ellipsis. n below 1 gives nothing.
func Fit(s string, n int) string {
	if n < 1 {
		return ""
	}
	if w := Width(s); w <= n {
		return s + strings.Repeat(" ", n-w)
	}
	var out strings.Builder
	used := 0
	for _, r := range s {
		w := runeWidth(r)
		if used+w > n-1 {
			break
		}
		out.WriteRune(r)
		used += w
	}
	out.WriteString("…" + strings.Repeat(" ", n-1-used))
	return out.String()
}

func runeWidth(r rune) int {
	if r < 0x300 { // before the first combining mark; the quick way for most texts
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}
