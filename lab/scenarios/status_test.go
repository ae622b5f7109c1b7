package scenarios

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// status is the part of `status -o json` that tests read.
type status struct {
	Services []struct {
		Name, State, Reason, Detail string
		Neighbors                   []statusNeighbor
	}
}

type statusNeighbor struct {
	Name, Session, State, Reason string
	Rung, Rungs                  int
	Routes                       []statusRoute
}

// statusRoute is a route in the command's JSON, of status and of plan alike.
type statusRoute struct {
	Prefix      string
	NextHop     string `json:"next_hop"`
	Prepend     int
	Communities []string
	MED         *uint32
}

// String is a form that equal routes share.
func (r statusRoute) String() string {
	return fmt.Sprintf("%s via %s prepend %d communities %v med %v", r.Prefix, r.NextHop, r.Prepend, sorted(r.Communities), optional(r.MED))
}

// status asks the daemon, with -o json.
func (d *daemon) status() status {
	d.t.Helper()
	var s status
	if err := json.Unmarshal([]byte(d.must("status", "-o", "json")), &s); err != nil {
		d.t.Fatal(err)
	}
	return s
}

// neighbor finds a neighbour of a service; its absence ends the test.
func (d *daemon) neighbor(service, neighbor string) statusNeighbor {
	d.t.Helper()
	for _, s := range d.status().Services {
		for _, n := range s.Neighbors {
			if s.Name == service && n.Name == neighbor {
				return n
			}
		}
	}
	d.t.Fatalf("status has no neighbour %s of service %s", neighbor, service)
	return statusNeighbor{}
}

// routerRoute is what a router has, in the form of the command's JSON. Known are prepends of the edge's ASN only.
func routerRoute(p netlab.Path) statusRoute {
	r := statusRoute{Prefix: p.Prefix.String(), Prepend: len(p.ASPath) - 1, MED: p.MED,
		Communities: slices.Concat(p.Communities, p.LargeCommunities, p.ExtCommunities)}
	if hops := withoutLinkLocal(p.NextHop); len(hops) == 1 {
		r.NextHop = hops[0].String()
	}
	return r
}

// table is all that a router learned of the edge, sorted.
func (p peer) table(t testing.TB) []string {
	t.Helper()
	prefixes, err := p.prefixes()
	if err != nil {
		t.Fatal(err)
	}
	var routes []string
	for _, prefix := range prefixes {
		paths, err := p.router.Routes(prefix)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			routes = append(routes, routerRoute(path).String())
		}
	}
	return sorted(routes)
}

func TestStatusKeepsItsContractAndAgreesWithTheRouters(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.config()
	c.Lines = []string{"links: [{name: one, interface: frr, capacity: 1Gbps}, {name: two, interface: bird, capacity: 1Gbps}]"}
	c.Neighbors = []string{
		s.neighborFRR("link: one", "med: 50", "ladder: [{prepend: 1}, {withdraw: true}]"),
		s.neighborBIRD("link: two", "prepend: 2", `communities: ["57629:102"]`),
	}
	c.Services = []string{
		video(`communities: ["57629:101", "57629:1:101", "rt:57629:101"]`),
		dnsService("neighbors: [bird]", "checks: [{name: tcp, tcp: {address: '203.0.113.53:8080'}}]"), // nginx is there, too
	}
	s.start(c)
	for _, p := range s.peers() {
		awaitPath(t, soon, p.router, video6, nil)
		awaitPath(t, soon, p.router, video4, nil)
	}
	awaitPath(t, soon, s.bird, dns4, nil)

	text := s.edge.must("status", "-o", "json")
	keepsContract(t, text)
	told := map[string][]string{}
	for _, service := range s.edge.status().Services {
		if service.State != "announced" || service.Reason != "normal" {
			t.Errorf("%s is %s (%s)", service.Name, service.State, service.Reason)
		}
		for _, n := range service.Neighbors {
			if n.Session != "established" {
				t.Errorf("%s is %s", n.Name, n.Session)
			}
			for _, route := range n.Routes {
				told[n.Name] = append(told[n.Name], route.String())
			}
		}
	}
	for _, p := range s.peers() {
		if has := p.table(t); !slices.Equal(has, sorted(told[p.name])) || len(has) < 2 {
			t.Errorf("%s has\n  %s\nthe status says\n  %s", p.name, strings.Join(has, "\n  "), strings.Join(sorted(told[p.name]), "\n  "))
		}
	}

	s.nginx.Kill()
	s.awaitNone(soon)
	netlab.Eventually(t, soon, "the withdrawal in the status", func() error {
		for _, service := range s.edge.status().Services {
			if service.State != "withdrawn" || service.Reason != "hard_failure" || !strings.Contains(service.Detail, "refused") {
				return fmt.Errorf("%s is %s (%s: %s)", service.Name, service.State, service.Reason, service.Detail)
			}
			for _, n := range service.Neighbors {
				if n.Routes == nil || len(n.Routes) > 0 {
					return fmt.Errorf("routes %v at %s, want []", n.Routes, n.Name)
				}
			}
		}
		return nil
	})
}

// keepsContract compares with the example that scripts were promised, testdata/contract.json.
func keepsContract(t *testing.T, text string) {
	t.Helper()
	example, err := os.ReadFile("testdata/contract.json")
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	if err := json.Unmarshal(example, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	agree(t, "", want, got)
}

// agree fails the test where got lacks a key of want, or has another type. Of arrays each element must be like want's
// first. Numbers may be null where nothing is measured: the contract says so of the MED, and the link has no figure yet.
func agree(t *testing.T, path string, want, got any) {
	t.Helper()
	wrong := func() { t.Errorf("status%s: %v, want the like of %v", path, got, want) }
	switch w := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			wrong()
			return
		}
		for key, value := range w {
			inner, ok := object[key]
			if !ok {
				t.Errorf("status%s.%s is missing", path, key)
				continue
			}
			agree(t, path+"."+key, value, inner)
		}
	case []any:
		array, ok := got.([]any)
		if !ok {
			wrong()
		}
		for i, element := range array {
			agree(t, fmt.Sprintf("%s[%d]", path, i), w[0], element)
		}
	case string:
		word, ok := got.(string)
		if !ok || !like(w, word) {
			wrong()
		}
	case bool:
		if _, ok := got.(bool); !ok {
			wrong()
		}
	case float64, nil:
		if _, ok := got.(float64); !ok && got != nil {
			wrong()
		}
	}
}

var alternatives = regexp.MustCompile(`^\w+(\|\w+)+$`)

// like compares a text with the contract's: one of "a|b|c", a time for "RFC 3339", anything else otherwise.
func like(example, text string) bool {
	switch {
	case alternatives.MatchString(example):
		return slices.Contains(strings.Split(example, "|"), text)
	case example == "RFC 3339":
		_, err := time.Parse(time.RFC3339, text)
		return err == nil
	}
	return true
}
