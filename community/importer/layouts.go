package importer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// How surely a layout is understood.
const (
	sureTable    = 1.0  // a row of a table, or a mark between value and meaning
	sureBlank    = 0.95 // a single blank between them
	sureAligned  = 0.9  // meaning first, as in the lines around it
	sureJoined   = 0.9  // a meaning of several lines
	sureFormat   = 0.7  // a template in a sentence about the format
	sureMention  = 0.6  // in brackets or at the end of a sentence that defines it
	sureSentence = 0.5  // inside a sentence, with a mark after it
	sureNear     = 0.6  // the meaning is on the line above or below
	sureFar      = 0.4  // with blank lines between them
)

// Reasons why a line with a community gives no entry.
const (
	reasonExample   = "an example, no definition"
	reasonCode      = "a line of code, no definition"
	reasonMention   = "mentioned in a sentence, not defined"
	reasonCondition = "holds under a condition only"
	reasonBare      = "no meaning beside the value, nor above or below it"
	reasonProse     = "values in a sentence that goes on, not defined"
)

// row is a line with values, as the layouts see it.
type row struct {
	*document
	i    int
	text string
	toks []token
}

// layouts are tried in this order; each tells whether the line is of its kind.
var layouts = []func(row) bool{row.example, row.code, row.table, row.pairs, row.textPairs, row.valueFirst, row.textFirst, row.columns, row.format, row.sentence}

// valueLine looks at a line with communities.
func (d *document) valueLine(i int) {
	r := row{document: d, i: i, text: d.lines[i].text, toks: d.lines[i].tokens}
	d.lines[i].role = roleValue
	for _, layout := range layouts {
		if layout(r) {
			return
		}
	}
	d.problem(i, reasonMention)
}

// emit makes an entry of a token, or a problem if it is no community.
func (r row) emit(t token, meaning string, sure float64, qualifier string) {
	if t.err != nil {
		r.problem(r.i, strings.TrimPrefix(t.err.Error(), t.text+": "))
		return
	}
	if strings.Trim(meaning, "0123456789") == "" && r.header == nil && meaning != "" && hasFlag(r.words.read(r.section.text), fLocalPref|fMED|fPrepend) {
		meaning = r.section.text + " " + meaning
	}
	e := draft{pattern: t.pattern, at: r.i, meaning: squeeze(meaning), qualifier: qualifier, sure: sure, section: r.section, owner: r.owner}
	if r.header != nil {
		e.column = r.header.kind
		e.property = r.header.propertyOf(e.meaning)
	}
	r.drafts = append(r.drafts, e)
}

// example knows lines among examples, and those that begin with "e.g.".
func (r row) example() bool {
	lead := r.words.read(r.text[:r.toks[0].from])
	if !r.section.example && !(len(lead) > 0 && len(lead) <= 3 && lead[0].has(fExample)) {
		return false
	}
	r.problem(r.i, reasonExample)
	return true
}

// code knows lines of a router's configuration.
func (r row) code() bool {
	head := strings.ToLower(r.text[:r.toks[0].from])
	trimmed := strings.TrimSpace(head)
	for _, call := range []string{".add(", ".delete(", ".filter(", "set community", "set large-community", "set extcommunity", "route-map", "match community", "community-list", "permit", "if (", "then community", "set policy-options"} {
		if strings.Contains(head, call) && (strings.HasPrefix(trimmed, call) || strings.HasSuffix(head, "(") || strings.HasSuffix(head, call+" ") || strings.Contains(r.text, ";")) {
			r.problem(r.i, reasonCode)
			return true
		}
	}
	return false
}

// group returns how many of the tokens from k on stand for one thing: with commas,
// "or" and the like between them.
func (r row) group(k int) int {
	n := k + 1
	for n < len(r.toks) && r.joined(r.text[r.toks[n-1].to:r.toks[n].from]) {
		n++
	}
	return n
}

func (r row) joined(between string) bool {
	between = strings.ToLower(strings.Trim(between, " \t,;/&+|()`'\""))
	return between == "" || exact[between]&fJoin != 0
}

