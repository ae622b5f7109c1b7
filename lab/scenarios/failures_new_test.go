package scenarios

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
	"github.com/catchment-bgp/catchment/lab/netlab/routegen"
)

// TestU01NoExportChangeLeavesAStaleRoute takes the export of two services through changes of every kind, and compares
// each router's whole table.
func TestU01NoExportChangeLeavesAStaleRoute(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	wide, narrow := "prefixes: ["+video4.String()+", 192.0.2.0/24]", "prefixes: ["+video4.String()+"]"
	vips := "vips: [" + vip4 + "/32]"
	const route = "%s via %s prepend %d communities %v med []"
	at := func(p peer, prefix string, prepend int, communities ...string) string {
		return fmt.Sprintf(route, prefix, p.wire.Edge4, prepend, communities)
	}
	frr, bird := s.peers()[0], s.peers()[1]
	steps := []struct {
		name      string
		config    configuration
		frr, bird []string
	}{
		{"both services, two prefixes",
			configuration{Neighbors: []string{s.neighborFRR(), s.neighborBIRD()}, Services: []string{video(wide, vips), dnsService()}},
			[]string{at(frr, "192.0.2.0/24", 0), at(frr, video4.String(), 0), at(frr, dns4.String(), 0)},
			[]string{at(bird, "192.0.2.0/24", 0), at(bird, video4.String(), 0), at(bird, dns4.String(), 0)}},
		{"a prefix less, a community more",
			configuration{Neighbors: []string{s.neighborFRR(), s.neighborBIRD()}, Services: []string{video(narrow, vips, `communities: ["57629:9"]`), dnsService()}},
			[]string{at(frr, video4.String(), 0, "57629:9"), at(frr, dns4.String(), 0)},
			[]string{at(bird, video4.String(), 0, "57629:9"), at(bird, dns4.String(), 0)}},
		{"each service at one neighbour, with prepends",
			configuration{Neighbors: []string{s.neighborFRR("prepend: 3"), s.neighborBIRD()}, Services: []string{video(narrow, vips, "neighbors: [frr]"), dnsService("neighbors: [bird]")}},
			[]string{at(frr, video4.String(), 3)},
			[]string{at(bird, dns4.String(), 0)}},
		{"the other way round, at once",
			configuration{Neighbors: []string{s.neighborFRR(), s.neighborBIRD("prepend: 1")}, Services: []string{video(narrow, vips, "neighbors: [bird]"), dnsService("neighbors: [frr]")}},
			[]string{at(frr, dns4.String(), 0)},
			[]string{at(bird, video4.String(), 1)}},
		{"one service is gone",
			configuration{Neighbors: []string{s.neighborFRR(), s.neighborBIRD()}, Services: []string{dnsService()}},
			[]string{at(frr, dns4.String(), 0)},
			[]string{at(bird, dns4.String(), 0)}},
	}
	s.start(steps[0].config)
	before := s.sessions()
	for i, step := range steps {
		if i > 0 {
			s.edge.reload(step.config.String())
		}
		netlab.Eventually(t, soon, "both tables: "+step.name, func() error {
			return errors.Join(
				differ("the table of frr", frr.table(t), sorted(step.frr)),
				differ("the table of bird", bird.table(t), sorted(step.bird)))
		})
		for _, p := range s.peers() { // and the daemon thinks so, too
			var told []string
			for _, service := range s.edge.status().Services {
				for _, n := range service.Neighbors {
					for _, r := range n.Routes {
						if n.Name == p.name {
							told = append(told, r.String())
						}
					}
				}
			}
			if has := p.table(t); !slices.Equal(has, sorted(told)) {
				t.Errorf("%s: %s has\n  %s\nthe status says\n  %s", step.name, p.name, strings.Join(has, "\n  "), strings.Join(sorted(told), "\n  "))
			}
		}
	}
	s.sameSessions(before)
}

