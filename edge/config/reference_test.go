package config

import (
	"fmt"
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

// typeNames are the words of the Type column.
var typeNames = map[reflect.Type]string{
	reflect.TypeFor[string]():             "text",
	reflect.TypeFor[multiline]():          "text",
	reflect.TypeFor[literal]():            "text",
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
