package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/catchment-bgp/catchment/lab/clab"
	"github.com/catchment-bgp/catchment/lab/netlab"
)

// What the test's own binary can be asked to be: a node's first process, and a runner that gets stuck.
const (
	asInit  = "node-init"
	asStuck = "stuck-runner"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case asInit:
			fmt.Fprintln(os.Stderr, Init())
			os.Exit(1)
		case asStuck:
			t, err := clab.Load(os.Args[2])
			if err == nil {
				err = Up(context.Background(), t, options())
			}
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m)
}

func options() Options {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return Options{Init: []string{self, asInit}}
}

// two is a topology of two clients; the words in capitals are replaced.
const two = `name: NAME
topology:
  defaults:
    kind: linux
    network-mode: none
    image: catchment-lab/client:latest
  nodes:
    a:
      env: {COLOUR: dark red}
      sysctls: {net.ipv4.ip_default_ttl: "61"}
      binds: [note.txt:/etc/deep/note.txt:ro]
      exec: [ip addr add 10.0.0.1/30 dev eth1]
    b:
      exec: [EXEC]
  links:
    - endpoints: ["a:eth1", "b:eth1"]
`

// write puts a topology, changed by pairs of texts, and a note into a folder, and reads it.
func write(t *testing.T, name string, changes ...string) *clab.Topology {
	t.Helper()
	netlab.Require(t, netlab.Root, netlab.BIRDRouting)
	dir := t.TempDir()
	changes = append(changes, "NAME", name, "EXEC", "ip addr add 10.0.0.2/30 dev eth1")
	file := filepath.Join(dir, name+".clab.yml")
	for path, text := range map[string]string{file: strings.NewReplacer(changes...).Replace(two), filepath.Join(dir, "note.txt"): "a note\n"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	topology, err := clab.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return topology
}

// up makes a lab that ends with the test, without a trace.
func up(t *testing.T, topology *clab.Topology) {
	t.Helper()
	t.Cleanup(func() {
		if _, err := Down(topology.Name); err != nil {
			t.Error(err)
		}
		nothingLeft(t, topology.Name)
	})
	if err := Up(t.Context(), topology, options()); err != nil {
		t.Fatal(err)
	}
}

// nothingLeft checks that no process, file or mount of a lab is there. Its namespaces and interfaces live in its processes.
func nothingLeft(t *testing.T, lab string) {
	t.Helper()
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environs {
		if text, _ := os.ReadFile(path); strings.Contains("\x00"+string(text), "\x00"+labelLab+"="+lab+"\x00") {
			name, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			t.Errorf("left behind: %s: %q", path, name)
		}
	}
	files, _ := filepath.Glob(filepath.Join(BaseDir, lab+"*"))
	for _, f := range files {
		t.Errorf("left behind: %s", f)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mounts), BaseDir) {
		t.Errorf("mounts below %s:\n%s", BaseDir, mounts)
	}
}

// holders are the processes of this machine in each network namespace.
func holders() map[string][]string {
	paths, _ := filepath.Glob("/proc/[0-9]*/ns/net")
	seen := map[string][]string{}
	for _, path := range paths {
		if name, err := os.Readlink(path); err == nil {
			seen[name] = append(seen[name], path)
		}
	}
	return seen
}

// networkOf is the network namespace of a process.
func networkOf(t *testing.T, pid int) string {
	t.Helper()
	name, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		t.Error(err)
	}
	return name
}
