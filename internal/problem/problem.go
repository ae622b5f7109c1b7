// Package problem is what is wrong in a configuration file, line by line.
//
// In go places and texts; out come the lines that people read. It reads no file and decides nothing.
package problem

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing wrong in a file.
type Problem struct {
	File string
	Line int    // from 1; 0: not known
	Path string // where the value stands: services[0].min_announcing
	Text string // what is wrong and what to write instead
}

// String gives one line: "central.yaml:4: services[0].name: there is no value".
func (p Problem) String() string {
	var parts []string
	switch {
	case p.File != "" && p.Line > 0:
		parts = append(parts, fmt.Sprintf("%s:%d", p.File, p.Line))
	case p.File != "":
		parts = append(parts, p.File)
	case p.Line > 0:
		parts = append(parts, fmt.Sprintf("line %d", p.Line))
	}
	if p.Path != "" {
		parts = append(parts, p.Path)
	}
	return strings.Join(append(parts, p.Text), ": ")
}

// Errors is everything that keeps a file from being used, by line.
type Errors []Problem

// Error gives one problem per line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Sort orders the problems by line, then by path.
func (e Errors) Sort() {
	slices.SortStableFunc(e, func(a, b Problem) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Path, b.Path)) })
}
