package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// What a file may hold. A real one is far smaller; the limits keep a hostile one
// from costing more than a moment.
const (
	maxBytes = 1 << 20 // of text
	maxNodes = 200_000 // keys and values, each alias counted as what it stands for
	maxItems = 1024    // entries of one list or mapping
)

// tree parses data into the root of its only document. Nil: reported.
func (c *checker) tree(data []byte) *yaml.Node {
	if len(data) > maxBytes {
		c.errorAt(position{}, "", "the file is larger than 1 MiB; write a smaller one")
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	first, err := nextDocument(dec)
	if errors.Is(err, io.EOF) || err == nil && len(first.Content) == 0 {
		c.errorAt(position{}, "", "the file is empty; write at least node, asn, router_id, neighbors and services")
		return nil
	}
	if err != nil {
		c.syntax(err)
		return nil
	}
	second, err := nextDocument(dec)
	if err == nil {
		c.errorAt(position{second.Line, second.Column}, "", "a second document starts here; write one document per file, without ---")
		return nil
	}
	if !errors.Is(err, io.EOF) {
		c.syntax(err)
		return nil
	}
	return first.Content[0]
}

// nextDocument turns a panic of the parser, should there be one, into an error.
func nextDocument(dec *yaml.Decoder) (n *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			n, err = nil, fmt.Errorf("the YAML parser failed: %v", r)
		}
	}()
	n = new(yaml.Node)
	err = dec.Decode(n)
	return n, err
}

var yamlErrorRE = regexp.MustCompile(`^yaml: (?:line ([0-9]+): )?(.*)$`)

// syntax reports an error of the YAML parser.
func (c *checker) syntax(err error) {
	text, at := err.Error(), position{}
	if m := yamlErrorRE.FindStringSubmatch(text); m != nil {
		at.line, _ = strconv.Atoi(m[1])
		text = m[2]
	}
	hint := "write valid YAML"
	if strings.Contains(text, "cannot start any token") {
		hint = "indent with spaces, not tabs, and quote values that begin with @ or `"
	}
	if strings.HasPrefix(text, "unknown anchor") {
		hint = "write & and that name before the value that it stands for"
	}
	c.errorAt(at, "", text+"; "+hint)
}

// follow gives what an alias stands for.
func follow(n *yaml.Node) *yaml.Node {
	for hops := 0; n.Kind == yaml.AliasNode && n.Alias != nil && hops < 8; hops++ {
		n = n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// describe names what stands at n.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	return show(n.Value)
}

// maxHints bounds the search for what was meant; a file with more mistakes is
// not a matter of spelling.
const maxHints = 200

// meant is nearest, while there are few mistakes.
func (c *checker) meant(s string, known []string) string {
	if len(c.errs) >= maxHints {
		return ""
	}
	return nearest(s, known)
}

// nearest gives the known word that s was probably meant to be, or "".
func nearest(s string, known []string) string {
	if len(s) > 40 {
		return ""
	}
	best, least := "", max(1, len(s)/3)+1
	for _, k := range known {
		if strings.EqualFold(s, k) {
			return k
		}
		if d := distance(s, k); d < least && d < len(k) {
			best, least = k, d
		}
	}
	return best
}

// distance counts the letters to insert, remove or replace (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
