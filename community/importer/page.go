package importer

import (
	"fmt"
	"io"
	"strings"
)

// readPage reads Markdown, HTML or plain text.
func readPage(r io.Reader, name string, opt Options) (Result, error) {
	d := newDocument(newLexicon(), name, opt)
	d.pages = true
	p := page{document: d}
	lines := newLineReader(r, longestLine)
	size := 0
	for {
		raw, cut, err := lines.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return Result{}, err
		}
		if size += len(raw); size > longestDocument {
			return Result{}, fmt.Errorf("larger than %d MiB; give a smaller page", longestDocument>>20)
		}
		p.line(lines.no, decode(raw), cut)
	}
	p.end(lines.no)
	d.titleOwner()
	d.read()
	return d.finish(), nil
}

// page makes plain lines of Markdown and HTML.
type page struct {
	*document
	html   html
	fenced bool // in a block of code
}

func (p *page) line(no int, text string, cut bool) {
	if no == 1 {
		text = strings.TrimPrefix(text, "\ufeff")
	}
	text = unquoted(text)
	trimmed := strings.TrimSpace(text)
	if strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
		p.fenced = !p.fenced
		p.addLine(no, "", 0, false, cut)
		return
	}
	if p.fenced {
		p.addLine(no, text, 0, false, cut)
		return
	}
	if strings.IndexByte(text, '<') >= 0 || strings.IndexByte(text, '&') >= 0 || p.html.open() {
		for _, piece := range p.html.feed(text) {
			p.markdown(no, piece, cut)
		}
		return
	}
	p.markdown(no, text, cut)
}

// unquoted takes the name of the attribute off a line of an object that a page quotes.
func unquoted(text string) string {
	for _, name := range []string{"remarks:", "descr:"} {
		if rest, ok := strings.CutPrefix(strings.TrimLeft(text, " \t>"), name); ok {
			return strings.Repeat(" ", len(text)-len(rest)) + rest
		}
	}
	return text
}

func (p *page) end(no int) {
	if rest := p.html.rest(); rest != "" {
		p.addLine(max(1, no), rest, 0, false, false)
	}
}

// markdown takes the marks of Markdown off a line.
func (p *page) markdown(no int, text string, cut bool) {
	level := 0
	trimmed := strings.TrimSpace(text)
	for level < len(trimmed) && trimmed[level] == '#' {
		level++
	}
	if level > 6 || level < len(trimmed) && level > 0 && trimmed[level] != ' ' && trimmed[level] != '\t' {
		level = 0
	}
	if level > 0 {
		text = strings.Trim(trimmed, "# \t")
		if isComment(text) {
			level, text = 0, "• "+text // never a heading
		}
	}
	if name, ok := iniSection(trimmed); ok {
		level, text = 2, name
	}
	p.addLine(no, plainMarkdown(text), level, false, cut)
}

// isComment reports whether a text after # is more of a sentence than a heading, as in
// the comments of a configuration.
func isComment(text string) bool {
	return text != "" && (strings.Count(text, " ") > 9 || strings.ContainsAny(text[len(text)-1:], ".,;"))
}

// iniSection reads [bgp_communities] as a heading.
func iniSection(text string) (string, bool) {
	if len(text) < 3 || text[0] != '[' || text[len(text)-1] != ']' || strings.ContainsAny(text, " :") {
		return "", false
	}
	return strings.ReplaceAll(text[1:len(text)-1], "_", " "), true
}

// plainMarkdown takes emphasis, code marks, escapes and links out of a line.
func plainMarkdown(text string) string {
	if strings.IndexByte(text, '`') >= 0 {
		text = strings.ReplaceAll(text, "`", "")
	}
	if strings.Contains(text, "**") && !strings.HasPrefix(strings.TrimSpace(text), "** ") {
		text = strings.ReplaceAll(text, "**", "")
	}
	if strings.Contains(text, "__") {
		text = strings.ReplaceAll(text, "__", "")
	}
	if strings.IndexByte(text, '\\') >= 0 {
		text = unescape(text)
	}
	if strings.Contains(text, "](") {
		text = plainLinks(text)
	}
	return text
}

// unescape takes the backslash off the marks that Markdown gives a meaning.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && strings.IndexByte("_*<>[]#`-&", text[i+1]) >= 0 {
			continue
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// plainLinks leaves of [text](address) the text.
func plainLinks(text string) string {
	var b strings.Builder
	for {
		middle := strings.Index(text, "](")
		if middle < 0 {
			break
		}
		open := strings.LastIndexByte(text[:middle], '[')
		end := strings.IndexByte(text[middle:], ')')
		if open < 0 || end < 0 {
			b.WriteString(text[:middle+2])
			text = text[middle+2:]
			continue
		}
		b.WriteString(text[:open])
		b.WriteString(text[open+1 : middle])
		text = text[middle+end+1:]
	}
	b.WriteString(text)
	return b.String()
}

// titleOwner takes the AS in the first heading, or in the first line that speaks of
// communities, for the owner.
func (d *document) titleOwner() {
	for i := range d.lines {
		l := &d.lines[i]
		if l.role == roleBlank || len(l.tokens) > 0 {
			continue
		}
		underlined := i+1 < len(d.lines) && d.lines[i+1].role == roleRule
		if l.level > 0 || underlined || strings.Contains(strings.ToLower(l.text), "communit") || strings.Contains(strings.ToLower(l.text), "comunidad") {
			d.headingOwner(l.text)
		}
		if d.owner != 0 || i > 40 {
			return
		}
	}
}
