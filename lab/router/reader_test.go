package router

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// node answers commands as a router's node does; one that it does not know is refused.
func node(answers map[string]string) Run {
	return func(_ context.Context, command ...string) (string, error) {
		line := strings.Join(command, " ")
		text, ok := answers[line]
		if !ok {
			return "unknown: " + line, errors.New("exit status 1")
		}
		if refusal, ok := strings.CutPrefix(text, "refused: "); ok {
			return refusal, errors.New("exit status 1")
		}
		return text, nil
	}
}

func reader(t *testing.T, kind string, answers map[string]string) Reader {
	t.Helper()
	r, err := Open(kind, node(answers))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEveryKindOfRouterIsReadByItsOwnCommands(t *testing.T) {
	const noise = "% Can't open configuration file /etc/frr/vtysh.conf due to 'No such file or directory'.\n"
	four := netip.MustParsePrefix("203.0.113.0/24")
	file := func(name string) string { return golden(t, name) }
	status := "BIRD 2.0.12 ready.\nCurrent server time is 2026-11-30 08:09:07.000\n"
	const birdc = "birdc -s /run/bird/bird.ctl "
	for _, c := range []struct {
		kind          string
		answers       map[string]string
		routes, table int
		neighbor      Neighbor // of the first: name, address, ASN, description and session are compared
		neighbors     int
	}{
		{"frr", map[string]string{
			"vtysh -c show bgp ipv4 unicast 203.0.113.0/24 json": noise + file("frr-route-learned.json"),
			"vtysh -c show bgp ipv4 unicast json detail":         noise + file("frr-table.json"),
			"vtysh -c show bgp ipv6 unicast json detail":         "",
			"vtysh -c show bgp neighbors json":                   file("frr-neighbor-established.json"),
		}, 1, 1, Neighbor{Address: netip.MustParseAddr("10.77.1.1"), ASN: 4200000002, Session: Session{
			State: Established, Uptime: time.Second, PeerRole: "provider", LastError: "Waiting for peer OPEN"}}, 1},
		{"bird", map[string]string{
			birdc + "show route 203.0.113.0/24 all": file("bird-route-two.txt"),
			birdc + "show route all":                file("bird-route-two.txt") + file("bird-route-v6.txt"),
			birdc + "show protocols all":            file("bird-protocols.txt"),
			birdc + "show status":                   status,
		}, 2, 3, Neighbor{Name: "frr", Address: netip.MustParseAddr("10.77.1.2"), ASN: 65001, Session: Session{
			State: Established, Uptime: time.Minute - 97919*time.Microsecond, PeerRole: "customer"}}, 3},
		{"openbgpd", map[string]string{
			"bgpctl -j show rib detail 203.0.113.0/24":                            "refused: bgpctl: connect: /run/openbgpd/bgpd.sock.0: No such file",
			"bgpctl -s /run/openbgpd/bgpd.sock -j show rib detail 203.0.113.0/24": file("openbgpd-route.json"),
			"bgpctl -j show rib detail":                                           file("openbgpd-route-v6.json"),
			"bgpctl -j show neighbor":                                             file("openbgpd-neighbor.json"),
		}, 1, 1, Neighbor{Address: netip.MustParseAddr("10.77.1.1"), ASN: 4200000002, Session: Session{State: Established, Uptime: time.Second}}, 1},
		{"exabgp", map[string]string{
			"sh -c " + exaHeard:  file("exabgp-down.json") + `{ "half`,
			"sh -c " + exaConfig: "neighbor 10.77.9.9 {\n peer-as 7;\n description 'never';\n api { processes [ scribe ]; neighbor-changes; receive { parsed; update; } }\n}\nneighbor 10.77.2.1 {\n}\n",
		}, 0, 0, Neighbor{Address: netip.MustParseAddr("10.77.9.9"), ASN: 7, Description: "never", Session: Session{State: "down"}}, 2},
	} {
		r := reader(t, c.kind, c.answers)
		if paths, err := r.Routes(t.Context(), four); err != nil || len(paths) != c.routes {
			t.Errorf("%s: routes %+v, %v", c.kind, paths, err)
		}
		if paths, err := r.Table(t.Context()); err != nil || len(paths) != c.table {
			t.Errorf("%s: table %+v, %v", c.kind, paths, err)
		}
		list, err := r.Sessions(t.Context())
		if err != nil || len(list) != c.neighbors {
			t.Errorf("%s: sessions %+v, %v", c.kind, list, err)
			continue
		}
		got := list[0]
		got.Counts, got.Ups = Counts{}, 0
		if got != c.neighbor {
			t.Errorf("%s:\ngot  %+v\nwant %+v", c.kind, got, c.neighbor)
		}
	}
}

func TestANodeTellsWhatItAnnounces(t *testing.T) {
	text, err := os.ReadFile("../../cmd/catchment/internal/edgecmd/testdata/status.json") // what the command prints
	if err != nil {
		t.Fatal(err)
	}
	r := reader(t, "catchment-edge", map[string]string{
		"catchment edge status -o json": string(text), "cat /etc/catchment/edge.yaml": "node: msk1\nasn: 57629 # ours\n",
	})
	paths, err := r.Routes(t.Context(), netip.MustParsePrefix("198.51.100.0/24"))
	want := []Path{
		{Prefix: netip.MustParsePrefix("198.51.100.0/24"), ASPath: []uint32{57629, 57629, 57629, 57629}, Origin: "igp",
			NextHop: addrs("10.77.1.1"), Communities: []string{"57629:101"}, LargeCommunities: []string{"57629:1:101"}, To: netip.MustParseAddr("10.77.1.2")},
		{Prefix: netip.MustParsePrefix("198.51.100.0/24"), ASPath: []uint32{57629}, Origin: "igp",
			NextHop: addrs("10.77.3.1"), LocalPref: new(uint32(90))},
	}
	if err != nil || !reflect.DeepEqual(paths, want) {
		t.Errorf("got  %+v, %v\nwant %+v", paths, err, want)
	}
	if table, err := r.Table(t.Context()); err != nil || len(table) != 3 {
		t.Errorf("table %+v, %v", table, err)
	}
	list, err := r.Sessions(t.Context())
	if err != nil || len(list) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	if n := list[0]; n.Name != "transit-a" || n.Address != netip.MustParseAddr("10.77.1.2") || n.ASN != 65001 || n.State != Established || n.Uptime <= 0 {
		t.Errorf("%+v", n)
	}
	if n := list[1]; n.State != "idle" || n.Uptime != 0 || !strings.HasPrefix(n.LastError, "Cease 6/2") {
		t.Errorf("%+v", n)
	}
}

func TestInternalNeighborsSeeNoASOfOurs(t *testing.T) {
	const status = `{"services":[{"neighbors":[{"name":"core","asn":57629,"address":"10.0.0.1","routes":[{"prefix":"10.0.0.0/8","communities":["rt:1:2","1:2"]}]}]}]}`
	paths, err := ParseEdgeRoutes([]byte(status), 57629)
	if err != nil || len(paths) != 1 || paths[0].ASPath != nil || !slices.Equal(paths[0].ExtCommunities, []string{"rt:1:2"}) {
		t.Errorf("%+v, %v", paths, err)
	}
	for _, bad := range []string{"no", strings.Replace(status, `"communities"`, `"prepend": 1000000000, "communities"`, 1)} {
		if paths, err := ParseEdgeRoutes([]byte(bad), 1); err == nil {
			t.Errorf("%s: no error but %+v", bad, paths)
		}
	}
	if list, err := ParseEdgeNeighbors([]byte("no"), time.Now()); err == nil {
		t.Errorf("no error but %+v", list)
	}
}

func TestAPrefixThatBIRDDoesNotHaveIsNoError(t *testing.T) {
	for _, refusal := range []Run{
		func(context.Context, ...string) (string, error) { return "Network not found\n", errors.New("exit 1") },
		func(context.Context, ...string) (string, error) { return "", errors.New("exit 1: Network not found") },
	} {
		r, err := Open("bird", refusal)
		if err != nil {
			t.Fatal(err)
		}
		if paths, err := r.Routes(t.Context(), netip.MustParsePrefix("9.9.9.0/24")); err != nil || len(paths) != 0 {
			t.Errorf("%+v, %v", paths, err)
		}
		if _, err := r.Sessions(t.Context()); err == nil {
			t.Error("a refusal of another question is no error")
		}
	}
}

func TestExaBGPThatWritesNothingDownIsAnError(t *testing.T) {
	r := reader(t, "exabgp", map[string]string{"sh -c " + exaHeard: "", "sh -c " + exaConfig: "neighbor 10.77.9.9 {\n peer-as 7;\n}\n"})
	for question, err := range questions(t.Context(), r) {
		if err == nil || !strings.Contains(err.Error(), "exabgp: reading exabgp.conf: no neighbor writes down what it hears") {
			t.Errorf("%s: %v", question, err)
		}
	}
}

// questions are all that can be asked.
func questions(ctx context.Context, r Reader) map[string]error {
	_, routes := r.Routes(ctx, netip.MustParsePrefix("10.0.0.0/8"))
	_, table := r.Table(ctx)
	_, sessions := r.Sessions(ctx)
	return map[string]error{"routes": routes, "table": table, "sessions": sessions}
}

func TestARouterThatHangsIsAnErrorThatNamesIt(t *testing.T) {
	for kind := range readers {
		synctest.Test(t, func(t *testing.T) {
			r, err := Open(kind, func(ctx context.Context, _ ...string) (string, error) {
				<-ctx.Done()
				return "", fmt.Errorf("killed")
			})
			if err != nil {
				t.Fatal(err)
			}
			for question, err := range questions(t.Context(), r) {
				if err == nil || !strings.HasPrefix(err.Error(), kind+": ") || !strings.Contains(err.Error(), "no answer within 10s") {
					t.Errorf("%s, %s: %v", kind, question, err)
				}
			}
			over, cancel := context.WithCancel(t.Context())
			cancel()
			for question, err := range questions(over, r) {
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%s, %s: %v", kind, question, err)
				}
			}
		})
	}
}