// isLeadIn reports whether a text before a value says nothing: bullets, the number of a
// point, or a label such as "large:".
func (r row) isLeadIn(s string) bool {
	s = strings.TrimFunc(s, func(c rune) bool {
		return unicode.IsSpace(c) || strings.ContainsRune("-*•·<>+#|=~–—\"'`(»→:[", c)
	})
	if s == "" || len(s) <= 3 && strings.TrimLeft(s, "0123456789") != s && strings.Trim(s, "0123456789") != "" && strings.Trim(s, "0123456789.)") == "" {
		return true
	}
	if len(s) > 40 {
		return false
	}
	for _, w := range r.words.read(s) {
		if !w.has(fLabel) {
			return false
		}
	}
	return true
}

// valueFirst knows lines that begin with the value.
func (r row) valueFirst() bool {
	if !r.isLeadIn(r.text[:r.toks[0].from]) {
		return false
	}
	n := r.group(0)
	rest := r.text[r.toks[n-1].to:]
	if isCondition(rest) {
		r.problem(r.i, reasonCondition)
		return true
	}
	meaning, marked := afterMark(rest)
	switch {
	case !hasLetterOrDigit(meaning):
		return r.alone(n)
	case !marked && r.isWrapped():
		r.problem(r.i, reasonProse)
		return true
	case !marked && r.isRemark(meaning):
		r.problem(r.i, reasonMention)
		return true
	}
	sure := sureBlank
	if marked || strings.HasPrefix(rest, "  ") || strings.HasPrefix(rest, "\t") {
		sure = sureTable
	}
	r.lines[r.i].gap = gapOf(rest)
	for k, t := range r.toks[:n] {
		r.emit(t, meaning, sure, r.qualifier(t, k, n))
	}
	return true
}

// alone keeps values without a text for later, if it is one or a plain list.
func (r row) alone(n int) bool {
	for k := 1; k < n; k++ {
		if between := strings.Trim(r.text[r.toks[k-1].to:r.toks[k].from], " \t,;/&+|()"); between != "" {
			r.problem(r.i, reasonProse)
			return true
		}
	}
	for _, t := range r.toks[:n] {
		r.emit(t, "", sureFar, "")
	}
	r.lines[r.i].role = roleLone
	return true
}

// afterMark takes the mark between a value and its meaning off.
func afterMark(rest string) (meaning string, marked bool) {
	trimmed := strings.TrimLeft(rest, " \t)`'\"]")
	meaning = strings.TrimLeftFunc(trimmed, func(c rune) bool {
		return unicode.IsSpace(c) || strings.ContainsRune("-–—=:#>.·|~→*,;", c)
	})
	return strings.TrimRight(meaning, " \t|`"), len(meaning) < len(trimmed)
}

// gapOf is how many blanks stand between the mark and the meaning, which may show a tree;
// 0 without a mark.
func gapOf(rest string) int {
	meaning, marked := afterMark(rest)
	if !marked {
		return 0
	}
	head := rest[:strings.Index(rest, meaning)]
	return len(head) - len(strings.TrimRight(head, " \t"))
}

func hasLetterOrDigit(s string) bool {
	return strings.ContainsFunc(s, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) })
}

// isCondition reports whether a value is followed by a comparison: ", x != 64500".
func isCondition(rest string) bool {
	rest = strings.TrimLeft(rest, " ,")
	word := strings.IndexAny(rest, " !=<>")
	if word <= 0 || word > 12 || strings.ContainsFunc(rest[:word], func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
		return false
	}
	rest = strings.TrimLeft(rest[word:], " ")
	for _, mark := range []string{"!=", "<>", "≠", "==", "<=", ">=", "< ", "> "} {
		if strings.HasPrefix(rest, mark) {
			return true
		}
	}
	return false
}

