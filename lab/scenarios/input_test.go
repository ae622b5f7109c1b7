package scenarios

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// mistake is one thing wrong in a file: old is replaced by wrong, and what is said of it begins with path. Where the
// line that is named is not the one that wrong stands on, in is a word of that line.
type mistake struct {
	name, old, wrong string
	path, says       string
	in               string
}

func mistakes() []mistake {
	return []mistake{
		{"unknown key", "router_id: 10.77.0.1", "routerid: 10.77.0.1", "routerid", "unknown key; did you mean router_id?", ""},
		{"wrong type", "leave_hold: 500ms", "leave_hold: 2", "leave_hold", "has no unit", ""},
		{"host bits", video4.String(), "198.51.100.1/24", "services[0].prefixes[0]", "write 198.51.100.0/24", ""},
		{"VIP outside", vip4 + "/32", "192.0.2.1/32", "services[0].vips[0]", "", ""},
		{"timeout", "interval: 1s", "interval: 1s, timeout: 1s", "services[0].checks[0].timeout", "not below the interval", ""},
		{"hold time", "ttl_security: true", "ttl_security: true, hold_time: 2s", "neighbors[1].hold_time", "write 3s or more", ""},
		{"prepend", "name: frr,", "name: frr, prepend: 11,", "neighbors[0].prepend", "write 0 to 10", ""},
		{"4-byte ASN", `"57629:101"`, `"4200000001:101"`, "services[0].communities[0]", "write 4200000001:0:101", ""}, // U18
		{"name twice", "name: bird,", "name: frr,", "neighbors[1].name", "write another", "10.77.2.2"},
		{"unknown neighbour", "neighbors: [frr, bird]", "neighbors: [frr, brid]", "services[0].neighbors[1]", "write one of frr, bird", ""},
		{"own ASN", fmt.Sprintf("asn: %d,", birdASN), fmt.Sprintf("asn: %d,", edgeASN), "neighbors[1].asn", "is our own ASN", ""}, // U3
		{"no next hop", `next_hop: {ipv6: "fd77:1::1"}`, "multihop: 1", "neighbors[0]", "next", "name: frr"},
		{"empty selector", "neighbors: [frr, bird]", "neighbors: []", "services[0].neighbors", "the list is empty", ""}, // F4
	}
}

// apply makes the mistake in a file, and tells the line that must be named.
func (m mistake) apply(t testing.TB, text string) (wrong string, line int) {
	t.Helper()
	if strings.Count(text, m.old) != 1 {
		t.Fatalf("%s: %q stands %d times in\n%s", m.name, m.old, strings.Count(text, m.old), text)
	}
	wrong = strings.Replace(text, m.old, m.wrong, 1)
	in := m.in
	if in == "" {
		in = m.wrong
	}
	return wrong, 1 + strings.Count(wrong[:strings.Index(wrong, in)], "\n")
}

// inputConfig is a file in which every mistake can be made.
func (s *site) inputConfig() string {
	c := s.config()
	c.Services = []string{video(`communities: ["57629:101"]`, "neighbors: [frr, bird]", "checks: ["+webCheck("interval: 1s")+"]")}
	return c.String()
}

func TestWrongFileChangesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	good := s.inputConfig()
	s.edge = startEdge(t, s.Edge, good)
	s.awaitRoutes(sessionWait, look{communities: []string{"57629:101"}})
	before, counted, vips := s.sessions(), s.counts(), s.vips()
	for _, m := range mistakes() {
		wrong, line := m.apply(t, good)
		s.edge.refuse(wrong, fmt.Sprintf("edge.yaml:%d: %s", line, m.path))
	}
	s.edge.refuse("", "the file is empty")
	s.edge.refuse("node: [", "edge.yaml:")
	s.edge.refuse(strings.Replace(good, "node: msk1", "node: msk2", 1), "restart catchment-edge")
	holds(t, time.Second, "quiet after files that are wrong", func() error {
		return differ("counters", []string{fmt.Sprint(s.counts())}, []string{fmt.Sprint(counted)})
	})
	s.sameSessions(before)
	if now := s.vips(); now != vips {
		t.Errorf("VIPs %q, then %q", vips, now)
	}
	s.edge.reload(good)
}

