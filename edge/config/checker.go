package config

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/catchment-bgp/catchment/community/registry"
)

// position is a place in the file, counted from 1; zero: not known.
type position struct{ line, column int }

// checker collects what is wrong with one file while it is turned into a Config.
type checker struct {
	file     string
	opt      Options
	errs     []Problem
	warnings []Problem
	spent    int
	// pos has every path that stands in the file.
	pos map[string]position
	// bad has the paths whose values were refused, dirty those and all above.
	// What is bad is reported once, and not again for its consequences.
	bad, dirty map[string]bool
	// registry has what the documents say; nil: there are none.
	registry *registry.Registry
}

func newChecker(file string, opt Options) *checker {
	return &checker{
		file: file, opt: opt,
		pos: map[string]position{"": {1, 1}},
		bad: map[string]bool{}, dirty: map[string]bool{},
	}
}

func (c *checker) errorAt(at position, path, text string) {
	c.errs = append(c.errs, Problem{File: c.file, Line: at.line, Column: at.column, Path: path, Text: text})
	c.dirty[""] = true
}

// reject reports the value at path, unless that was done, and marks it as
// unusable. It returns nil for the walk to pass on.
func (c *checker) reject(path, format string, args ...any) any {
	if c.bad[path] {
		return nil
	}
	c.errorAt(c.where(path), path, fmt.Sprintf(format, args...))
	c.mark(path)
	return nil
}

func (c *checker) warn(path, format string, args ...any) {
	at := c.where(path)
	c.warnings = append(c.warnings, Problem{File: c.file, Line: at.line, Column: at.column, Path: path, Text: fmt.Sprintf(format, args...)})
}

// mark makes path bad, and all that it is part of dirty.
func (c *checker) mark(path string) {
	c.bad[path] = true
	for ok := true; ok && !c.dirty[path]; path, ok = parent(path) {
		c.dirty[path] = true
	}
}

// parent cuts the last key or index off a path; false: it was the root.
func parent(path string) (string, bool) {
	if path == "" {
		return "", false
	}
	return path[:max(0, strings.LastIndexAny(path, ".["))], true
}

// has tells whether path stands in the file, even with a bad value.
func (c *checker) has(path string) bool {
	_, ok := c.pos[path]
	return ok
}

// usable tells whether path stands in the file with a value of the right type.
func (c *checker) usable(path string) bool { return c.has(path) && !c.bad[path] }

// where finds the place of path, or of the nearest thing that it is part of.
func (c *checker) where(path string) position {
	for ok := true; ok; path, ok = parent(path) {
		if at, found := c.pos[path]; found {
			return at
		}
	}
	return position{}
}

// need reports key as missing from the mapping at path; hint is what to write.
// It tells whether the value can be used.
func (c *checker) need(path, key, hint string) bool {
	at := join(path, key)
	if !c.has(at) && !c.bad[path] {
		c.reject(at, "missing; write %s: %s", key, hint)
	}
	return c.usable(at)
}

// notEmpty reports a list that stands in the file without entries: an empty
// selector means nothing, not everything.
func (c *checker) notEmpty(path string, length int, hint string) {
	if c.usable(path) && length == 0 {
		c.reject(path, "the list is empty; %s", hint)
	}
}

func value[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// duration bounds a duration; left out or bad, it is otherwise.
func (c *checker) duration(path string, p *duration, otherwise, lo, hi time.Duration) time.Duration {
	if p == nil {
		return otherwise
	}
	c.within(path, time.Duration(*p), lo, hi)
	return time.Duration(*p)
}

func (c *checker) within(path string, d, lo, hi time.Duration) {
	switch {
	case d < lo:
		c.reject(path, "%s is below the minimum; write %s or more", duration(d), duration(lo))
	case d > hi:
		c.reject(path, "%s is above the maximum; write %s or less", duration(d), duration(hi))
	}
}

// count bounds a whole number; left out or bad, it is otherwise.
func (c *checker) count(path string, p *count, otherwise, lo, hi int) int {
	if p == nil {
		return otherwise
	}
	c.countWithin(path, int(*p), lo, hi)
	return int(*p)
}

func (c *checker) countWithin(path string, n, lo, hi int) {
	switch {
	case n < lo:
		c.reject(path, "%d is below the minimum; write %d or more", n, lo)
	case n > hi:
		c.reject(path, "%d is above the maximum; write %d or less", n, hi)
	}
}

// fraction bounds a share; left out or bad, it is otherwise.
func (c *checker) fraction(path string, p *float64, otherwise, lo, hi float64) float64 {
	if p != nil && (*p < lo || *p > hi) {
		c.reject(path, "%g is out of range; write %g to %g", *p, lo, hi)
	}
	return value(p, otherwise)
}

// maxName is the longest name, as for a label of DNS.
const maxName = 63

// name checks the form of a name: [a-z0-9._-], beginning with a letter or digit.
func (c *checker) name(path string, p *string) string {
	if p == nil {
		return ""
	}
	s := *p
	plain := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' }
	good := s != "" && len(s) <= maxName && plain(rune(s[0]))
	for _, r := range s {
		good = good && (plain(r) || strings.ContainsRune("._-", r))
	}
	if !good {
		c.reject(path, "%s is not a name; write 1 to 63 of a-z, 0-9, dot, _ and -, beginning with a letter or digit", show(s))
	}
	return s
}

// unique checks that a name was not used before in seen, which it extends.
func (c *checker) unique(seen map[string]string, name, path string) {
	if name == "" || c.bad[path] {
		return
	}
	if first, ok := seen[name]; ok {
		c.reject(path, "%s is the name of %s (line %d) already; write another", show(name), first, c.where(first).line)
		return
	}
	seen[name], _ = parent(path)
}

// device checks an interface name: what Linux takes, 15 bytes at most.
func (c *checker) device(path string, p *string, otherwise string) string {
	s := value(p, otherwise)
	if p == nil {
		return s
	}
	odd := func(r rune) bool { return r == '/' || r == ':' || unicode.IsSpace(r) || unicode.IsControl(r) }
	if s == "" || len(s) > 15 || s == "." || s == ".." || strings.ContainsFunc(s, odd) {
		c.reject(path, "%s is not an interface name; write 1 to 15 bytes without blanks, / or :, such as eth1", show(s))
	}
	return s
}

// note checks a short free text.
func (c *checker) note(path, s string) {
	if len(s) > 256 {
		c.reject(path, "the text has %d bytes; write 256 at most", len(s))
	}
}
