package identity

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/internal/pages"
)

const explanation = "docs/explanation/identity-and-audit.md"

// rewrite has the table written anew: go test ./central/identity -run Explanation -update
var rewrite = flag.Bool("update", false, "write the table of methods into "+explanation+", and "+apiPage)

// mayTable is the table of the page, by the rules.
func mayTable(t *testing.T) string {
	paths := jsonPaths(t)
	var out strings.Builder
	out.WriteString("| Method | JSON | Who | Audited |\n| --- | --- | --- | --- |\n")
	rules := Rules()
	for _, method := range slices.SortedFunc(maps.Keys(rules), func(a, b string) int {
		return strings.Compare(order(rules[a])+a, order(rules[b])+b)
	}) {
		r := rules[method]
		who := whoOf(r)
		path := ""
		if verb, p, ok := strings.Cut(paths[method], " "); ok {
			path = fmt.Sprintf("`%s %s`", verb, p)
		}
		audited := ""
		if r.Writes {
			audited = "yes"
		}
		name := strings.TrimPrefix(strings.TrimPrefix(method, "/"), "catchment.central.v1.")
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", name, path, who, audited)
	}
	return strings.ReplaceAll(out.String(), "|  |", "| |")
}

// whoOf says who may call a method.
func whoOf(r Rule) string {
	switch who := string(r.Least); {
	case r.Anyone && r.Writes:
		return "who has a token"
	case r.Anyone:
		return "anyone"
	case r.Speaker != nil:
		return who + ", for itself"
	case r.Least == EdgeRole, r.Least == Admin:
		return who
	default:
		return who + " and above"
	}
}

// order sorts by who may.
func order(r Rule) string {
	return map[Role]string{Viewer: "1", Operator: "2", Admin: "3", EdgeRole: "4", "": "5"}[r.Least]
}

func TestTheExplanationHasTheRulesOfTheGate(t *testing.T) {
	const file = "../../" + explanation
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := mayTable(t)
	if *rewrite {
		before, rest, _ := strings.Cut(string(text), "| Method | JSON ")
		_, after, found := strings.Cut(rest, "\n\n")
		if !found {
			t.Fatalf("%s has no table of methods", explanation)
		}
		text = []byte(before + want + "\n" + after)
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(string(text), want) {
		t.Errorf("%s has another table (go test -update rewrites it) than:\n%s", explanation, want)
	}
}

// TestTheExplanationHasEveryReason finds the reasons in the source.
func TestTheExplanationHasEveryReason(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "refusal.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && fmt.Sprint(v.Type) == "Reason" {
			want = append(want, strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`))
		}
		return true
	})
	page, err := pages.Read(explanation)
	if err != nil {
		t.Fatal(err)
	}
	table, err := page.Table("Refusals")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range table.Rows {
		got = append(got, strings.Trim(row[0], "`"))
	}
	slices.Sort(want)
	slices.Sort(got)
	if len(want) < 15 || !slices.Equal(got, want) {
		t.Errorf("%s has the reasons %q, and the program %q", explanation, got, want)
	}
}

// TestTheExplanationSaysHowMuchIsWrittenDown holds the figures of the text.
func TestTheExplanationSaysHowMuchIsWrittenDown(t *testing.T) {
	text, err := os.ReadFile("../../" + explanation)
	if err != nil {
		t.Fatal(err)
	}
	flat := strings.Join(strings.Fields(string(text)), " ")
	named, strangers := NamedRefusals(), strangerRefusals()
	for _, want := range []string{
		fmt.Sprintf("%d at once and then one in %g minutes, all of them together %d and one a minute", named.Burst, named.Every.Minutes(), named.AllBurst),
		fmt.Sprintf("%d at once and then one an hour, all together %d and one an hour", strangers.Burst, strangers.AllBurst),
		fmt.Sprintf("%d connections", maxGuests),
		fmt.Sprintf("A message has %d MiB at most", MaxMessage>>20),
		fmt.Sprintf("%d at once and then %d a second", streamBurst, int(1/streamEvery.Seconds())),
		fmt.Sprintf("handshake %g s", handshakeTime.Seconds()), fmt.Sprintf("header %g s", headerTime.Seconds()), fmt.Sprintf("body %g s", bodyTime.Seconds()),
		fmt.Sprintf("for each %d KiB of the answer of somebody known %g minute", paceStep>>10, answerTime.Minutes()),
		fmt.Sprintf("no stream %g minute", callTime.Minutes()),
	} {
		if !strings.Contains(flat, want) {
			t.Errorf("%s does not say %q", explanation, want)
		}
	}
}
