package labcmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/lab/netlab"
	"github.com/catchment-bgp/catchment/lab/runner"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		netlab.RemoveBinaries()
		os.Exit(code)
	}))
}

// answer is what a command said.
type answer struct {
	code           int
	stdout, stderr string
}

// try runs `catchment lab`. Nodes are started by a built program, since this one is a test.
func try(t *testing.T, stdin string, args ...string) answer {
	t.Helper()
	var out, errs bytes.Buffer
	env := cli.NewEnv(strings.NewReader(stdin), &out, &errs)
	root := cli.Group("catchment", "", "", newLab(env, func() (runner.Options, error) {
		return runner.Options{Init: []string{netlab.Binary(t, "./cmd/catchment"), "lab", initName}}, nil
	}))
	code := cli.Execute(t.Context(), env, root, append([]string{"lab"}, args...))
	return answer{code, out.String(), errs.String()}
}

const topology = `name: labcmd
topology:
  defaults: {kind: linux, network-mode: none, image: catchment-lab/client:latest}
  nodes:
    a: {exec: [ip addr add 10.0.0.1/30 dev eth1]}
    b: {exec: [ip addr add 10.0.0.2/30 dev eth1]}
  links:
    - endpoints: ["a:eth1", "b:eth1"]
`

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.clab.yml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestALabFromUpToDown(t *testing.T) {
	netlab.Require(t, netlab.Root)
	file := write(t, topology)
	if a := try(t, "", "list", file, "-o", "json"); a.code != exit.OK || a.stderr != "" || a.stdout != `{
  "nodes": [
    {
      "name": "a",
      "kind": "client",
      "state": "ended"
    },
    {
      "name": "b",
      "kind": "client",
      "state": "ended"
    }
  ]
}
` {
		t.Errorf("before: %+v", a)
	}
	t.Cleanup(func() {
		if a := try(t, "", "down", file); a.code != exit.OK || a.stderr != "labcmd: 0 nodes ended\n" {
			t.Errorf("a second down: %+v", a)
		}
	})
	if a := try(t, "", "up", file); a.code != exit.OK || a.stderr != "" || a.stdout != "NODE  KIND    STATE\na     client  running\nb     client  running\n" {
		t.Errorf("up: %+v", a)
	}
	if a := try(t, "", "up", file); a.code != exit.Failed || !strings.Contains(a.stderr, "is up already (2 nodes)") {
		t.Errorf("a second up: %+v", a)
	}
	if a := try(t, "word", "exec", file, "a", "sh", "-c", "cat; exit 7"); a != (answer{7, "word", ""}) {
		t.Errorf("exec: %+v", a)
	}
	if a := try(t, "", "exec", file, "a", "ping", "-c1", "-W5", "10.0.0.2"); a.code != exit.OK {
		t.Errorf("ping: %+v", a)
	}
	if a := try(t, "", "list"); a.code != exit.OK || !strings.Contains(strings.Join(strings.Fields(a.stdout), " "), "labcmd 2 "+file) { // other labs may run here
		t.Errorf("list: %+v", a)
	}
	if a := try(t, "", "list", "-o", "json"); a.code != exit.OK || !strings.Contains(a.stdout, `"name": "labcmd",`) {
		t.Errorf("list: %+v", a)
	}
	if a := try(t, "", "down", file); a.code != exit.OK || a.stderr != "labcmd: 2 nodes ended\n" || a.stdout != "" {
		t.Errorf("down: %+v", a)
	}
}

