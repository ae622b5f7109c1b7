package importer

import (
	"strings"

	"github.com/catchment-bgp/catchment/community/registry"
)

// inUse are the communities of import and export lines (RFC 2622, section 7.1): those of
// statements about community, for lines such as "to AS1:AS-CUSTOMERS" hold other things
// with colons.
func (d *document) inUse(lines []attribute) []registry.Use {
	var out []registry.Use
	open := false // a list goes on in the next line
	for _, a := range lines {
		if !a.folded {
			open = false
		}
		text := a.value
		for text != "" {
			if !open {
				at := strings.Index(strings.ToLower(text), "communit")
				if at < 0 {
					break
				}
				text = text[at+len("communit"):]
			}
			// What is up to the end of the statement belongs to it.
			statement := text
			end := strings.IndexAny(text, ";)}")
			if open = end < 0; !open {
				statement = text[:end+1]
			}
			out = append(out, d.usesIn(statement, a.no)...)
			text = text[len(statement):]
		}
	}
	return out
}

func (d *document) usesIn(statement string, no int) []registry.Use {
	var out []registry.Use
	for _, t := range plausible(statement, d.words.scan(statement), d.owner) {
		source := registry.Source{File: d.file, Line: no, Date: d.date}
		if t.err == nil {
			out = append(out, registry.Use{Pattern: t.pattern, Source: source})
			continue
		}
		d.lines = append(d.lines, line{no: no, text: statement})
		d.problem(len(d.lines)-1, t.err.Error())
	}
	return out
}
