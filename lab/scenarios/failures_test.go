package scenarios

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// reported are the failures of other systems that must not happen here, each with what must hold. The tests that prove
// it have the number in their names, so that `go test -run U07` finds them. A test may stand for several.
var reported = []struct{ number, holds string }{
	{"U01", "what a neighbour has equals what is wanted, read from the neighbour"},
	{"U02", "each neighbour has attributes of its own"},
	{"U03", "a path that the neighbour would drop for its own ASN is refused in the configuration"},
	{"U04", "MD5 over IPv4, IPv6 and hops, with FRR and BIRD"},
	{"U05", "both of two parallel sessions have the withdrawal"},
	{"U06", "withdraw, hold, then the VIP"},
	{"U07", "no VIP stays after SIGTERM, nor after SIGKILL and a restart"},
	{"U08", "the withdrawal comes before the TCP close"},
	{"U09", "sessions stay Established through a drain and a withdrawal"},
	{"U10", "65535:0 in every neighbour's table, or in one neighbour's only"},
	{"U11", "a dead service is withdrawn within fall x interval"},
	{"U12", "at every neighbour, in both families"},
	{"U13", "no UPDATE while nothing changes"},
	{"U14", "a reload leaves sessions alone"},
	{"U15", "all neighbours listed are the default"},
	{"U16", "the length of the AS_PATH for prepends 0, 1, 2, 3"},
	{"U17", "an IPv6 next hop stands in MP_REACH_NLRI"},
	{"U18", "a 4-byte ASN in a standard community is refused, and the large one named"},
	{"U19", "a black hole and what hangs are failures"},
	{"F03", "a change of one set makes no difference outside; rollback restores route and VIP within 10 s"},
	{"F04", "empty, absent and zero-match selectors are errors"},
	{"F06", "a malformed UPDATE ends at most its own session"},
	{"F08", "a check that flaps at 1 Hz changes the announcement twice at most"},
}

var numbered = regexp.MustCompile(`^Test((?:[UF]\d\d)+)\p{Lu}`)

func TestEveryReportedFailureHasATest(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string][]string{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv != nil {
				continue
			}
			if match := numbered.FindStringSubmatch(f.Name.Name); match != nil {
				for numbers := match[1]; numbers != ""; numbers = numbers[3:] {
					tests[numbers[:3]] = append(tests[numbers[:3]], f.Name.Name)
				}
			}
		}
	}
	var table strings.Builder
	for _, r := range reported {
		if len(tests[r.number]) == 0 {
			t.Errorf("%s has no test: %s", r.number, r.holds)
		}
		fmt.Fprintf(&table, "%s  %s: %s\n", r.number, r.holds, strings.Join(slices.Sorted(slices.Values(tests[r.number])), ", "))
		delete(tests, r.number)
	}
	for number, names := range tests {
		t.Errorf("%v: %s is not in the list", names, number)
	}
	t.Logf("\n%s", table.String())
}
