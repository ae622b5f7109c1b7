package importer

import (
	"strings"

	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/registry"
)

// header is the head of a table.
type header struct {
	pipes   bool
	columns []heading
	kind    registry.Kind // what a column of meanings says
}

// heading is the head of one column.
type heading struct {
	text      string
	at        int // its column on the line
	qualifier string
	value     bool // values stand below it
	property  bool // of a number below it: local preference, MED
}

// cell is a piece of a row.
type cell struct {
	text string
	at   int // its column on the line
}

// cellsOf cuts a row at bars, or at two blanks and more.
func cellsOf(text string) (cells []cell, pipes bool) {
	if isPiped(text) {
		return pipeCells(text), true
	}
	for i := 0; i < len(text); {
		for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
			i++
		}
		j := i
		for j < len(text) && text[j] != '\t' && !strings.HasPrefix(text[j:], "  ") {
			j++
		}
		if piece := strings.TrimSpace(text[i:j]); piece != "" {
			cells = append(cells, cell{piece, i})
		}
		i = j
	}
	return cells, false
}

// isPiped reports whether a line is a row with bars.
func isPiped(text string) bool {
	trimmed := strings.TrimSpace(text)
	return strings.HasPrefix(trimmed, "|") && strings.Count(trimmed, "|") > 1 || strings.Contains(trimmed, " | ") || strings.Contains(trimmed, "\t|")
}

func pipeCells(text string) []cell {
	trimmed := strings.TrimSpace(text)
	trimmed = strings.TrimPrefix(trimmed, "|")
	if strings.HasSuffix(trimmed, "|") && !strings.HasSuffix(trimmed, `\|`) {
		trimmed = trimmed[:len(trimmed)-1]
	}
	var cells []cell
	deep := 0
	from := 0
	for i := 0; i <= len(trimmed); i++ {
		switch {
		case i == len(trimmed) || trimmed[i] == '|' && deep == 0 && (i == 0 || trimmed[i-1] != '\\'):
			cells = append(cells, cell{strings.ReplaceAll(strings.TrimSpace(trimmed[from:i]), `\|`, "|"), len(cells)})
			from = i + 1
		case trimmed[i] == '(' && i > 0 && isDigit(trimmed[i-1]):
			if closing(trimmed, i, ')', 96) > 0 {
				deep++ // a group of an expression
			}
		case trimmed[i] == ')' && deep > 0:
			deep--
		}
	}
	return cells
}

// headerAt takes a line without communities for the head of a table: short cells, with a
// row or a rule below them.
func (d *document) headerAt(i int) bool {
	l := &d.lines[i]
	cells, pipes := cellsOf(l.text)
	if pipes && d.header != nil && d.header.pipes && i > 0 && isPiped(d.lines[i-1].text) {
		l.role = roleText
		return true // a row without a community
	}
	if len(cells) < 2 || l.level > 0 || !d.rowsBelow(i) {
		return false
	}
	h := &header{pipes: pipes}
	known := pipes
	for _, c := range cells {
		words := d.words.read(c.text)
		if len(words) > 8 || !pipes && (len(words) > 4 || len(words) == 0) {
			return false
		}
		known = known || hasFlag(words, fHeader|fForm|fCommunity|fPeer|fCustomer|fTransit|fLocalPref|fMED|fPrepend)
		h.columns = append(h.columns, d.headingOf(c, words, l.text, pipes))
	}
	if !known {
		return false
	}
	for k, c := range h.columns {
		words := d.words.read(cells[k].text)
		if kind := headerKind(words); kind != "" && !c.value && h.kind == "" {
			h.kind = kind
		}
	}
	l.role, d.header = roleTitle, h
	return true
}

func (d *document) headingOf(c cell, words []word, text string, pipes bool) heading {
	h := heading{text: c.text, at: c.at}
	if !pipes {
		h.at = column(text, c.at)
	}
	h.value = hasFlag(words, fCommunity|fForm)
	h.property = len(words) <= 3 && !h.value && hasFlag(words, fLocalPref|fMED)
	if !h.value || !onlyForm(words) {
		h.qualifier = c.text
	}
	return h
}

// onlyForm reports whether words say no more than that a column holds communities.
func onlyForm(words []word) bool {
	for _, w := range words {
		if !w.has(fForm|fLabel) && strings.Trim(w.text, "0123456789") != "" {
			return false
		}
	}
	return true
}

// headerKind is the kind that the head of a column of meanings says.
func headerKind(words []word) registry.Kind {
	for _, w := range words {
		switch {
		case w.has(hAction) && w.has(fHeader):
			return registry.KindAction
		case w.has(hInfo) && w.has(fHeader):
			return registry.KindInfo
		}
	}
	return ""
}

// rowsBelow reports whether a row with a value, or a rule and then one, is near below.
func (d *document) rowsBelow(i int) bool {
	for j, seen := i+1, 0; j < len(d.lines) && seen < 4; j++ {
		switch l := &d.lines[j]; {
		case l.role == roleBlank || l.role == roleRule:
		case len(l.tokens) > 0:
			return true
		default:
			seen++
			if !isPiped(l.text) {
				return false
			}
		}
	}
	return false
}