func TestALabWhoseFileChangedOrIsGoneCanBeEnded(t *testing.T) {
	netlab.Require(t, netlab.Root)
	renamed := strings.Replace(topology, "name: labcmd", "name: labcmd-renamed", 1)
	one := "name: labcmd\ntopology:\n  nodes:\n    a: {kind: linux, network-mode: none, image: catchment-lab/client}\n"
	for _, c := range []struct {
		what, text string // of the file when the lab ends; empty: there is none
		code       int
		stderr     string
	}{
		{"renamed", renamed, exit.Usage, "the lab labcmd-renamed does not run; the one that was made from"},
		{"broken", "name: [", exit.OK, "labcmd: 2 nodes ended\n"},
		{"gone", "", exit.OK, "labcmd: 2 nodes ended\n"},
		{"a node less", one, exit.OK, "labcmd: 2 nodes ended\n"},
	} {
		file := write(t, topology)
		t.Cleanup(func() { _, _ = runner.Down("labcmd") }) // only what a failed test left
		if a := try(t, "", "up", file); a.code != exit.OK {
			t.Fatalf("%s: up: %+v", c.what, a)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if c.text != "" {
			if err := os.WriteFile(file, []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if a := try(t, "", "down", file); a.code != c.code || !strings.Contains(a.stderr, c.stderr) {
			t.Errorf("%s: down: %+v", c.what, a)
		}
		if n, err := runner.Down("labcmd"); err != nil || (n > 0) != (c.code != exit.OK) {
			t.Errorf("%s: %d nodes were left, %v", c.what, n, err)
		}
	}
}

func TestUpWarnsOfLinesThatFRRRefuses(t *testing.T) {
	netlab.Require(t, netlab.Root, netlab.FRRouting)
	file := write(t, strings.NewReplacer("name: labcmd", "name: labcmd-refused", "a: {", "a: {image: catchment-lab/frr:latest, binds: [frr.conf:/etc/frr/frr.conf], ").Replace(topology))
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), "frr.conf"), []byte("no such line\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { try(t, "", "down", file) })
	if a := try(t, "", "up", file); a.code != exit.OK || a.stderr != "a: FRR refuses lines of /etc/frr/frr.conf ("+runner.LogFile("labcmd-refused", "a")+")\n" {
		t.Errorf("%+v", a)
	}
}

func TestWhatCannotBeObeyedIsExplained(t *testing.T) {
	file, broken := write(t, topology), write(t, "name: x\nports: []\n")
	for _, c := range []struct {
		args   []string
		code   int
		stderr string
	}{
		{[]string{"up"}, exit.Usage, "catchment lab up needs one FILE.clab.yml"},
		{[]string{"up", broken}, exit.Usage, "x.clab.yml:2: ports: this key is not known here"},
		{[]string{"up", "none.clab.yml"}, exit.Usage, "none.clab.yml: no such file"},
		{[]string{"exec", file, "a"}, exit.Usage, "needs a FILE.clab.yml, a NODE and a COMMAND"},
		{[]string{"exec", file, "c", "true"}, exit.Usage, `the lab labcmd has no node "c"; there are a, b`},
		{[]string{"exec", file, "a", "true"}, exit.Failed, "node a of the lab labcmd does not run; write `catchment lab up"},
		{[]string{"list", file, file}, exit.Usage, "takes one FILE.clab.yml at most"},
		{[]string{"list", "-o", "xml"}, exit.Usage, "write table or json"},
		{[]string{"--runtime", "podman", "down", file}, exit.Usage, "--runtime podman: write namespaces or docker"},
		{[]string{initName}, exit.Failed, "this command is for the nodes of a lab only"},
	} {
		if a := try(t, "", c.args...); a.code != c.code || !strings.Contains(a.stderr, c.stderr) || a.stdout != "" {
			t.Errorf("%v: %+v\nwant exit code %d and %q", c.args, a, c.code, c.stderr)
		}
	}
}

// The programs in PATH are stand-ins that tell how they were called: neither containerlab nor docker is on this machine.
func TestDockerIsContainerlabsWork(t *testing.T) {
	file := write(t, topology)
	t.Setenv("PATH", "/nowhere")
	if a := try(t, "", "--runtime", "docker", "up", file); a.code != exit.Failed || !strings.Contains(a.stderr, "needs containerlab, which is not on the PATH") {
		t.Errorf("without containerlab: %+v", a)
	}
	dir := t.TempDir()
	for _, name := range []string{"containerlab", "docker"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho ${0##*/} \"$@\"\nexit 5\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	for _, c := range []struct{ args, want string }{
		{"up", "containerlab deploy -t FILE"},
		{"down", "containerlab destroy -t FILE --cleanup"},
		{"list -o json", "containerlab inspect -t FILE --format json"},
		{"exec a ip addr", "docker exec -i clab-labcmd-a ip addr"},
	} {
		words := strings.Fields(c.args)
		args := append([]string{"--runtime", "docker", words[0], file}, words[1:]...)
		want := strings.ReplaceAll(c.want, "FILE", file) + "\n"
		if a := try(t, "", args...); a != (answer{5, want, ""}) {
			t.Errorf("%s: %+v\nwant exit code 5 and %q", c.args, a, want)
		}
	}
}
