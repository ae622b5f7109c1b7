package export

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/registry"
)

// Format is a form of writing.
type Format string

// The formats.
const (
	FormatRPSL     Format = "rpsl"
	FormatYANG     Format = "yang"
	FormatNLNOG    Format = "nlnog"
	FormatMarkdown Format = "markdown"
	FormatJSON     Format = "json"
)

// ParseFormat reads a format's name.
func ParseFormat(name string) (Format, error) {
	switch f := Format(name); f {
	case FormatRPSL, FormatYANG, FormatNLNOG, FormatMarkdown, FormatJSON:
		return f, nil
	}
	return "", fmt.Errorf("format %q is not known; write rpsl, yang, nlnog, markdown or json", name)
}

// Write writes entries in a format. The set is for YANG, and for the AS in headings. The
// problems are of the entries that are left out; an error is that of w.
func Write(w io.Writer, f Format, entries []registry.Entry, set Set) ([]registry.Problem, error) {
	switch f {
	case FormatRPSL:
		return RPSL(w, entries)
	case FormatYANG:
		return YANG(w, entries, set)
	case FormatNLNOG:
		return NLNOG(w, entries)
	case FormatMarkdown:
		return nil, Markdown(w, entries, set)
	case FormatJSON:
		return nil, JSON(w, entries)
	}
	_, err := ParseFormat(string(f))
	return nil, err
}

// section is the communities of a kind.
type section struct {
	title   string
	entries []registry.Entry
}

// titles are the headings of the kinds, in their order.
var titles = []struct {
	kind  registry.Kind
	title string
}{
	{registry.KindInfo, "Informational BGP communities"},
	{registry.KindAction, "Action BGP communities"},
	{registry.KindUnknown, "Other BGP communities"},
}

// sections sorts entries by kind, and specific before general.
func sections(entries []registry.Entry) []section {
	var out []section
	for _, t := range titles {
		s := section{title: t.title}
		for _, e := range entries {
			if cmp.Or(e.Kind, registry.KindUnknown) == t.kind {
				s.entries = append(s.entries, e)
			}
		}
		if len(s.entries) > 0 {
			slices.SortStableFunc(s.entries, specific)
			out = append(out, s)
		}
	}
	return out
}

// specific sorts by the kind of community, then specific before general, then by the
// numbers.
func specific(a, b registry.Entry) int {
	p, q := a.Pattern, b.Pattern
	if c := cmp.Compare(p.Kind(), q.Kind()); c != 0 {
		return c
	}
	v, single := p.Value()
	u, alsoSingle := q.Value()
	switch {
	case single && alsoSingle:
		return community.Compare(v, u)
	case single:
		return -1
	case alsoSingle:
		return 1
	}
	return p.Compare(q)
}

// pattern is how an entry's pattern is written where fields have no spelling of their own:
// one value as a value, decimal fields as a template or an ERE. It is false if there is no
// such spelling of the same values.
func pattern(e registry.Entry) (string, bool) {
	p := e.Pattern
	text := strings.TrimSuffix(p.String(), strings.Join(p.Parts(), ":"))
	typ, sub, extended := p.Type()
	v, single := p.Value()
	switch {
	case single && (extended || hasFields(p)):
		if text = v.String(); strings.HasPrefix(text, "0x") {
			text = v.Typed()
		}
		return text, true
	case !hasFields(p):
		return p.String(), true
	case extended && typ == 0 && sub == 2:
		text = "rt:"
	case extended && typ == 0 && sub == 3:
		text = "ro:"
	}
	for place, part := range p.Parts() {
		if layout, ok := p.Layout(place); ok {
			part = plain(layout)
		}
		if place > 0 {
			text += ":"
		}
		text += part
	}
	q, err := community.ParsePattern(text)
	return text, err == nil && q.Same(p) && !hasFields(q)
}

// plain is a spelling of decimal fields, which may have other values.
func plain(l community.Layout) string {
	const any = "[0-9]"
	var b strings.Builder
	for _, f := range l.Fields {
		switch e := f.Expression; {
		case slices.Contains([]string{".*", ".+", any + "*", any + "+"}, e) && f.Length > 0:
			b.WriteString(strings.Repeat(any, f.Length))
		case strings.Contains(e, "|"):
			b.WriteString("(" + e + ")")
		default:
			b.WriteString(strings.TrimSuffix(strings.TrimPrefix(e, "^"), "$"))
		}
	}
	if text := strings.ReplaceAll(b.String(), any, "x"); strings.Trim(text, "x0123456789") == "" && text != "x" {
		return text
	}
	return b.String()
}

func hasFields(p community.Pattern) bool {
	for place := range p.Parts() {
		if _, ok := p.Layout(place); ok {
			return true
		}
	}
	return false
}

// noSpelling is why fields are left out.
const noSpelling = "its fields have no spelling outside of the YANG module"

// legends are what an entry says of digits; not that they are themselves.
func legends(e registry.Entry) []string {
	var out []string
	for _, l := range e.Legends {
		if l.Meaning != "*" {
			out = append(out, l.String())
		}
	}
	return out
}

// oneLine is a text without line ends and with single blanks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// problem says why an entry is left out.
func problem(e registry.Entry, reason string, args ...any) registry.Problem {
	return registry.Problem{File: e.Source.File, Line: e.Source.Line, Text: e.Pattern.String(), Reason: fmt.Sprintf(reason, args...)}
}

// document is the form of the command import.
type document struct {
	Entries  []registry.Entry   `json:"entries"`
	Problems []registry.Problem `json:"problems"`
}

// JSON writes all of the entries, as the command import prints them:
// {"entries":[...],"problems":[]}. Nothing is lost.
func JSON(w io.Writer, entries []registry.Entry) error {
	doc := document{Entries: []registry.Entry{}, Problems: []registry.Problem{}}
	doc.Entries = append(doc.Entries, entries...)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(doc)
}

// Markdown writes a page with one table for each kind.
func Markdown(w io.Writer, entries []registry.Entry, set Set) error {
	out := bufio.NewWriter(w)
	if set.ASN != 0 {
		fmt.Fprintf(out, "# BGP communities of AS%d\n", set.ASN)
	} else {
		fmt.Fprint(out, "# BGP communities\n")
	}
	for _, s := range sections(entries) {
		fmt.Fprintf(out, "\n## %s\n\n| Community | Meaning |\n| --- | --- |\n", s.title)
		for _, e := range s.entries {
			meaning := cell(e.Meaning)
			for _, l := range legends(e) {
				meaning += "<br>" + cell(l)
			}
			text, ok := pattern(e)
			if !ok {
				text = e.Pattern.String()
			}
			fmt.Fprintf(out, "| `%s` | %s |\n", strings.ReplaceAll(text, "|", `\|`), meaning)
		}
	}
	return out.Flush()
}

// cell is a text that stays in its cell, and that is text to a reader of HTML.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;").Replace(oneLine(text))
}
