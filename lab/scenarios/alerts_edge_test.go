package scenarios

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
	"github.com/catchment-bgp/catchment/lab/netlab/routegen"
)

// troubled is a fleet of three edges that a Prometheus with the shipped rules watches. The clock of the first is a little
// ahead, that of the second so far that no window opens there, and that of the third is kept by nobody; the kernel's word
// on this machine's own clock is not asked.
type troubled struct {
	*governed
	*watcher
	load [3]feed // of each edge's link to FRR
	deaf *routegen.Speaker
}

// newTroubled starts it, and waits until all is announced.
func newTroubled(t *testing.T) *troubled {
	t.Helper()
	netlab.Require(t, netlab.Prometheus, netlab.Nft)
	netlab.Binary(t, hasty)
	m := &troubled{governed: newGoverned(t, 3, 1)}
	m.service = video("checks: []")
	for i := range m.load {
		m.load[i].set(0.1)
		serve(t, m.edges[i].node, feedAddress, m.load[i].ServeHTTP)
		every(t, 500*time.Millisecond, m.load[i].again)
	}
	deaf, listener := m.spokeOfThird()
	c := m.centres[0]
	m.startCentre(c, "data: /var/lib/central\nhttp: 0.0.0.0:7180", "[{name: video, min_announcing: 1}]")
	targets := map[string]string{"c1": c.addr.String() + ":7180"}
	for i, e := range m.edges {
		m.admit(e)
		e.program, e.args = hasty, [][]string{
			{"-ahead", "3s", "-synchronised", "true"},
			{"-ahead", "10s", "-synchronised", "true"},
			{"-synchronised", "false"},
		}[i]
		e.write(m.text(i, deaf))
		e.start()
		targets[e.name] = m.mgmtAddr[i].String() + ":9179"
	}
	m.deaf = deaf.accept(listener)
	for _, e := range m.edges {
		awaitSession(t, m.frr, e.toFRR.Edge4)
		awaitSession(t, m.bird, e.toBIRD.Edge4)
		m.await(sessionWait, e, "announced", undrained)
	}
	m.awaitConnected(sessionWait)
	m.watcher = startPrometheus(t, m.mgmt, m.pki, targets)
	return m
}

// again says that the figure is as it was, now.
func (f *feed) again() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = time.Now()
}

// spokeOfThird is a further neighbour of the third edge, whom a raw speaker plays. Few bytes fit between the two.
func (m *troubled) spokeOfThird() (*spoke, *routegen.Listener) {
	m.t.Helper()
	h := &hub{t: m.t, lab: m.lab, edge: m.edges[2].node, links: 100}
	s := h.spoke("deaf")
	h.edge.MustRun("sysctl", "-qw", "net.ipv4.tcp_wmem=4096 4096 4096")
	s.node.MustRun("sysctl", "-qw", "net.ipv4.tcp_rmem=4096 4096 4096")
	return s, s.listen(routegen.Config{HoldTime: 9 * time.Second})
}

// text is an edge's configuration. Only at the first the link to FRR can be relieved, as it is the only one there.
func (m *troubled) text(i int, deaf *spoke) string {
	c := m.config(i)
	c.Lines = append(c.Lines, "metrics: 0.0.0.0:9179", siteLoad, "links: ["+feedLink("uplink", feedAddress)+"]")
	add := func(n int, fields string) {
		c.Neighbors[n] = strings.TrimSuffix(c.Neighbors[n], "}") + ", " + fields + "}"
	}
	add(0, "link: uplink")
	switch i {
	case 0:
		add(0, "listen: true, labels: {circuit: MSK-0042}, contact: noc@example.net, ladder: [{prepend: 3, sheds: 0.4}]")
		add(1, "link: uplink")
	case 1:
		add(1, "return: symmetric")
	case 2:
		c.Neighbors = append(c.Neighbors, deaf.neighbor(rawASN, "ladder: [{prepend: 3}]"))
		c.Services[0] = strings.TrimSuffix(c.Services[0], "}") + ", neighbors: [frr, bird]}"
		for n := range 24 {
			c.Services = append(c.Services, longService(n))
		}
	}
	return c.String()
}

// longService is one for the deaf neighbour whose UPDATE is long, close to a kilobyte.
func longService(n int) string {
	var all []string
	for i := range 64 {
		all = append(all, fmt.Sprintf("%q", fmt.Sprintf("%d:%d:%d", edgeASN, n, i)))
	}
	return mapping(fmt.Sprintf("name: long%d", n), "prefixes: ["+manyPrefix(0, n).String()+"]", "communities: ["+strings.Join(all, ", ")+"]", "neighbors: [deaf]")
}