func TestWhatIsNoAnswerIsAnError(t *testing.T) {
	huge := strings.Repeat("\n", AnswerMost+1)
	for kind := range readers {
		for name, run := range map[string]Run{
			"refusal":  func(context.Context, ...string) (string, error) { return "", errors.New("no such file") },
			"too long": func(context.Context, ...string) (string, error) { return huge, nil },
		} {
			r, err := Open(kind, run)
			if err != nil {
				t.Fatal(err)
			}
			for question, err := range questions(t.Context(), r) {
				if err == nil || !strings.HasPrefix(err.Error(), kind+": ") {
					t.Errorf("%s, %s, %s: %v", kind, name, question, err)
				}
			}
		}
	}
	if r, err := Open("client", node(nil)); err == nil || Speaks("client") || !Speaks("frr") {
		t.Errorf("a client is a router: %+v", r)
	}
}

func TestFindNamesTheNeighborThatThereIsNot(t *testing.T) {
	list := []Neighbor{{Name: "a", Address: netip.MustParseAddr("10.0.0.1")}}
	if n, err := Find(list, list[0].Address); err != nil || n.Name != "a" {
		t.Errorf("%+v, %v", n, err)
	}
	if _, err := Find(list, netip.MustParseAddr("10.0.0.2")); err == nil || !strings.Contains(err.Error(), "10.0.0.2") {
		t.Errorf("%v", err)
	}
}

