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
const largeTable = 200_000

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
	monitor := watchRoutes(t, h.edge)
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

// monitorMarker is the route by which a monitor shows that it listens.
const monitorMarker = "192.0.2.255"

// watchRoutes logs each change of a node's routes from now on, and of other things: it waits until the monitor has shown
// a route that it makes for that, and takes back.
func watchRoutes(t testing.TB, node *netlab.Node, others ...string) *netlab.Proc {
	t.Helper()
	monitor := node.Start("ip monitor", append([]string{"ip", "-d", "monitor", "route"}, others...)...)
	netlab.Eventually(t, soon, "the monitor to show a change", func() error {
		node.MustRun("ip", "route", "add", "blackhole", monitorMarker, "proto", "static")
		node.MustRun("ip", "route", "del", "blackhole", monitorMarker, "proto", "static")
		if log := monitor.Log(); !strings.Contains(log, monitorMarker) {
			return fmt.Errorf("it shows %q", log)
		}
		return nil
	})
	return monitor
}

// A default route is taken from an UPDATE that is right, and from no other.
func TestAcceptDefaultTakesNothingFromAWrongUpdate(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	s := h.spoke("raw")
	l := s.listen(routegen.Config{})
	monitor := watchRoutes(t, h.edge)
	d := h.start(always(s.neighbor(rawASN, "accept_default: true")))
	speaker := s.accept(l)

	all := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
	good := func(hop netip.Addr, path ...uint32) []routegen.Attr { return routegen.PathAttrs(path, hop, 0) }
	via := func(hop string) []routegen.Attr { return good(netip.MustParseAddr(hop), rawASN) }
	without := func(kind byte) []routegen.Attr {
		return slices.DeleteFunc(good(s.Peer4, rawASN), func(a routegen.Attr) bool { return a.Type == kind })
	}
	with := func(kind, flags byte, value ...byte) []routegen.Attr {
		return append(without(kind), routegen.Attr{Flags: flags, Type: kind, Value: value})
	}
	wrong := map[string][]routegen.Attr{
		"no ORIGIN": without(routegen.AttrOrigin), "no AS_PATH": without(routegen.AttrASPath), "no NEXT_HOP": without(routegen.AttrNextHop),
		"our ASN in the path": good(s.Peer4, rawASN, edgeASN), "no attributes": nil,
		"ORIGIN 3": with(routegen.AttrOrigin, 0x40, 3), "ORIGIN of 2 bytes": with(routegen.AttrOrigin, 0x40, 0, 0),
		"ORIGIN optional": with(routegen.AttrOrigin, 0xc0, 0), "NEXT_HOP of 3 bytes": with(routegen.AttrNextHop, 0x40, 10, 78, 1),
		"NEXT_HOP of 16 bytes":   with(routegen.AttrNextHop, 0x40, s.Peer6.AsSlice()...),
		"AS_PATH cut short":      with(routegen.AttrASPath, 0x40, 2, 2, 0, 0, 0xfd, 0xf2),
		"AS_PATH of 2-byte ASNs": with(routegen.AttrASPath, 0x40, 2, 1, 0xfd, 0xf2),
		"NEXT_HOP twice":         append(good(s.Peer4, rawASN), good(s.Peer4, rawASN)[2]),
		"next hop is us":         good(s.Edge4, rawASN), "next hop 0.0.0.0": via("0.0.0.0"), "next hop 127.0.0.1": via("127.0.0.1"),
		"next hop 224.0.0.1": via("224.0.0.1"), "next hop 255.255.255.255": via("255.255.255.255"), "next hop elsewhere": via("192.0.2.1"),
	}
	sent := 0
	say := func(name string, raw []byte) {
		t.Helper()
		if err := speaker.Send(raw); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		sent++
	}
	for name, attrs := range wrong {
		say(name, routegen.BuildUpdate(nil, attrs, all))
	}
	cut := routegen.BuildUpdate(nil, good(s.Peer4, rawASN), append(all, netip.MustParsePrefix("192.0.2.0/24")))
	cut = routegen.Frame(routegen.TypeUpdate, cut[19:len(cut)-1])
	say("a prefix cut short behind the default", cut)
	say("another route", routegen.BuildUpdate(nil, good(s.Peer4, rawASN), []netip.Prefix{netip.MustParsePrefix("0.0.0.0/1"), netip.MustParsePrefix("128.0.0.0/1")}))
	netlab.Eventually(t, soon, "all UPDATEs to be read", func() error {
		if n := d.metric(`catchment_guard_updates_dropped_total{neighbor="raw"}`); n != float64(sent) {
			return fmt.Errorf("%v of %d", n, sent)
		}
		return nil
	})
	say("right", routegen.BuildUpdate(nil, good(s.Peer4, rawASN), all))
	netlab.Eventually(t, soon, "the default route", func() error {
		if got := h.edge.MustRun("ip", "route", "show", "proto", "bgp"); !strings.HasPrefix(got, "default via "+s.Peer4.String()+" ") {
			return fmt.Errorf("%q", got)
		}
		return nil
	})
	alive(t, s.name, speaker)
	d.leave()
	var seen []string
	for line := range strings.Lines(monitor.Log()) {
		if strings.Contains(line, "proto bgp") {
			seen = append(seen, strings.TrimSpace(line))
		}
	}
	if len(seen) != 2 || strings.Contains(seen[0], "Deleted") || !strings.Contains(seen[1], "Deleted") {
		t.Errorf("routes by BGP came and went otherwise than once: %q", seen)
	}
}