// window has work at the service of one node begin now, and returns the window.
func (m *troubled) window(e *fleetEdge) string {
	m.t.Helper()
	return strings.TrimSpace(m.must("maintenance", "add", "--node", e.name, "--service", "video", "--start", "now", "--for", "1h", "--reason", "test"))
}

// loses takes an edge's way to the centre away, and waits until the edge knows.
func (m *troubled) loses(e *fleetEdge) {
	m.t.Helper()
	e.node.MustRun("ip", "route", "add", "blackhole", m.centres[0].addr.String())
	netlab.Eventually(m.t, 3*sessionWait, e.name+" to be out of contact", func() error {
		if e.connected() == nil {
			return errors.New("it is connected")
		}
		return nil
	})
}

// finds gives it back, and waits until the edge announces what the centre has ended the window of.
func (m *troubled) finds(e *fleetEdge) {
	m.t.Helper()
	e.node.MustRun("ip", "route", "del", "blackhole", m.centres[0].addr.String())
	m.await(alertWait, e, "announced", undrained)
}

// flaps has FRR clear its session with an edge again and again, until an alert tells of it.
func (m *troubled) flaps(e *fleetEdge) {
	m.t.Helper()
	netlab.Eventually(m.t, alertWait, "a session that flaps to be told of", func() error {
		m.vtysh("clear bgp " + e.toFRR.Edge4.String())
		awaitSession(m.t, m.frr, e.toFRR.Edge4)
		_, err := m.find("CatchmentSessionFlapping", "node", e.name)
		return err
	})
}

// TestEachAlertOfAnEdgeInTroubleFires has a real Prometheus with the shipped rules, whose waits are a sixtieth, look at
// edges whose clocks are wrong, whose operators forget, and whose neighbours and machines work against them.
func TestEachAlertOfAnEdgeInTroubleFires(t *testing.T) {
	t.Parallel()
	m := newTroubled(t)
	first, second, third := m.edges[0], m.edges[1], m.edges[2]

	ended := m.window(third)
	m.await(sessionWait, third, "withdrawn", nil)
	m.window(second) // which its clock does not open
	first.must("drain", "video", "--neighbor", "bird", "--reason", "a line card, and nobody looks again")
	m.load[2].set(1.3)
	second.node.MustRun("ip", "route", "add", "default", "via", second.toFRR.Peer4.String(), "table", "77")
	second.node.MustRun("ip", "rule", "add", "from", vip4, "lookup", "77", "priority", "100") // before ours
	m.deaf.Stall()
	third.must("pin", "deaf", "1", "--reason", "to a neighbour that does not read")

	m.flaps(first)
	m.fires("CatchmentSessionFlapping", "node", first.name, "neighbor", "frr", "contact", "noc@example.net", "circuit", "MSK-0042")
	m.load[0].set(1.2)
	m.loses(third)
	m.must("maintenance", "end", ended, "--reason", "done early")

	m.fires("CatchmentRoutesDiffer", "node", third.name, "neighbor", "deaf")
	m.fires("CatchmentReturnPathFailed", "node", second.name, "neighbor", "bird", "severity", "warning")
	m.fires("CatchmentClockSkew", "node", first.name)
	m.fires("CatchmentClockSkew", "node", second.name)
	m.fires("CatchmentWindowNotOpened", "node", second.name, "severity", "critical")
	m.fires("CatchmentClockUnsynchronised", "node", third.name)
	m.fires("CatchmentOverrideForgotten", "node", first.name, "service", "video", "verb", "drain")
	m.fires("CatchmentLinkAbsorbs", "node", third.name, "link", "uplink")
	m.fires("CatchmentWithdrawnPastWindow", "node", third.name, "service", "video", "reason", "maintenance")
	m.fires("CatchmentLedgerSpent", "node", first.name, "neighbor", "frr", "contact", "noc@example.net")
	m.finds(third)
	for node, names := range map[string][]string{ // one trouble is not told as another
		first.name:  {"CatchmentClockUnsynchronised", "CatchmentWindowNotOpened", "CatchmentLinkAbsorbs", "CatchmentReturnPathFailed", "CatchmentRoutesDiffer"},
		second.name: {"CatchmentClockUnsynchronised", "CatchmentSessionFlapping", "CatchmentLinkAbsorbs", "CatchmentOverrideForgotten", "CatchmentWithdrawnPastWindow"},
		third.name:  {"CatchmentClockSkew", "CatchmentWindowNotOpened", "CatchmentOverrideForgotten", "CatchmentLedgerSpent", "CatchmentSessionFlapping"},
	} {
		for _, name := range names {
			if a, err := m.find(name, "node", node); err == nil {
				t.Errorf("%s fires: %v", name, a.Labels)
			}
		}
	}
}