func TestCheckSaysEveryMistake(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	good := s.inputConfig()
	program := netlab.Binary(t, "./cmd/catchment-edge")
	check := func(text string) answer {
		t.Helper()
		return run(t, program, "--config", hostFile(t, "edge.yaml", text), "--check")
	}
	if a := check(good); a.code != 0 || a.stdout != "OK\n" {
		t.Errorf("a good file: exit code %d, %q, %q", a.code, a.stdout, a.stderr)
	}
	all := good
	var paths []string
	for _, m := range mistakes() {
		wrong, line := m.apply(t, good)
		a := check(wrong)
		if at := fmt.Sprintf("edge.yaml:%d: %s", line, m.path); a.code != 2 || a.stdout != "" || !strings.Contains(a.stderr, at) || !strings.Contains(a.stderr, m.says) {
			t.Errorf("%s: exit code %d, %q, want 2 and %q ... %q", m.name, a.code, a.stderr, at, m.says)
		}
		switch m.name {
		case "VIP outside", "no next hop": // nothing can be said of them while the prefixes are wrong
		case "empty selector", "name twice": // in the place of others
		default:
			all, _ = m.apply(t, all)
			paths = append(paths, m.path+": ")
		}
	}
	a := check(all)
	if a.code != 2 || len(paths) < 9 {
		t.Errorf("%d mistakes at once: exit code %d", len(paths), a.code)
	}
	for _, path := range paths {
		if !strings.Contains(a.stderr, path) {
			t.Errorf("%d mistakes at once: nothing of %s in\n%s", len(paths), path, a.stderr)
		}
	}
	if a := run(t, program, "--config", "/no/such/file", "--check"); a.code != 2 || !strings.Contains(a.stderr, "/no/such/file") {
		t.Errorf("no file: exit code %d, %q", a.code, a.stderr)
	}
	if a := run(t, program, "--check"); a.code != 2 {
		t.Errorf("no --config: exit code %d, %q", a.code, a.stderr)
	}
}

func TestF04EmptySelectorsAndWrongWordsHaveExitCodes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start(s.config())
	s.awaitRoutes(soon, look{})
	counted := s.counts()
	wrong := hostFile(t, "wrong.yaml", "node: msk1\n")
	for command, want := range map[string]int{
		"status":                            0,
		"status -o yaml":                    0,
		"why":                               0,
		"auto video --reason x":             0,
		"drain --all --expect 2 --reason x": 3, // one service
		"drain":                             2, // F4: no selector
		"drain --all --reason x":            2,
		"drain video":                       2, // no reason
		"drain nobody --reason x":           2,
		"withdraw video --neighbor none --reason x": 2,
		"withdraw video --reason x --for -1s":       2,
		"nonsense":                                  2,
		"status --nonsense":                         2,
		"plan --config " + wrong:                    2,
		"apply --config " + wrong:                   2,
		"apply --config /no/such/file":              2,
		"confirm":                                   2,
		"rollback":                                  2,
		"why nobody":                                2,
	} {
		if a := s.edge.cli(strings.Fields(command)...); a.code != want || want != 0 && (a.stdout != "" || a.stderr == "") {
			t.Errorf("%s: exit code %d, want %d; stdout %q, stderr %q", command, a.code, want, a.stdout, a.stderr)
		}
	}
	s.untouched(counted)
	s.edge.leave()
	if a := s.edge.cli("status"); a.code != 1 || !strings.Contains(a.stderr, "is catchment-edge running?") {
		t.Errorf("without a daemon: exit code %d, %q", a.code, a.stderr)
	}
}
