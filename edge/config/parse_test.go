package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"
)

func TestFilesThatAreNoConfigurationAreRefused(t *testing.T) {
	const minimum = "write at least node, asn, router_id, neighbors and services"
	for _, tc := range []struct{ name, text, want string }{
		{"empty", "", "f: the file is empty; " + minimum},
		{"only comments", "# nothing\n\n", "f: the file is empty; " + minimum},
		{"no value", "---\n", "f:1: there is no value; write one or remove the key"},
		{"a text", "hello", "f:1: hello is not a mapping; write {node: ...}"},
		{"a list", "- node: x\n", "f:1: a list is not a mapping; write {node: ...}"},
		{"two documents", "node: a\n---\nnode: b\n", "f:2: a second document starts here; write one document per file, without ---"},
		{"second document broken", "node: a\n---\nnode: [\n", "f:3: did not find expected node content; write valid YAML"},
		{"not YAML", "node: [a\nasn: 1\n", "f:1: did not find expected ',' or ']'; write valid YAML"},
		{"tab", "links:\n\t- name: x\n", "f:2: found character that cannot start any token; indent with spaces, not tabs, and quote values that begin with @ or `"},
		{"unknown alias", "node: *x\n", "f: unknown anchor 'x' referenced; write & and that name before the value that it stands for"},
		{"binary", "node: \x00\n", "f: control characters are not allowed; write valid YAML"},
		{"too large", strings.Repeat("#", maxBytes+1), "f: the file is larger than 1 MiB; write a smaller one"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg, _, err := Parse("f", []byte(tc.text), Options{})
			if err == nil || err.Error() != tc.want || cfg != nil {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
}

// An alias is as good as its text written out, and no more.
func TestAliasesStandForWhatTheyName(t *testing.T) {
	text := read(t, "problems/base.yaml")
	shared := strings.Replace(text, "    kind: transit\n", "    kind: transit\n    ladder: &steps [{med: 10}, {med: 20}]\n", 1)
	shared = strings.Replace(shared, "    kind: ix\n", "    kind: ix\n    ladder: *steps\n", 1)
	cfg, _, err := Parse("f", []byte(shared), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Neighbors[1].Ladder) != 2 || cfg.Neighbors[1].Ladder[1].MED.Value != 20 {
		t.Errorf("ladder: %+v", cfg.Neighbors[1].Ladder)
	}
}

func TestHostileFilesEndQuickly(t *testing.T) {
	// Each level repeats the one below a thousand times.
	bomb := "x: &a [" + strings.Repeat("65001:1, ", 1000) + "]\n" +
		"y: &b [" + strings.Repeat("{community: *a}, ", 1000) + "]\n" +
		"neighbors: [" + strings.Repeat("{ladder: *b}, ", 1000) + "]\n"
	self := "neighbors: &a [*a]\n"
	long := "links: [" + strings.Repeat("{}, ", maxItems+1) + "]\n"
	keys := "neighbors: [{labels: {" + strings.Repeat("k: v, ", 2) + func() string {
		var b strings.Builder
		for i := range maxItems + 1 {
			fmt.Fprintf(&b, "k%d: v, ", i)
		}
		return b.String()
	}() + "}}]\n"
	deep := "node: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "\n"
	many := "services: [" + strings.Repeat("{prefixes: [198.51.100.0/24]}, ", 1000) + "]\nneighbors: [" + strings.Repeat("{ladder: [{}]}, ", 1000) + "]\n"
	var wide, strange strings.Builder
	wide.WriteString("node: x\nasn: 1\nrouter_id: 1.1.1.1\nneighbors:\n")
	for i := range 300 {
		fmt.Fprintf(&wide, "- {name: n%d, asn: 65001, kind: transit, address: 10.1.%d.%d, local_address: 10.2.0.1, ladder: [{prepend: 1, prefixes: [192.0.2.0/24]}]}\n", i, i/256, i%256)
	}
	wide.WriteString("services:\n")
	for i := range 300 {
		fmt.Fprintf(&wide, "- {name: s%d, prefixes: [10.3.%d.%d/32, 10.4.%d.%d/32, \"fd00::%x/128\"]}\n", i, i/256, i%256, i/256, i%256, i)
	}
	strange.WriteString(wide.String()[:strings.Index(wide.String(), "services:")] + "services:\n")
	for i := range 12 {
		fmt.Fprintf(&strange, "- {name: s%d, neighbors: [%s]}\n", i, strings.Repeat("transit-with-a-long-name, ", 500))
	}
	comments := strings.Repeat("# x\n", maxBytes/8) + "node: [\n"
	for name, tc := range map[string]struct{ text, want string }{
		"all services at all neighbours": {wide.String(), "192.0.2.0/24 is announced by no service here"},
		"strange names":                  {strange.String(), "there is no neighbour transit-with-a-long-name"},
		"comments":                       {comments, "did not find expected node content"},
		"aliases of aliases":             {bomb, "the file has more than 200000 values, aliases counted; write fewer"},
		"alias of itself":                {self, "a list is not a mapping; write {name: ...}"},
		"long list":                      {long, "the list has 1025 entries; write 1024 at most"},
		"many keys":                      {keys, "more than 1024 keys; write fewer"},
		"deep":                           {deep, "a list cannot stand here; write a text"},
		"many of each":                   {many, "belongs to services[0] (line 1) already; write it in one service"},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, _, err := Parse("f", []byte(tc.text), Options{})
			if took := time.Since(start); took > time.Minute {
				t.Errorf("took %v", took)
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %.300v\nwant %s", err, tc.want)
			}
		})
	}
}

// viper splits keys at dots, folds case and coerces types; none of it may show.
func TestViperDoesNotBendTheFile(t *testing.T) {
	text := strings.Replace(read(t, "problems/base.yaml"), "    kind: transit\n",
		"    kind: transit\n    labels: {A.B: x, a.b: y, LIST: \"1,2\"}\n    contact: \"a,b\"\n", 1)
	cfg, _, err := Parse("f", []byte(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := cfg.Neighbors[0]
	if n.Labels["A.B"] != "x" || n.Labels["a.b"] != "y" || n.Labels["LIST"] != "1,2" || len(n.Labels) != 3 {
		t.Errorf("labels: %v", n.Labels)
	}
	if n.Contact != "a,b" {
		t.Errorf("contact: %q", n.Contact)
	}
}

func TestMessagesNeverHoldPasswords(t *testing.T) {
	const key = "hunter2-hunter2"
	base := read(t, "problems/base.yaml")
	opt := testOptions()
	opt.Getenv = func(string) (string, bool) { return key + "\n", true }
	for _, line := range []string{
		"password: [" + key + "]", "password: {" + key + ": 1}", "password: !!int " + key, "password: \"" + key + "\\n\"",
		"password: ${X}", "password: " + strings.Repeat(key, 6), "password: ${" + key, "password: x${}" + key,
	} {
		text := strings.Replace(base, "    kind: transit\n", "    kind: transit\n    "+line+"\n", 1)
		_, _, err := Parse("f", []byte(text), opt)
		if err == nil {
			t.Errorf("%s is accepted", line)
			continue
		}
		if strings.Contains(err.Error(), key) {
			t.Errorf("%s: the message holds the password: %v", line, err)
		}
	}
}

// Whatever stands in the place of whichever value, the walk lets nothing through
// that viper refuses, and each message is one line with its place.
func TestAnyValueAnywhereIsAcceptedOrExplained(t *testing.T) {
	text := read(t, "edge.yaml")
	values := []string{
		"~", "0", "-1", "9", "1.5", "1e999", ".nan", "yes", "true", `""`, `"x"`, "9s", "-9s", "10Gbps", "10.0.0.1", "::1", "10.0.0.0/8",
		"65001:1", "[]", "{}", "[~]", "[[]]", "[{}]", "{a: b}", "{ipv4: 10.0.0.1}", "{name: x}", "[{name: x}]", "2020-01-01", "${X}", "!!binary aGk=",
		"99999999999999999999", "internal", "ipv4", "all", "{at_least: 1}", "{1: 2}", "{~: 1}", "[1, 1]", "[9s]", `"\\u0000"`,
	}
	rapid.Check(t, func(t *rapid.T) {
		var doc yaml.Node
		if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 3).Draw(t, "edits") {
			places := placesOf(&doc, nil)
			place := places[rapid.IntRange(0, len(places)-1).Draw(t, "place")]
			var value yaml.Node
			if err := yaml.Unmarshal([]byte(rapid.SampledFrom(values).Draw(t, "value")), &value); err != nil {
				t.Fatal(err)
			}
			*place = *value.Content[0]
		}
		edited, err := yaml.Marshal(&doc)
		if err != nil {
			t.Fatal(err)
		}
		cfg, warnings, err := Parse("f", edited, testOptions())
		var errs Errors
		if err != nil && !errors.As(err, &errs) || (err == nil) != (cfg != nil) {
			t.Fatalf("Config %v beside error %v", cfg, err)
		}
		for _, p := range append(warnings, errs...) {
			if p.Line == 0 || strings.Contains(p.Text, "viper") || strings.Contains(p.String(), "\n") {
				t.Fatalf("problem %q in\n%s", p, edited)
			}
		}
	})
}

// placesOf lists every value of the tree below n.
func placesOf(n *yaml.Node, out []*yaml.Node) []*yaml.Node {
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			continue
		}
		out = placesOf(child, append(out, child))
	}
	return out
}

