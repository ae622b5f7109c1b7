package config

import (
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/internal/pages"
)

// The reference of the configuration has a section for each raw struct, named
// like it, with a row for each key.
const (
	referencePage = "docs/reference/config.md"
	topSection    = "The file"
)

var referenceHeader = []string{"Key", "Type", "Default", "Meaning and bounds", "Example"}

// skeleton has every mapping that a file can have, with as little in it as is
// needed: the place where defaults show. A struct that no part of it stands for
// is an error of the test below.
const skeleton = `
node: msk1
asn: 57629
router_id: 10.77.0.1
central: {address: "central.example.net:7179", tls: {ca: ca.pem, cert: edge.pem, key: edge.key}}
links:
  - {name: a, feed: {url: "http://127.0.0.1:8000/load.json"}}
  - {name: b, fast: {interface: eth2}, exact: {prometheus: {url: "http://127.0.0.1:9090", query: up}}}
  - {name: c, exact: {feed: {url: "http://127.0.0.1:8000/load.json"}}}
neighbors:
  - name: transit-a
    address: 10.77.1.2
    asn: 65001
    kind: transit
    local_address: 10.77.1.1
    next_hop: {ipv4: 10.77.1.9, ipv6: "fd77:1::1"}
    ladder: [{community: ["65001:1"], prepend: 1}]
services:
  - name: one
    prefixes: [198.51.100.0/24]
    checks:
      - {name: web, http: {url: "http://198.51.100.1:8080/health"}}
      - {name: port, tcp: {address: "198.51.100.1:443"}}
  - {name: two, prefixes: [203.0.113.0/24], require: {at_least: 1}, checks: [{name: port, tcp: {address: "203.0.113.1:53"}}]}
  - {name: three, prefixes: [192.0.2.0/24], require: {percent: 50}, checks: [{name: port, tcp: {address: "192.0.2.1:53"}}]}
load: {mode: "off"}
way_back: {require: default}
`

// worded are defaults that are no value of their own, with what the skeleton has
// by them.
var worded = map[string]struct {
	cell    string
	printed any
}{
	"next_hop.ipv4":     {"the session's `local_address`, if that is IPv4", "10.77.1.1"},
	"next_hop.ipv6":     {"the session's `local_address`, if that is IPv6", nil},
	"service.neighbors": {"all of them", []any{"transit-a"}},
}

// typeNames are the words of the Type column.
var typeNames = map[reflect.Type]string{
	reflect.TypeFor[string]():             "text",
	reflect.TypeFor[multiline]():          "text",
	reflect.TypeFor[secret]():             "text",
	reflect.TypeFor[bool]():               "boolean",
	reflect.TypeFor[float64]():            "number",
	reflect.TypeFor[count]():              "whole number",
	reflect.TypeFor[metric]():             "whole number",
	reflect.TypeFor[asn]():                "AS number",
	reflect.TypeFor[duration]():           "duration",
	reflect.TypeFor[bitRate]():            "bit rate",
	reflect.TypeFor[netip.Addr]():         "address",
	reflect.TypeFor[netip.Prefix]():       "prefix",
	reflect.TypeFor[vip]():                "address",
	reflect.TypeFor[community.Value]():    "community",
	reflect.TypeFor[map[string]literal](): "mapping of texts",
}

// plurals are for lists of them.
var plurals = map[string]string{
	"text": "texts", "word": "words", "whole number": "whole numbers", "duration": "durations",
	"address": "addresses", "prefix": "prefixes", "community": "communities",
}

// typeName is what the Type column says of a key.
func typeName(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	_, ends := rules[t]
	switch name, known := typeNames[t]; {
	case known:
		return name
	case t == reflect.TypeFor[rawRequire]():
		return "word or [require](#require)"
	case ends:
		return "word"
	case t.Kind() == reflect.Struct:
		return fmt.Sprintf("[%s](#%[1]s)", sectionOf(t))
	case t.Kind() == reflect.Slice:
		elem := typeName(t.Elem())
		if plural := plurals[elem]; plural != "" {
			elem = plural
		}
		return "list of " + elem
	}
	return "a type without a name: give it one in typeNames (" + t.String() + ")"
}

// sectionOf names the section of a raw struct: rawNextHop has "next_hop".
func sectionOf(t reflect.Type) string {
	if t == reflect.TypeFor[rawConfig]() {
		return topSection
	}
	name := strings.TrimPrefix(t.Name(), "raw")
	return strings.ToLower(regexp.MustCompile(`([a-z0-9])([A-Z])`).ReplaceAllString(name, "${1}_$2"))
}

