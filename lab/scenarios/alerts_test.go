package scenarios

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// monitored is a fleet that a Prometheus with the shipped rules watches, with all that can be broken in it.
type monitored struct {
	*governed
	*watcher
	origin  []*origin
	load    feed
	stopped atomic.Bool // the feed's figures stand still
	connect string      // FRR's line that connects to the centre
	insideR string      // "router bgp" has this for BMP
}

// newMonitored starts three edges, their centre with a view from FRR, and Prometheus.
func newMonitored(t *testing.T) *monitored {
	t.Helper()
	netlab.Require(t, netlab.Prometheus)
	bmp, connect := pageBMP(t)
	m := &monitored{governed: newGoverned(t, 3, 1, bmp...), connect: connect, insideR: bmp[0]}
	check := "{name: %s, http: {url: 'http://127.0.0.1:%d/'}, interval: 500ms, timeout: 400ms%s}"
	m.service = video("vips: []", "drain: 1s", fmt.Sprintf("checks: [%s, %s]", fmt.Sprintf(check, "web", 9100, ""), fmt.Sprintf(check, "origin", 9101, ", scope: soft")))
	for _, e := range m.edges {
		startOrigin(t, e.node, "127.0.0.1:9100")
		m.origin = append(m.origin, startOrigin(t, e.node, "127.0.0.1:9101"))
	}
	m.load.set(0.3)
	serve(t, m.edges[0].node, feedAddress, m.load.ServeHTTP)
	every(t, 500*time.Millisecond, func() {
		if !m.stopped.Load() {
			m.load.set(0.3)
		}
	})
	c := m.centres[0]
	m.startCentre(c, strings.Join([]string{"data: /var/lib/central", "http: 0.0.0.0:7180", "bmp:", "  listen: " + c.addr.String() + ":11019", "  grace: 5s", "  views:",
		fmt.Sprintf("    - {name: transit-a, address: %s, sees: [msk1, msk2, msk3], policy: post}", m.frrAddr)}, "\n"), "[{name: video, min_announcing: 2}]")
	targets := map[string]string{"c1": c.addr.String() + ":7180"}
	for i, e := range m.edges {
		m.admit(e)
		e.write(m.text(i))
		e.start()
		targets[e.name] = m.mgmtAddr[i].String() + ":9179"
	}
	for i, e := range m.edges {
		awaitSession(t, m.frr, e.toFRR.Edge4)
		awaitSession(t, m.bird, e.toBIRD.Edge4)
		m.await(soon, e, "announced", undrained)
		if i == 2 { // that one is told by its path
			continue
		}
		tag := fmt.Sprintf("57629:10%d", i+1)
		m.must("node", "tag", e.name, tag, "--meaning", "Moscow "+tag, "--reason", "test")
		m.await(soon, e, "tagged", has(tag))
	}
	m.awaitConnected(sessionWait)
	m.configureFRR(bmp[0], strings.Replace(connect, "192.0.2.10", c.addr.String(), 1))
	m.watcher = startPrometheus(t, m.mgmt, m.pki, targets)
	return m
}

// text is an edge's configuration, which says whom to call at FRR; the first has a link with figures there.
func (m *monitored) text(i int) string {
	c := m.config(i)
	c.Lines = append(c.Lines, "metrics: 0.0.0.0:9179", "site: moscow")
	more := ", labels: {circuit: MSK-0042}, contact: noc@example.net}"
	if i == 0 {
		c.Lines = append(c.Lines, strings.Replace(siteLoad, "{", "{node: {sessions: 100000}, ", 1), "links: ["+feedLink("uplink", feedAddress)+"]")
		more = ", link: uplink" + more
	}
	c.Neighbors[0] = strings.TrimSuffix(c.Neighbors[0], "}") + more
	c.Neighbors[1] = strings.TrimSuffix(c.Neighbors[1], "}") + ", ladder: [{prepend: 3}]}"
	return c.String()
}

// shortCertificate gives a file another certificate that lasts a day and a half.
func (m *monitored) shortCertificate(name, into string, more ...string) {
	m.t.Helper()
	out := filepath.Join(m.t.TempDir(), "new")
	m.issue(name, out, append([]string{"--life", "36h"}, more...)...)
	for _, kind := range []string{".key", ".pem"} {
		text, err := os.ReadFile(out + kind)
		if err == nil {
			err = os.WriteFile(into+kind, text, 0o600)
		}
		if err != nil {
			m.t.Fatal(err)
		}
	}
}