// isWrapped reports whether the line goes on with a sentence of the line above.
func (r row) isWrapped() bool {
	if r.i == 0 || r.lines[r.i-1].role == roleBlank || len(r.lines[r.i-1].tokens) > 0 {
		return false
	}
	above := strings.TrimSpace(r.lines[r.i-1].text)
	cut := strings.LastIndexAny(above, " \t")
	switch strings.ToLower(above[cut+1:]) {
	case "the", "a", "an", "of", "to", "with", "use", "using", "in", "by", "or", "and", "for", "range", "community", "as", "set", "и", "в", "с", "или", "de", "el", "la", "con", "y", "mit", "und", "der", "die", "das":
		return true
	}
	return false
}

// isRemark reports whether a line speaks of a value rather than defining it: "- standard
// community 64500:1 is a NOP", and any sentence among notes.
func (r row) isRemark(meaning string) bool {
	word, _, _ := strings.Cut(meaning, " ")
	switch strings.ToLower(word) {
	case "is", "are", "was", "will", "can", "may", "should", "must", "has", "have", "does", "es", "son", "ist", "sind", "wird", "является", "будет":
		return r.section.note || isBullet(r.text) || strings.ContainsFunc(r.text[:r.toks[0].from], unicode.IsLetter)
	}
	return r.section.note
}

// textFirst knows lines that end with the value.
func (r row) textFirst() bool {
	last := len(r.toks) - 1
	first := last
	for first > 0 && r.joined(r.text[r.toks[first-1].to:r.toks[first].from]) {
		first--
	}
	tail := strings.Trim(r.text[r.toks[last].to:], " \t.,;:)\"'`|")
	head := r.text[:r.toks[first].from]
	if first > 0 || tail != "" && (!strings.HasPrefix(tail, "(") || len(tail) > 40) || !hasLetterOrDigit(head) {
		return false
	}
	meaning, sure := r.before(head, first)
	if sure == 0 {
		return false
	}
	if !r.meansSomething(meaning) {
		return r.alone(last + 1)
	}
	if tail != "" {
		meaning += " " + tail + ")"
	}
	for k, t := range r.toks {
		r.emit(t, meaning, sure, r.qualifier(t, k, len(r.toks)))
	}
	return true
}

// meansSomething reports whether a text is more than labels such as "communities".
func (r row) meansSomething(meaning string) bool {
	for _, w := range r.words.read(meaning) {
		if !w.has(fLabel) {
			return true
		}
	}
	return false
}

// before takes the meaning from a text before a value, and says how surely it is one; 0:
// it is a sentence that only mentions the value.
func (r row) before(head string, first int) (string, float64) {
	trimmed := strings.TrimRight(head, " \t(\"'`")
	meaning := bare(strings.TrimRight(trimmed, ":"))
	gap := len(head) - len(trimmed)
	mark, _ := utf8.DecodeLastRuneInString(trimmed)
	switch {
	case mark == ':' && strings.Count(meaning, " ") > 11:
		return meaning, sureMention
	case strings.ContainsRune("-–—=:>|~→", mark) || strings.HasSuffix(trimmed, ".."):
		return meaning, sureTable
	case gap >= 2 || strings.HasSuffix(head, "\t"):
		return meaning, sureTable
	case r.isAligned(first):
		return meaning, sureAligned
	}
	words := r.words.read(meaning)
	if len(words) == 0 || len(r.toks) > 2 {
		return "", 0
	}
	switch end := words[len(words)-1]; {
	case end.has(fUse|fCommunity|fLabel) || end.text == "is" || end.text == "with" || end.text == "=":
		return strings.TrimSuffix(meaning, " is"), sureSentence
	case r.toks[first].bracket && len(words) <= 8:
		return meaning, sureMention
	case len(words) <= 2 && len(r.toks) == 1:
		return meaning, sureMention
	}
	return "", 0
}

// isAligned reports whether a line nearby has its value at the same column, after a text.
func (r row) isAligned(first int) bool {
	at := column(r.text, r.toks[first].from)
	for j := max(0, r.i-3); j < min(len(r.lines), r.i+4); j++ {
		if l := &r.lines[j]; j != r.i && len(l.tokens) > 0 && column(l.text, l.tokens[0].from) == at && strings.ContainsFunc(l.text[:l.tokens[0].from], unicode.IsLetter) {
			return true
		}
	}
	return false
}

