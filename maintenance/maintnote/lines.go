package maintnote

import (
	"fmt"
	"strings"
)

// Bounds of what is read; more is refused.
const (
	maxSize   = 16 << 20 // octets of a file
	maxDepth  = 8        // components in components, parts in parts
	maxEvents = 500      // of one calendar
	maxParts  = 200      // of a mail
	maxIDs    = 2000     // of objects, in one event
)

// Remark is something to say of one line.
type Remark struct {
	Line int    `json:"line"`
	Text string `json:"text"`
}

// Error says which line of which file cannot be understood, and why.
type Error struct {
	Source string // the file, and the part of a mail
	Line   int    // from 1
	Text   string
}

// Error gives "SOURCE: line N: TEXT".
func (e *Error) Error() string { return fmt.Sprintf("%s: line %d: %s", e.Source, e.Line, e.Text) }

// line is a line of text, after those that are folded were joined.
type line struct {
	number int // of its first part
	text   string
}

// lines splits text at CRLF, LF or CR, and counts from first on. Empty ones are
// counted, and left out.
func lines(text string, first int) []line {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.ReplaceAll(text, "\r", "\n")
	var out []line
	for s := range strings.SplitSeq(text, "\n") {
		if s != "" {
			out = append(out, line{first, s})
		}
		first++
	}
	return out
}

// unfold joins a line that begins with a blank or a tab to the one before (RFC 5545,
// section 3.1), without that blank.
func unfold(physical []line) []line {
	var out []line
	var parts []string // of the last of out
	flush := func() {
		if len(out) > 0 {
			out[len(out)-1].text = strings.Join(parts, "")
		}
	}
	for _, l := range physical {
		if len(out) > 0 && (l.text[0] == ' ' || l.text[0] == '\t') {
			parts = append(parts, l.text[1:])
			continue
		}
		flush()
		out = append(out, l)
		parts = []string{l.text}
	}
	flush()
	return out
}

// property is a content line (RFC 5545, section 3.1).
type property struct {
	name   string // in capitals
	params map[string]string
	value  string // as it stands
	line   int
	// stray are the lines after it that are no content lines. They are the rest of
	// the value if the sender folded it wrongly.
	stray []line
}

// parseProperty reads NAME;PARAM=VALUE:VALUE. It returns the name also where the rest
// makes no sense.
func parseProperty(l line) (property, bool) {
	end := strings.IndexFunc(l.text, func(r rune) bool {
		return !(r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z')
	})
	if end <= 0 {
		return property{}, false
	}
	p := property{name: strings.ToUpper(l.text[:end]), params: map[string]string{}, line: l.number}
	rest := l.text[end:]
	for strings.HasPrefix(rest, ";") {
		key, after, found := strings.Cut(rest[1:], "=")
		if !found || key == "" || strings.ContainsAny(key, ":;\"") {
			return p, false
		}
		var value string
		if value, rest, found = parameterValue(after); !found {
			return p, false
		}
		p.params[strings.ToUpper(key)] = value
	}
	value, found := strings.CutPrefix(rest, ":")
	p.value = value
	return p, found
}

// parameterValue reads a value, quoted or not, or several with commas between, up to
// the next ";" or ":".
func parameterValue(text string) (value, rest string, ok bool) {
	quoted := false
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ';' || c == ':'):
			return strings.ReplaceAll(text[:i], `"`, ""), text[i:], true
		}
	}
	return "", "", false
}

// component is what stands between BEGIN and END.
type component struct {
	name     string // in capitals
	line     int
	props    []property
	children []*component
}

// all returns the properties with the name.
func (c *component) all(name string) []property {
	var out []property
	for _, p := range c.props {
		if p.name == name {
			out = append(out, p)
		}
	}
	return out
}

// get returns the first property with the name.
func (c *component) get(name string) (property, bool) {
	if all := c.all(name); len(all) > 0 {
		return all[0], true
	}
	return property{}, false
}

// parse reads the calendars of a text whose first line has the number first.
func parse(source, text string, first int) ([]*component, error) {
	root := &component{}
	open := []*component{root}
	for _, l := range unfold(lines(text, first)) {
		fail := func(form string, args ...any) ([]*component, error) {
			return nil, &Error{source, l.number, fmt.Sprintf(form, args...)}
		}
		top := open[len(open)-1]
		p, isProperty := parseProperty(l)
		name := strings.ToUpper(strings.TrimSpace(p.value))
		switch {
		case isProperty && p.name == "BEGIN":
			if len(open) > maxDepth {
				return fail("BEGIN:%s stands in more than %d others", name, maxDepth)
			}
			if top == root && name != "VCALENDAR" {
				return fail("BEGIN:%s stands outside of a calendar; put BEGIN:VCALENDAR before it", name)
			}
			child := &component{name: name, line: l.number}
			top.children = append(top.children, child)
			open = append(open, child)
		case isProperty && p.name == "END":
			if top == root || top.name != name {
				return fail("END:%s ends nothing that is open; %s", name, openOne(top))
			}
			open = open[:len(open)-1]
		case top == root:
			if read[p.name] { // anything else is the footer of some mailing list
				return fail("%s stands outside of a calendar", quote(l.text))
			}
		case isProperty:
			top.props = append(top.props, p)
		case p.name != "" && read[p.name]:
			return fail("%s is not %s:VALUE", quote(l.text), p.name)
		case len(top.props) > 0:
			last := &top.props[len(top.props)-1]
			last.stray = append(last.stray, l)
		}
	}
	if top := open[len(open)-1]; top != root {
		return nil, &Error{source, top.line, fmt.Sprintf("BEGIN:%s is never ended; the file is cut off", top.name)}
	}
	return root.children, nil
}

func openOne(c *component) string {
	if c.name == "" {
		return "nothing is open"
	}
	return fmt.Sprintf("open is BEGIN:%s of line %d", c.name, c.line)
}

// quote gives the begin of a text for a message.
func quote(text string) string {
	if runes := []rune(text); len(runes) > 60 {
		text = string(runes[:60]) + "..."
	}
	return fmt.Sprintf("%q", text)
}

// unescape reads a TEXT value (RFC 5545, section 3.3.11) without blanks around it. A
// backslash before anything else is one: providers write it so.
func unescape(value string) string {
	return strings.TrimSpace(strings.NewReplacer(`\\`, `\`, `\;`, `;`, `\,`, `,`, `\n`, "\n", `\N`, "\n").Replace(value))
}
