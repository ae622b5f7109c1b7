package importer

import (
	"strings"
	"unicode"

	"github.com/catchment-bgp/catchment/community/registry"
)

// legend is what a document says of a variable.
type legend struct {
	name  string
	owner uint32
	line  int // the index of its first line
	last  int // and of its last
	of    int // the line of the only entry that it is for, which it is indented below; -1: any
	about string
	items []registry.Legend
}

// mostItems bounds a legend.
const mostItems = 400

// legendAt reads a legend that begins at a line: "x = number of prepends", "where P is
// one of:" with a list below, or a list below a heading that names a variable.
func (d *document) legendAt(i int) bool {
	if len(d.names) == 0 {
		return false
	}
	text := bare(d.lines[i].text)
	name, rest, ok := d.variable(text)
	if !ok {
		return d.listUnder(i)
	}
	lg := legend{name: name, owner: d.owner, line: i, of: -1, about: strings.TrimRight(rest, ": ")}
	d.lines[i].role = roleLegend
	next := i + 1
	for next < len(d.lines) && next < i+4 && d.continues(rest, next) {
		rest += " " + strings.TrimSpace(d.lines[next].text)
		d.lines[next].role = roleLegend
		next++
	}
	lg.items = d.itemsOf(rest, name)
	if len(lg.items) == 0 {
		next = d.list(next, &lg)
	}
	lg.of, lg.last = d.below(i), next-1
	if k := len(d.legends) - 1; k >= 0 && d.legends[k].name == name && d.legends[k].last == i-1 && d.legends[k].of == lg.of && len(lg.items) > 0 {
		d.legends[k].items, d.legends[k].last = append(d.legends[k].items, lg.items...), lg.last
	} else {
		d.legends = append(d.legends, lg)
	}
	d.next = next
	return true
}

// below returns the line of the entry that a line is indented below; -1: none.
func (d *document) below(i int) int {
	if len(d.drafts) == 0 {
		return -1
	}
	at := d.drafts[len(d.drafts)-1].at
	for j := i - 1; j > at; j-- {
		if r := d.lines[j].role; r != roleMore && r != roleLegend || d.lines[j].indent <= d.lines[at].indent+4 {
			return -1
		}
	}
	if d.lines[i].indent <= d.lines[at].indent+4 || d.lines[at].role != roleValue {
		return -1
	}
	return at
}

// continues reports whether a line goes on with the sentence of a legend.
func (d *document) continues(so string, i int) bool {
	l := &d.lines[i]
	so = strings.TrimSpace(so)
	if l.role == roleBlank || l.role == roleRule || len(l.tokens) > 0 || so == "" || strings.ContainsAny(so[len(so)-1:], ".:;") {
		return false
	}
	if _, _, isItem := itemLine(l.text); isItem {
		return false
	}
	if _, _, isOther := d.variable(bare(l.text)); isOther {
		return false
	}
	words := d.words.read(so)
	last := words[max(0, len(words)-1):]
	return len(last) > 0 && (last[0].has(fJoin|fTo|fFrom|fFor) || !unicode.IsUpper(firstRune(strings.TrimSpace(l.text)))) || strings.HasSuffix(so, ",")
}

// leadIns are words before a variable.
var leadIns = set("where wherein with and if for here где при если де donde con wobei mit wo the values value of parameter variable значение")

// variable reports whether a text begins with a variable of the document's patterns and
// says what it is.
func (d *document) variable(text string) (name, rest string, ok bool) {
	for range 4 {
		word, after := cutWord(text)
		if name, found := d.nameOf(word); found {
			if rest, said := says(name, after); said {
				return name, rest, true
			}
		}
		if !leadIns[strings.ToLower(strings.Trim(word, ",:"))] {
			return "", "", false
		}
		text = strings.TrimLeft(after, " ,:")
	}
	return "", "", false
}

func cutWord(text string) (word, rest string) {
	if strings.HasPrefix(text, "<") {
		if end := strings.IndexByte(text, '>'); end > 0 {
			return text[:end+1], text[end+1:]
		}
	}
	end := strings.IndexAny(text, " \t=:,(–—")
	if end < 0 {
		return text, ""
	}
	return text[:end], text[end:]
}

// nameOf finds the variable that a word is, as the patterns write it.
func (d *document) nameOf(word string) (string, bool) {
	word = strings.Trim(word, "'\"`*‘’“”.,;")
	if word == "" || len(word) > 24 || strings.Trim(word, "0123456789") == "" {
		return "", false
	}
	for _, name := range []string{word, strings.ToLower(word), strings.ToUpper(word)} {
		if d.names[name] {
			return name, true
		}
	}
	return "", false
}

