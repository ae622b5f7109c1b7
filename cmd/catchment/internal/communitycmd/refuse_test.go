package communitycmd

import (
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
)

func TestWhatCannotBeReadIsRefusedAndNothingIsPrinted(t *testing.T) {
	notJSON := temp(t, "broken.json", `{"entries": [`)
	for _, tc := range []struct {
		args, want string
		code       int
	}{
		{"import", "what shall be read?", exit.Usage},
		{"import ''", "argument 1 is empty", exit.Usage},
		{"import none.txt", "open none.txt: no such file or directory", exit.Usage},
		{"import testdata/clean.txt none.txt", "none.txt", exit.Usage},
		{"import testdata", "is a directory", exit.Usage},
		{"import " + notJSON, "unexpected end of JSON", exit.Usage},
		{"import testdata/clean.txt --format json", "clean.txt: invalid character", exit.Usage},
		{"import testdata/clean.txt --format xml", "write auto, rpsl, nlnog, yang, page or json", exit.Usage},
		{"import testdata/clean.txt --asn 1", "--asn is of a --dump only", exit.Usage},
		{"import testdata/clean.txt --url http://127.0.0.1:1/", "one of them", exit.Usage},
		{"import testdata/clean.txt --owner me", `--owner "me" is no AS number`, exit.Usage},
		{"import --host 127.0.0.1", "Write FILEs", exit.Usage},
		{"import --host 127.0.0.1:1 nine", `"nine" is no AS number`, exit.Usage},
		{"import --host 127.0.0.1:1 64500", "whois 127.0.0.1:1: ", exit.Failed},
		{"import --dump none.gz", "no such file", exit.Usage},
		{"import --dump testdata/as64500.txt --asn 0", "is no AS number", exit.Usage},
		{"import testdata/clean.txt -o xml", "write table, json or yaml", exit.Usage},
		{"explain 64500:70000", "write 64500:0:70000", exit.Usage},
		{"explain --from -", "the values are read from stdin", exit.Usage},
		{"explain 64500:1 --from none.txt", "none.txt", exit.Usage},
		{"list now", "takes 0 arguments at most", exit.Usage},
		{"list --from testdata/clean.txt --kind news", "write info, action or unknown", exit.Usage},
		{"list --from testdata/clean.txt --asn x", `--asn "x" is no AS number`, exit.Usage},
		{"find --at 1", "--at AS and --action VERB are needed", exit.Usage},
		{"find --at x --action prepend", `--at "x" is no AS number`, exit.Usage},
		{"find --at 1 --action drop", "write one of prepend, no-export,", exit.Usage},
		{"find --at 1 --action prepend", "prepend how many times?", exit.Usage},
		{"find --at 1 --action med --times 2", "leave --times out", exit.Usage},
		{"find --at 1 --action no-export --value 2", "leave --value out", exit.Usage},
		{"find --at 1 --action no-export --towards AS0", "write AS1 to AS4294967295", exit.Usage},
		{"find --at 1 --action announce --from testdata/clean.txt", "nothing that was read says how to get this done: announce at AS1\n", exit.Failed},
		{"lint --from testdata/clean.txt --in-use none.txt", "none.txt", exit.Usage},
		{"lint --from testdata/clean.txt --in-use /dev/null", "/dev/null has no community", exit.Usage},
		{"diff", "what shall be compared?", exit.Usage},
		{"diff a b c", "takes 2 arguments at most", exit.Usage},
		{"verify", "what is published?", exit.Usage},
		{"verify --published testdata/clean.txt --host x", "one of them", exit.Usage},
		{"verify --host x", "--asn AS is needed", exit.Usage},
		{"verify --published testdata/clean.txt --asn x", "is no AS number", exit.Usage},
		{"verify --published none.txt --from testdata/clean.txt", "none.txt", exit.Usage},
		{"export --format xml", "write rpsl, yang, nlnog, markdown or json", exit.Usage},
		{"export --asn x", "is no AS number", exit.Usage},
		{"origin --prefix 192.0.2.0/24", "--mrt FILE and --prefix PREFIX are needed", exit.Usage},
		{"origin --mrt x --prefix 192.0.2.0", "is no prefix", exit.Usage},
		{"origin --mrt none.mrt --prefix 192.0.2.0/24 --from testdata/clean.txt", "none.mrt", exit.Usage},
		{"origin --mrt - --prefix 192.0.2.0/24 --from -", "stdin is read once", exit.Usage},
	} {
		r := try(t, "", tc.args)
		if r.code != tc.code || r.stdout != "" || !strings.Contains(r.stderr, tc.want) {
			t.Errorf("%s: exit %d, stdout %q, stderr %q; want %d, %q", tc.args, r.code, r.stdout, r.stderr, tc.code, tc.want)
		}
	}
}

func TestACentreThatIsAwayIsToldOf(t *testing.T) {
	away := "--central " + nowhere(t) + " "
	for _, args := range []string{"list", "explain 64500:1", "lint", "export", "find --at 1 --action no-export", "diff testdata/clean.txt",
		"verify --published testdata/clean.txt", "origin --mrt - --prefix 192.0.2.0/24", "list --from testdata/clean.txt,central"} {
		r := try(t, oneRoute(t), away+args)
		if r.code != exit.Failed || r.stdout != "" || !strings.Contains(r.stderr, "cannot reach the centre at ") {
			t.Errorf("%s: exit %d, stdout %q, stderr %q", args, r.code, r.stdout, r.stderr)
		}
	}
}

func TestATagThatIsNoCommunityIsNamed(t *testing.T) {
	nodes := someTags()
	nodes[0].Tags[0].Value = "57629:x"
	r := try(t, "", "--central "+(&fleet{nodes: nodes}).serve(t)+" list")
	if r.code != exit.OK || !strings.Contains(r.stderr, "node msk1:0: ") || !strings.Contains(r.stderr, ": 57629:x") || !strings.Contains(r.stdout, "57629:102") {
		t.Errorf("exit %d, %q, %q", r.code, r.stdout, r.stderr)
	}
}

func TestNoDocumentMovesTheCursor(t *testing.T) {
	path := temp(t, "evil.txt", "64500:1,one \x1b[2J two\n")
	for _, args := range []string{"import " + path, "explain 64500:1 --from " + path} {
		r := try(t, "", args)
		if strings.ContainsRune(r.stdout+r.stderr, 0x1b) || !strings.Contains(r.stdout, "64500:1") {
			t.Errorf("%s: %q, %q", args, r.stdout, r.stderr)
		}
	}
}
