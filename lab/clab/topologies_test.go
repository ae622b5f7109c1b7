package clab

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/catchment-bgp/catchment/lab/images"
)

// rule is what containerlab's published JSON schema (schemas/clab.schema.json) says of a value, in the keywords that our
// files need: type, properties, additionalProperties, enum, pattern, minItems, uniqueItems, items.
type rule struct {
	kind       string // object, array, string, or scalar: a string or a number
	properties map[string]rule
	others     *rule // for properties that are not named; nil: there may be none
	enum       []string
	pattern    *regexp.Regexp
	minItems   int
	unique     bool
	items      *rule
}

var (
	text     = rule{kind: "string"}
	scalar   = rule{kind: "scalar"}
	scalars  = rule{kind: "object", others: &scalar}
	settings = rule{kind: "object", properties: map[string]rule{
		"image": text, "cmd": text, "env": scalars, "labels": scalars,
		"kind":         {kind: "string", enum: []string{"linux"}}, // of many
		"network-mode": {kind: "string", pattern: regexp.MustCompile(`^(host)|(container:\S+)|(none)$`)},
		"exec":         {kind: "array", minItems: 1, items: &text},
		"binds":        {kind: "array", minItems: 1, unique: true, items: &text},
	}}
	published = rule{kind: "object", properties: map[string]rule{
		"name": {kind: "string"},
		"topology": {kind: "object", properties: map[string]rule{
			"defaults": settings,
			"kinds":    {kind: "object", others: &settings},
			"nodes":    {kind: "object", others: &settings},
			"links": {kind: "array", items: &rule{kind: "object", properties: map[string]rule{
				"endpoints": {kind: "array", minItems: 2, unique: true, items: &rule{kind: "string", pattern: regexp.MustCompile(`^\S+:\S+$`)}},
			}}},
		}},
	}}
)

// check reports where a value breaks a rule.
func check(t *testing.T, file string, n *yaml.Node, path string, r rule) {
	fail := func(format string, args ...any) {
		t.Errorf("%s:%d: %s: "+format, append([]any{file, n.Line, path}, args...)...)
	}
	switch r.kind {
	case "object":
		if n.Kind != yaml.MappingNode {
			fail("no object")
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i].Value
			below, ok := r.properties[key]
			switch {
			case ok:
			case r.others != nil:
				below = *r.others
			default:
				fail("containerlab's schema does not have the key %q", key)
				continue
			}
			check(t, file, n.Content[i+1], path+"."+key, below)
		}
	case "array":
		if n.Kind != yaml.SequenceNode || len(n.Content) < r.minItems {
			fail("no array of at least %d", r.minItems)
			return
		}
		var seen []string
		for _, item := range n.Content {
			if r.unique && slices.Contains(seen, item.Value) {
				fail("%q is there twice", item.Value)
			}
			seen = append(seen, item.Value)
			check(t, file, item, path, *r.items)
		}
	default:
		tag := n.ShortTag()
		if n.Kind != yaml.ScalarNode || tag != "!!str" && (r.kind == "string" || tag != "!!int" && tag != "!!float") {
			fail("%q is no %s", n.Value, r.kind)
		}
		if r.enum != nil && !slices.Contains(r.enum, n.Value) || r.pattern != nil && !r.pattern.MatchString(n.Value) {
			fail("%q is not allowed", n.Value)
		}
	}
}

// topologies are the files that come with the project.
func topologies(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../topologies/*.clab.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no topologies: %v", err)
	}
	return files
}

func TestOurTopologiesObeyContainerlabsSchema(t *testing.T) {
	for _, file := range topologies(t) {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var tree yaml.Node
		if err := yaml.Unmarshal(content, &tree); err != nil {
			t.Fatal(err)
		}
		check(t, file, tree.Content[0], "", published)
	}
}

func TestOurTopologiesCanBeRun(t *testing.T) {
	for _, file := range topologies(t) {
		topology, err := Load(file)
		if err != nil {
			t.Error(err)
			continue
		}
		if want := topology.Name + ".clab.yml"; filepath.Base(file) != want {
			t.Errorf("%s: the name is %s; the file should be %s", file, topology.Name, want)
		}
		for _, n := range topology.Nodes {
			if !slices.Contains(images.Roles(), n.Role()) {
				t.Errorf("%s:%d: there is no image %s", file, n.Line, n.Role())
			}
			for _, b := range n.Binds {
				if _, err := os.Stat(b.Source); err != nil {
					t.Errorf("%s:%d: %v", file, n.Line, err)
				}
			}
		}
	}
}

// The page shows one whole file, and every image.
func TestTheReferenceIsTrue(t *testing.T) {
	content, err := os.ReadFile("../../docs/reference/lab.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(content, -1)
	if len(blocks) != 1 {
		t.Fatalf("%d files are shown, want 1", len(blocks))
	}
	topology, err := Parse("lab.md", blocks[0][1])
	if err != nil {
		t.Fatal(err)
	}
	if len(topology.Nodes) != 2 || len(topology.Links) != 1 {
		t.Errorf("%+v", topology)
	}
	var shown []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllSubmatch(content, -1) {
		shown = append(shown, string(row[1]))
	}
	if !slices.Equal(shown, images.Roles()) {
		t.Errorf("the page has the images %v; there are %v", shown, images.Roles())
	}
}
