package config

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// problemCase is an edit of base.yaml and the problems that it makes. In the
// files of testdata/problems a case is written so:
//
//	== name
//	- a line of base.yaml that goes
//	+ a line that comes in its place
//	! an error, in full
//	? a warning, in full
type problemCase struct {
	name           string
	removed, added []string
	problems       []string
}

func readCases(t *testing.T, path string) []problemCase {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []problemCase
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		if name, ok := strings.CutPrefix(line, "== "); ok {
			out = append(out, problemCase{name: name})
			continue
		}
		if line == "" {
			continue
		}
		if len(out) == 0 || len(line) < 2 {
			t.Fatalf("%s:%d: %q belongs to no case", path, i+1, line)
		}
		last := &out[len(out)-1]
		switch line[0] {
		case '-':
			last.removed = append(last.removed, line[2:])
		case '+':
			last.added = append(last.added, line[2:])
		case '!', '?':
			last.problems = append(last.problems, line)
		default:
			t.Fatalf("%s:%d: %q is no line of a case", path, i+1, line)
		}
	}
	return out
}

// edit puts the added lines in the place of the removed ones, which must stand
// in base once.
func (k problemCase) edit(t *testing.T, base string) string {
	t.Helper()
	removed := strings.Join(k.removed, "\n") + "\n"
	if strings.Count("\n"+base, "\n"+removed) != 1 {
		t.Fatalf("the lines to remove do not stand in base.yaml exactly once:\n%s", removed)
	}
	added := ""
	if len(k.added) > 0 {
		added = strings.Join(k.added, "\n") + "\n"
	}
	return strings.Replace("\n"+base, "\n"+removed, "\n"+added, 1)[1:]
}

// problemsOf lists errors and warnings as the case files do.
func problemsOf(t *testing.T, text string) []string {
	t.Helper()
	cfg, warnings, err := Parse("edge.yaml", []byte(text), testOptions())
	var out []string
	if err != nil {
		var errs Errors
		if !errors.As(err, &errs) || cfg != nil {
			t.Fatalf("error of type %T beside Config %v", err, cfg)
		}
		for _, p := range errs {
			out = append(out, "! "+p.String())
		}
	}
	for _, p := range warnings {
		out = append(out, "? "+p.String())
	}
	return out
}

func TestEveryRuleNamesLinePathAndRemedy(t *testing.T) {
	base := read(t, "problems/base.yaml")
	if got := problemsOf(t, base); len(got) > 0 {
		t.Fatalf("base.yaml itself has problems: %v", got)
	}
	files, err := filepath.Glob("testdata/problems/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		cases := readCases(t, file)
		for i := range cases {
			k := &cases[i]
			t.Run(filepath.Base(file)+"/"+k.name, func(t *testing.T) {
				got := problemsOf(t, k.edit(t, base))
				if *update {
					k.problems = got
					return
				}
				if g, w := strings.Join(got, "\n"), strings.Join(k.problems, "\n"); g != w {
					t.Errorf("got\n%s\nwant\n%s", g, w)
				}
			})
		}
		if *update {
			writeCases(t, file, cases)
		}
	}
}

func writeCases(t *testing.T, path string, cases []problemCase) {
	t.Helper()
	var b strings.Builder
	for i, k := range cases {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "== %s\n", k.name)
		for _, line := range k.removed {
			fmt.Fprintf(&b, "- %s\n", line)
		}
		for _, line := range k.added {
			fmt.Fprintf(&b, "+ %s\n", line)
		}
		for _, line := range k.problems {
			fmt.Fprintf(&b, "%s\n", line)
		}
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// All errors come at once, in the order of the lines, with the warnings.
func TestAllErrorsComeAtOnce(t *testing.T) {
	got := strings.Join(problemsOf(t, read(t, "broken.yaml")), "\n") + "\n"
	const golden = "testdata/broken.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := read(t, "broken.golden"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if n := strings.Count(got, "! "); n < 20 {
		t.Errorf("only %d errors: broken.yaml shall break many rules", n)
	}
}

func TestProblemString(t *testing.T) {
	for _, tc := range []struct {
		p    Problem
		want string
	}{
		{Problem{"edge.yaml", 12, 5, "neighbors[0].hold_time", "2s is below the minimum; write 3s or more"},
			"edge.yaml:12: neighbors[0].hold_time: 2s is below the minimum; write 3s or more"},
		{Problem{File: "edge.yaml", Text: "the file is empty"}, "edge.yaml: the file is empty"},
		{Problem{Line: 3, Text: "x"}, "3: x"},
		{Problem{Text: "x"}, "x"},
	} {
		if got := tc.p.String(); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
	e := Errors{{Text: "one"}, {Text: "two"}}
	if got := e.Error(); got != "one\ntwo" {
		t.Errorf("Errors: %q", got)
	}
}