// TestU03PathWithTheNeighborsOwnASNIsRefused. Prepends are of our own ASN only, so such a path needs a neighbour that has
// it, too: one that is said to be external, or a prepend over iBGP.
func TestU03PathWithTheNeighborsOwnASNIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	program := netlab.Binary(t, "./cmd/catchment-edge")
	good := s.config()
	s.edge = startEdge(t, s.Edge, good.String())
	s.awaitRoutes(sessionWait, look{})
	before, counted := s.sessions(), s.counts()
	own := strings.Replace(s.neighborBIRD(), fmt.Sprintf("asn: %d", birdASN), fmt.Sprintf("asn: %d", edgeASN), 1)
	internal := strings.Replace(own, "kind: transit", "kind: internal", 1)
	for name, c := range map[string]struct{ neighbor, says string }{
		"an external neighbour with our ASN": {own, "neighbors[1].asn: "},
		"a prepend over iBGP":                {strings.TrimSuffix(internal, "}") + ", prepend: 1}", "neighbors[1].prepend: prepending over iBGP"},
		"a rung that prepends over iBGP":     {strings.TrimSuffix(internal, "}") + ", ladder: [{prepend: 1}]}", "neighbors[1].ladder[0].prepend: "},
	} {
		wrong := good
		wrong.Neighbors = []string{good.Neighbors[0], c.neighbor}
		a := run(t, program, "--config", hostFile(t, "edge.yaml", wrong.String()), "--check")
		if a.code != 2 || !strings.Contains(a.stderr, c.says) {
			t.Errorf("%s: exit code %d, %q, want 2 and %q", name, a.code, a.stderr, c.says)
		}
		s.edge.refuse(wrong.String(), c.says)
	}
	s.untouched(counted)
	s.sameSessions(before)
}

// TestU17NextHopOfIPv6StandsInMPReach reads the UPDATEs on the wire, and the next hops at both routers.
func TestU17NextHopOfIPv6StandsInMPReach(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := s.newWitness()
	c := s.config()
	c.Neighbors = append(c.Neighbors, w.neighbor())
	s.start(c)
	s.awaitRoutes(soon, look{})
	for _, e := range w.await(soon, 2) {
		const nextHop, mpReach = 3, 14 // RFC 4271, section 5.1.3; RFC 4760, section 3
		if e.update == nil || len(e.update.Announced) != 1 {
			t.Fatalf("in place of an announcement: %s", e)
		}
		hop, classic := e.update.Attr(nextHop)
		reach, multi := e.update.Attr(mpReach)
		switch prefix := e.update.Announced[0]; prefix {
		case video4:
			if want := w.edge4.AsSlice(); !classic || multi || !slices.Equal(hop, want) {
				t.Errorf("%s: NEXT_HOP %v, MP_REACH_NLRI %v, want %v and none", prefix, hop, reach, want)
			}
		case video6: // AFI 2, SAFI 1, 16 bytes of next hop
			want := append([]byte{0, 2, 1, 16}, w.edge6.AsSlice()...)
			if classic || !multi || len(reach) < len(want) || !slices.Equal(reach[:len(want)], want) {
				t.Errorf("%s: NEXT_HOP %v, MP_REACH_NLRI %v, want none and %v ...", prefix, hop, reach, want)
			}
		default:
			t.Errorf("an announcement of %s", prefix)
		}
	}
}

func TestU18LongASNInAStandardCommunityIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start(s.config())
	s.awaitRoutes(soon, look{})
	counted := s.counts()
	program := netlab.Binary(t, "./cmd/catchment-edge")
	for path, wrong := range map[string]configuration{
		"services[0].communities[0]":          {Neighbors: s.config().Neighbors, Services: []string{video(`communities: ["4200000001:101"]`)}},
		"neighbors[1].communities[0]":         {Neighbors: []string{s.neighborFRR(), s.neighborBIRD(`communities: ["4200000001:101"]`)}, Services: []string{video()}},
		"neighbors[1].ladder[0].community[0]": {Neighbors: []string{s.neighborFRR(), s.neighborBIRD(`ladder: [{community: ["4200000001:101"]}]`)}, Services: []string{video()}},
	} {
		a := run(t, program, "--config", hostFile(t, "edge.yaml", wrong.String()), "--check")
		if a.code != 2 || !strings.Contains(a.stderr, path) || !strings.Contains(a.stderr, "write 4200000001:0:101") {
			t.Errorf("%s: exit code %d, %q, want 2 and the large community", path, a.code, a.stderr)
		}
		s.edge.refuse(wrong.String(), path)
	}
	s.untouched(counted)
	named := s.config()
	named.Services = []string{video(`communities: ["4200000001:0:101"]`)}
	s.edge.reload(named.String())
	s.awaitRoutes(soon, look{largeCommunities: []string{"4200000001:0:101"}})
}

