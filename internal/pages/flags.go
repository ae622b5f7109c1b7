package pages

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

var (
	helpFlag = regexp.MustCompile(`(?m)^  -(\S+) ?(.*)\n    \t(.*)$`)
	manFlag  = regexp.MustCompile(`(?m)^\*\*--([a-z-]+)\*\*(?: \*(.*)\*)?\n: (.*)$`)
)

// HelpFlags returns the flags that package flag prints, in their order: name, value and
// meaning, with | between them.
func HelpFlags(text string) []string { return flagsIn(text, helpFlag) }

// ManFlags returns those of a manual page, whose source's path begins at the root of the
// repository, in the same form. The errors are of reading it.
func ManFlags(path string) ([]string, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return nil, err
	}
	return flagsIn(string(text), manFlag), nil
}

func flagsIn(text string, form *regexp.Regexp) []string {
	var out []string
	for _, m := range form.FindAllStringSubmatch(text, -1) {
		out = append(out, fmt.Sprintf("%s|%s|%s", m[1], m[2], m[3]))
	}
	return out
}
