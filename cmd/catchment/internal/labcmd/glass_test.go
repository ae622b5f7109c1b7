package labcmd

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"html"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/lab/clab"
	"github.com/catchment-bgp/catchment/lab/graph"
	"github.com/catchment-bgp/catchment/lab/router"
)

var rewrite = flag.Bool("update", false, "rewrite the golden files")

const glassFile = "testdata/glass.clab.yml"

// fake is a lab whose nodes answer with texts: by "NODE COMMAND".
type fake struct {
	dead    bool
	answers map[string]string
}

func (f fake) living(context.Context) (map[string]bool, error) {
	return map[string]bool{"up": !f.dead, "mid": !f.dead, "msk1": !f.dead, "client": !f.dead}, nil
}

func (f fake) run(_ context.Context, node string, command ...string) (string, error) {
	key := node + " " + strings.Join(command, " ")
	if text, ok := f.answers[key]; ok {
		return text, nil
	}
	return "", errors.New("exit 1: nobody knows " + key)
}

// printed is what a router printed once, kept beside its parser.
func printed(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../../lab/router/testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// standing is the lab of glassFile with one node that does not run.
func standing(t *testing.T) fake {
	status, err := os.ReadFile("../edgecmd/testdata/status.json")
	if err != nil {
		t.Fatal(err)
	}
	const birdc = "mid birdc -s /run/bird/bird.ctl show "
	// Its second neighbour is the topology's node gone.
	protocols := strings.ReplaceAll(printed(t, "bird-protocols.txt"), "10.77.2.2", "10.77.3.2")
	return fake{answers: map[string]string{
		"up vtysh -c show bgp ipv4 unicast 203.0.113.0/24 json": printed(t, "frr-route-learned.json"),
		"up vtysh -c show bgp ipv4 unicast json detail":         printed(t, "frr-table.json"),
		"up vtysh -c show bgp ipv6 unicast json detail":         "",
		"up vtysh -c show bgp neighbors json":                   printed(t, "frr-neighbor-established.json"),
		"up ip -j addr show":                                    `[{"ifname":"lo","addr_info":[{"local":"127.0.0.1"},{"local":"198.51.100.1"}]},{"addr_info":[{"local":"10.77.1.2"},{"local":"fe80::1"}]}]`,
		birdc + "route 203.0.113.0/24 all":                      printed(t, "bird-route-two.txt"),
		birdc + "route all":                                     printed(t, "bird-route-two.txt") + printed(t, "bird-route-v6.txt"),
		birdc + "protocols all":                                 protocols,
		birdc + "status":                                        "Current server time is 2026-11-30 08:09:07.000\n",
		"mid ip -j addr show":                                   `[{"addr_info":[{"local":"10.77.1.1"},{"local":"198.51.100.1"}]}]`,
		"msk1 catchment edge status -o json":                    string(status),
		"msk1 cat /etc/catchment/edge.yaml":                     "asn: 57629\n",
		"msk1 ip -j addr show":                                  "[]",
	}}
}

// glassSays runs lg or graph over a fake.
func glassSays(t *testing.T, f fake, args ...string) answer {
	t.Helper()
	var out, errs bytes.Buffer
	l := &lab{env: cli.NewEnv(strings.NewReader(""), &out, &errs), runtime: namespaces}
	open := func(*clab.Topology) nodes { return f }
	root := cli.Group("catchment", "", "", cli.Group("lab", "", "", l.lg(open), l.graph(open)))
	code := cli.Execute(t.Context(), l.env, root, append([]string{"lab"}, args...))
	return answer{code, out.String(), errs.String()}
}

const goneSays = "gone: the node does not run\n"

func TestTheLookingGlassShowsAllThatAnswer(t *testing.T) {
	for name, args := range map[string][]string{
		"lg.table":         {glassFile},
		"lg.json":          {glassFile, "-o", "json"},
		"lg_prefix.table":  {glassFile, "203.0.113.0/24", "--registry", "testdata/meanings.txt"},
		"lg_prefix.json":   {glassFile, "203.0.113.0/24", "--registry", "testdata/meanings.txt", "-o", "json"},
		"lg_address.table": {glassFile, "198.51.100.77"},
	} {
		a := glassSays(t, standing(t), append([]string{"lg"}, args...)...)
		if a.code != exit.Failed || a.stderr != goneSays {
			t.Errorf("%s: exit %d, stderr %q; want the router that does not run named", name, a.code, a.stderr)
		}
		golden(t, name, a.stdout)
	}
}

func TestOneRouterCanBeAskedAlone(t *testing.T) {
	for name, args := range map[string][]string{
		"lg_node.table":   {"up", "203.0.113.0/24"},
		"lg_nothing.json": {"msk1", "203.0.113.0/24", "-o", "json"},
	} {
		a := glassSays(t, standing(t), append([]string{"lg", glassFile}, args...)...)
		if a.code != exit.OK || a.stderr != "" {
			t.Errorf("%s: exit %d, stderr %q", name, a.code, a.stderr)
		}
		golden(t, name, a.stdout)
	}
	if a := glassSays(t, standing(t), "lg", glassFile, "msk1", "203.0.113.0/24"); a.code != exit.OK || a.stdout != "" || a.stderr != "no router that answers has such a path\n" {
		t.Errorf("nothing: %+v", a)
	}
}

func TestARouterThatRefusesIsNamedAndTheOthersAreShown(t *testing.T) {
	f := standing(t)
	delete(f.answers, "up vtysh -c show bgp ipv4 unicast 203.0.113.0/24 json")
	a := glassSays(t, f, "lg", glassFile, "203.0.113.0/24", "-o", "json")
	if a.code != exit.Failed || !strings.HasPrefix(a.stderr, "up: frr: vtysh -c show bgp ipv4 unicast 203.0.113.0/24 json: exit 1: ") || !strings.HasSuffix(a.stderr, goneSays) {
		t.Errorf("exit %d, stderr %q", a.code, a.stderr)
	}
	if !strings.Contains(a.stdout, `"node": "mid"`) || !strings.Contains(a.stdout, "\"failed\": [\n    \"up\",\n    \"gone\"\n  ]") {
		t.Errorf("%s", a.stdout)
	}
}

func TestWhatARouterSaysCannotMoveTheCursor(t *testing.T) {
	f := standing(t)
	key := "msk1 catchment edge status -o json"
	f.answers[key] = strings.ReplaceAll(f.answers[key], "57629:101", `57629\u001b[2J:101`)
	f.answers["up vtysh -c show bgp ipv4 unicast json detail"] = "\x1b[2J"
	a := glassSays(t, f, "lg", glassFile)
	if strings.Contains(a.stdout+a.stderr, "\x1b") || !strings.Contains(a.stdout, `57629\x1b[2J:101`) || !strings.Contains(a.stderr, `\x1b[2J`) {
		t.Errorf("%+v", a)
	}
}

func TestWrongQuestionsAreRefusedBeforeAnyIsAsked(t *testing.T) {
	for want, args := range map[string][]string{
		"needs a FILE.clab.yml, and takes a NODE and a PREFIX":                          {"lg"},
		"needs one FILE.clab.yml":                                                       {"graph"},
		"node client is a client, which tells no routes; there are up, mid, msk1, gone": {"lg", glassFile, "client"},
		`the lab glass has no node "nobody"; there are up, mid, msk1, gone`:             {"lg", glassFile, "nobody", "10.0.0.0/8"},
		`"nobody" is neither a node of the lab glass`:                                   {"lg", glassFile, "nobody"},
		`"10/8" is neither a node`:                                                      {"lg", glassFile, "up", "10/8"},
		"10.1.0.0/8 has bits behind its length; write 10.0.0.0/8, or 10.1.0.0":          {"lg", glassFile, "10.1.0.0/8"},
		"write table or json":                                                           {"lg", glassFile, "-o", "yaml"},
		"--registry: open testdata/none":                                                {"lg", glassFile, "--registry", "testdata/none"},
		"none.clab.yml":                                                                 {"graph", "testdata/none.clab.yml"},
	} {
		a := glassSays(t, fake{}, args...)
		if a.code != exit.Usage || a.stdout != "" || !strings.Contains(a.stderr, want) {
			t.Errorf("%v: %+v, want %q", args, a, want)
		}
	}
}

func TestALabThatDoesNotRunHasAPictureButNoRoutes(t *testing.T) {
	f := fake{dead: true}
	if a := glassSays(t, f, "lg", glassFile); a.code != exit.Failed || a.stdout != "" || !strings.Contains(a.stderr, "the lab glass does not run; write `catchment lab up "+glassFile) {
		t.Errorf("%+v", a)
	}
	a := glassSays(t, f, "graph", glassFile)
	if a.code != exit.OK || a.stderr != "" || !slices.Equal(titles(a.stdout), []string{
		"glass", "up:eth1 to mid:eth1", "mid:eth2 to msk1:eth1", "gone:eth1 to mid:eth3", "client:eth1 to up:eth2",
		"up: frr", "mid: bird", "msk1: catchment-edge", "gone: openbgpd", "client: client",
	}) {
		t.Errorf("exit %d, stderr %q, %q", a.code, a.stderr, titles(a.stdout))
	}
}

// titles are the tooltips of a picture, in its order.
func titles(svg string) []string {
	var list []string
	for _, match := range regexp.MustCompile("<title>([^<]*)</title>").FindAllStringSubmatch(svg, -1) {
		list = append(list, html.UnescapeString(match[1]))
	}
	return list
}

func TestARunningLabIsDrawnWithItsSessions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.svg")
	a := glassSays(t, standing(t), "graph", glassFile, "--output", file)
	// FRR knows mid by its address, BIRD knows up, and gone by the address that the topology gives it; the status is of a
	// node elsewhere, so that msk1 has a session with up by its address alone.
	want := goneSays + "mid: its neighbour nobody at 10.77.2.3 is no router of the lab\n" +
		"msk1: its neighbour transit-b at 10.77.2.2 is no router of the lab\nmsk1: its neighbour core is no router of the lab\n"
	if a.code != exit.Failed || a.stdout != "" || a.stderr != want {
		t.Errorf("exit %d, stdout %q, stderr\n%swant\n%s", a.code, a.stdout, a.stderr, want)
	}
	picture, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := titles(string(picture)); !slices.Equal(got, []string{
		"glass", "up:eth1 to mid:eth1: BGP up", "mid:eth2 to msk1:eth1", "gone:eth1 to mid:eth3: BGP up", "client:eth1 to up:eth2",
		"msk1 to up: BGP up", "up: frr, AS 65001", "mid: bird, AS 4200000002", "msk1: catchment-edge", "gone: openbgpd, AS 65003", "client: client",
	}) {
		t.Errorf("%q", got)
	}
}

