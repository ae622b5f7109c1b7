package importer

import (
	stdhtml "html"
	"strings"
)

// html takes the tags out of the lines of a page, and makes rows with bars of its
// tables. Names in <> that are no tags, such as <ASN>, stay.
type html struct {
	row    strings.Builder // the cells so far
	inRow  bool
	hidden string // the tag whose text is not shown: script, style; or -- of a comment
	left   string // a tag that goes on in the next line
}

// longestRow bounds the text of a row of a table.
const longestRow = longestLine / 2

// tags are those of HTML that a document of communities may have.
var tags = set(`a abbr b big blockquote body br button center code col colgroup dd div dl dt em figure font footer form h1 h2 h3 h4 h5 h6 head header hr html
 i img input label li link main meta nav ol option p pre script section select small span strike strong style sub summary details sup table tbody td tfoot th thead title tr tt u ul var wbr !doctype noscript svg path article aside`)

// open reports whether the lines before left something to go on with.
func (h *html) open() bool { return h.inRow || h.hidden != "" || h.left != "" }

// feed takes a line and returns the lines that it is without tags.
func (h *html) feed(text string) []string {
	text = h.left + text
	h.left = ""
	var out []string
	var now strings.Builder
	flush := func() {
		if s := now.String(); strings.TrimSpace(s) != "" {
			out = append(out, stdhtml.UnescapeString(s))
		}
		now.Reset()
	}
	write := func(s string) {
		switch {
		case h.hidden != "":
		case h.inRow && !strings.HasPrefix(strings.TrimSpace(s), "|"):
			if h.row.Len()+len(s) < longestRow {
				h.row.WriteString(s)
			}
		default:
			now.WriteString(s)
		}
	}
	for text != "" {
		open := strings.IndexByte(text, '<')
		if open < 0 {
			write(text)
			break
		}
		write(text[:open])
		text = text[open:]
		name, end := tagAt(text)
		switch {
		case name == "":
			write(text[:1])
			text = text[1:]
			continue
		case end < 0:
			if len(text) < longestRow {
				h.left = text + " "
			}
			text = ""
			continue
		}
		h.tag(name, text[:end], write, flush, &out)
		text = text[end:]
	}
	if h.inRow {
		write(" ")
	}
	if s := now.String(); s != "" {
		flushTail(&out, s)
	}
	if len(out) == 0 && !h.inRow && h.hidden == "" {
		out = append(out, "")
	}
	return out
}

func flushTail(out *[]string, s string) {
	if strings.TrimSpace(s) != "" {
		*out = append(*out, stdhtml.UnescapeString(s))
	}
}

// tagAt reads the tag that a text begins with: its name, with / for an end, and where it
// ends, -1 if not in this text. "" is no tag.
func tagAt(text string) (name string, end int) {
	if strings.HasPrefix(text, "<!--") {
		return "!--", 4
	}
	i := 1
	if i < len(text) && text[i] == '/' {
		i++
	}
	from := i
	for i < len(text) && i-from < 12 && (isLetter(text[i]) || isDigit(text[i]) || text[i] == '!') {
		i++
	}
	word := strings.ToLower(text[from:i])
	if !tags[word] || i < len(text) && strings.IndexByte(" \t>/", text[i]) < 0 {
		return "", 0
	}
	end = strings.IndexByte(text, '>')
	if text[1] == '/' {
		word = "/" + word
	}
	if end < 0 {
		return word, -1
	}
	return word, end + 1
}

// tag acts on one tag.
func (h *html) tag(name, text string, write func(string), flush func(), out *[]string) {
	if h.hidden != "" {
		if name == "/"+h.hidden || h.hidden == "!--" && strings.Contains(text, "-->") {
			h.hidden = ""
		}
		return
	}
	switch name {
	case "script", "style", "svg", "head":
		h.hidden = name
	case "!--":
		// Comments are rare; their text is shown rather than anything lost after them.
	case "tr":
		flush()
		h.endRow(out)
		h.inRow = true
	case "/tr", "/table":
		flush()
		h.endRow(out)
	case "td", "th":
		if h.inRow {
			h.row.WriteString("\x00")
		}
	case "br", "/p", "p", "li", "/li", "div", "/div", "dt", "dd", "/dt", "/dd", "hr", "table", "ul", "/ul", "ol", "/ol", "pre", "/pre":
		if h.inRow {
			write(" ")
		} else {
			flush()
		}
	case "h1", "h2", "h3", "h4", "h5", "h6":
		flush()
		write("######"[:name[1]-'0'] + " ")
	case "/h1", "/h2", "/h3", "/h4", "/h5", "/h6", "/title":
		flush()
	}
}

// endRow gives out the row of a table.
func (h *html) endRow(out *[]string) {
	if !h.inRow {
		return
	}
	row := h.row.String()
	h.row.Reset()
	h.inRow = false
	cells := strings.Split(row, "\x00")
	if len(cells) > 0 && strings.TrimSpace(cells[0]) == "" {
		cells = cells[1:]
	}
	var b strings.Builder
	for _, c := range cells {
		c = strings.ReplaceAll(stdhtml.UnescapeString(squeeze(c)), "|", `\|`)
		b.WriteString("| " + c + " ")
	}
	if len(cells) > 1 && strings.TrimLeft(b.String(), "| ") != "" {
		*out = append(*out, b.String()+"|")
	} else if len(cells) == 1 && strings.TrimSpace(cells[0]) != "" {
		*out = append(*out, strings.TrimSpace(stdhtml.UnescapeString(cells[0])))
	}
}

// rest is what the last line left.
func (h *html) rest() string {
	var out []string
	h.endRow(&out)
	return strings.Join(append(out, h.left), " ")
}
