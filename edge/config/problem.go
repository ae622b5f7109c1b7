package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Problem is one thing wrong, or suspicious, in a configuration file.
type Problem struct {
	File string
	// Line and Column count from 1; zero where the place is not known.
	Line, Column int
	// Path is where the value stands: neighbors[0].hold_time. Empty: the whole file.
	Path string
	// Text says what is wrong and what to write instead.
	Text string
}

// String gives one line: "edge.yaml:12: neighbors[0].hold_time: 2s is below the
// minimum; write 3s or more".
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		if p.File != "" {
			b.WriteByte(':')
		}
		b.WriteString(strconv.Itoa(p.Line))
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	if p.Path != "" {
		b.WriteString(p.Path)
		b.WriteString(": ")
	}
	b.WriteString(p.Text)
	return b.String()
}

// Errors is everything that keeps a file from being used, sorted by line. Load
// and Parse return it as their error when they could read the file.
type Errors []Problem

// Error gives one problem per line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

func sortProblems(p []Problem) {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Path, b.Path))
	})
}

// maxQuoted bounds what a message repeats of the file.
const maxQuoted = 60

// show repeats a value of the file in a message: bare where it is one plain
// word, quoted otherwise, cut where it is long.
func show(s string) string {
	if len(s) > maxQuoted {
		cut := maxQuoted
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		return strconv.Quote(s[:cut]) + "..."
	}
	for _, r := range s {
		if !isPlain(r) {
			return strconv.Quote(s)
		}
	}
	if s == "" {
		return `""`
	}
	return s
}

func isPlain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
		strings.ContainsRune("._-+/:%@[]", r)
}

// join makes the path of a key inside the mapping at path.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// item makes the path of an entry of the list at path.
func item(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
