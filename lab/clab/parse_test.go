package clab

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// file is a small topology that each case changes at one place.
const file = `name: small
topology:
  defaults:
    kind: linux
    network-mode: none
    env: {A: "1", B: 2}
    exec: [ip link]
    binds: [all.conf:/etc/all.conf, old.conf:/etc/own.conf]
  kinds:
    linux:
      labels: {team: net}
      sysctls: {net.ipv4.ip_forward: 1}
  nodes:
    r1:
      image: catchment-lab/frr:latest
      cmd: -A '127.0.0.1 x'
      env: {B: two}
      exec: ["ip addr add 10.0.0.1/30 dev eth1"]
      binds: [own.conf:/etc/own.conf:ro]
    r2:
      image: registry.example.net:5000/lab/bird@sha256:00
  links:
    - endpoints: ["r1:eth1", "r2:eth1"]
`

func TestANodeTakesOverDefaultsAndItsKind(t *testing.T) {
	topology, err := Parse("x.clab.yml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	r1, ok := topology.Node("r1")
	if !ok || r1.Role() != "frr" || r1.Kind != "linux" || r1.Line != 14 {
		t.Errorf("r1: %+v", r1)
	}
	want := Node{
		Name: "r1", Kind: "linux", Image: "catchment-lab/frr:latest", Line: 14,
		Cmd:     []string{"-A", "127.0.0.1 x"},
		Exec:    [][]string{{"ip", "link"}, {"ip", "addr", "add", "10.0.0.1/30", "dev", "eth1"}},
		Binds:   []Bind{{"all.conf", "/etc/all.conf", false}, {"own.conf", "/etc/own.conf", true}},
		Env:     map[string]string{"A": "1", "B": "two"},
		Sysctls: map[string]string{"net.ipv4.ip_forward": "1"},
		Labels:  map[string]string{"team": "net"},
	}
	if !reflect.DeepEqual(r1, want) {
		t.Errorf("r1 is\n%+v\nwant\n%+v", r1, want)
	}
	r2, _ := topology.Node("r2")
	if r2.Role() != "bird" || !maps.Equal(r2.Env, map[string]string{"A": "1", "B": "2"}) || len(r2.Cmd) != 0 {
		t.Errorf("r2: %+v", r2)
	}
	if got := topology.Links; len(got) != 1 || got[0].A.String() != "r1:eth1" || got[0].B.String() != "r2:eth1" || got[0].Line != 23 {
		t.Errorf("links %+v", got)
	}
	if got := topology.Interfaces("r2"); !reflect.DeepEqual(got, []string{"eth1"}) {
		t.Errorf("interfaces %v", got)
	}
	if _, ok := topology.Node("r3"); ok {
		t.Error("there is a node r3")
	}
}

func TestBindsAreBelowTheFilesFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "small.clab.yml")
	if err := os.WriteFile(path, []byte(strings.Replace(file, "own.conf:/etc/own.conf:ro", "/abs:/etc/own.conf:ro", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	topology, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if topology.File != path {
		t.Errorf("file %q, want %q", topology.File, path)
	}
	want := []Bind{{filepath.Join(filepath.Dir(path), "all.conf"), "/etc/all.conf", false}, {"/abs", "/etc/own.conf", true}}
	if got := topology.Nodes[0].Binds; !reflect.DeepEqual(got, want) {
		t.Errorf("binds %v, want %v", got, want)
	}
	if _, err := Load(path + ".none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// Each case replaces one text of the file; the whole message is checked.
func TestWhatIsWrongIsNamedWithItsLine(t *testing.T) {
	for _, c := range []struct{ old, with, want string }{
		{"name: small", "", "x.clab.yml:2: name: there is no name; write a word, such as two-upstreams"},
		{"name: small", "name: Small", `x.clab.yml:1: name: "Small" is no name; write at most 31 of a-z, 0-9 and -, a letter first`},
		{"name: small", "name: small\nmgmt: {}", "x.clab.yml:2: mgmt: this key is not known here; known are name, topology"},
		{"name: small", "name: small\nname: small", "x.clab.yml:2: name: the key is there twice; keep one"},
		{"  kinds:", "  groups:", "x.clab.yml:9: topology.groups: this key is not known here; known are defaults, kinds, links, nodes"},
		{"    kind: linux", "    kind: srl", `x.clab.yml:4: topology.defaults.kind: the kind "srl" is not supported; write linux, and the image says what the node does`},
		{"    kind: linux\n", "", "x.clab.yml:13: topology.nodes.r1: there is no kind; write kind: linux here or under topology.defaults"},
		{"network-mode: none", "network-mode: host", `x.clab.yml:5: topology.defaults.network-mode: the network mode "host" is not supported; write none`},
		{"    network-mode: none\n", "", "x.clab.yml:13: topology.nodes.r1: there is no network-mode; write network-mode: none here or under topology.defaults, for a management network is not made"},
		{"      image: catchment-lab/frr:latest\n", "", "x.clab.yml:14: topology.nodes.r1: there is no image"},
		{"image: catchment-lab/frr:latest", "image: a b", `x.clab.yml:15: topology.nodes.r1.image: "a b" is no name of an image`},
		{"B: 2}", "B: true}", `x.clab.yml:6: topology.defaults.env.B: "true" stands where containerlab wants a text or a number; put it in quotes`},
		{"B: 2}", "B: [2]}", "x.clab.yml:6: topology.defaults.env.B: a list stands where a text is needed"},
		{"B: 2}", `"B=C": 2}`, "x.clab.yml:6: topology.defaults.env.B=C: a name may not be empty nor hold = or NUL"},
		{"exec: [ip link]", "exec: ip link", `x.clab.yml:7: topology.defaults.exec: "ip link" stands where a list is needed`},
		{"exec: [ip link]", "exec: []", "x.clab.yml:7: topology.defaults.exec: the list is empty, which containerlab refuses; leave the key out"},
		{"exec: [ip link]", `exec: [""]`, "x.clab.yml:7: topology.defaults.exec[0]: there is no command"},
		{"exec: [ip link]", `exec: ["ip 'link"]`, `x.clab.yml:7: topology.defaults.exec[0]: "ip 'link" is no command: EOF found when expecting closing quote`},
		{"exec: [ip link]", `exec: ["echo $HOME"]`, "x.clab.yml:7: containerlab replaces $NAME by variables of the environment, and this program does not; write the value itself"},
		{"own.conf:/etc/own.conf:ro", "own.conf", `x.clab.yml:19: topology.nodes.r1.binds[0]: "own.conf" is no bind; write SOURCE:/TARGET, or SOURCE:/TARGET:ro`},
		{"own.conf:/etc/own.conf:ro", "own.conf:/etc/own.conf:z", `x.clab.yml:19: topology.nodes.r1.binds[0]: "z" is no mode of a bind; write ro or rw`},
		{"own.conf:/etc/own.conf:ro", "own.conf:/proc/x", "x.clab.yml:19: topology.nodes.r1.binds[0]: /proc/x is the node's own; bind to another place"},
		{"own.conf:/etc/own.conf:ro", "own.conf:/x, b:/y/../x", "x.clab.yml:19: topology.nodes.r1.binds[1]: /x is bound twice; keep one"},
		{"net.ipv4.ip_forward", "kernel.panic", "x.clab.yml:12: topology.kinds.linux.sysctls.kernel.panic: the setting belongs to the whole machine; only those below net. are a node's own"},
		{"    linux:", "    ceos:", `x.clab.yml:10: topology.kinds.ceos: the kind "ceos" is not supported; write linux, and the image says what the node does`},
		{"    r2:", "    r_2:", `x.clab.yml:20: topology.nodes.r_2: "r_2" is no name; write at most 31 of a-z, 0-9 and -, a letter first`},
		{`"r2:eth1"`, `"r3:eth1"`, `x.clab.yml:23: topology.links[0].endpoints: "r3:eth1": there is no node "r3"`},
		{`"r2:eth1"`, `"r2:eth0"`, `x.clab.yml:23: topology.links[0].endpoints: "r2:eth0": "eth0" is no interface; write eth1 to eth999`},
		{`"r2:eth1"`, `"r1:eth2"`, "x.clab.yml:23: topology.links[0].endpoints: both ends are at r1"},
		{`"r2:eth1"]`, `"r2:eth1"]
    - endpoints: ["r2:eth1", "r1:eth2"]`, "x.clab.yml:24: topology.links[1].endpoints: r2:eth1 is used on line 23 already"},
		{`["r1:eth1", "r2:eth1"]`, `["r1:eth1"]`, `x.clab.yml:23: topology.links[0].endpoints: a link has two ends; write ["NODE:eth1", "NODE:eth1"]`},
		{`endpoints: ["r1:eth1", "r2:eth1"]`, `mtu: 1500`, "x.clab.yml:23: topology.links[0].mtu: this key is not known here; known are endpoints"},
		{"  defaults:", "  defaults: &d", ""},
		{"topology:", "topology: {", "did not find expected"},
	} {
		text := strings.Replace(file, c.old, c.with, 1)
		if text == file {
			t.Fatalf("%q is not in the file", c.old)
		}
		_, err := Parse("x.clab.yml", []byte(text))
		var said []string
		if errs := (Errors)(nil); errors.As(err, &errs) {
			for _, p := range errs {
				said = append(said, p.String())
			}
		}
		switch got := strings.Join(said, "\n"); {
		case c.want == "" && err != nil:
			t.Errorf("%q: %v", c.with, err)
		case !strings.Contains(got, c.want):
			t.Errorf("%q is answered by\n%s\nwant\n%s", c.with, got, c.want)
		}
	}
}

func TestFilesThatAreNoTopologyAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"empty":        "",
		"two":          file + "---\n" + file,
		"list":         "- a\n",
		"text":         "a\n",
		"no nodes":     "name: x\ntopology: {}\n",
		"large":        strings.Repeat("# "+strings.Repeat("x", 100)+"\n", 11_000),
		"deep":         "a: " + strings.Repeat("[", 30) + strings.Repeat("]", 30),
		"many aliases": "a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n",
	} {
		got, err := Parse("x.clab.yml", []byte(text))
		var errs Errors
		if got != nil || !errors.As(err, &errs) || len(errs) == 0 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// Whatever is taken obeys what the runner relies on.
func FuzzParse(f *testing.F) {
	f.Add([]byte(file))
	f.Add([]byte("name: x\ntopology: {defaults: &d {kind: linux, network-mode: none, image: a}, nodes: {a: *d, b: {}}}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		topology, err := Parse("f", text)
		if err != nil {
			if topology != nil {
				t.Error("a topology beside an error")
			}
			return
		}
		if !word.MatchString(topology.Name) || len(topology.Nodes) == 0 || len(topology.Nodes) > maxNodes {
			t.Errorf("%+v", topology)
		}
		for _, n := range topology.Nodes {
			if !word.MatchString(n.Name) || n.Image == "" || n.Kind != linux {
				t.Errorf("%+v", n)
			}
			for _, b := range n.Binds {
				if !filepath.IsAbs(b.Target) || b.Source == "" {
					t.Errorf("bind %+v", b)
				}
			}
		}
		ends := map[Endpoint]bool{}
		for _, l := range topology.Links {
			for _, e := range []Endpoint{l.A, l.B} {
				if _, ok := topology.Node(e.Node); !ok || ends[e] || !ethernet.MatchString(e.Interface) {
					t.Errorf("link %+v", l)
				}
				ends[e] = true
			}
		}
	})
}
