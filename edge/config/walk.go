package config

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// walk compares n with the shape t and reports every difference with its line.
// What it returns holds only what passed: map[string]any, []any, map[string]string
// and the text of scalars. Entries of lists keep their places, nil where they
// did not pass.
func (c *checker) walk(n *yaml.Node, t reflect.Type, path string) any {
	n = follow(n)
	if !c.spend(path) {
		return nil
	}
	if n.Style&yaml.TaggedStyle != 0 {
		return c.reject(path, "tags such as %s are not supported; write the value alone", show(n.Tag))
	}
	if isNull(n) {
		return c.reject(path, "there is no value; write one or remove the key")
	}
	r, ends := rules[t]
	if ends && n.Kind == yaml.ScalarNode {
		return c.scalar(n, r, t, path)
	}
	switch {
	case t.Kind() == reflect.Struct && n.Kind == yaml.MappingNode && (!ends || t == reflect.TypeFor[rawRequire]()):
		return c.mapping(n, t, path)
	case ends:
		return c.reject(path, "%s cannot stand here; write %s", describe(n), r.want)
	case t.Kind() == reflect.Struct:
		return c.reject(path, "%s is not a mapping; write %s", describe(n), sample(t))
	case t.Kind() == reflect.Map:
		return c.dictionary(n, path)
	}
	return c.list(n, t.Elem(), path)
}

// sample shows how a mapping of t is written.
func sample(t reflect.Type) string {
	return "{" + fieldNames(t)[0] + ": ...}"
}

func (c *checker) scalar(n *yaml.Node, r rule, t reflect.Type, path string) any {
	quoted := n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
	if t != reflect.TypeFor[secret]() {
		if v := variableRE.FindString(n.Value); v != "" {
			return c.reject(path, "%s is read in password only; write the value itself", v)
		}
	}
	tag := n.ShortTag()
	switch {
	case r.form == textForm && tag != "!!str":
		return c.reject(path, "%s is not a text; write %q in quotes", show(n.Value), n.Value)
	case r.form == numberForm && quoted, r.form == boolForm && quoted && (n.Value == "true" || n.Value == "false"):
		return c.reject(path, "%q is a text, not %s; write it without quotes", n.Value, r.want)
	case r.form == numberForm && tag != "!!int" && tag != "!!float":
		return c.reject(path, "%s is not %s; write digits", show(n.Value), r.want)
	}
	if _, err := r.parse(n.Value); err != nil {
		return c.reject(path, "%s", err.Error())
	}
	return n.Value
}

// variableRE finds ${VAR}; other dollars, as in regular expressions, are let be.
var variableRE = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)

func (c *checker) mapping(n *yaml.Node, t reflect.Type, path string) any {
	fields := fieldsOf(t)
	out := map[string]any{}
	meant := map[string]*yaml.Node{}
	for key, value := range c.entries(n, path) {
		at := join(path, pathKey(key.Value))
		field, ok := fields[key.Value]
		if !ok {
			meant[c.unknownKey(t, key, value, path)] = key
			continue
		}
		c.place(at, key, value)
		if v := c.walk(value, field, at); v != nil {
			out[key.Value] = v
		}
	}
	// A misspelt key was reported once; it is not missing as well.
	for name, key := range meant {
		if at := join(path, name); name != "" && !c.has(at) {
			c.pos[at] = position{key.Line, key.Column}
			c.mark(at)
		}
	}
	return out
}

// entries yields the keys of a mapping, without those that are no plain names
// and without repeats, which are reported.
func (c *checker) entries(n *yaml.Node, path string) func(yield func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		seen := map[string]int{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			at := position{key.Line, key.Column}
			if !c.spend(path) {
				return
			}
			if key.Kind != yaml.ScalarNode {
				c.errorAt(at, path, describe(key)+" is not a key; write a name")
				continue
			}
			if key.ShortTag() == "!!merge" {
				c.errorAt(at, path, "merge keys (<<) are not supported; write the keys out")
				continue
			}
			if first, ok := seen[key.Value]; ok {
				c.errorAt(at, join(path, pathKey(key.Value)), fmt.Sprintf("the key stands on line %d already; remove one", first))
				continue
			}
			seen[key.Value] = at.line
			if len(seen) > maxItems {
				c.errorAt(at, path, fmt.Sprintf("more than %d keys; write fewer", maxItems))
				return
			}
			if !yield(key, value) {
				return
			}
		}
	}
}

// dictionary reads a mapping of free keys, such as labels, whose case matters.
func (c *checker) dictionary(n *yaml.Node, path string) any {
	if n.Kind != yaml.MappingNode {
		return c.reject(path, "%s is not a mapping; write {name: text}", describe(n))
	}
	out := map[string]string{}
	for key, value := range c.entries(n, path) {
		at := join(path, pathKey(key.Value))
		c.place(at, key, value)
		if text, ok := c.walk(value, reflect.TypeFor[literal](), at).(string); ok {
			out[key.Value] = text
		}
	}
	return out
}

func (c *checker) list(n *yaml.Node, elem reflect.Type, path string) any {
	switch {
	case n.Kind == yaml.ScalarNode:
		return c.reject(path, "%s is not a list; write [%s]", describe(n), describe(n))
	case n.Kind != yaml.SequenceNode:
		return c.reject(path, "%s is not a list; begin each entry with -", describe(n))
	case len(n.Content) > maxItems:
		return c.reject(path, "the list has %d entries; write %d at most", len(n.Content), maxItems)
	}
	out := make([]any, len(n.Content))
	for i, value := range n.Content {
		at := item(path, i)
		c.pos[at] = position{value.Line, value.Column}
		out[i] = c.walk(value, elem, at)
	}
	return out
}

// place records where the value at path stands: a scalar's own place, the key's
// for lists and mappings.
func (c *checker) place(path string, key, value *yaml.Node) {
	at := position{key.Line, key.Column}
	if value.Kind == yaml.ScalarNode && !isNull(value) {
		at = position{value.Line, value.Column}
	}
	c.pos[path] = at
}

// spend counts the nodes visited; false: too many, reported once.
func (c *checker) spend(path string) bool {
	c.spent++
	if c.spent == maxNodes+1 {
		c.errorAt(c.where(path), path, fmt.Sprintf("the file has more than %d values, aliases counted; write fewer", maxNodes))
	}
	return c.spent <= maxNodes
}

// unknownKey reports a key that t does not have and returns the one that was
// probably meant, or "".
func (c *checker) unknownKey(t reflect.Type, key, value *yaml.Node, path string) (meant string) {
	known := fieldNames(t)
	meant = c.meant(key.Value, known)
	text := "unknown key; write one of " + strings.Join(known, ", ")
	switch {
	case t == reflect.TypeFor[rawCheck]() && meant == "" && follow(value).Kind == yaml.MappingNode:
		text, meant = "unknown check kind; write one of "+strings.Join(checkKinds, ", "), "http"
	case t == reflect.TypeFor[rawNeighbor]() && key.Value == "as_path":
		text, meant = "unknown key; our paths hold our own ASN only: for a longer one write prepend", ""
	case meant != "":
		text = "unknown key; did you mean " + meant + "?"
	}
	at := join(path, pathKey(key.Value))
	c.errorAt(position{key.Line, key.Column}, at, text)
	c.mark(at)
	return meant
}

// pathKey writes a key into a path: quoted where it is no plain name.
func pathKey(key string) string {
	shown := show(key)
	if strings.HasPrefix(shown, `"`) || !strings.ContainsAny(shown, ".[]") {
		return shown
	}
	return strconv.Quote(shown)
}
