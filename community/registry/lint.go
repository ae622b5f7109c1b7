package registry

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// LintCode says what is wrong with an entry.
type LintCode string

// The codes.
const (
	Clash        LintCode = "clash"        // two meanings for the same values
	Overlap      LintCode = "overlap"      // two meanings for some values, and neither pattern is the more specific one
	Shadowed     LintCode = "shadowed"     // some or all values of a pattern have a more specific or an earlier one
	Undocumented LintCode = "undocumented" // in use, and no entry says what it means
	Unused       LintCode = "unused"       // documented, and not in use
	NoYANG       LintCode = "no-yang"      // the module ietf-bgp-communities cannot carry it
	NoLatin      LintCode = "no-latin1"    // the RIPE DB would make letters of it question marks
	WideASN      LintCode = "wide-asn"     // an ASN of 4 octets in a standard community
	ForeignASN   LintCode = "foreign-asn"  // the number on the left is another's public ASN
	NoVariable   LintCode = "no-variable"  // a legend, an action or a target of a variable that the pattern lacks
)

// Level says how bad it is.
type Level string

// The levels.
const (
	Error   Level = "error"   // readers are misled, or the value cannot exist
	Warning Level = "warning" // some reader or format will not get it
	Note    Level = "note"    // may well be meant
)

// levels are those of the codes; that of Shadowed depends.
var levels = map[LintCode]Level{Clash: Error, Overlap: Warning, Shadowed: Note, Undocumented: Warning, Unused: Note, NoYANG: Note,
	NoLatin: Warning, WideASN: Error, ForeignASN: Warning, NoVariable: Error}

// Defect is something that Lint found.
type Defect struct {
	Code    LintCode
	Level   Level
	Pattern string
	Words   string // what is wrong, and what to do
	At      Source
	Other   *Source // of the other entry, if there is one
}

// MarshalJSON writes code, level, pattern, text, file, line and other, which has file and
// line, or is null.
func (d Defect) MarshalJSON() ([]byte, error) {
	type place struct {
		File string `json:"file"`
		Line int    `json:"line"`
	}
	var other *place
	if d.Other != nil {
		other = &place{d.Other.File, d.Other.Line}
	}
	return json.Marshal(struct {
		Code    LintCode `json:"code"`
		Level   Level    `json:"level"`
		Pattern string   `json:"pattern"`
		Text    string   `json:"text"`
		File    string   `json:"file"`
		Line    int      `json:"line"`
		Other   *place   `json:"other"`
	}{d.Code, d.Level, d.Pattern, d.Words, d.At.File, d.At.Line, other})
}

// String is FILE:LINE: LEVEL: CODE PATTERN: WORDS (FILE:LINE).
func (d Defect) String() string {
	s := fmt.Sprintf("%s: %s: %s %s: %s", d.At, d.Level, d.Code, d.Pattern, d.Words)
	if d.Other != nil {
		s += fmt.Sprintf(" (%s)", d.Other)
	}
	return s
}

// LintOptions say what Lint shall look for.
type LintOptions struct {
	// Without are the codes that are left out.
	Without []LintCode
	// Problems are those of the import; of values with an ASN that does not fit a
	// standard community WideASN is told.
	Problems []Problem
}

// Lint returns what is wrong with entries, in the order of their sources; the result is
// never nil. inUse are the communities that routes or other documents carry; if it is
// empty, nothing is said of use. The time is in proportion to n log n: an entry is
// compared only with those whose numbers lie around its own, and with at most 64 of them.
func Lint(entries []Entry, inUse []Use, opt LintOptions) []Defect {
	l := &linter{entries: entries, without: opt.Without, defects: []Defect{}}
	l.pairs()
	l.use(inUse)
	large := l.largeVerbs()
	for i := range entries {
		e := &entries[i]
		l.letters(e)
		l.variables(e)
		l.foreign(e)
		l.wide(e, large)
		if reason := e.YANGLimit(e.Owner); reason != "" {
			l.add(NoYANG, e, nil, "%s", reason)
		}
	}
	for _, p := range opt.Problems {
		l.wideProblem(p)
	}
	slices.SortStableFunc(l.defects, func(a, b Defect) int {
		return cmp.Or(cmp.Compare(a.At.File, b.At.File), cmp.Compare(a.At.Line, b.At.Line))
	})
	return l.defects
}

type linter struct {
	entries  []Entry
	without  []LintCode
	defects  []Defect
	compared int // pairs
}

func (l *linter) add(code LintCode, e *Entry, other *Entry, words string, args ...any) {
	d := Defect{Code: code, Pattern: e.Pattern.String(), Words: fmt.Sprintf(words, args...), At: e.Source}
	if other != nil {
		d.Other = &other.Source
	}
	l.put(d)
}

func (l *linter) put(d Defect) {
	d.Level = cmp.Or(d.Level, levels[d.Code])
	if !slices.Contains(l.without, d.Code) {
		l.defects = append(l.defects, d)
	}
}

// letters looks for what Latin-1 lacks.
func (l *linter) letters(e *Entry) {
	texts := []string{e.Pattern.String(), e.Meaning}
	for _, legend := range e.Legends {
		texts = append(texts, legend.Meaning)
	}
	raw, odd := 0, []rune(nil)
	for _, text := range texts {
		for _, r := range text {
			if r > 0xFF {
				raw++
			}
		}
		_, more := Latin1(text)
		odd = append(odd, more...)
	}
	switch {
	case len(odd) > 0:
		l.add(NoLatin, e, nil, "the RIPE DB would make %q question marks, and there is no way to write it in Latin-1", string(odd[:min(len(odd), 16)]))
	case raw > 0:
		l.add(NoLatin, e, nil, "the RIPE DB would make %d letters question marks; the export in RPSL writes them in Latin letters", raw)
	}
}

// variables looks for variables that the pattern lacks.
func (l *linter) variables(e *Entry) {
	names := e.Pattern.Names()
	told := map[string]bool{}
	missing := func(what, name string) {
		if name == "" || slices.Contains(names, name) || told[name] {
			return
		}
		told[name] = true
		l.add(NoVariable, e, nil, "%s is about %s, and the pattern has %s", what, name, listOf(names))
	}
	for _, legend := range e.Legends {
		missing("the legend", legend.Var)
		if legend.Action != nil {
			missing("the legend's action", legend.Action.Var)
		}
	}
	if e.Action != nil {
		missing("the action", e.Action.Var)
	}
	for _, t := range e.Targets {
		missing("the target", t.Var)
	}
}

func listOf(names []string) string {
	if len(names) == 0 {
		return "no variable"
	}
	return strings.Join(names, ", ")
}

// foreign looks for another's public ASN on the left.
func (l *linter) foreign(e *Entry) {
	if n, ok := e.Pattern.First(); ok && e.Owner != 0 && n != e.Owner && public(n) {
		l.add(ForeignASN, e, nil, "AS%d documents a value of AS%d, which may give it another meaning", e.Owner, n)
	}
}

// public reports whether an ASN may be a network's in the Internet. Those of RFC 7607 (0),
// RFC 6793 (23456), RFC 5398 (documentation), RFC 6996 (private) and RFC 7300 (the last
// ones) may not.
func public(asn uint32) bool {
	switch {
	case asn == 0, asn == 23456, asn >= 64496 && asn <= 131071, asn >= 4200000000:
		return false
	}
	return true
}
