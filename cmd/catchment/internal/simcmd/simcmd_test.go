package simcmd

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
)

var rewrite = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func try(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	env := cli.NewEnv(strings.NewReader(""), &out, &errs)
	root := cli.Group("catchment", "", "", New(env))
	code = cli.Execute(t.Context(), env, root, append([]string{"sim", "run"}, args...))
	return code, out.String(), errs.String()
}

const tiny = "testdata/tiny.yaml"

// The controllers of policy are left out: their figures change with it.
var small = []string{tiny, "--seeds", "3", "--controller", "none,greedy"}

func TestAnswersAreAsTheyWere(t *testing.T) {
	for _, format := range []string{"table", "json"} {
		code, stdout, stderr := try(t, append(small, "-o", format)...)
		if code != exit.OK || stderr != "" {
			t.Fatalf("exit %d, stderr %q", code, stderr)
		}
		golden(t, "tiny."+format, stdout)
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update rewrites it).\ngot:\n%s\nwant:\n%s", file, got, want)
	}
}

func TestSeveralFilesAreAnArray(t *testing.T) {
	code, stdout, stderr := try(t, tiny, tiny, "--seeds", "1", "--controller", "none", "-o", "json", "--no-oracle")
	var got []struct {
		Scenario string
		Seeds    int
		Oracle   *struct{}
	}
	if err := json.Unmarshal([]byte(stdout), &got); code != exit.OK || err != nil || len(got) != 2 || got[1].Scenario != "tiny" || got[1].Seeds != 1 || got[0].Oracle != nil {
		t.Errorf("exit %d, %v, %q, stderr %q", code, err, stdout, stderr)
	}
}

func TestTheDefaultControllerRuns(t *testing.T) {
	code, stdout, stderr := try(t, tiny, "--seeds", "1", "--controller", "pi", "--no-oracle")
	if code != exit.OK || !strings.Contains(stdout, "tiny: median/worst of 1 seeds") || !strings.Contains(stdout, "tiny, late: ") {
		t.Errorf("exit %d, %q, stderr %q", code, stdout, stderr)
	}
}

func TestPlotTraceAndWhyAreFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	code, _, stderr := try(t, tiny, "--seeds", "1", "--controller", "greedy", "--no-oracle", "--seed", "2",
		"--plot", at("p.html"), "--trace", at("t.csv"), "--why", at("w.txt"))
	if code != exit.OK || stderr != "" {
		t.Fatalf("exit %d, stderr %q", code, stderr)
	}
	for name, begin := range map[string]string{"p.html": "<!DOCTYPE html>", "t.csv": "time,link,load,capacity,rung,slowdown,drop\n0,east/a,", "w.txt": ""} {
		if text, err := os.ReadFile(at(name)); err != nil || !strings.HasPrefix(string(text), begin) {
			t.Errorf("%s: %v, begins with %.60q", name, err, text)
		}
	}
}

func TestWhatCannotBeRunIsRefused(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("name: bad\nduratoin: 1h\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{nil, "needs the FILE of a scenario"},
		{[]string{"none.yaml"}, "none.yaml: no such file"},
		{[]string{bad}, "bad.yaml:2: duratoin: there is no such key"},
		{[]string{tiny, "--seeds", "0"}, "write a number from 1 to 10000"},
		{[]string{tiny, "--seed", "-1"}, "write a number from 1"},
		{[]string{tiny, "--controller", "magic"}, `there is no controller "magic"; there are none, threshold,`},
		{[]string{tiny, "-o", "yaml"}, "write table or json"},
		{[]string{tiny, tiny, "--trace", "t.csv"}, "name one FILE"},
		{append(small, "--no-oracle", "--trace", filepath.Join(t.TempDir(), "no", "t.csv")), "no such file or directory"},
		{[]string{"/dev/zero"}, "it has more than 1048576 octets"},
	} {
		code, stdout, stderr := try(t, tc.args...)
		if code != exit.Usage || stdout != "" || !strings.Contains(stderr, tc.want) {
			t.Errorf("%q: exit %d, stdout %.40q, stderr %q; want %q", tc.args, code, stdout, stderr, tc.want)
		}
	}
}