func TestSessionsOfTwoNodesAreWhatBothSay(t *testing.T) {
	one, two := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	one6, two6 := netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2")
	topology := &clab.Topology{Links: []clab.Link{{A: clab.Endpoint{Node: "a", Interface: "eth1"}, B: clab.Endpoint{Node: "b", Interface: "eth2"}}}}
	neighbor := func(address netip.Addr, state string) router.Neighbor {
		return router.Neighbor{Address: address, ASN: 65000, Session: router.Session{State: state}}
	}
	for name, c := range map[string]struct {
		a, b []router.Neighbor
		want []graph.Session
	}{
		"both up": {[]router.Neighbor{neighbor(two, router.Established)}, []router.Neighbor{neighbor(one, router.Established)},
			[]graph.Session{{A: "a", B: "b", Up: 1, Of: 1}}},
		"one side is down": {[]router.Neighbor{neighbor(two, router.Established)}, []router.Neighbor{neighbor(one, "Idle")},
			[]graph.Session{{A: "a", B: "b", Up: 0, Of: 1, Detail: "b says Idle of 10.0.0.1"}}},
		"one side is not heard": {[]router.Neighbor{neighbor(two, router.Established)}, nil, []graph.Session{{A: "a", B: "b", Up: 1, Of: 1}}},
		"only the other is heard": {nil, []router.Neighbor{neighbor(one, "Active")},
			[]graph.Session{{A: "b", B: "a", Up: 0, Of: 1, Detail: "b says Active of 10.0.0.1"}}},
		"one of two families": {[]router.Neighbor{neighbor(two, router.Established), neighbor(two6, "Connect")}, []router.Neighbor{neighbor(one, router.Established)},
			[]graph.Session{{A: "a", B: "b", Up: 1, Of: 2, Detail: "a says Connect of fd00::2"}}},
		"by interface": {[]router.Neighbor{{Name: "eth1", Session: router.Session{State: router.Established}}},
			[]router.Neighbor{neighbor(netip.MustParseAddr("fe80::1%eth2"), router.Established)}, []graph.Session{{A: "a", B: "b", Up: 1, Of: 1}}},
		"none": {},
	} {
		m := newMatch(topology, []told{{"a", []netip.Addr{one, one6}, c.a}, {"b", []netip.Addr{two, two6}, c.b}})
		if got := m.sessions(); !slices.Equal(got, c.want) || len(m.strangers) > 0 {
			t.Errorf("%s: %+v, %q; want %+v", name, got, m.strangers, c.want)
		}
	}
}

