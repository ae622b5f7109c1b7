package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"
)

// shape is what a JSON value is.
type shape string

const (
	jsonObject shape = "an object"
	jsonList   shape = "a list"
	jsonText   shape = "a string"
	jsonNumber shape = "a number"
	jsonOther  shape = "true, false or null"
)

// node is a JSON value with its place.
type node struct {
	shape   shape
	text    string // of a string or a number
	line    int
	path    string
	members []member
	items   []*node
}

type member struct {
	name  string
	value *node
}

// yangDeepest bounds how deep values may stand in each other.
const yangDeepest = 32

// parseNode reads one JSON value and nothing behind it. A member's name loses the prefix
// of our module where it is not at the top (RFC 7951, section 4).
func parseNode(text []byte) (*node, error) {
	p := &nodeParser{text: text, line: 1, dec: json.NewDecoder(bytes.NewReader(text))}
	p.dec.UseNumber()
	n, err := p.value("", 0)
	if err != nil {
		return nil, err
	}
	if _, err := p.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("line %d: there is something behind the JSON value", p.here())
	}
	if n.shape != jsonObject {
		return nil, fmt.Errorf("%s, not an object", n.shape)
	}
	return n, nil
}

type nodeParser struct {
	text []byte
	dec  *json.Decoder
	seen int64 // octets whose lines are counted
	line int
}

// here is the line of what was read last.
func (p *nodeParser) here() int {
	now := p.dec.InputOffset()
	p.line += bytes.Count(p.text[p.seen:now], []byte("\n"))
	p.seen = now
	return p.line
}

func (p *nodeParser) token() (json.Token, error) {
	t, err := p.dec.Token()
	if err == nil {
		return t, nil
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("the JSON ends too early")
	}
	return nil, fmt.Errorf("line %d: %w", p.here(), err)
}

func (p *nodeParser) value(path string, depth int) (*node, error) {
	t, err := p.token()
	if err != nil {
		return nil, err
	}
	n := &node{line: p.here(), path: path, shape: jsonOther}
	if n.path == "" {
		n.path = "/"
	}
	if depth > yangDeepest {
		return nil, fmt.Errorf("line %d: more than %d values in each other", n.line, yangDeepest)
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '{' {
			return n, p.object(n, path, depth)
		}
		return n, p.array(n, path, depth)
	case json.Number:
		n.shape, n.text = jsonNumber, t.String()
	case string:
		n.shape, n.text = jsonText, t
	}
	return n, nil
}

func (p *nodeParser) object(n *node, path string, depth int) error {
	n.shape = jsonObject
	seen := map[string]bool{}
	for p.dec.More() {
		t, err := p.token()
		if err != nil {
			return err
		}
		name, _ := t.(string)
		if depth > 0 {
			name = strings.TrimPrefix(name, yangModule+":")
		}
		v, err := p.value(path+"/"+name, depth+1)
		if err != nil {
			return err
		}
		if seen[name] {
			return fmt.Errorf("line %d: %s stands there twice", v.line, v.path)
		}
		seen[name] = true
		n.members = append(n.members, member{name, v})
	}
	_, err := p.token()
	return err
}

func (p *nodeParser) array(n *node, path string, depth int) error {
	n.shape = jsonList
	for p.dec.More() {
		v, err := p.value(fmt.Sprintf("%s[%d]", path, len(n.items)), depth+1)
		if err != nil {
			return err
		}
		n.items = append(n.items, v)
	}
	_, err := p.token()
	return err
}

// member returns a value of an object; nil if it has none of that name.
func (n *node) member(name string) *node {
	for _, m := range n.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// is makes a problem of a value of another shape.
func (y *yangReader) is(n *node, want shape) bool {
	if n.shape != want {
		y.problem(n, "%s, not %s", n.shape, want)
	}
	return n.shape == want
}

// list yields the objects of a list whose keys are not there twice.
func (y *yangReader) list(n *node, name, key string) iter.Seq[*node] {
	return func(yield func(*node) bool) {
		l := n.member(name)
		if l == nil || !y.is(l, jsonList) {
			return
		}
		seen := map[string]bool{}
		for _, item := range l.items {
			if !y.is(item, jsonObject) {
				continue
			}
			if k := item.member(key); k != nil && k.shape == jsonText {
				if seen[k.text] {
					y.problem(k, "the %s %s stands in the list twice", key, brief64(k.text))
					continue
				}
				seen[k.text] = true
			} else if k == nil {
				y.problem(item, "%s is missing", key)
				continue
			}
			if !yield(item) {
				return
			}
		}
	}
}

// number reads an unsigned integer, a JSON number without fraction (RFC 7951, section 6.1).
func (y *yangReader) number(n *node, widest uint32) (uint32, bool) {
	if !y.is(n, jsonNumber) {
		return 0, false
	}
	v, err := strconv.ParseUint(n.text, 10, 64)
	if err != nil || v > uint64(widest) {
		y.problem(n, "%s is no integer of 0..%d", brief64(n.text), widest)
		return 0, false
	}
	return uint32(v), true
}

func (y *yangReader) leafNumber(n *node, name string, widest uint32) uint32 {
	leaf := n.member(name)
	if leaf == nil {
		y.problem(n, "%s is missing", name)
		return 0
	}
	v, _ := y.number(leaf, widest)
	return v
}

// text reads a string of least to most characters.
func (y *yangReader) text(n *node, least, most int) (string, bool) {
	if !y.is(n, jsonText) {
		return "", false
	}
	if size := utf8.RuneCountInString(n.text); size < least || size > most {
		y.problem(n, "a text of %d characters; %d to %d are allowed", size, least, most)
		return "", false
	}
	return n.text, true
}

func (y *yangReader) leafText(n *node, name string, mandatory bool, most int) (string, bool) {
	leaf := n.member(name)
	if leaf == nil {
		if mandatory {
			y.problem(n, "%s is missing", name)
		}
		return "", false
	}
	return y.text(leaf, 1, most)
}