// FuzzParse: no text makes Parse panic or fail in another way than by Errors
// that have a text; what it accepts prints and loads again.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/*.yaml", "testdata/problems/base.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatal("no seeds", err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	authorities, err := os.ReadFile("testdata/ca.pem")
	if err != nil {
		f.Fatal(err)
	}
	opt := Options{
		Getenv: func(string) (string, bool) { return "x", true },
		ReadFile: func(path string) ([]byte, error) {
			if strings.HasSuffix(path, ".pem") {
				return authorities, nil
			}
			return []byte("x"), nil
		},
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, warnings, err := Parse("f", data, opt)
		problems := warnings
		if err != nil {
			var errs Errors
			if !errors.As(err, &errs) || len(errs) == 0 || cfg != nil {
				t.Fatalf("error of type %T: %v, Config %v", err, err, cfg)
			}
			problems = append(problems, errs...)
		}
		for _, p := range problems {
			if p.Text == "" || strings.ContainsAny(p.String(), "\n\r") || strings.Contains(p.Text, "viper") && strings.HasPrefix(p.Text, "viper:") {
				t.Fatalf("problem %q", p)
			}
		}
		if err != nil {
			return
		}
		text, err := cfg.YAML()
		if err != nil {
			t.Fatal(err)
		}
		again, _, err := Parse("again", text, opt)
		if err != nil {
			t.Fatalf("printed config is refused: %v\n%s", err, text)
		}
		mask(cfg)
		mask(again)
		if a, b := printed(t, cfg), printed(t, again); a != b {
			t.Fatalf("printed twice:\n%s\n%s", a, b)
		}
	})
}