// structs are all raw structs that can be reached, in order.
func structs() []reflect.Type {
	var out []reflect.Type
	var visit func(t reflect.Type)
	visit = func(t reflect.Type) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if _, ends := rules[t]; t.Kind() != reflect.Struct || ends && t != reflect.TypeFor[rawRequire]() || slices.Contains(out, t) {
			return
		}
		out = append(out, t)
		for i := range t.NumField() {
			if keyOf(t.Field(i)) != "-" {
				visit(t.Field(i).Type)
			}
		}
	}
	visit(reflect.TypeFor[rawConfig]())
	return out
}

// reference is the page: rows by section and key.
func reference(t *testing.T) (pages.Page, map[string]map[string][]string) {
	t.Helper()
	page, err := pages.Read(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string][]string{}
	for _, table := range page.Tables() {
		if !slices.Equal(table.Header, referenceHeader) {
			t.Errorf("%s:%d: the columns are %q, want %q", page.Path, table.Line, table.Header, referenceHeader)
			continue
		}
		rows := map[string][]string{}
		for _, row := range table.Rows {
			if len(row) != len(referenceHeader) {
				t.Errorf("%s, section %s: %q has %d cells, want %d", page.Path, table.Section, row[0], len(row), len(referenceHeader))
				continue
			}
			rows[strings.Trim(row[0], "`")] = row
		}
		out[table.Section] = rows
	}
	return page, out
}

func TestTheReferenceHasEveryKeyAndNoOther(t *testing.T) {
	page, sections := reference(t)
	for _, s := range structs() {
		section := sectionOf(s)
		rows, ok := sections[section]
		if !ok {
			t.Errorf("%s has no section %q; its keys are %s", page.Path, section, strings.Join(fieldNames(s), ", "))
			continue
		}
		for _, key := range fieldNames(s) {
			if rows[key] == nil {
				t.Errorf("%s, section %s: there is no row for %s (%s)", page.Path, section, key, typeName(fieldsOf(s)[key]))
			}
		}
		for key := range rows {
			if _, known := fieldsOf(s)[key]; !known {
				t.Errorf("%s, section %s: no file has a key %s there", page.Path, section, key)
			}
		}
		delete(sections, section)
	}
	for section := range sections {
		t.Errorf("%s: section %s is about nothing that a file has", page.Path, section)
	}
}

func TestTheReferenceNamesTypesAndWords(t *testing.T) {
	page, sections := reference(t)
	for _, s := range structs() {
		for key, field := range fieldsOf(s) {
			row := sections[sectionOf(s)][key]
			if row == nil {
				continue // reported above
			}
			if want := typeName(field); row[1] != want {
				t.Errorf("%s, section %s: the type of %s is %q, want %q", page.Path, sectionOf(s), key, row[1], want)
			}
			if row[3] == "" {
				t.Errorf("%s, section %s: %s has no meaning", page.Path, sectionOf(s), key)
			}
			for _, word := range wordsOf(field) {
				if !strings.Contains(row[3], "`"+word+"`") {
					t.Errorf("%s, section %s: what %s means does not tell of `%s`", page.Path, sectionOf(s), key, word)
				}
			}
		}
	}
}

// wordsOf are the values of a type that has a few.
func wordsOf(t reflect.Type) []string {
	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t == reflect.TypeFor[rawRequire]() {
		return []string{"all", "any"}
	}
	if _, plain := typeNames[t]; plain || rules[t].want == "" {
		return nil
	}
	return regexp.MustCompile(`, | or `).Split(rules[t].want, -1)
}

func TestExamplesOfTheReferenceAreAccepted(t *testing.T) {
	page, sections := reference(t)
	for _, s := range structs() {
		for key, field := range fieldsOf(s) {
			row := sections[sectionOf(s)][key]
			if row == nil {
				continue
			}
			if row[4] == "" {
				if !strings.Contains(typeName(field), "(#") {
					t.Errorf("%s, section %s: %s has no example", page.Path, sectionOf(s), key)
				}
				continue
			}
			var doc yaml.Node
			if err := yaml.Unmarshal([]byte(strings.Trim(row[4], "`")), &doc); err != nil {
				t.Errorf("%s, section %s: the example of %s: %v", page.Path, sectionOf(s), key, err)
				continue
			}
			c := newChecker(page.Path, Options{})
			if c.walk(doc.Content[0], field, key); len(c.errs) > 0 {
				t.Errorf("%s, section %s: the example of %s: %v", page.Path, sectionOf(s), key, c.errs)
			}
		}
	}
}

