package importer

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/registry"
)

// Found is a community in a paste.
type Found struct {
	Value community.Value `json:"value"`
	Line  int             `json:"line"`
	Text  string          `json:"text"` // as the paste has it
}

// Values finds the communities in any paste: what a looking glass prints, JSON of FRR's
// "show bgp", BIRD's "show route all", plain lists, and text. It finds nothing in times,
// addresses, ports and the like. A problem is what stands where communities stand and is
// none, or of a kind that is not read; one says what r's error was.
func Values(r io.Reader) ([]Found, []registry.Problem) {
	in := bufio.NewReaderSize(r, 64<<10)
	head, _ := in.Peek(4 << 10)
	p := paste{words: newLexicon()}
	if trimmed := bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))); len(trimmed) > 1 && (trimmed[0] == '{' || trimmed[0] == '[' && strings.IndexByte("{[]\" \n\t", trimmed[1]) >= 0) {
		p.json(in)
	} else {
		p.text(in)
	}
	return p.found, p.problems
}

type paste struct {
	found    []Found
	problems []registry.Problem
	words    *lexicon
	listed   bool // the line before was a list of communities, which may go on
}

func (p *paste) problem(line int, text, reason string) {
	p.problems = append(p.problems, registry.Problem{Line: line, Text: brief(text), Reason: reason})
}

// longestPaste bounds a line of a paste.
const longestPaste = 1 << 20

func (p *paste) text(in io.Reader) {
	lines := newLineReader(in, longestPaste)
	for {
		raw, cut, err := lines.next()
		if err != nil {
			if err != io.EOF {
				p.problem(lines.no, "", err.Error())
			}
			return
		}
		if cut {
			p.problem(lines.no, decode(raw[:longestText]), "the line is longer than 1 MiB, what is beyond was not read")
		}
		p.line(lines.no, decode(raw))
	}
}

// line reads one line: after a label, all of it are communities; a line of nothing else
// is a list; in others those count that can be nothing else.
func (p *paste) line(no int, text string) {
	if strings.TrimSpace(text) == "" {
		p.listed = false
		return
	}
	if rest, ok := afterLabel(text); ok {
		p.listed = true
		p.list(no, rest, true)
		return
	}
	if values, ok := onlyValues(text); ok && (p.listed && (text[0] == ' ' || text[0] == '\t') || !anyTime(values)) {
		p.list(no, text, false)
		return
	}
	p.listed = false
	p.sentence(no, text)
}

// labels are what routers and looking glasses print before communities, in lower case.
var labels = []string{
	"bgp.community:", "bgp.ext_community:", "bgp.large_community:", "bgp_community:", "bgp_ext_community:", "bgp_large_community:",
	"community:", "communities:", "large community:", "large communities:", "extended community:", "extended communities:", "ext community:", "ext communities:",
	"large-community:", "large-communities:", "extended-community:", "ext-community:", "large_community:", "community =", "communities =", "standard communities:", "community values:",
}

// afterLabel cuts a label off, which stands at the beginning of a line, or after a tab
// or other attributes.
func afterLabel(text string) (string, bool) {
	trimmed := strings.TrimLeft(text, " \t*>-")
	lower := strings.ToLower(trimmed[:min(len(trimmed), 40)])
	for _, label := range labels {
		if strings.HasPrefix(lower, label) {
			return trimmed[len(label):], true
		}
	}
	return "", false
}

// list reads communities with blanks or commas between them. labelled: what is none is a
// problem.
func (p *paste) list(no int, text string, labelled bool) {
	for _, part := range listParts(text) {
		v, err := readValue(part)
		switch {
		case err == nil:
			p.found = append(p.found, Found{Value: v, Line: no, Text: part})
		case labelled && (strings.ContainsAny(part, ":,") || isDigit(part[0])):
			p.problem(no, part, err.Error())
		case labelled && !isNoise(part):
			p.problem(no, part, "no community")
		}
	}
}

// isNoise reports whether a word among communities is no community for certain: notes in
// brackets, and words such as "(none)".
func isNoise(part string) bool {
	switch strings.ToLower(strings.Trim(part, "()[]<>")) {
	case "none", "", "-", "n/a", "null", "and", "valid", "internal", "external", "best", "list":
		return true
	}
	return strings.HasPrefix(part, "(") && !strings.ContainsAny(part, "0123456789")
}

// listParts cuts a list at blanks and commas; a tuple in brackets is one part.
func listParts(text string) []string {
	var out []string
	for i := 0; i < len(text); {
		if strings.IndexByte(" \t,;[]{}\"'|", text[i]) >= 0 {
			i++
			continue
		}
		j := i
		if text[i] == '(' {
			if end := strings.IndexByte(text[i:min(len(text), i+longestTuple)], ')'); end > 0 {
				out = append(out, text[i:i+end+1])
				i += end + 1
				continue
			}
		}
		for j < len(text) && strings.IndexByte(" \t,;[]{}\"'|", text[j]) < 0 && (text[j] != '(' || j == i) {
			j++
		}
		out = append(out, text[i:j])
		i = j
	}
	return out
}

