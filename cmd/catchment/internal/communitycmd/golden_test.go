package communitycmd

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
)

// oneRoute is TABLE_DUMP with a route to 203.0.113.0/24 that has the community
// 57629:101, and another without it; and then the first octets of a third.
func oneRoute(t *testing.T) string {
	t.Helper()
	route := func(community string) string {
		return "00000002000c0001000000" + "31" + "00000001cb0071001801" + "00000001c0000202fbf0001b" +
			"400101004002060202fbf0fbf4" + "400304c0000202" + "c00804" + community
	}
	dump, err := hex.DecodeString(route("e11d0065") + route("fbf40001") + "00000002000c")
	if err != nil {
		t.Fatal(err)
	}
	return string(dump)
}

func TestAnswersAreTablesAndDocuments(t *testing.T) {
	address := (&fleet{nodes: someTags()}).serve(t)
	paste, err := os.ReadFile("testdata/paste.txt")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		stdin, args string
		code        int
	}{
		"import":         {"", "import testdata/as64500.txt", exit.OK},
		"explain":        {"", "explain 64500:110 64500:4000 64500:9 no-export --from testdata/as64500.txt,central", exit.OK},
		"explain_paste":  {string(paste), "explain", exit.OK},
		"list_tags":      {"", "list", exit.OK},
		"list_actions":   {"", "list --from testdata/as64500.txt --asn AS64500 --kind action", exit.OK},
		"find":           {"", "find --at AS64500 --action prepend --times 2 --towards AS174 --from testdata/as64500.txt", exit.OK},
		"find_nothing":   {"", "find --at 64500 --action prepend --times 3 --towards AS174 --from testdata/as64500.txt", exit.Failed},
		"lint":           {"", "lint --from testdata/as64500.txt", exit.Failed},
		"lint_in_use":    {"", "lint --from testdata/clean.txt --in-use testdata/paste.txt", exit.OK},
		"diff":           {"", "diff testdata/as64500-old.txt testdata/as64500.txt", exit.OK},
		"verify":         {"", "verify --published testdata/as64500-old.txt --from testdata/as64500.txt", exit.Failed},
		"origin":         {oneRoute(t), "origin --mrt - --prefix 203.0.113.0/24", exit.OK},
		"origin_foreign": {oneRoute(t), "origin --mrt - --prefix 198.51.100.0/24", exit.OK},
	} {
		for _, format := range []string{"table", "json", "yaml"} {
			r := try(t, tc.stdin, "--central "+address+" "+tc.args+" -o "+format)
			if r.code != tc.code {
				t.Errorf("%s -o %s: exit %d, want %d, %s", tc.args, format, r.code, tc.code, r.stderr)
			}
			if format == "table" {
				r.stdout += "--- stderr\n" + r.stderr
			}
			if strings.Contains(r.stdout, "null") && format == "json" {
				nullsAreNoArrays(t, tc.args, r.stdout)
			}
			golden(t, name+"."+format, r.stdout)
		}
	}
	for _, format := range []string{"rpsl", "yang", "nlnog", "markdown", "json"} {
		r := try(t, "", "--central "+address+" export --format "+format)
		if r.code != exit.OK || r.stderr != "" {
			t.Errorf("export --format %s: exit %d, %s", format, r.code, r.stderr)
		}
		golden(t, "export."+format, r.stdout)
	}
}

// nullsAreNoArrays refuses null but where one value may be missing.
func nullsAreNoArrays(t *testing.T, what, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if strings.Contains(value, "null") && key != `"action"` && key != `"a"` && key != `"b"` && key != `"other"` {
			t.Errorf("%s: %s", what, line)
		}
	}
}

func TestNothingIsAnEmptyArray(t *testing.T) {
	address := (&fleet{}).serve(t)
	for args, want := range map[string]string{
		"list":            `{"entries":[],"problems":[]}`,
		"explain":         `[]`,
		"explain 64500:1": `[{"value":"64500:1","matches":[]}]`,
		"lint":            `{"findings":[],"problems":[]}`,
		"diff testdata/clean.txt testdata/clean.txt": `{"differences":[],"problems":[]}`,
		"find --at 64500 --action announce":          `{"found":[],"nearest":[],"problems":[]}`,
		"origin --mrt - --prefix 2001:db8::/32":      `{"prefix":"2001:db8::/32","peers":[],"totals":{},"untagged":0,"withdrawn":0,"problems":[{"offset":0,"reason":"no MRT in it: it is empty"}]}`,
	} {
		r := try(t, "", "--central "+address+" "+args+" -o json")
		var tree any
		if err := json.Unmarshal([]byte(r.stdout), &tree); err != nil {
			t.Errorf("%s: %v, %q, %s", args, err, r.stdout, r.stderr)
			continue
		}
		var wanted any
		if err := json.Unmarshal([]byte(want), &wanted); err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(wanted)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(again) {
			t.Errorf("%s: %s, want %s", args, got, again)
		}
	}
}