// TestEachAlertFiresForItsCauseAndNoneInAQuietTime has a real Prometheus with the shipped rules, whose waits are a
// sixtieth, look at a real fleet that nothing is done to in what is an hour for those waits, and then one thing after
// another. make quiet-hour is an hour of rules as they are shipped, and no more.
func TestEachAlertFiresForItsCauseAndNoneInAQuietTime(t *testing.T) {
	t.Parallel()
	m := newMonitored(t)
	first, second, third := m.edges[0], m.edges[1], m.edges[2]
	began := time.Now()
	m.quiet(*quietFor)
	m.draws()
	if *quietFor >= time.Hour {
		return
	}

	// What takes its time to show comes first.
	m.shortCertificate("central/c1", filepath.Join(m.pki, "c1"), "--host", m.centres[0].addr.String())
	m.shortCertificate("edge/msk1", first.node.HostPath(identityDir+"/edge"))
	m.must("fleet", "freeze", "--reason", "test")
	m.must("fleet", "override", "drain", "--node", third.name, "--neighbor", "bird", "--for", "1h", "--ticket", "NOC-7", "--reason", "test", "--override-safety")
	second.must("pin", "bird", "1", "--reason", "test")
	first.must("apply", "--config", hostFile(t, "trial.yaml", strings.Replace(m.text(0), "drain: 1s", "drain: 2s", 1)), "--confirm-within", "10m")
	m.vtysh("configure terminal", "route-map DROP deny 10")
	for _, family := range []string{"ipv4", "ipv6"} {
		m.configureFRR("address-family "+family+" unicast", "neighbor "+first.toFRR.Edge4.String()+" route-map DROP in", "exit-address-family")
	}
	m.fires("CatchmentMaintenance", "node", third.name, "neighbor", "bird", "severity", "none")
	m.fires("CatchmentCertificateEnds", "certificate", "centre", "severity", "critical")
	m.fires("CatchmentCertificateExpiring", "certificate", "centre")
	m.fires("CatchmentSafetyOverridden")
	m.fires("CatchmentUnseen", "node", first.name, "service", "video", "family", "ipv4")
	m.fires("CatchmentAtMinAnnouncing", "service", "video")
	m.fires("CatchmentApplyPending", "node", first.name)
	m.fires("CatchmentFleetFrozen")
	m.fires("CatchmentFlapPenaltyHigh", "node", third.name, "neighbor", "bird")
	first.must("confirm")
	m.must("fleet", "thaw", "--reason", "test") // frozen, nobody would ask for leave

	m.stopped.Store(true)
	second.refuse("node: [", "edge.yaml")
	for _, o := range m.origin {
		o.broken.Store(true)
	}
	m.callWithoutCertificate()
	third.node.MustRun("ip", "-4", "route", "del", "default")
	m.fires("CatchmentSharedSoftFailure", "service", "video")
	m.fires("CatchmentCheckDown", "service", "video", "check", "origin", "scope", "soft")
	m.fires("CatchmentGrantRefused", "kind", "soft_failure")
	m.fires("CatchmentLoadStale", "node", first.name, "link", "uplink")
	m.fires("CatchmentReloadFailed", "node", second.name)
	m.fires("CatchmentWayBackLost", "node", third.name, "family", "ipv4")
	m.fires("CatchmentDenials")
	third.node.MustRun("ip", "-6", "route", "del", "default")
	m.fires("CatchmentServiceWithdrawn", "node", third.name, "service", "video", "reason", "hard_failure")

	m.frr.Kill()
	m.fires("CatchmentSessionDown", "node", first.name, "neighbor", "frr", "contact", "noc@example.net", "circuit", "MSK-0042", "asn", "65001")
	m.fires("CatchmentViewAway", "view", "transit-a")
	m.bird.Proc().Kill()
	m.fires("CatchmentAllSessionsDown", "node", second.name)
	m.fires("CatchmentAnnouncedNowhere", "service", "video", "prefix", video4.String())
	m.fires("CatchmentBelowMinAnnouncing", "service", "video")

	m.fires("CatchmentCertificateEnds", "certificate", "node", "node", first.name)
	kill(t, third.proc)
	m.fires("CatchmentEdgeDown", "node", third.name, "site", "moscow")
	m.fires("CatchmentNodesOutOfContact")
	if err := m.centres[0].proc.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	m.fires("CatchmentCentreAway")
	m.fires("CatchmentCentreDown")
	m.fires("CatchmentWatchdog", "severity", "none")
	m.hasDrawn(began)
}

// callWithoutCertificate makes calls that the centre denies, until the test ends.
func (m *monitored) callWithoutCertificate() {
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DialContext: m.mgmt.DialContext, DisableKeepAlives: true}}
	every(m.t, 200*time.Millisecond, func() {
		if r, err := client.Get("http://" + m.centres[0].address() + "/"); err == nil { // plain text to a port of TLS
			_ = r.Body.Close()
		}
	})
}
