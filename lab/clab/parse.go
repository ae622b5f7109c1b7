package clab

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// What a file may hold at most.
const (
	maxBytes  = 1 << 20
	maxValues = 100_000 // aliases counted
	maxDepth  = 20
	maxNodes  = 256
	maxLinks  = 4096
)

// Load reads a file. Binds are taken from its folder, as containerlab does. Errors of the file's content are [Errors].
func Load(file string) (*Topology, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, err
	}
	t, err := Parse(file, text)
	if err != nil {
		return nil, err
	}
	if t.File, err = filepath.Abs(file); err != nil {
		return nil, err
	}
	for i := range t.Nodes {
		for j, b := range t.Nodes[i].Binds {
			if !filepath.IsAbs(b.Source) {
				t.Nodes[i].Binds[j].Source = filepath.Join(filepath.Dir(t.File), b.Source)
			}
		}
	}
	return t, nil
}

// Parse reads a text. The name of the file is for messages. The error is [Errors].
func Parse(file string, text []byte) (*Topology, error) {
	p := &parser{file: file}
	t := p.topology(text)
	if len(p.errs) > 0 {
		p.errs.Sort()
		return nil, p.errs
	}
	return t, nil
}

// parser collects what is wrong.
type parser struct {
	file   string
	errs   Errors
	values int
}

func (p *parser) fail(at *yaml.Node, path, format string, args ...any) {
	line := 0
	if at != nil {
		line = at.Line
	}
	p.errs = append(p.errs, Problem{File: p.file, Line: line, Path: path, Text: fmt.Sprintf(format, args...)})
}

