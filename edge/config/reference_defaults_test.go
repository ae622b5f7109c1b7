package config

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

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
    ladder: [{steer: {action: no-export}, community: ["65001:1"], prepend: 1}]
services:
  - name: one
    prefixes: [198.51.100.0/24]
    checks:
      - {name: web, http: {url: "http://198.51.100.1:8080/health"}}
      - {name: port, tcp: {address: "198.51.100.1:443"}}
      - {name: dns, dns: {server: "198.51.100.1:53", name: www.example.net}}
      - {name: ping, icmp: {address: 10.77.1.2}}
      - {name: rpc, grpc: {address: "198.51.100.1:50051"}}
      - {name: program, exec: {command: [/bin/true]}}
      - {name: server, unit: {name: nginx.service}}
      - {name: disable, file: {path: /etc/catchment/disable}}
  - {name: two, prefixes: [203.0.113.0/24], require: {at_least: 1}, checks: [{name: port, tcp: {address: "203.0.113.1:53"}}]}
  - {name: three, prefixes: [192.0.2.0/24], require: {percent: 50}, checks: [{name: port, tcp: {address: "192.0.2.1:53"}}]}
load: {mode: "off", slowdown: [{load: 0.7, share: 0}], flap: {margin: 0.1}, node: {cpu: true, interfaces: [{name: eth0}], pressure: {io: 0.2}}, quality: {period: 30s}}
way_back: {require: default}
registry: [testdata/as65001.txt]
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
		c, _, err := Parse("edge.yaml", text, Options{ReadFile: os.ReadFile})
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
	if _, _, err := Parse("edge.yaml", []byte(skeleton), Options{ReadFile: os.ReadFile}); err != nil {
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
