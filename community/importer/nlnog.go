package importer

import (
	"io"
	"strings"

	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/registry"
)

// readNLNOG reads the files of NLNOG's looking glass: value,meaning on a line, comments
// that begin with #.
func readNLNOG(r io.Reader, name string, opt Options) (Result, error) {
	d := newDocument(newLexicon(), name, opt)
	lines := newLineReader(r, longestLine)
	for {
		raw, cut, err := lines.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return Result{}, err
		}
		text := strings.TrimSpace(decode(raw))
		l := line{no: lines.no, text: text}
		d.lines = append(d.lines, l)
		i := len(d.lines) - 1
		switch {
		case cut:
			d.problem(i, tooLong)
		case text == "":
		case text[0] == '#':
			d.comment(i)
		default:
			d.pair(i)
		}
	}
	d.settleOwner()
	return d.finish(), nil
}

// comment takes a comment for a heading.
func (d *document) comment(i int) {
	text := strings.Trim(d.lines[i].text, "# \t-=")
	d.lines[i].text = text
	if text != "" {
		d.heading(i)
	}
}

func (d *document) pair(i int) {
	value, meaning, ok := strings.Cut(d.lines[i].text, ",")
	// Numbers of a set have commas, too.
	for ok && strings.Count(value, "{") > strings.Count(value, "}") {
		var more string
		more, meaning, ok = strings.Cut(meaning, ",")
		value += "," + more
	}
	if !ok {
		d.problem(i, "no comma between the value and its meaning")
		return
	}
	p, err := nlnogPattern(value)
	if err != nil {
		d.problem(i, err.Error())
		return
	}
	if meaning = strings.TrimSpace(meaning); meaning == "" {
		d.problem(i, "no meaning")
		return
	}
	d.drafts = append(d.drafts, draft{pattern: p, at: i, meaning: meaning, sure: 1, section: d.section})
}

// nlnogPattern reads a value or a pattern of an NLNOG file.
func nlnogPattern(value string) (community.Pattern, error) {
	return community.ParsePattern(strings.TrimSpace(value))
}

// tooLong is the reason of a line that is not looked at.
const tooLong = "the line is longer than 16 KiB and was not read"

// problem reports a line.
func (d *document) problem(i int, reason string) {
	d.problems = append(d.problems, registry.Problem{File: d.file, Line: d.lines[i].no, Text: brief(d.lines[i].text), Reason: reason})
}
