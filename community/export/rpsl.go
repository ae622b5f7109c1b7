package export

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/catchment-bgp/catchment/community/registry"
)

const (
	remarks = "remarks:        "
	columns = 80
	room    = columns - len(remarks)
	// fold begins a line that goes on with the attribute before it (RFC 2622, section 2).
	fold = "                "
	// widestColumn bounds the column of the patterns; a longer pattern has a line of its own.
	widestColumn = 24
)

// mentions finds what a reader of remarks may take for a community.
var mentions = regexp.MustCompile(`[0-9]:[^ ]`)

// RPSL writes remarks of an aut-num object (RFC 2622, section 6): a heading for each
// kind, then a line for each community, with its meaning behind it and further lines of
// that indented, and then those of its legend, VARIABLE=DIGITS: MEANING. Further lines in
// which a community is mentioned are folded into the attribute, so that nobody takes the
// mention for a definition. No line has more than 80 columns. All letters are in ISO 8859-1 (the text itself is UTF-8): Cyrillic is
// transliterated. An entry with others, with a word longer than a line, or without
// meaning is left out.
func RPSL(w io.Writer, entries []registry.Entry) ([]registry.Problem, error) {
	var problems []registry.Problem
	out := bufio.NewWriter(w)
	rule := strings.Repeat("-", room)
	for _, s := range sections(entries) {
		width := column(s.entries)
		var lines []string
		for _, e := range s.entries {
			one, reason := rpslLines(e, width)
			if reason != "" {
				problems = append(problems, problem(e, "%s", reason))
				continue
			}
			lines = append(lines, one...)
		}
		if len(lines) == 0 {
			continue
		}
		for _, line := range append([]string{remarks + rule, remarks + s.title, remarks + rule}, lines...) {
			fmt.Fprintln(out, strings.TrimRight(line, " "))
		}
	}
	return problems, out.Flush()
}

// column is the width of the column of patterns, with the blanks behind it.
func column(entries []registry.Entry) int {
	width := 0
	for _, e := range entries {
		text, _ := pattern(e)
		if n := utf8.RuneCountInString(text); n <= widestColumn {
			width = max(width, n)
		}
	}
	return width + 2
}

// rpslLines are the lines of an entry, or why there are none.
func rpslLines(e registry.Entry, width int) (lines []string, reason string) {
	meaning, odd := registry.Latin1(oneLine(e.Meaning))
	spelled, ok := pattern(e)
	text, odder := registry.Latin1(spelled)
	odd = append(odd, odder...)
	texts := []string{oneLine(meaning)}
	for _, l := range legends(e) {
		t, odder := registry.Latin1(l)
		texts, odd = append(texts, oneLine(t)), append(odd, odder...)
	}
	switch {
	case !ok:
		return nil, noSpelling
	case len(odd) > 0:
		return nil, fmt.Sprintf("%q cannot be written in ISO 8859-1, and has no Latin letters; the RIPE DB would make question marks of it", string(odd))
	case texts[0] == "":
		return nil, "it has no meaning"
	case utf8.RuneCountInString(text) > room:
		return nil, fmt.Sprintf("the pattern is longer than a line of %d columns", columns)
	}
	indent := strings.Repeat(" ", width)
	first := text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
	if utf8.RuneCountInString(text)+2 > width {
		lines, first = append(lines, remarks+text), indent
	}
	for i, t := range texts {
		if i > 0 {
			first = indent + "  "
		}
		wrapped, word := wrap(t, room-width-2*min(i, 1))
		if word != "" {
			return nil, fmt.Sprintf("the word %s is longer than a line of %d columns", word, columns)
		}
		begin := remarks
		for _, part := range wrapped {
			lines = append(lines, begin+first+part)
			if mentions.MatchString(strings.Join(wrapped[1:], " ")) {
				begin = fold
			}
			first = indent
			if i > 0 {
				first = indent + "    "
			}
		}
	}
	return lines, ""
}

// wrap cuts a text at blanks into lines of most runes, further ones two shorter; or
// returns the word that is longer than that.
func wrap(text string, most int) (lines []string, word string) {
	line := ""
	for _, w := range strings.Fields(text) {
		limit := most
		if len(lines) > 0 {
			limit -= 2
		}
		switch n := utf8.RuneCountInString(w); {
		case n > most-2:
			return nil, w
		case line == "":
			line = w
		case utf8.RuneCountInString(line)+1+n <= limit:
			line += " " + w
		default:
			lines, line = append(lines, line), w
		}
	}
	return append(lines, line), ""
}