func TestAnAnycastAddressNamesNobody(t *testing.T) {
	vip := netip.MustParseAddr("198.51.100.1")
	asks := told{node: "c", neighbors: []router.Neighbor{{Address: vip, Session: router.Session{State: "Idle"}}}}
	m := newMatch(&clab.Topology{}, []told{{node: "a", addresses: []netip.Addr{vip, vip}}, {node: "b", addresses: []netip.Addr{vip}}, {node: "d", addresses: []netip.Addr{vip}}, asks})
	if got := m.sessions(); len(got) > 0 || !slices.Equal(m.strangers, []string{"c: its neighbour 198.51.100.1 is no router of the lab"}) {
		t.Errorf("%+v, %q", got, m.strangers)
	}
}

func TestACommandsOutputIsBounded(t *testing.T) {
	text, err := capture(func(out, errs io.Writer) (int, error) {
		for range 100 {
			if _, err := errs.Write(bytes.Repeat([]byte("e"), 1000)); err != nil {
				return 0, err
			}
		}
		for range router.AnswerMost/(1<<20) + 2 {
			if _, err := out.Write(make([]byte, 1<<20)); err != nil {
				return 0, err
			}
		}
		return 3, nil
	})
	if len(text) != router.AnswerMost+1 || err == nil || !strings.HasPrefix(err.Error(), "exit 3: eee") || len(err.Error()) > 10<<10 {
		t.Errorf("%d octets, an error of %d", len(text), len(fmt.Sprint(err)))
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata/golden", name)
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s", name, got)
	}
}
