package importer

import (
	"strings"

	"github.com/catchment-bgp/catchment/community/registry"
)

// longestTitle is how many words a heading has at most that no mark shows to be one.
const longestTitle = 14

// heading takes a line without communities for a heading, if it may be one, and finds
// what it says of the lines below.
func (d *document) heading(i int) {
	l := &d.lines[i]
	text := bare(l.text)
	words := d.words.read(text)
	colon := strings.HasSuffix(text, ":")
	if l.level == 0 && (isBullet(l.text) || len(words) == 0 || len(words) > longestTitle && !colon || strings.ContainsAny(text[len(text)-1:], "!?") || strings.Contains(text, "://")) {
		return
	}
	next := section{text: strings.TrimRight(text, ": "), level: l.level, kind: headingKind(words)}
	next.example = isExample(words) && (colon || len(words) <= 4)
	next.note = hasFlag(words, fNote) && len(words) <= 3
	if d.section.example && !next.example && (d.section.level > 0 && (l.level == 0 || l.level > d.section.level) || d.section.level == 0 && l.level == 0 && !hasFlag(words, fCommunity)) {
		return // still among the examples
	}
	l.role = roleTitle
	if l.level > 0 {
		d.enter(next)
		d.headingOwner(text)
		return
	}
	d.header = d.headerAfter(i)
	switch {
	case next.example || next.note:
	case next.kind == "" && !(hasFlag(words, fCommunity) && (len(words) <= 7 || colon) && !hasFlag(words, fUse)):
		// A line under a heading: the kind holds on.
		next.kind, next.level = d.section.kind, d.section.level
	}
	d.section = next
}

// headerAfter keeps the header of a table over a line in it that is no heading of its own.
func (d *document) headerAfter(i int) *header {
	if d.header != nil && !d.header.pipes && i > 0 && d.lines[i-1].role == roleValue {
		return d.header
	}
	return nil
}

// enter begins a section of a Markdown page; it is of the kind of the one it is in, unless
// it says another.
func (d *document) enter(next section) {
	for len(d.outer) > 0 && d.outer[len(d.outer)-1].level >= next.level {
		d.outer = d.outer[:len(d.outer)-1]
	}
	if n := len(d.outer); n > 0 {
		outer := d.outer[n-1]
		if next.kind == "" {
			next.kind = outer.kind
		}
		next.example = next.example || outer.example
	}
	d.outer = append(d.outer, next)
	d.section, d.header = next, nil
}

// headingOwner takes the only ASN in the heading of a page for the owner of what follows.
func (d *document) headingOwner(text string) {
	if !d.pages {
		return
	}
	found := uint32(0)
	for w := range strings.FieldsSeq(text) {
		n, ok := asNumber(strings.Trim(w, "()[],:;|"))
		if ok && found != 0 && n != found {
			return
		}
		if ok {
			found = n
		}
	}
	if found != 0 {
		d.owner = found
	}
}

// asNumber reads AS64500.
func asNumber(word string) (uint32, bool) {
	if len(word) < 3 || !strings.EqualFold(word[:2], "as") {
		return 0, false
	}
	rest := strings.TrimPrefix(strings.TrimPrefix(word[2:], "N"), "n")
	return numberOf(rest)
}

// isBullet reports whether a line is a point of a list.
func isBullet(text string) bool {
	text = strings.TrimLeft(text, " \t")
	for _, mark := range []string{"- ", "* ", "** ", "+ ", "• ", "· ", "o "} {
		if strings.HasPrefix(text, mark) {
			return true
		}
	}
	return false
}

// isExample reports whether words announce examples.
func isExample(words []word) bool { return hasFlag(words, fExample) }

// headingKind is the kind of community that a heading announces: what its first telling
// word says.
func headingKind(words []word) registry.Kind {
	for i, w := range words {
		switch {
		case hasFlag(words, fReason):
			return registry.KindInfo
		case w.has(hAction), w.has(fPrepend | fBlackhole | fLocalPref | fMED | fExport | fBlock | fNoExport):
			return registry.KindAction
		case w.has(hInfo), w.has(fLearn):
			return registry.KindInfo
		case w.has(fFor) && hasFlag(words[i:min(len(words), i+4)], fCustomer):
			return registry.KindAction
		case w.has(fCan) && hasFlag(words[i:], fUse):
			return registry.KindAction
		}
	}
	return ""
}
