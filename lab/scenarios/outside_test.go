package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/internal/pages"
	"github.com/catchment-bgp/catchment/lab/netlab"
)

// unseenWait bounds the way from a filter to its verdict, of a grace of 5 s: longer than a busy machine needs.
const unseenWait = 60 * time.Second

// outsideNode is a node as the centre shows it.
type outsideNode struct {
	Name, State, Reason string
	NoCapacity          string `json:"no_capacity"`
	Connected           bool
	Sessions            []struct{ Name, Session string }
}

// TestANodeThatItsUpstreamFiltersIsUnseenAndNoCapacity has real FRR tell the real centre by BMP what it has: three edges
// announce, and FRR's import policy drops one of them, whose session stays up.
func TestANodeThatItsUpstreamFiltersIsUnseenAndNoCapacity(t *testing.T) {
	t.Parallel()
	bmp, connect := pageBMP(t)
	f := newGoverned(t, 3, 1, bmp...)
	f.startCentre(f.centres[0], strings.Join([]string{"data: /var/lib/central", "bmp:", "  listen: " + f.centres[0].addr.String() + ":11019", "  grace: 5s", "  views:",
		fmt.Sprintf("    - {name: transit-a, address: %s, sees: [msk1, msk2, msk3], policy: post}", f.frrAddr)}, "\n"), "[{name: video, min_announcing: 2}]")
	for _, e := range f.edges {
		f.admit(e)
	}
	f.startEdges()
	for i, e := range f.edges[:2] { // the third is told by its path
		tag := fmt.Sprintf("57629:10%d", i+1)
		f.must("node", "tag", e.name, tag, "--meaning", "Moscow "+tag, "--reason", "test")
		f.await(soon, e, "tagged", has(tag))
	}
	// Not before now: FRR marks the end of what it has at the start of a session only.
	f.configureFRR(bmp[0], strings.Replace(connect, "192.0.2.10", f.centres[0].addr.String(), 1))
	netlab.Eventually(t, sessionWait, "FRR's whole table at the centre", func() error {
		var s struct {
			Views []struct {
				Name, Reason, Router string
				Connected            bool
				Complete             []string
			}
		}
		f.decode(&s, "fleet", "status")
		if len(s.Views) != 1 || !s.Views[0].Connected || s.Views[0].Router != "frr" || !slices.Equal(s.Views[0].Complete, []string{"ipv4", "ipv6"}) {
			return fmt.Errorf("%+v", s.Views)
		}
		return nil
	})
	first, second := f.edges[0], f.edges[1]
	filter := func(words ...string) {
		var lines []string
		for _, family := range []string{"ipv4", "ipv6"} {
			lines = append(lines, "address-family "+family+" unicast", strings.Join(append(words, "neighbor", first.toFRR.Edge4.String(), "route-map DROP in"), " "), "exit-address-family")
		}
		f.configureFRR(lines...)
	}
	window := []string{"maintenance", "add", "--node", second.name, "--start", "now", "--for", "10s", "--reason", "line card"}

	f.vtysh("configure terminal", "route-map DROP deny 10")
	filtered := time.Now()
	filter()
	f.awaitNode(first, "unseen", func(n outsideNode) bool {
		return n.State == "unseen" && n.Reason == "no_capacity" && n.Connected && strings.Contains(n.NoCapacity, "transit-a") &&
			!slices.ContainsFunc(n.Sessions, func(s struct{ Name, Session string }) bool { return s.Session != "established" })
	})
	t.Logf("unseen %v after the filter, with a grace of 5 s", time.Since(filtered).Round(100*time.Millisecond))
	for _, e := range f.edges[1:] {
		f.awaitNode(e, "seen", func(n outsideNode) bool { return n.State == "announced" })
	}
	if refused := f.as(operator, window...); refused.code != 3 || !strings.Contains(refused.stderr, "limit min_announcing") ||
		!strings.Contains(refused.stderr, "unseen from outside: msk1 at transit-a") {
		t.Errorf("a window while a node is unseen: exit code %d, %s", refused.code, refused.stderr)
	}

	lifted := time.Now()
	filter("no")
	f.awaitNode(first, "back", func(n outsideNode) bool { return n.State == "announced" && n.NoCapacity == "" })
	t.Logf("back %v after the filter was gone", time.Since(lifted).Round(100*time.Millisecond))
	if a := f.as(operator, window...); a.code != 0 {
		t.Errorf("a window once all are seen: exit code %d, %s", a.code, a.stderr)
	}
}

// pageBMP is what the page about BMP has inside "router bgp" for FRR, and its line that connects.
func pageBMP(t *testing.T) (lines []string, connect string) {
	t.Helper()
	page, err := pages.Read("docs/howto/see-from-outside.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range page.Blocks() {
		if b.Lang != "frr" {
			continue
		}
		for line := range strings.Lines(b.Text) {
			switch line = strings.TrimSpace(line); {
			case strings.HasPrefix(line, "bmp connect 192.0.2.10 "):
				connect = line
			case !strings.HasPrefix(line, "router bgp"):
				lines = append(lines, line)
			}
		}
	}
	if connect == "" || len(lines) != 4 {
		t.Fatalf("the page has %q and %q for FRR", lines, connect)
	}
	return lines, connect
}

// vtysh has FRR do something.
func (f *governed) vtysh(commands ...string) {
	f.t.Helper()
	if out, err := f.frr.Vtysh(commands...); err != nil {
		f.t.Fatalf("vtysh: %v: %s", err, out)
	}
}

// configureFRR writes lines inside "router bgp".
func (f *governed) configureFRR(lines ...string) {
	f.t.Helper()
	f.vtysh(append([]string{"configure terminal", fmt.Sprintf("router bgp %d", frrASN)}, lines...)...)
}

// awaitNode waits until the centre shows a node as ok says.
func (f *governed) awaitNode(e *fleetEdge, what string, ok func(outsideNode) bool) {
	f.t.Helper()
	netlab.Eventually(f.t, unseenWait, e.name+" to be "+what, func() error {
		var nodes []outsideNode
		f.decode(&nodes, "node", "list")
		for _, n := range nodes {
			if n.Name == e.name && ok(n) {
				return nil
			}
		}
		return fmt.Errorf("%+v", nodes)
	})
}