// TestU19PingToABlackHoleAndAScriptThatHangsAreFailures lets each go bad while the service is announced.
func TestU19PingToABlackHoleAndAScriptThatHangsAreFailures(t *testing.T) {
	for name, c := range map[string]struct {
		check     string
		good, bad []string // commands on the edge
		says      string
	}{
		"ping": {
			"{name: ping, icmp: {address: 10.77.1.2}, interval: 300ms, timeout: 200ms}",
			nil, []string{"ip", "route", "add", "blackhole", "10.77.1.2/32"}, "ping",
		},
		"script": {
			"{name: script, exec: {command: [/bin/sh, /run/check.sh]}, interval: 300ms, timeout: 200ms}",
			[]string{"sh", "-c", "echo exit 0 >/run/check.sh"}, []string{"sh", "-c", "echo 'sleep 60; exit 0' >/run/check.sh"}, "script",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			if c.good != nil {
				s.Edge.MustRun(c.good...)
			}
			config := s.config()
			config.Services = []string{video("checks: [" + c.check + "]")}
			s.start(config)
			s.awaitRoutes(soon, look{})
			bird := awaitSession(t, s.bird, s.ToBIRD.Edge4)

			s.Edge.MustRun(c.bad...)
			awaitGone(t, soon, s.bird, video4)
			awaitGone(t, soon, s.bird, video6)
			sameSession(t, s.bird, s.ToBIRD.Edge4, bird)
			if why := s.edge.must("why", "video"); !strings.Contains(why, c.says) {
				t.Errorf("why does not name the check:\n%s", why)
			}
			holds(t, time.Second, "the withdrawal", func() error {
				paths, err := s.bird.Routes(video4)
				if err == nil && len(paths) > 0 {
					err = fmt.Errorf("%+v", paths)
				}
				return err
			})
		})
	}
}

// TestF03ChangeOfOneServiceTouchesNothingElse changes one of two services in every way; all that neighbours hear is of it.
func TestF03ChangeOfOneServiceTouchesNothingElse(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := s.newWitness()
	with := func(dns ...string) string {
		c := s.config()
		c.Neighbors = append(c.Neighbors, w.neighbor())
		c.Services = []string{video()}
		if dns != nil {
			c.Services = append(c.Services, dnsService(dns...))
		}
		return c.String()
	}
	s.edge = startEdge(t, s.Edge, with("drain: 1s"))
	s.awaitRoutes(sessionWait, look{})
	start := len(w.await(sessionWait, 3))
	before := s.sessions()
	steps := []struct {
		name   string
		do     func()
		events int // at the witness, each of dns
	}{
		{"a community", func() { s.edge.reload(with("drain: 1s", `communities: ["57629:5"]`)) }, 1},
		{"a drain", func() { s.edge.must("drain", "dns", "--reason", "new kernel") }, 2}, // GSHUT, then the withdrawal
		{"its end", func() { s.edge.must("auto", "dns", "--reason", "it runs") }, 1},
		{"a withdrawal", func() { s.edge.must("withdraw", "dns", "--reason", "too slow") }, 1},
		{"its end", func() { s.edge.must("auto", "dns", "--reason", "fast again") }, 1},
		{"fewer neighbours", func() { s.edge.reload(with("drain: 1s", "neighbors: [frr, bird]")) }, 1},
		{"no such service", func() { s.edge.reload(with()) }, 0},
	}
	for _, step := range steps {
		step.do()
		start += step.events
		w.await(soon, start)
	}
	awaitGone(t, soon, s.frr, dns4)
	awaitGone(t, soon, s.bird, dns4)
	events := w.await(soon, start)
	w.count(start)
	for _, e := range events[3:] {
		if e.update == nil || slices.ContainsFunc(touched(e.update), func(p netip.Prefix) bool { return p != dns4 }) {
			t.Errorf("an UPDATE of something else: %s", e)
		}
	}
	s.awaitRoutes(time.Second, look{})
	s.sameSessions(before)
}

// touched are the prefixes that an UPDATE is about.
func touched(u *routegen.Update) []netip.Prefix { return slices.Concat(u.Announced, u.Withdrawn) }
