package importer

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/catchment-bgp/catchment/community/registry"
)

// Format is how a document is written.
type Format string

// The formats.
const (
	Auto  Format = "auto"  // found out from the text
	RPSL  Format = "rpsl"  // aut-num objects of a routing registry (RFC 2622)
	NLNOG Format = "nlnog" // value,meaning
	YANG  Format = "yang"  // JSON of draft-ietf-grow-yang-bgp-communities
	Page  Format = "page"  // Markdown, HTML or plain text
	JSON  Format = "json"  // what `catchment community import -o json` printed
)

// ParseFormat reads a format's name; "" is auto.
func ParseFormat(name string) (Format, error) {
	switch f := Format(name); f {
	case "":
		return Auto, nil
	case Auto, RPSL, NLNOG, YANG, Page, JSON:
		return f, nil
	}
	return "", fmt.Errorf("format %q is not known; write auto, rpsl, nlnog, yang, page or json", name)
}

// Options say what a text does not.
type Options struct {
	// Owner is the AS that documents, where the text names none.
	Owner uint32
	// Date is that of the document, where the text has none.
	Date time.Time
}

// Result is what a document holds. InUse are the communities of import and export
// lines, which say nothing of a meaning.
type Result struct {
	Entries  []registry.Entry
	InUse    []registry.Use
	Problems []registry.Problem
}

func (r *Result) add(o Result) {
	r.Entries = append(r.Entries, o.Entries...)
	r.InUse = append(r.InUse, o.InUse...)
	r.Problems = append(r.Problems, o.Problems...)
}

// Bounds of what is read.
const (
	longestLine     = 16 << 10 // of a line that is looked at
	longestObject   = 8 << 20  // of an RPSL object that is kept
	longestDocument = 64 << 20 // of a page, an answer or a JSON document
	longestText     = 160      // of a line in a problem
)

// Read reads a document. name is what entries and problems call it; an ASN in it, as in
// as64500.txt, is the owner if neither the text nor opt names one. An error is that of r,
// or of a document that is not of the format at all; then the result is empty.
func Read(r io.Reader, name string, f Format, opt Options) (Result, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	if magic, _ := in.Peek(2); string(magic) == "\x1f\x8b" {
		return Result{}, fmt.Errorf("%s: it is packed by gzip; unpack it, or read it as the dump of a database (catchment community import --dump)", name)
	}
	if f == Auto || f == "" {
		head, err := in.Peek(64 << 10)
		if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
			return Result{}, fmt.Errorf("%s: %w", name, err)
		}
		f = detect(head)
	}
	var out Result
	var err error
	switch f {
	case RPSL:
		out, err = readRPSL(in, name, opt)
	case NLNOG:
		out, err = readNLNOG(in, name, opt)
	case Page:
		out, err = readPage(in, name, opt)
	case YANG:
		out.Entries, out.Problems, err = ReadYANG(in, name, opt.Owner, opt.Date)
	case JSON:
		out, err = readJSON(in)
	default:
		_, err = ParseFormat(string(f))
	}
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

// detect finds the format out from the beginning of a text.
func detect(head []byte) Format {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	if trimmed := bytes.TrimSpace(head); len(trimmed) > 0 && trimmed[0] == '{' {
		if bytes.Contains(head, []byte(yangModule)) {
			return YANG
		}
		return JSON
	}
	attributes, pairs, others := 0, 0, 0
	first := true // nothing but comments so far
	object := false
	for text := range bytes.SplitSeq(head, []byte("\n")) {
		text = bytes.TrimRight(text, " \t\r")
		switch {
		case len(text) == 0 || text[0] == '#' || text[0] == '%':
			continue
		case isAttribute(text):
			attributes++
			object = object || first
		case isPair(text):
			pairs++
		default:
			others++
		}
		first = false
	}
	switch {
	case object || attributes > pairs && attributes > others:
		return RPSL
	case pairs > 0 && pairs >= others:
		return NLNOG
	}
	return Page
}

// isAttribute reports whether a line is of an object that may document communities.
func isAttribute(text []byte) bool {
	name, _, ok := bytes.Cut(text, []byte(":"))
	if !ok || len(name) > 16 {
		return false
	}
	switch strings.ToLower(string(name)) {
	case "aut-num", "remarks", "descr", "as-name", "import", "export", "mp-import", "mp-export", "mnt-by", "source":
		return true
	}
	return false
}

// isPair reports whether a line is value,meaning.
func isPair(text []byte) bool {
	value, _, ok := bytes.Cut(text, []byte(","))
	if !ok || len(value) > 64 || bytes.IndexByte(value, ':') < 0 || bytes.ContainsAny(value, "(|=\"'`") {
		return false
	}
	value = bytes.TrimSpace(value)
	_, err := nlnogPattern(string(value))
	return err == nil
}

var fileASN = regexp.MustCompile(`(?i)(?:^|[^a-z0-9])asn?[-_ ]?([0-9]{1,10})(?:[^0-9]|$)`)

// ownerOfName is the ASN in a file's name, 0 if there is none.
func ownerOfName(name string) uint32 {
	if m := fileASN.FindStringSubmatch(filepath.Base(name)); m != nil {
		if n, err := strconv.ParseUint(m[1], 10, 32); err == nil {
			return uint32(n)
		}
	}
	return 0
}