// onlyValues reports whether a line has communities and nothing else.
func onlyValues(text string) ([]string, bool) {
	if len(text) > 0 && !strings.ContainsAny(text, "0123456789-_") || len(text) > longestPaste {
		return nil, false
	}
	parts := listParts(text)
	for _, part := range parts {
		if _, err := readValue(part); err != nil {
			return nil, false
		}
	}
	return parts, len(parts) > 0
}

func anyTime(parts []string) bool {
	for _, part := range parts {
		if isTime(part) {
			return true
		}
	}
	return false
}

// names are the well-known communities as routers print them, without marks.
var names = func() map[string]community.Value {
	out := map[string]community.Value{
		"gshut": community.GracefulShutdown, "localas": community.NoExportSubconfed, "nopeer": community.NoPeer,
	}
	for _, v := range []community.Value{community.GracefulShutdown, community.AcceptOwn, community.LLGRStale, community.NoLLGR, community.Blackhole,
		community.NoExport, community.NoAdvertise, community.NoExportSubconfed, community.NoPeer} {
		out[plainName(v.Name())] = v
	}
	return out
}()

func plainName(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' {
			return -1
		}
		return r
	}, strings.ToLower(s))
}

// readValue reads one community as any router prints it.
func readValue(text string) (community.Value, error) {
	text = strings.TrimRight(text, ".")
	if len(text) <= 32 && strings.ContainsAny(text, "oOeEuUlL") {
		if v, ok := names[plainName(text)]; ok {
			return v, nil
		}
	}
	if inner, ok := strings.CutPrefix(text, "("); ok && strings.HasSuffix(inner, ")") {
		return readTuple(inner[:len(inner)-1])
	}
	word, rest, ok := strings.Cut(text, ":")
	if !ok {
		return community.Value{}, fmt.Errorf("%s is no community", strconv.Quote(brief(text)))
	}
	switch strings.ToLower(word) {
	case "rt", "target":
		return community.Parse("rt:" + rest)
	case "ro", "soo", "origin":
		return community.Parse("ro:" + rest)
	case "large", "community", "comm", "std":
		return community.Parse(rest)
	}
	if word != "" && isLetter(word[0]) {
		return community.Value{}, fmt.Errorf("%s is an extended community of a kind that is not read", strconv.Quote(brief(text)))
	}
	return community.Parse(text)
}

// readTuple reads what BIRD prints: 65001,100; 65001, 1, 101; rt, 65001, 100; generic,
// 0x43000000, 0x1.
func readTuple(inner string) (community.Value, error) {
	if strings.ContainsRune(inner, ':') {
		return readValue(inner)
	}
	parts := strings.Split(inner, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	if len(parts) == 3 && strings.EqualFold(parts[0], "generic") {
		high, errHigh := strconv.ParseUint(parts[1], 0, 32)
		low, errLow := strconv.ParseUint(parts[2], 0, 32)
		if errHigh != nil || errLow != nil {
			return community.Value{}, fmt.Errorf("%q is no extended community", brief(inner))
		}
		return community.Parse(fmt.Sprintf("0x%08x%08x", high, low))
	}
	return readValue(strings.Join(parts, ":"))
}

// sentence finds communities in a line of other things.
func (p *paste) sentence(no int, text string) {
	for _, t := range p.words.scan(text) {
		if t.err != nil {
			if strings.Count(t.text, ":") == 2 || len(t.text) > 8 {
				p.problem(no, t.text, t.err.Error())
			}
			continue
		}
		v, ok := t.pattern.Value()
		if !ok || !stands(text, t, v) {
			continue
		}
		p.found = append(p.found, Found{Value: v, Line: no, Text: text[t.from:t.to]})
	}
	if at := strings.Index(strings.ToLower(text), "communit"); at >= 0 {
		p.namesIn(no, text[at:])
	}
}

// namesIn finds well-known names after the word community.
func (p *paste) namesIn(no int, text string) {
	for _, part := range listParts(text) {
		part = strings.Trim(part, ".():")
		if !strings.ContainsAny(part, "-_") {
			continue
		}
		if v, ok := names[plainName(part)]; ok {
			p.found = append(p.found, Found{Value: v, Line: no, Text: part})
		}
	}
}

// stands reports whether a value in a sentence is a community: no time, no ratio, no port
// and nothing after a word such as RD.
func stands(text string, t token, v community.Value) bool {
	if isTime(t.text) || notBefore[wordBefore(text, t.from)] {
		return false
	}
	n, ok := v.Standard()
	left, right := n>>16, n&0xFFFF
	return !ok || left >= 256 || right >= 1000
}
