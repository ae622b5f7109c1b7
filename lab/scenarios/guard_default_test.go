package scenarios

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/catchment-bgp/catchment/lab/netlab"
	"github.com/catchment-bgp/catchment/lab/netlab/routegen"
)

// largeTable is how many routes FRR has besides its defaults, and sends on to the edge.
const largeTable = 100_000

// FRR sends the edge two default routes among a table that it has from a raw speaker behind it. The edge takes its way
// back from there.
func TestAcceptDefaultTakesTheDefaultOutOfALargeTable(t *testing.T) {
	t.Parallel()
	h := newHub(t, netlab.FRRouting, netlab.BIRDRouting)
	f, b := h.spoke("frr"), h.spoke("bird")
	behind := h.link(f.node, h.lab.Node("world"))
	l := behind.listen(routegen.Config{})
	frr := f.node.FRR(netlab.FRRConfig{ASN: frrASN, RouterID: f.Peer4.String(), Neighbors: []netlab.FRRNeighbor{
		{Address: f.Edge4, ASN: edgeASN, IPv4: true, IPv6: true, DefaultOriginate: true}, {Address: behind.Peer4, ASN: rawASN},
	}}.String())
	bird := b.node.BIRD(netlab.BIRDConfig{ASN: birdASN, RouterID: b.Peer4.String(), Neighbors: []netlab.BIRDNeighbor{
		{Address: b.Edge4, ASN: edgeASN, IPv4: true, IPv6: true},
	}}.String())
	world := behind.accept(l)
	table := routegen.Table{Count: largeTable, ASN: rawASN, NextHop: behind.Peer4}
	if _, err := world.Flood(t.Context(), table.Updates(), table.Update); err != nil {
		t.Fatal(err)
	}
	c := always(f.neighbor(frrASN, append(f.bothFamilies(), "accept_default: true", "listen: true")...), b.neighbor(birdASN, b.bothFamilies()...))
	c.Lines = slices.DeleteFunc(c.Lines, func(line string) bool { return strings.HasPrefix(line, "way_back") })
	monitor := h.edge.Start("ip monitor", "ip", "-d", "monitor", "route")
	before := h.edge.MustRun("ip", "route", "show", "table", "all") + h.edge.MustRun("ip", "-6", "route", "show", "table", "all")
	d := h.start(c)
	session := awaitSession(t, bird, b.Edge4)

	awaitDefaults(t, h, f.Peer4)
	awaitPath(t, soon, bird, video4, nil) // the way back is there
	awaitPath(t, soon, bird, video6, nil)
	awaitPath(t, soon, frr, video4, nil)
	netlab.Eventually(t, 3*soon, "the whole table at the edge", func() error {
		sent := d.metric(`catchment_guard_updates_dropped_total{neighbor="frr"}`)
		counts, err := frr.Counts(f.Edge4)
		if err == nil && (float64(*counts.Sent) != sent || sent < largeTable/100) {
			err = fmt.Errorf("FRR sent %d UPDATEs, the guard read %v", *counts.Sent, sent)
		}
		return err
	})
	if peak, err := d.proc.PeakRSS(); err != nil || peak >= mostRSS {
		t.Errorf("the daemon needed %.1f MB, %v", mb(peak), err)
	}

	// Withdrawn, and said again, while the session stands.
	standing := awaitSession(t, frr, f.Edge4)
	originate := func(no string) {
		t.Helper()
		if _, err := frr.Vtysh("configure terminal", fmt.Sprintf("router bgp %d", frrASN), "address-family ipv4 unicast",
			fmt.Sprintf("%sneighbor %s default-originate", no, f.Edge4)); err != nil {
			t.Fatal(err)
		}
	}
	originate("no ")
	awaitGone(t, soon, bird, video4) // IPv6 has its way back still
	awaitPath(t, soon, bird, video6, nil)
	originate("")
	awaitPath(t, soon, bird, video4, nil)
	sameSession(t, frr, f.Edge4, standing)

	// The session is lost, and comes back.
	shutdown := func(no string) {
		t.Helper()
		if _, err := frr.Vtysh("configure terminal", fmt.Sprintf("router bgp %d", frrASN), fmt.Sprintf("%sneighbor %s shutdown", no, f.Edge4)); err != nil {
			t.Fatal(err)
		}
	}
	shutdown("")
	awaitDefaults(t, h)
	awaitGone(t, soon, bird, video4)
	awaitGone(t, soon, bird, video6)
	shutdown("no ")
	awaitDefaults(t, h, f.Peer4) // FRR connects: the daemon leaves a neighbour that was shut down alone for 30 s
	awaitPath(t, soon, bird, video4, nil)
	awaitPath(t, soon, bird, video6, nil)
	sameSession(t, bird, b.Edge4, session)

	d.signal(unix.SIGTERM)
	if code, err := d.proc.Wait(soon); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v", code, err)
	}
	if after := h.edge.MustRun("ip", "route", "show", "table", "all") + h.edge.MustRun("ip", "-6", "route", "show", "table", "all"); after != before {
		t.Errorf("routes before:\n%s\nand after the daemon:\n%s", before, after)
	}
	for line := range strings.Lines(monitor.Log()) {
		if strings.Contains(line, "proto bgp") && !strings.Contains(line, "default ") {
			t.Errorf("another route than a default: %s", line)
		}
	}
}

// awaitDefaults waits until the kernel has just these default routes by BGP, and each in both families.
func awaitDefaults(t testing.TB, h *hub, via ...netip.Addr) {
	t.Helper()
	netlab.Eventually(t, sessionWait, "the default routes", func() error {
		four, six := h.edge.MustRun("ip", "route", "show", "proto", "bgp"), h.edge.MustRun("ip", "-6", "route", "show", "proto", "bgp")
		if strings.Count(four, "\n") != len(via) || strings.Count(six, "\n") != len(via) {
			return fmt.Errorf("%q and %q", four, six)
		}
		for _, hop := range via {
			if !strings.Contains(four, "default via "+hop.String()+" ") || !strings.Contains(six, "default via ") {
				return fmt.Errorf("%q and %q", four, six)
			}
		}
		return nil
	})
}
