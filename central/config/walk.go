package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"
)

// The raw structs are the shape of the file.
type rawConfig struct {
	Listen   *string                       `yaml:"listen"`
	HTTP     *string                       `yaml:"http"`
	Data     *string                       `yaml:"data"`
	Etcd     *rawEtcd                      `yaml:"etcd"`
	TLS      *rawTLS                       `yaml:"tls"`
	Domain   *string                       `yaml:"domain"`
	PKI      *string                       `yaml:"pki"`
	Roles    map[string]string             `yaml:"roles"`
	ASN      *uint32                       `yaml:"asn"`
	Audit    *rawAudit                     `yaml:"audit"`
	Services []rawService                  `yaml:"services"`
	Landing  map[string]map[string]float64 `yaml:"landing"`
	Registry []string                      `yaml:"registry"`
	BMP      *rawBMP                       `yaml:"bmp"`
	Web      *rawWeb                       `yaml:"web"`
}

type rawWeb struct {
	URL  *string  `yaml:"url"`
	OIDC *rawOIDC `yaml:"oidc"`
}

type rawOIDC struct {
	Issuer       *string           `yaml:"issuer"`
	ClientID     *string           `yaml:"client_id"`
	ClientSecret *string           `yaml:"client_secret_file"`
	Scopes       []string          `yaml:"scopes"`
	Claim        *string           `yaml:"claim"`
	Roles        map[string]string `yaml:"roles"`
	NameClaim    *string           `yaml:"name_claim"`
	MailDomain   *string           `yaml:"mail_domain"`
}

type rawBMP struct {
	Listen *string   `yaml:"listen"`
	Grace  *string   `yaml:"grace"`
	Views  []rawView `yaml:"views"`
}

type rawView struct {
	Name    *string  `yaml:"name"`
	Address *string  `yaml:"address"`
	Sees    []string `yaml:"sees"`
	Policy  *string  `yaml:"policy"`
}

type rawEtcd struct {
	Endpoints []string `yaml:"endpoints"`
	TLS       *rawTLS  `yaml:"tls"`
}

type rawAudit struct {
	Keep *string `yaml:"keep"`
}

type rawTLS struct {
	CA   *string `yaml:"ca"`
	Cert *string `yaml:"cert"`
	Key  *string `yaml:"key"`
}

type rawService struct {
	Name          *string  `yaml:"name"`
	MinAnnouncing *uint32  `yaml:"min_announcing"`
	MaxWithdrawn  *float64 `yaml:"max_withdrawn"`
}

// checker collects what is wrong.
type checker struct {
	file, dir string
	errs      Errors
	lines     map[string]int // of each value, by its path
	nodes     int
}

const (
	maxNodes = 100_000 // values in a file, aliases counted
	maxDepth = 20
)

func (c *checker) fail(path, format string, args ...any) {
	c.errs = append(c.errs, Problem{File: c.file, Line: c.lines[path], Path: path, Text: fmt.Sprintf(format, args...)})
}

// parse does everything.
func (c *checker) parse(data []byte) *Config {
	if len(data) > maxBytes {
		c.fail("", "the file has more than %d bytes; write less", maxBytes)
		return nil
	}
	var tree, more yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(data))
	err := d.Decode(&tree)
	switch {
	case errors.Is(err, io.EOF):
		c.fail("", "the file is empty; write at least listen: and data:")
		return nil
	case err != nil:
		c.fail("", "not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		return nil
	case d.Decode(&more) == nil:
		c.fail("", "the file holds several documents; write one")
		return nil
	}
	values, ok := c.walk(tree.Content[0], reflect.TypeFor[rawConfig](), "", 0).(map[string]any)
	if !ok {
		return nil
	}
	raw, err := decode(values)
	if err != nil { // the walk lets nothing through that viper refuses
		c.fail("", "%s", err)
		return nil
	}
	return c.check(raw)
}

// walk compares n with the shape t and reports each difference. It returns what
// passed; nil: nothing.
func (c *checker) walk(n *yaml.Node, t reflect.Type, path string, depth int) any {
	if c.nodes++; c.nodes > maxNodes || depth > maxDepth {
		if c.nodes == maxNodes+1 || depth > maxDepth {
			c.fail(path, "too many values, or too deep; write less")
		}
		return nil
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case n.Style&yaml.TaggedStyle != 0:
		c.fail(path, "tags such as %s are not supported", n.Tag)
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		c.fail(path, "there is no value; write one or remove the key")
	case t.Kind() == reflect.Struct:
		return c.mapping(n, t, path, depth)
	case t.Kind() == reflect.Map:
		return c.dictionary(n, t, path, depth)
	case t.Kind() == reflect.Slice:
		return c.list(n, t, path, depth)
	case n.Kind != yaml.ScalarNode:
		c.fail(path, "a list or mapping cannot stand here; write %s", want(t))
	default:
		v, err := scalar(n, t)
		if err != nil {
			c.fail(path, "%s", err)
			return nil
		}
		return v
	}
	return nil
}