// propertyOf is the property that a number is of: the head of its column.
func (h *header) propertyOf(meaning string) string {
	if meaning == "" || strings.Trim(meaning, "0123456789+-") != "" {
		return ""
	}
	for _, c := range h.columns {
		if c.property {
			return c.text
		}
	}
	return ""
}

// qualifier is what the head of a value's column adds to the meaning of the row; k is the
// value's place among n in a row. One value in a row needs no head, unless it stands
// right below one that is of values.
func (r row) qualifier(t token, k, n int) string {
	if r.header == nil || r.header.pipes || n < 2 {
		return ""
	}
	at := column(r.text, t.from)
	var best *heading
	for c := range r.header.columns {
		h := &r.header.columns[c]
		if best == nil || distance(h.at, at) < distance(best.at, at) {
			best = h
		}
	}
	if best == nil || distance(best.at, at) > 6 {
		return ""
	}
	return best.qualifier
}

func distance(a, b int) int { return max(a-b, b-a) }

// table knows rows with bars.
func (r row) table() bool {
	if !isPiped(r.text) {
		return false
	}
	cells := pipeCells(r.text)
	if r.header != nil && !r.header.pipes {
		r.header = nil
	}
	values := make([][]token, len(cells))
	var texts []string
	found := false
	for c, cell := range cells {
		values[c] = r.plausibleCell(cell.text, r.isValueColumn(c))
		if len(values[c]) > 0 {
			found = true
			continue
		}
		if text := r.cellMeaning(c, cell.text); text != "" {
			texts = append(texts, text)
		}
	}
	if !found {
		return false
	}
	if len(texts) == 0 {
		return r.cellsOfPairs(cells)
	}
	for c := range cells {
		qualifier := ""
		if r.header != nil && c < len(r.header.columns) {
			qualifier = r.header.columns[c].qualifier
		}
		for _, t := range values[c] {
			r.emit(t, strings.Join(texts, ", "), sureTable, qualifier)
		}
	}
	return true
}

func (r row) isValueColumn(c int) bool {
	return r.header != nil && c < len(r.header.columns) && r.header.columns[c].value
}

// cellMeaning is what a cell without a value adds to the meaning.
func (r row) cellMeaning(c int, text string) string {
	if text == "" || !hasLetterOrDigit(text) {
		return ""
	}
	switch strings.ToLower(text) {
	case "n/a", "none", "no", "-", "n.a.", "нет":
		return ""
	}
	if r.header != nil && c < len(r.header.columns) && r.header.columns[c].property && strings.Trim(text, "0123456789+-") == "" {
		return r.header.columns[c].text + " " + text
	}
	return text
}

// cellsOfPairs knows rows whose every cell has a value and its meaning.
func (r row) cellsOfPairs(cells []cell) bool {
	done := false
	for _, c := range cells {
		part := row{document: r.document, i: r.i, text: c.text, toks: r.words.scan(c.text)}
		if len(part.toks) > 0 && (part.valueFirst() || part.textFirst()) {
			done = true
		}
	}
	return done
}

// plausibleCell finds the values of a cell that holds nothing else. In a column of values
// a placeholder may be several words, and blanks may stand around the colons.
func (d *document) plausibleCell(text string, ofValues bool) []token {
	text = strings.Trim(text, "`'\" ")
	toks := d.words.scan(text)
	end, whole := 0, len(toks) > 0
	for _, t := range toks {
		whole = whole && isFiller(text[end:t.from])
		end = t.to
	}
	if whole && isFiller(text[end:]) {
		return toks
	}
	if !ofValues {
		return nil
	}
	var out []token
	for part := range strings.SplitSeq(strings.ReplaceAll(text, " / ", ", "), ", ") {
		t, ok := wordyToken(strings.TrimSpace(part))
		if !ok {
			return nil
		}
		out = append(out, t)
	}
	return out
}

// isFiller reports whether a text is only what stands between values, or a remark in
// brackets.
func isFiller(s string) bool {
	s = strings.Trim(s, " \t,;/&+|`'\"")
	return s == "" || exact[strings.ToLower(s)]&fJoin != 0
}

// wordyToken reads a value as a cell of values may write it: 64500:200:Transit ASN.
func wordyToken(text string) (token, bool) {
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 4 || len(text) > 64 {
		return token{}, false
	}
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
		if parts[i] == "" || i > 0 && strings.Count(parts[i], " ") > 3 {
			return token{}, false
		}
	}
	if first := parts[0]; !isFirst(first) && !routeWord(first+":", 0) {
		return token{}, false
	}
	joined := strings.Join(parts, ":")
	p, err := community.ParsePattern(joined)
	if err != nil {
		return token{}, false
	}
	return token{to: len(text), text: joined, pattern: p}, true
}
