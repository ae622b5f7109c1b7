package labcmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/lab/netlab"
	"github.com/catchment-bgp/catchment/lab/runner"
)

// upstreams is the topology two-upstreams under another name, so that it does not clash with a lab that runs.
func upstreams(t *testing.T, name string) string {
	t.Helper()
	dir, err := filepath.Abs("../../../../lab/topologies")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "two-upstreams.clab.yml"))
	if err != nil {
		t.Fatal(err)
	}
	return write(t, strings.NewReplacer("name: two-upstreams", "name: "+name, "two-upstreams/", dir+"/two-upstreams/").Replace(string(text)))
}

// labSays runs `catchment lab` with programs for the nodes beside it.
func labSays(t *testing.T, args ...string) answer {
	t.Helper()
	program, edge := netlab.Binary(t, "./cmd/catchment"), netlab.Binary(t, "./cmd/catchment-edge")
	var out, errs bytes.Buffer
	env := cli.NewEnv(strings.NewReader(""), &out, &errs)
	root := cli.Group("catchment", "", "", newLab(env, func() (runner.Options, error) {
		return runner.Options{Init: []string{program, "lab", initName}, Programs: filepath.Dir(edge)}, nil
	}))
	code := cli.Execute(t.Context(), env, root, append([]string{"lab"}, args...))
	return answer{code, out.String(), errs.String()}
}

func TestARealLabIsSeenThroughItsRouters(t *testing.T) {
	netlab.Require(t, netlab.Root, netlab.FRRouting, netlab.BIRDRouting, netlab.NginxServer)
	file := upstreams(t, "labcmd-glass")
	t.Cleanup(func() {
		if a := labSays(t, "down", file); a.code != exit.OK {
			t.Errorf("down: %+v", a)
		}
	})
	if a := labSays(t, "up", file); a.code != exit.OK {
		t.Fatalf("up: %+v", a)
	}
	const prefix = "198.51.100.0/24"
	netlab.Eventually(t, 60*time.Second, "the edge's prefix at both transits, from the edge and from each other", func() error {
		a := labSays(t, "lg", file, prefix, "-o", "json")
		var g glass
		if err := json.Unmarshal([]byte(a.stdout), &g); err != nil || a.code != exit.OK {
			return fmt.Errorf("%+v, %v", a, err)
		}
		got := map[string][]string{}
		for _, p := range g.Paths {
			path := fmt.Sprint(p.ASPath, p.Communities)
			if p.Best {
				path = "best " + path
			}
			got[p.Node] = append(got[p.Node], path)
		}
		if want := map[string][]string{
			"transit1": {"best [57629] [57629:101]", "[65002 57629] [57629:101]"},
			"transit2": {"best [57629] [57629:101]", "[65001 57629] [57629:101]"},
			"edge1":    {"[57629] [57629:101]", "[57629] [57629:101]"},
		}; !reflect.DeepEqual(got, want) {
			return fmt.Errorf("%v", got)
		}
		return nil
	})
	netlab.Eventually(t, 60*time.Second, "all sessions, of both families, in the picture", func() error {
		a := labSays(t, "graph", file)
		if a.code != exit.OK || a.stderr != "" || !slices.Equal(titles(a.stdout), []string{
			"labcmd-glass", "edge1:eth1 to transit1:eth1: BGP up", "edge1:eth2 to transit2:eth1: BGP up", "transit1:eth2 to transit2:eth2: BGP up",
			"client1:eth1 to transit1:eth3", "client2:eth1 to transit2:eth3",
			"transit1: frr, AS 65001", "transit2: bird, AS 65002", "edge1: catchment-edge, AS 57629", "client1: client", "client2: client",
		}) {
			return fmt.Errorf("exit %d, stderr %q, %q", a.code, a.stderr, titles(a.stdout))
		}
		return nil
	})

	if a := labSays(t, "exec", file, "transit2", "/lab/daemon", "stop", "KILL"); a.code != exit.OK {
		t.Fatalf("stop: %+v", a)
	}
	netlab.Eventually(t, 30*time.Second, "the edge's word on the dead session", func() error {
		a := labSays(t, "graph", file)
		if a.code != exit.Failed || !strings.HasPrefix(a.stderr, "transit2: bird: birdc") {
			t.Fatalf("graph, with a router that does not answer: %d, %q", a.code, a.stderr)
		}
		if drawn := titles(a.stdout); !strings.HasPrefix(drawn[2], "edge1:eth2 to transit2:eth1: BGP down, edge1 says ") || drawn[1] != "edge1:eth1 to transit1:eth1: BGP up" {
			return fmt.Errorf("%q", drawn)
		}
		return nil
	})
	a := labSays(t, "lg", file, prefix)
	if a.code != exit.Failed || !strings.HasPrefix(a.stderr, "transit2: bird: birdc") || !strings.Contains(a.stdout, "\ntransit1  "+prefix) {
		t.Errorf("lg, with a router that does not answer: %+v", a)
	}
}

// The docker in PATH is a stand-in: none is on this machine.
func TestTheLookingGlassAsksContainersToo(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "docker"), []byte(`#!/bin/sh
case "$*" in
"ps --filter label=containerlab=glass --format {{.Names}}") echo clab-glass-up clab-glass-mid other ;;
"exec clab-glass-up vtysh -c show bgp ipv4 unicast 203.0.113.0/24 json") cat "$LEARNED" ;;
*) echo "what is $*" >&2; exit 1 ;;
esac
`), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LEARNED", "../../../../lab/router/testdata/frr-route-learned.json")
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	a := try(t, "", "--runtime", "docker", "lg", glassFile, "203.0.113.0/24")
	want := "mid: bird: birdc -s /run/bird/bird.ctl show route 203.0.113.0/24 all: exit 1: what is exec clab-glass-mid birdc -s /run/bird/bird.ctl show route 203.0.113.0/24 all\n" +
		"msk1: the node does not run\n" + goneSays
	if a.code != exit.Failed || a.stderr != want {
		t.Errorf("exit %d, stderr\n%swant\n%s", a.code, a.stderr, want)
	}
	golden(t, "lg_node.table", a.stdout)
}

// A neighbour that nobody is keeps up waiting for its time, and is named; the lab is there.
func TestUpNamesTheSessionsThatDoNotComeUp(t *testing.T) {
	netlab.Require(t, netlab.Root, netlab.BIRDRouting)
	file := write(t, strings.NewReplacer("name: labcmd", "name: labcmd-alone", "    a: {exec: [", "    a: {image: catchment-lab/bird:latest, binds: [bird.conf:/etc/bird/bird.conf], exec: [").Replace(topology))
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), "bird.conf"), []byte("router id 10.0.0.1;\nprotocol device {}\nprotocol bgp alone { local as 65001; neighbor 10.0.0.2 as 65002; ipv4 { import all; export none; }; }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if a := try(t, "", "down", file); a.code != exit.OK {
			t.Errorf("down: %+v", a)
		}
	})
	a := try(t, "", "up", file, "--wait", "6s")
	if a.code != exit.OK || !strings.Contains(a.stderr, "not all sessions are up: a: 10.0.0.2 is ") || !strings.Contains(a.stdout, "a     bird    running\n") {
		t.Errorf("%+v", a)
	}
}