func want(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Uint32:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	}
	return "a text"
}

// scalar reads a text, a whole number or a number.
func scalar(n *yaml.Node, t reflect.Type) (any, error) {
	no := fmt.Errorf("%q is not %s", n.Value, want(t))
	plain := n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
	switch t.Kind() {
	case reflect.Uint32:
		v, err := strconv.ParseUint(n.Value, 10, 32)
		if err != nil || !plain {
			return nil, fmt.Errorf("%w; write digits, without quotes", no)
		}
		return uint32(v), nil
	case reflect.Float64:
		v, err := strconv.ParseFloat(n.Value, 64)
		if err != nil || !plain || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%w; write for example 0.34, without quotes", no)
		}
		return v, nil
	}
	if n.ShortTag() != "!!str" {
		return nil, fmt.Errorf("%w; write it in quotes", no)
	}
	if strings.ContainsFunc(n.Value, unicode.IsControl) {
		return nil, errors.New("the text holds a control character; write plain text")
	}
	return n.Value, nil
}

// entries yields the keys of a mapping; what is no name, or there twice, is reported.
func (c *checker) entries(n *yaml.Node, path string) func(yield func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		seen := map[string]int{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			k, v := n.Content[i], n.Content[i+1]
			if k.Kind != yaml.ScalarNode || k.ShortTag() == "!!merge" {
				c.errs = append(c.errs, Problem{File: c.file, Line: k.Line, Path: path, Text: "a key must be a plain name"})
				continue
			}
			if first, twice := seen[k.Value]; twice {
				c.errs = append(c.errs, Problem{File: c.file, Line: k.Line, Path: join(path, k.Value), Text: fmt.Sprintf("the key stands on line %d already; remove one", first)})
				continue
			}
			seen[k.Value] = k.Line
			if !yield(k, v) {
				return
			}
		}
	}
}

func (c *checker) mapping(n *yaml.Node, t reflect.Type, path string, depth int) any {
	fields, names := fieldsOf(t)
	if n.Kind != yaml.MappingNode {
		c.fail(path, "this is not a mapping; write {%s: ...}", names[0])
		return nil
	}
	out := map[string]any{}
	for at, v := range c.entries(n, path) {
		k := at.Value
		below := join(path, k)
		c.lines[below] = at.Line
		field, known := fields[k]
		if !known {
			c.fail(below, "unknown key; write one of %s", strings.Join(names, ", "))
			continue
		}
		if value := c.walk(v, field, below, depth+1); value != nil {
			out[k] = value
		}
	}
	return out
}

// dictionary reads a mapping of free keys. It gives Go's own type, whose keys viper
// leaves alone.
func (c *checker) dictionary(n *yaml.Node, t reflect.Type, path string, depth int) any {
	if n.Kind != yaml.MappingNode {
		c.fail(path, "this is not a mapping; write {NAME: ...}")
		return nil
	}
	out := reflect.MakeMap(t)
	for at, v := range c.entries(n, path) {
		k := at.Value
		below := join(path, k)
		c.lines[below] = at.Line
		if value := c.walk(v, t.Elem(), below, depth+1); value != nil {
			out.SetMapIndex(reflect.ValueOf(k), reflect.ValueOf(value))
		}
	}
	return out.Interface()
}

func (c *checker) list(n *yaml.Node, t reflect.Type, path string, depth int) any {
	if n.Kind != yaml.SequenceNode {
		c.fail(path, "this is not a list; begin each entry with -")
		return nil
	}
	out := []any{}
	for i, v := range n.Content {
		below := fmt.Sprintf("%s[%d]", path, i)
		c.lines[below] = v.Line
		if value := c.walk(v, t.Elem(), below, depth+1); value != nil {
			out = append(out, value)
		}
	}
	return out
}

func fieldsOf(t reflect.Type) (map[string]reflect.Type, []string) {
	fields, names := map[string]reflect.Type{}, []string{}
	for i := range t.NumField() {
		name := t.Field(i).Tag.Get("yaml")
		fields[name], names = t.Field(i).Type, append(names, name)
	}
	return fields, slices.Clip(names)
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