func TestDefaultsOfTheReferenceAreTheRealOnes(t *testing.T) {
	page, sections := reference(t)
	places := instances(t)
	for _, s := range structs() {
		if len(places[s]) == 0 {
			t.Errorf("the skeleton in this test has no %s: add one with as little in it as is needed", sectionOf(s))
			continue
		}
		for key, field := range fieldsOf(s) {
			row := sections[sectionOf(s)][key]
			if row == nil {
				continue
			}
			if fault := checkDefault(sectionOf(s)+"."+key, row[2], field, outcomes(t, places[s], key)); fault != "" {
				t.Errorf("%s, section %s: the default of %s is given as %q; %s", page.Path, sectionOf(s), key, row[2], fault)
			}
		}
	}
}

// outcome is what comes of leaving a key out at one place of the skeleton.
type outcome struct {
	had     bool // the skeleton had it
	refused bool
	printed any
}

func outcomes(t *testing.T, places []place, key string) []outcome {
	t.Helper()
	var out []outcome
	for _, at := range places {
		root := skeletonTree(t)
		mapping, ok := at.in(root).(map[string]any)
		if !ok {
			t.Fatalf("the skeleton has no mapping at %v", at)
		}
		o := outcome{had: mapping[key] != nil}
		delete(mapping, key)
		text, err := yaml.Marshal(root)
		if err != nil {
			t.Fatal(err)
		}
		c, _, err := Parse("edge.yaml", text, Options{})
		if o.refused = err != nil; !o.refused {
			o.printed = append(slices.Clone(at), key).in(printedTree(t, c))
		}
		out = append(out, o)
	}
	return out
}

// checkDefault compares a cell with what happens; "" means that they agree.
func checkDefault(name, cell string, field reflect.Type, all []outcome) string {
	had, kept := 0, false
	var value any
	for _, o := range all {
		if o.had {
			had++
			kept = kept || !o.refused
		}
		if value == nil {
			value = o.printed
		}
	}
	needed := had > 0 && !kept
	says, _, _ := strings.Cut(cell, ":")
	code := regexp.MustCompile("^`([^`]+)`").FindStringSubmatch(cell)
	w, isWorded := worded[name]
	switch {
	case needed != (says == "needed"):
		return fmt.Sprintf("that a file without it is refused is %v", needed)
	case needed:
		return ""
	case isWorded:
		if cell != w.cell || !reflect.DeepEqual(value, w.printed) {
			return fmt.Sprintf("want %q; --print-config shows %v, want %v", w.cell, value, w.printed)
		}
		return ""
	case says == "none":
		if value != nil {
			return fmt.Sprintf("--print-config shows %v", value)
		}
		return ""
	case cell == "its defaults":
		if field.Kind() != reflect.Struct || value == nil {
			return fmt.Sprintf("--print-config shows %v", value)
		}
		return ""
	case code == nil:
		return "write needed, none, `value`, or its defaults"
	}
	if value == nil && field.Kind() == reflect.Bool {
		value = false // printed by leaving it out
	}
	var want any
	if err := yaml.Unmarshal([]byte(code[1]), &want); err != nil || !reflect.DeepEqual(want, value) {
		return fmt.Sprintf("--print-config shows %v", value)
	}
	return ""
}

// place is a path into a tree: keys and indices.
type place []any

func (p place) in(tree any) any {
	for _, step := range p {
		switch step := step.(type) {
		case string:
			m, _ := tree.(map[string]any)
			tree = m[step]
		case int:
			l, _ := tree.([]any)
			if step >= len(l) {
				return nil
			}
			tree = l[step]
		}
	}
	return tree
}

func skeletonTree(t *testing.T) any {
	t.Helper()
	var out any
	if err := yaml.Unmarshal([]byte(skeleton), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func printedTree(t *testing.T, c *Config) any {
	t.Helper()
	text, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := yaml.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// instances are the places of the skeleton where each raw struct stands.
func instances(t *testing.T) map[reflect.Type][]place {
	t.Helper()
	if _, _, err := Parse("edge.yaml", []byte(skeleton), Options{}); err != nil {
		t.Fatalf("the skeleton: %v", err)
	}
	out := map[reflect.Type][]place{}
	var visit func(node any, s reflect.Type, at place)
	visit = func(node any, s reflect.Type, at place) {
		switch node := node.(type) {
		case map[string]any:
			if s.Kind() != reflect.Struct {
				return
			}
			out[s] = append(out[s], slices.Clone(at))
			for _, key := range slices.Sorted(maps.Keys(node)) {
				visit(node[key], fieldsOf(s)[key], append(slices.Clone(at), key))
			}
		case []any:
			for i := range node {
				visit(node[i], s.Elem(), append(slices.Clone(at), i))
			}
		}
	}
	visit(skeletonTree(t), reflect.TypeFor[rawConfig](), nil)
	return out
}