// says takes off what stands between a variable and what it means. Without a mark or
// verb only a name of capitals may be followed by its meaning.
func says(name, after string) (string, bool) {
	trimmed := strings.TrimLeft(after, " \t'\"`")
	for _, mark := range []string{"=", "--", "-", "–", "—", ":", "→", "->"} {
		if rest, ok := strings.CutPrefix(trimmed, mark); ok {
			return strings.TrimLeft(rest, " \t->"), true
		}
	}
	for _, verb := range []string{"is", "are", "may be", "can be", "means", "stands for", "—", "это", "означает", "принимает", "може бути", "означає", "es", "significa", "puede ser", "ist", "bedeutet", "steht für", "kann"} {
		rest, ok := strings.CutPrefix(trimmed, verb)
		if ok && strings.HasPrefix(rest, " ") {
			return strings.TrimSpace(rest), true
		}
		if ok && (rest == ":" || rest == "") {
			return "", true
		}
	}
	if name == strings.ToUpper(name) && unicode.IsUpper(firstRune(trimmed)) && strings.HasPrefix(after, " ") {
		return trimmed, true
	}
	return "", false
}

// itemLine reads one line of a list: 0 - do not announce.
func itemLine(text string) (digits, meaning string, ok bool) {
	text = strings.TrimLeft(text, " \t*-•·+|x=")
	digits, rest := cutDigits(text)
	if digits == "" {
		return "", "", false
	}
	trimmed := strings.TrimLeft(rest, " \t`")
	for _, mark := range []string{"--", "->", "=", "-", "–", "—", ":", ")", "→"} {
		if meaning, ok := strings.CutPrefix(trimmed, mark); ok && hasLetterOrDigit(meaning) {
			return digits, bare(meaning), true
		}
	}
	if strings.HasPrefix(rest, "  ") || strings.HasPrefix(rest, "\t") {
		return digits, bare(trimmed), hasLetterOrDigit(trimmed)
	}
	return "", "", false
}

// cutDigits takes a number, a range or several of them off the front, as legends write
// them: 0, 1-3, 1..3, 1,2,4.
func cutDigits(text string) (digits, rest string) {
	n := 0
	for n < len(text) && isDigit(text[n]) {
		n++
	}
	if n == 0 || n > 10 {
		return "", text
	}
	digits, rest = text[:n], text[n:]
	for _, mark := range []string{"...", "..", "-", "–", "—", " - ", " to ", ",", ", ", " or ", " и "} {
		after, ok := strings.CutPrefix(rest, mark)
		if !ok || after == "" || !isDigit(after[0]) {
			continue
		}
		more, end := cutDigits(after)
		if strings.ContainsAny(mark, ",oи") && mark != " to " {
			return digits + "," + more, end
		}
		return digits + "-" + more, end
	}
	return digits, rest
}

// list reads the items from a line on, and returns the line after them.
func (d *document) list(from int, lg *legend) int {
	next := from
	for j := from; j < len(d.lines) && len(lg.items) < mostItems; j++ {
		l := &d.lines[j]
		if l.role == roleBlank {
			continue
		}
		digits, meaning, ok := itemLine(l.text)
		if !ok || l.role == roleRule || len(l.tokens) > 0 && !mentioned(l) {
			break
		}
		lg.items = append(lg.items, d.item(lg.name, digits, meaning))
		l.role, next = roleLegend, j+1
	}
	return next
}

// mentioned reports whether a line's tokens stand inside its text only.
func mentioned(l *line) bool {
	return strings.ContainsFunc(l.text[:l.tokens[0].from], unicode.IsLetter)
}

// listUnder reads a list below a line that speaks of a variable without naming it as
// one: "Region codes:" for region_code, "Continental codes:" for C, the continent.
func (d *document) listUnder(i int) bool {
	l := &d.lines[i]
	text := bare(l.text)
	if l.level == 0 && !strings.HasSuffix(text, ":") {
		return false
	}
	name := d.spokenOf(text)
	if name == "" {
		return false
	}
	lg := legend{name: name, owner: d.owner, line: i, of: -1, about: strings.TrimRight(text, ": ")}
	next := d.list(i+1, &lg)
	if len(lg.items) < 2 {
		for j := i + 1; j < next; j++ {
			d.lines[j].role = roleText
		}
		return false
	}
	if l.level > 0 {
		d.heading(i)
	}
	l.role = roleLegend
	d.legends = append(d.legends, lg)
	d.next = next
	return true
}

// spokenOf finds the variable whose name, or whose description so far, shares a word with
// a heading.
func (d *document) spokenOf(heading string) string {
	words := d.words.read(heading)
	if len(words) == 0 || len(words) > 6 {
		return ""
	}
	for _, w := range words {
		if len([]rune(w.text)) < 4 || w.has(fCommunity|fForm) {
			continue
		}
		for k := len(d.legends) - 1; k >= 0; k-- {
			if lg := d.legends[k]; len(lg.items) == 0 && sharesStem(strings.ToLower(lg.about), w.text) {
				return lg.name
			}
		}
		for name := range d.names {
			if len(name) > 4 && sharesStem(strings.ToLower(name), w.text) {
				return name
			}
		}
	}
	return ""
}

// sharesStem reports whether a word of a text begins as w does.
func sharesStem(text, w string) bool {
	stem := w[:min(len(w), 6)]
	if len(w) > 6 {
		stem = w[:6]
	}
	return strings.HasPrefix(text, stem) || strings.Contains(text, " "+stem)
}
