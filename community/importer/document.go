package importer

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/registry"
)

// role is what a line turned out to be.
type role uint8

const (
	roleText  role = iota // no community, and nothing else
	roleBlank             //
	roleRule              // marks only, as a line under a heading
	roleTitle             // of a section or a table
	roleLegend
	roleMore // goes on with the line before
	roleValue
	roleLone // values without a meaning on the line
)

// line is one line of a document.
type line struct {
	no     int
	text   string
	tokens []token
	role   role
	indent int  // the column of the first mark
	level  int  // of a Markdown heading, from 1 on; 0: none
	folded bool // goes on with an attribute (RFC 2622, section 2)
	gap    int  // blanks between a separator and the meaning
}

// section is what holds for the lines under a heading.
type section struct {
	kind    registry.Kind // "" if the heading does not say
	text    string
	level   int
	example bool
	note    bool
}

// draft is an entry in the making.
type draft struct {
	pattern   community.Pattern
	at        int // its line
	meaning   string
	parent    string // of a tree
	qualifier string // what the header of the value's column says
	property  string // what the header says of a number given as the meaning
	column    registry.Kind
	section   section
	owner     uint32
	sure      float64
}

// document is a text that is read line by line.
type document struct {
	file     string
	owner    uint32
	fallback uint32 // the owner if the text names none
	date     time.Time
	lines    []line
	names    map[string]bool // the variables of all patterns
	section  section
	outer    []section // by level, of Markdown
	header   *header
	legends  []legend
	drafts   []draft
	problems []registry.Problem
	words    *lexicon
	next     int  // the first line not looked at
	sawRule  bool // since the last heading
	pages    bool // headings may name another owner
	serves   bool // the owner runs a route server
	headings bool // values stand under more than one
}

func newDocument(words *lexicon, file string, opt Options) *document {
	d := &document{file: file, fallback: opt.Owner, date: opt.Date, names: map[string]bool{}, words: words}
	if d.fallback == 0 {
		d.fallback = ownerOfName(file)
	}
	return d
}

// addLine takes a line in.
func (d *document) addLine(no int, text string, level int, folded bool, cut bool) {
	l := line{no: no, text: text, level: level, folded: folded}
	trimmed := strings.TrimSpace(text)
	l.indent = column(text, len(text)-len(strings.TrimLeft(text, " \t")))
	switch {
	case trimmed == "":
		l.role = roleBlank
	case isRule(trimmed):
		l.role = roleRule
	case !cut:
		l.tokens = d.words.scan(text)
	}
	d.lines = append(d.lines, l)
	if cut {
		d.problem(len(d.lines)-1, tooLong)
	}
}

// column is the column of an octet, with tabs every 8.
func column(text string, at int) int {
	col := 0
	for _, r := range text[:at] {
		if r == '\t' {
			col += 8 - col%8
		} else {
			col++
		}
	}
	return col
}

// isRule reports whether a text has no letter or digit.
func isRule(text string) bool {
	return len(text) > 1 && !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// read looks at all lines.
func (d *document) read() {
	d.settleOwner()
	for i := range d.lines {
		l := &d.lines[i]
		l.tokens = plausible(l.text, l.tokens, d.owner)
		for _, t := range l.tokens {
			for _, name := range t.pattern.Names() {
				d.names[name] = true
			}
		}
	}
	for i := range d.lines {
		if i < d.next {
			continue
		}
		switch l := &d.lines[i]; {
		case l.role == roleBlank:
		case l.role == roleRule:
			d.sawRule = true
			if d.section.example && d.section.level == 0 {
				d.section = section{}
			}
		case len(l.tokens) > 0:
			d.valueLine(i)
		default:
			d.textLine(i)
		}
	}
	d.resolveLone()
	d.findTrees()
}

// textLine looks at a line without a community.
func (d *document) textLine(i int) {
	switch {
	case d.legendAt(i) || d.goesOn(i) || d.headerAt(i):
	default:
		d.heading(i)
	}
}

// goesOn adds a line to the meaning above it: one that is folded, or indented to where
// that meaning begins.
func (d *document) goesOn(i int) bool {
	l := &d.lines[i]
	if i == 0 || len(d.drafts) == 0 || l.level > 0 {
		return false
	}
	last := &d.drafts[len(d.drafts)-1]
	above := &d.lines[i-1]
	if above.role != roleValue && above.role != roleMore || last.at != i-1 && above.role != roleMore {
		return false
	}
	first := &d.lines[last.at]
	if !l.folded && (l.indent <= first.indent+4 || strings.ContainsAny(l.text[:min(len(l.text), l.indentOctets()+1)], "-*|>")) {
		return false
	}
	if strings.HasSuffix(strings.TrimSpace(l.text), ":") && !l.folded {
		return false
	}
	l.role = roleMore
	for j := len(d.drafts) - 1; j >= 0 && d.drafts[j].at == last.at; j-- {
		if e := &d.drafts[j]; len(e.meaning) < longestMeaning {
			e.meaning = squeeze(e.meaning + " " + l.text)
			e.sure = min(e.sure, sureJoined)
		}
	}
	return true
}

func (l *line) indentOctets() int { return len(l.text) - len(strings.TrimLeft(l.text, " \t")) }

// longestMeaning bounds what lines are joined to.
const longestMeaning = 1000

// squeeze makes single blanks of many.
func squeeze(s string) string {
	if isSqueezed(s) {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

// isSqueezed reports whether a text is ASCII with single blanks, and none at its ends.
func isSqueezed(s string) bool {
	blank := true
	for i := range len(s) {
		c := s[i]
		if c >= utf8.RuneSelf || c < ' ' || c == ' ' && blank {
			return false
		}
		blank = c == ' '
	}
	return !blank || s == ""
}

// bare takes bullets and blanks off both ends. A > at the end may close a name.
func bare(s string) string {
	s = strings.TrimLeftFunc(s, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("-*•·>+#|=_~–—.", r) })
	s = strings.TrimSuffix(strings.TrimSuffix(strings.TrimRight(s, " \t"), "->"), "=>")
	return strings.TrimRightFunc(s, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("-*•·+#|=_~–—.", r) })
}

// settleOwner finds the owner, if the text did not name one: the one of the options, or
// the AS that most values have on the left.
func (d *document) settleOwner() {
	if d.owner != 0 {
		return
	}
	if d.owner = d.fallback; d.owner != 0 {
		return
	}
	count, all := map[uint32]int{}, 0
	see := func(p community.Pattern) {
		if n, ok := leftOf(p); ok && p.Kind() != community.Extended {
			all++
			if isPublic(n) || n >= 64496 && n <= 64511 || n >= 65536 && n <= 65551 {
				count[n]++
			}
		}
	}
	for i := range d.lines {
		for _, t := range d.lines[i].tokens {
			if t.err == nil {
				see(t.pattern)
			}
		}
	}
	for _, e := range d.drafts {
		see(e.pattern)
	}
	for n, c := range count {
		if 2*c > all {
			d.owner = n
		}
	}
}

// isPublic reports whether an AS number may be anybody's (IANA, "Special-Purpose
// Autonomous System Numbers").
func isPublic(n uint32) bool {
	return n != 0 && n != 112 && n != 23456 && (n < 64496 || n > 65551) && n < 4200000000
}

// firstRune is the first letter or mark of a text.
func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}
