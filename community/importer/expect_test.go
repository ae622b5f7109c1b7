package importer

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/registry"
)

// expectation is a line of an .expect.tsv file: pattern, type, kind, a part of the
// meaning.
type expectation struct{ pattern, kindOf, kind, meaning string }

func expectations(t *testing.T, file string) []expectation {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []expectation
	for l := range strings.Lines(string(text)) {
		l = strings.TrimRight(l, "\n")
		if l == "" || l[0] == '#' {
			continue
		}
		f := strings.Split(l, "\t")
		if len(f) < 4 {
			t.Fatalf("%s: %q has not four fields", file, l)
		}
		out = append(out, expectation{f[0], f[1], f[2], f[3]})
	}
	return out
}

// check compares what was read from a file with what is expected: all of it, and nothing
// else.
func check(t *testing.T, file string, f Format) Result {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	got, err := Read(in, file, f, Options{})
	if err != nil {
		t.Fatal(err)
	}
	used := make([]bool, len(got.Entries))
	for _, want := range expectations(t, strings.TrimSuffix(file, ".txt")+".expect.tsv") {
		if k := find(got.Entries, used, want); k >= 0 {
			used[k] = true
			continue
		}
		t.Errorf("%s: not found: %v", file, want)
	}
	for k, e := range got.Entries {
		if !used[k] {
			t.Errorf("%s:%d: nothing of the kind was expected: %s %s %q", file, e.Source.Line, e.Pattern, e.Kind, e.Meaning)
		}
	}
	if t.Failed() {
		t.Log(dump(got))
	}
	return got
}

func find(entries []registry.Entry, used []bool, want expectation) int {
	types := map[community.Kind]string{community.Standard: "std", community.Extended: "ext", community.Large: "large"}
	for k, e := range entries {
		if !used[k] && e.Pattern.String() == want.pattern && types[e.Pattern.Kind()] == want.kindOf && string(e.Kind) == want.kind &&
			strings.Contains(strings.ToLower(e.Meaning), strings.ToLower(want.meaning)) {
			return k
		}
	}
	return -1
}

// dump prints a result for reading.
func dump(r Result) string {
	var b strings.Builder
	for _, e := range r.Entries {
		fmt.Fprintf(&b, "%3d %-22s %-7s %4.2f %-2s AS%d %q %s\n", e.Source.Line, e.Pattern, e.Kind, e.Confidence, e.Lang, e.Owner, e.Meaning, sense(e))
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "%3d ! %s: %s\n", p.Line, p.Reason, p.Text)
	}
	for _, u := range r.InUse {
		fmt.Fprintf(&b, "%3d use %s\n", u.Source.Line, u.Pattern)
	}
	return b.String()
}

// sense is the typed part of an entry.
func sense(e registry.Entry) string {
	var parts []string
	if e.Action != nil {
		parts = append(parts, actionText(*e.Action))
	}
	for _, t := range e.Targets {
		s := string(t.Kind)
		if t.ASN != 0 {
			s += fmt.Sprintf(" %d", t.ASN)
		}
		for _, x := range []string{t.Var, t.Name} {
			if x != "" {
				s += " " + x
			}
		}
		parts = append(parts, "to "+s)
	}
	for _, l := range e.Legends {
		s := l.Var + "=" + l.Digits
		if l.Action != nil {
			s += " " + actionText(*l.Action)
		}
		parts = append(parts, s)
	}
	return "[" + strings.Join(parts, "; ") + "]"
}

func actionText(a registry.Action) string {
	s := string(a.Verb)
	if a.Number != nil {
		s += fmt.Sprintf(" %d", *a.Number)
	}
	if a.Var != "" {
		s += " " + a.Var
	}
	return s
}