var (
	word      = regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}$`)
	ethernet  = regexp.MustCompile(`^eth[1-9][0-9]{0,2}$`)
	yamlLine  = regexp.MustCompile(`^line ([0-9]+): (.*)$`)
	expansion = regexp.MustCompile(`\$(\{|[A-Za-z_])`)
)

// topology reads everything. It returns nil when it could not.
func (p *parser) topology(text []byte) *Topology {
	root := p.tree(text)
	if root == nil {
		return nil
	}
	t := &Topology{}
	var settings layers
	nodes := &yaml.Node{}
	links := &yaml.Node{}
	p.fields(root, "", map[string]func(*yaml.Node, string){
		"name": func(n *yaml.Node, path string) { t.Name = p.name(n, path) },
		"topology": func(n *yaml.Node, path string) {
			p.fields(n, path, map[string]func(*yaml.Node, string){
				"defaults": func(n *yaml.Node, path string) { settings.defaults = p.settings(n, path) },
				"kinds":    func(n *yaml.Node, path string) { settings.kinds = p.kinds(n, path) },
				"nodes":    func(n *yaml.Node, _ string) { nodes = n },
				"links":    func(n *yaml.Node, _ string) { links = n },
			})
		},
	})
	if t.Name == "" && len(p.errs) == 0 {
		p.fail(root, "name", "there is no name; write a word, such as two-upstreams")
	}
	t.Nodes = p.nodes(nodes, "topology.nodes", settings)
	t.Links = p.links(links, "topology.links", t.Nodes)
	return t
}

// tree reads one YAML document and bounds it.
func (p *parser) tree(text []byte) *yaml.Node {
	if len(text) > maxBytes {
		p.fail(nil, "", "the file has more than %d bytes; write less", maxBytes)
		return nil
	}
	for i, line := range strings.Split(string(text), "\n") {
		if expansion.MatchString(line) {
			p.fail(&yaml.Node{Line: i + 1}, "", "containerlab replaces $NAME by variables of the environment, and this program does not; write the value itself")
		}
	}
	var tree, more yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	switch err := d.Decode(&tree); {
	case errors.Is(err, io.EOF):
		p.fail(nil, "", "the file is empty; write name: and topology:")
		return nil
	case err != nil:
		p.syntax(err)
		return nil
	}
	switch err := d.Decode(&more); {
	case err == nil:
		p.fail(&more, "", "there is a second document; write one")
		return nil
	case !errors.Is(err, io.EOF):
		p.syntax(err)
		return nil
	}
	if !p.bounded(&tree, 0) {
		p.fail(nil, "", "there are more than %d values, or more than %d in one another; write less", maxValues, maxDepth)
		return nil
	}
	return tree.Content[0]
}

// syntax reports what the YAML reader says.
func (p *parser) syntax(err error) {
	said := strings.TrimPrefix(err.Error(), "yaml: ")
	at := &yaml.Node{}
	if m := yamlLine.FindStringSubmatch(said); m != nil {
		_, _ = fmt.Sscan(m[1], &at.Line)
		said = m[2]
	}
	p.fail(at, "", "this is no YAML: %s", said)
}

// bounded says whether the tree is small enough, with aliases followed.
func (p *parser) bounded(n *yaml.Node, depth int) bool {
	if p.values++; p.values > maxValues || depth > maxDepth {
		return false
	}
	if n.Kind == yaml.AliasNode {
		return p.bounded(n.Alias, depth+1)
	}
	for _, c := range n.Content {
		if !p.bounded(c, depth+1) {
			return false
		}
	}
	return true
}

// follow is what an alias stands for.
func follow(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// pairs calls f for each key of a mapping, once, and reports what is no mapping. An empty value counts as no key at all.
func (p *parser) pairs(n *yaml.Node, path string, f func(key, value *yaml.Node, path string)) {
	n = follow(n)
	switch {
	case n.Kind == 0, n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		return
	case n.Kind != yaml.MappingNode:
		p.fail(n, path, "%s stands where keys with values are needed", describe(n))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := follow(n.Content[i]), follow(n.Content[i+1])
		at := strings.TrimPrefix(path+"."+key.Value, ".")
		switch {
		case key.Kind != yaml.ScalarNode || key.Value == "<<":
			p.fail(key, path, "a key must be a word")
		case seen[key.Value]:
			p.fail(key, at, "the key is there twice; keep one")
		default:
			seen[key.Value] = true
			f(key, value, at)
		}
	}
}

// fields calls the function of each key of a mapping, and reports keys that have none.
func (p *parser) fields(n *yaml.Node, path string, known map[string]func(*yaml.Node, string)) {
	p.pairs(n, path, func(key, value *yaml.Node, at string) {
		f, ok := known[key.Value]
		if !ok {
			p.fail(key, at, "this key is not known here; known are %s", list(known))
			return
		}
		f(value, at)
	})
}

// text is a scalar as it stands in the file.
func (p *parser) text(n *yaml.Node, path string) string {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		p.fail(n, path, "%s stands where a text is needed", describe(n))
		return ""
	}
	if strings.ContainsRune(n.Value, 0) {
		p.fail(n, path, "a text may not hold NUL")
		return ""
	}
	return n.Value
}

// name is a word that may name a lab or a node.
func (p *parser) name(n *yaml.Node, path string) string {
	name := p.text(n, path)
	if name != "" && !word.MatchString(name) {
		p.fail(n, path, "%q is no name; write at most 31 of a-z, 0-9 and -, a letter first", name)
	}
	return name
}

// texts is a list of texts.
func (p *parser) texts(n *yaml.Node, path string) (values []string, at []*yaml.Node) {
	if n.Kind != yaml.SequenceNode {
		p.fail(n, path, "%s stands where a list is needed", describe(n))
		return nil, nil
	}
	if len(n.Content) == 0 {
		p.fail(n, path, "the list is empty, which containerlab refuses; leave the key out")
	}
	for i, item := range n.Content {
		item = follow(item)
		values, at = append(values, p.text(item, fmt.Sprintf("%s[%d]", path, i))), append(at, item)
	}
	return values, at
}

// values are keys with texts or numbers.
func (p *parser) textMap(n *yaml.Node, path string) map[string]string {
	values := map[string]string{}
	p.pairs(n, path, func(key, value *yaml.Node, at string) {
		if tag := value.ShortTag(); value.Kind == yaml.ScalarNode && tag != "!!str" && tag != "!!int" && tag != "!!float" {
			p.fail(value, at, "%s stands where containerlab wants a text or a number; put it in quotes", describe(value))
			return
		}
		if key.Value == "" || strings.ContainsAny(key.Value, "=\x00") {
			p.fail(key, at, "a name may not be empty nor hold = or NUL")
			return
		}
		values[key.Value] = p.text(value, at)
	})
	return values
}

func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	if n.Value == "" {
		return "nothing"
	}
	return fmt.Sprintf("%q", n.Value)
}