// pairs knows lines with several values, each with its own meaning after it.
func (r row) pairs() bool {
	if len(r.toks) < 2 || !r.isLeadIn(r.text[:r.toks[0].from]) {
		return false
	}
	meanings := make([]string, len(r.toks))
	for k, t := range r.toks {
		end := len(r.text)
		if k+1 < len(r.toks) {
			end = r.toks[k+1].from
		}
		part := r.text[t.to:end]
		meanings[k], _ = afterMark(part)
		meanings[k] = strings.TrimRight(meanings[k], " \t,;|/")
		separated := end == len(r.text) || strings.HasSuffix(part, "  ") || strings.HasSuffix(part, "\t") || strings.ContainsAny(part[max(0, len(part)-3):], ",;|")
		if !separated || !r.meansSomething(meanings[k]) || r.joined(part) {
			return false
		}
	}
	for k, t := range r.toks {
		r.emit(t, meanings[k], sureTable, "")
	}
	return true
}

// textPairs knows lines with several values, each after its own meaning: Europe: 64500:1,
// Asia: 64500:2.
func (r row) textPairs() bool {
	if len(r.toks) < 2 || bareTail(r.text[r.toks[len(r.toks)-1].to:]) != "" {
		return false
	}
	meanings := make([]string, len(r.toks))
	from := 0
	for k, t := range r.toks {
		head := strings.TrimRight(r.text[from:t.from], " \t(")
		mark, _ := utf8.DecodeLastRuneInString(head)
		meanings[k] = strings.Trim(bare(strings.TrimRight(head, ":=")), " ,;|/")
		if !strings.ContainsRune(":=-–—", mark) || !r.meansSomething(meanings[k]) || r.joined(meanings[k]) || k > 0 && !strings.ContainsAny(head[:min(len(head), 3)], ",;|/") && !strings.HasPrefix(head, "  ") {
			return false
		}
		from = t.to
	}
	for k, t := range r.toks {
		r.emit(t, meanings[k], sureTable, "")
	}
	return true
}

func bareTail(s string) string { return strings.Trim(s, " \t.,;:)\"'`|") }

// columns knows rows of a table without lines, with the value in the middle.
func (r row) columns() bool {
	n := r.group(0)
	head, rest := r.text[:r.toks[0].from], r.text[r.toks[n-1].to:]
	wide := func(s string) bool { return strings.HasPrefix(s, "  ") || strings.HasPrefix(s, "\t") }
	if n != len(r.toks) || !(strings.HasSuffix(head, "  ") || strings.HasSuffix(head, "\t")) || !wide(rest) {
		return false
	}
	meaning, _ := afterMark(rest)
	for k, t := range r.toks {
		r.emit(t, bare(head)+" "+meaning, sureAligned, r.qualifier(t, k, n))
	}
	return true
}

// format knows a template in a sentence about the form of communities.
func (r row) format() bool {
	if len(r.toks) != 1 || r.toks[0].err != nil || len(r.toks[0].pattern.Names()) == 0 || !hasFlag(r.words.read(r.text), fFormat) {
		return false
	}
	r.emit(r.toks[0], strings.TrimRight(bare(r.text), ":"), sureFormat, "")
	return true
}

// sentence knows a value of the owner inside a sentence, with a mark and the meaning
// after it.
func (r row) sentence() bool {
	if len(r.toks) != 1 || r.toks[0].err != nil {
		return false
	}
	t := r.toks[0]
	rest := r.text[t.to:]
	if left, ok := leftOf(t.pattern); !ok || left != r.owner || r.owner == 0 || isBullet(r.text) {
		return false
	}
	for _, mark := range []string{" - ", " – ", " — ", " = ", ": "} {
		if at := strings.Index(rest, mark); at >= 0 && at <= 24 && strings.Count(rest[:at], " ") <= 3 {
			if meaning := strings.TrimSpace(rest[at+len(mark):]); hasLetterOrDigit(meaning) {
				r.emit(t, meaning, sureSentence, "")
				return true
			}
		}
	}
	return false
}
