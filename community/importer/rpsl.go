package importer

import (
	"bytes"
	"io"
	"strings"
	"time"
)

// attribute is one line of an object, folded ones included.
type attribute struct {
	name   string // in lower case; of the attribute that a folded line goes on with
	value  string // what stands after the colon, with the columns of the line kept
	no     int
	folded bool
	cut    bool
}

// object is an RPSL object, or a piece of one.
type object struct {
	class, key string
	attributes []attribute
	size       int
	cut        bool // it was too long to be kept whole
}

// isOurs reports whether an object may document communities: an aut-num, or lines of one.
func (o *object) isOurs() bool {
	switch o.class {
	case "aut-num", "remarks", "descr", "as-name", "import", "export", "mp-import", "mp-export":
		return true
	}
	return false
}

// parts of a line: blank, comment, an attribute, or a fold.
type part uint8

const (
	partBlank part = iota
	partComment
	partAttribute
	partFold
	partOther
)

// partOf tells what a line of RPSL is, and where the value begins.
func partOf(text []byte) (p part, name []byte, value int) {
	if len(text) == 0 {
		return partBlank, nil, 0
	}
	switch text[0] {
	case '%', '#':
		return partComment, nil, 0
	case ' ', '\t', '+':
		if len(bytes.TrimSpace(text)) == 0 {
			return partBlank, nil, 0
		}
		return partFold, nil, 1
	}
	colon := bytes.IndexByte(text[:min(len(text), 32)], ':')
	if colon <= 0 {
		return partOther, nil, 0
	}
	for _, c := range text[:colon] {
		if !isLetter(c) && !isDigit(c) && c != '-' && c != '_' {
			return partOther, nil, 0
		}
	}
	return partAttribute, text[:colon], colon + 1
}

// usualNames are those of most lines, which need no memory of their own.
var usualNames = func() map[string]string {
	out := map[string]string{}
	for name := range strings.FieldsSeq("aut-num as-name descr remarks import export default mp-import mp-export mp-default import-via export-via mnt-by admin-c tech-c org member-of " +
		"created last-modified source status notify changed mnt-routes inetnum inet6num netname country route route6 origin mntner person role address phone nic-hdl e-mail as-set members") {
		out[name] = name
	}
	return out
}()

// attributeName is the name of an attribute in lower case.
func attributeName(name []byte) string {
	if known, ok := usualNames[string(name)]; ok {
		return known
	}
	return strings.ToLower(string(name))
}

// blanks are as many as may stand for the name of an attribute and its colon.
const blanks = "                                "

// columnValue is a value with blanks in place of what stands before it, so that columns
// can be compared from line to line.
func columnValue(text []byte, value int) string {
	if !isPlain(text[value:]) {
		return strings.Repeat(" ", value) + decode(text[value:])
	}
	var b strings.Builder
	b.Grow(len(text))
	b.WriteString(blanks[:value])
	b.Write(text[value:])
	return b.String()
}

// add takes a line into the object.
func (o *object) add(text []byte, no int, cut bool) {
	p, name, value := partOf(text)
	if o.size += len(text); o.size > longestObject {
		o.cut = true
		return
	}
	switch p {
	case partAttribute:
		lower := attributeName(name)
		a := attribute{name: lower, value: columnValue(text, value), no: no, cut: cut}
		if o.class == "" {
			o.class, o.key = lower, strings.TrimSpace(a.value)
		}
		o.attributes = append(o.attributes, a)
	case partFold:
		if n := len(o.attributes); n > 0 {
			o.attributes = append(o.attributes, attribute{name: o.attributes[n-1].name, value: columnValue(text, value), no: no, folded: true, cut: cut})
		}
	case partOther:
		o.attributes = append(o.attributes, attribute{name: "", value: decode(text), no: no, cut: cut})
	}
}

// readRPSL reads the objects of a file.
func readRPSL(r io.Reader, name string, opt Options) (Result, error) {
	var out Result
	words := newLexicon()
	err := eachObject(r, func(*object) bool { return true }, func(o *object) error {
		out.add(readObjectWith(words, o, name, opt))
		return nil
	})
	return out, err
}

// eachObject calls yield with each object whose first attribute keep accepts. Others are
// read over. yield may not keep the object.
func eachObject(r io.Reader, keep func(*object) bool, yield func(*object) error) error {
	lines := newLineReader(r, longestLine)
	o := &object{}
	skipping := false
	flush := func() error {
		defer func() { *o, skipping = object{attributes: o.attributes[:0]}, false }()
		if skipping || len(o.attributes) == 0 {
			return nil
		}
		return yield(o)
	}
	for {
		text, cut, err := lines.next()
		if err == io.EOF {
			return flush()
		}
		if err != nil {
			return err
		}
		if lines.no == 1 {
			text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
		}
		if len(bytes.TrimSpace(text)) == 0 {
			if err := flush(); err != nil {
				return err
			}
			continue
		}
		if skipping {
			continue
		}
		fresh := len(o.attributes) == 0
		o.add(text, lines.no, cut)
		if fresh && len(o.attributes) > 0 {
			skipping = !keep(o)
		}
	}
}

// readObjectWith reads what an aut-num documents.
func readObjectWith(words *lexicon, o *object, file string, opt Options) Result {
	if !o.isOurs() {
		return Result{}
	}
	d := newDocument(words, file, opt)
	d.lines, d.drafts = words.lines[:0], words.drafts[:0]
	defer func() { words.lines, words.drafts = d.lines, d.drafts }()
	if n, ok := asNumber(o.key); ok && o.class == "aut-num" {
		d.owner = n
	}
	var policy []attribute
	documented := false
	for _, a := range o.attributes {
		switch a.name {
		case "remarks", "descr":
			documented = true
			d.addLine(a.no, a.value, 0, a.folded, a.cut)
		case "import", "export", "default", "mp-import", "mp-export", "mp-default", "import-via", "export-via":
			if a.folded || strings.Contains(a.value, "ommunit") || strings.Contains(a.value, "OMMUNIT") {
				policy = append(policy, a)
			}
		case "last-modified", "created":
			if t, err := time.Parse(time.RFC3339, strings.TrimSpace(a.value)); err == nil && (a.name == "last-modified" || d.date.IsZero()) {
				d.date = t
			}
		case "":
			d.strange(a)
		}
	}
	out := Result{}
	if documented {
		d.read()
		out = d.finish()
	} else {
		out.Problems = d.problems
	}
	out.InUse = d.inUse(policy)
	if o.cut {
		d.problems = nil
		d.lines = []line{{no: o.attributes[0].no, text: o.class + ": " + o.key}}
		d.problem(0, "the object is longer than 8 MiB, what is beyond was not read")
		out.Problems = append(out.Problems, d.problems...)
	}
	return out
}

// strange reports a line with communities that is no attribute.
func (d *document) strange(a attribute) {
	if len(d.words.scan(a.value)) > 0 {
		d.lines = append(d.lines, line{no: a.no, text: a.value, role: roleRule})
		d.problem(len(d.lines)-1, "no attribute of RPSL")
	}
}