// FuzzParsers looks for a text that makes a parser panic.
func FuzzParsers(f *testing.F) {
	files, err := os.ReadDir("testdata")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		if file.IsDir() {
			continue
		}
		text, err := os.ReadFile("testdata/" + file.Name())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		now := time.Unix(1796028699, 0)
		for name, err := range map[string]error{
			"FRR's routes":          second(ParseFRRRoutes(text)),
			"FRR's table":           second(ParseFRRTable(text)),
			"FRR's neighbours":      second(ParseFRRNeighbors(text)),
			"BIRD's routes":         second(ParseBIRDRoutes(string(text), ParseBIRDNeighbors(string(text), now))),
			"OpenBGPD's routes":     second(ParseOpenBGPDRoutes(text)),
			"OpenBGPD's neighbours": second(ParseOpenBGPDNeighbors(text)),
			"a node's routes":       second(ParseEdgeRoutes(text, 1)),
			"a node's neighbours":   second(ParseEdgeNeighbors(text, now)),
			"ExaBGP's journal":      new(Journal).Add(text),
		} {
			if err != nil && err.Error() == "" {
				t.Errorf("%s: an error without words", name)
			}
		}
		for _, n := range ParseExaBGPConfig(string(text)) {
			if !n.Address.IsValid() {
				t.Errorf("a neighbour without an address: %+v", n)
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }
