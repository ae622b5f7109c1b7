package netlab

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// rich is a bird.conf that announces bird4 and bird6 with every attribute, over both links, MD5 and GTSM.
func rich(u *Upstreams) string {
	const attributes = `bgp_community.add((57629,101)); bgp_community.add((65535,0)); bgp_large_community.add((57629,1,101));
  bgp_ext_community.add((rt,57629,101)); bgp_ext_community.add((ro,57629,7)); bgp_med = 50; bgp_path.prepend(4200000002);`
	c := BIRDConfig{ASN: 4200000002, RouterID: "10.77.1.1", Networks: []netip.Prefix{bird4, bird6},
		Global: []string{"filter rich { if source != RTS_STATIC then reject; " + attributes + " accept; }"}}
	for _, w := range []Wire{u.ToFRR, u.ToBIRD} {
		c.Neighbors = append(c.Neighbors, BIRDNeighbor{
			Address: w.Peer4, Local: w.Edge4, ASN: 65001, IPv4: true, IPv6: true, Password: "sec ret", TTLSecurity: true, Export: "filter rich",
		})
	}
	return c.String()
}

// others starts OpenBGPD and ExaBGP in the routers' places, and BIRD on the edge.
func others(t *testing.T) (u *Upstreams, open *OpenBGPD, exa *ExaBGP, bird *BIRD) {
	u = TwoUpstreams(t, OpenBGPDRouting, ExaBGPRouting, BIRDRouting)
	open = u.FRR.OpenBGPD(OpenBGPDConfig{ASN: 65001, RouterID: "10.77.1.2", Networks: []netip.Prefix{frr4}, Neighbors: []OpenBGPDNeighbor{
		{Address: u.ToFRR.Edge4, Local: u.ToFRR.Peer4, ASN: 4200000002, IPv4: true, IPv6: true, Password: "sec ret", TTLSecurity: true},
	}}.String())
	exa = u.BIRD.ExaBGP(ExaBGPConfig{ASN: 65001, RouterID: "10.77.2.2", Neighbors: []ExaBGPNeighbor{
		{Address: u.ToBIRD.Edge4, Local: u.ToBIRD.Peer4, ASN: 4200000002, IPv4: true, IPv6: true, Password: "sec ret", TTLSecurity: true, HoldTime: 30 * time.Second},
	}}.String())
	return u, open, exa, u.Edge.BIRD(rich(u))
}

func TestOpenBGPDAndExaBGPTellWhatTheyLearned(t *testing.T) {
	u, open, exa, bird := others(t)
	for _, r := range []struct {
		Router
		wire  Wire
		reset func() error
	}{
		// After a NOTIFICATION OpenBGPD is idle for half a minute; so it is the one that sends it.
		{open, u.ToFRR, func() error { _, err := open.Bgpctl("neighbor", u.ToFRR.Edge4.String(), "clear"); return err }},
		{exa, u.ToBIRD, func() error { _, err := bird.Birdc("restart n2"); return err }},
	} {
		first := awaitSession(t, r, r.wire.Edge4)
		want := Path{
			Prefix: bird4, ASPath: []uint32{4200000002, 4200000002}, Origin: "igp", NextHop: []netip.Addr{r.wire.Edge4},
			Communities: []string{"57629:101", "65535:0"}, LargeCommunities: []string{"57629:1:101"},
			ExtCommunities: []string{"ro:57629:7", "rt:57629:101"}, MED: new(uint32(50)), From: r.wire.Edge4,
		}
		if r.Router == open {
			want.Best, want.LocalPref = true, new(uint32(100))
		}
		var got []Path
		Eventually(t, 10*time.Second, "the route", func() (err error) {
			if got, err = r.Routes(bird4); err == nil && len(got) == 0 {
				err = fmt.Errorf("none")
			}
			return err
		})
		slices.Sort(got[0].ExtCommunities) // each router has an order of its own
		if !reflect.DeepEqual(got, []Path{want}) {
			t.Errorf("%T:\ngot  %+v\nwant %+v", r.Router, got, want)
		}
		Eventually(t, 10*time.Second, "the IPv6 route", func() error {
			got, err := r.Routes(bird6)
			if err == nil && (len(got) != 1 || got[0].NextHop[0] != r.wire.Edge6) {
				err = fmt.Errorf("%+v", got)
			}
			return err
		})
		if own, err := r.Routes(frr4); err != nil || len(own) > 0 {
			t.Errorf("%T learned its own network: %+v, %v", r.Router, own, err)
		}
		if _, err := r.Session(netip.MustParseAddr("192.0.2.9")); err == nil {
			t.Errorf("%T: an unknown neighbour is no error", r.Router)
		}

		before, err := r.Counts(r.wire.Edge4)
		if err != nil || *before.Announced < 2 || *before.Updates < *before.Announced {
			t.Errorf("%T counts %v, %v", r.Router, before, err)
		}
		if err := r.SoftIn(r.wire.Edge4); err != nil {
			t.Error(err)
		}
		Eventually(t, 10*time.Second, "the routes again", func() error {
			now, err := r.Counts(r.wire.Edge4)
			if err == nil && *now.Announced < *before.Announced+2 {
				err = fmt.Errorf("%v", now)
			}
			return err
		})
		if _, err := bird.Birdc("disable networks_ipv6"); err != nil {
			t.Fatal(err)
		}
		Eventually(t, 10*time.Second, "the withdrawal", func() error {
			got, err := r.Routes(bird6)
			if now, _ := r.Counts(r.wire.Edge4); err == nil && (len(got) > 0 || *now.Withdrawn <= *before.Withdrawn) {
				err = fmt.Errorf("%+v, %v", got, now)
			}
			return err
		})
		if now, err := r.Session(r.wire.Edge4); err != nil || now.Instance != first.Instance || now.State != Established {
			t.Errorf("%T: %+v, then %+v, %v", r.Router, first, now, err)
		}
		if _, err := bird.Birdc("enable networks_ipv6"); err != nil {
			t.Fatal(err)
		}
		awaitPaths(t, r, bird6)
		if err := r.reset(); err != nil {
			t.Fatal(err)
		}
		Eventually(t, 15*time.Second, "a new session", func() error {
			now, err := r.Session(r.wire.Edge4)
			if err == nil && (now.State != Established || now.Instance == first.Instance) {
				err = fmt.Errorf("%+v", now)
			}
			return err
		})
		awaitPaths(t, r, bird4)
	}
	open.Proc().Kill()
	exa.Proc().Kill()
	if _, err := exa.Routes(bird4); err == nil {
		t.Error("ExaBGP that has ended still tells routes")
	}
	if _, err := open.Routes(bird4); err == nil {
		t.Error("OpenBGPD that has ended still tells routes")
	}
}

// awaitPaths waits for some path.
func awaitPaths(t *testing.T, r Router, prefix netip.Prefix) {
	t.Helper()
	Eventually(t, 15*time.Second, prefix.String(), func() error {
		if paths, err := r.Routes(prefix); err != nil || len(paths) == 0 {
			return fmt.Errorf("%v, %v", paths, err)
		}
		return nil
	})
}

func TestOpenBGPDAndExaBGPSpeakToTheirNeighbors(t *testing.T) {
	u, _, exa, bird := others(t)
	awaitPaths(t, bird, frr4) // OpenBGPD's own network
	awaitSession(t, exa, u.ToBIRD.Edge4)
	route := netip.MustParsePrefix("192.0.2.0/24")
	if err := exa.Command("announce route " + route.String() + " next-hop " + u.ToBIRD.Peer4.String()); err != nil {
		t.Fatal(err)
	}
	awaitPaths(t, bird, route)
}

func TestOptionsOfOpenBGPDAndExaBGPAreUnderstood(t *testing.T) {
	lab := New(t, OpenBGPDRouting, ExaBGPRouting)
	a, b := lab.Node("a"), lab.Node("b")
	lab.Link(a, b, []string{"10.77.1.1/30", "fd77:1::1/64"}, []string{"10.77.1.2/30", "fd77:1::2/64"})
	two, four := netip.MustParseAddr("10.77.1.2"), netip.MustParseAddr("10.77.1.1")
	open := a.OpenBGPD(OpenBGPDConfig{ASN: 4200000001, RouterID: "10.77.1.1", Global: []string{"log updates"}, Neighbors: []OpenBGPDNeighbor{
		{Address: two, Local: four, ASN: 65002, IPv6: true, Multihop: 5, Passive: true, HoldTime: 9 * time.Second, Options: []string{`descr "all of it"`}},
	}}.String())
	text, err := open.Bgpctl("show", "neighbor", two.String())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"description": "all of it"`, `"multihop": true`, `"passive": true`, `"holdtime": 9`} {
		if !strings.Contains(text, want) {
			t.Errorf("OpenBGPD lacks %s:\n%s", want, text)
		}
	}
	exa := b.ExaBGP(ExaBGPConfig{ASN: 4200000001, RouterID: "10.77.1.2", Neighbors: []ExaBGPNeighbor{
		{Address: netip.MustParseAddr("fd77:1::1"), Local: netip.MustParseAddr("fd77:1::2"), ASN: 65002, Multihop: 5, Active: true, Options: []string{`description "all of it";`}},
	}}.String())
	if s, err := exa.Session(netip.MustParseAddr("fd77:1::1")); err != nil || s.State == Established {
		t.Errorf("%+v, %v", s, err)
	}
	r := &recorder{}
	r.run(func() { New(r, OpenBGPDRouting).Node("a").OpenBGPD("nonsense\n") })
	if !strings.Contains(r.text(), "syntax error") {
		t.Errorf("OpenBGPD: said %q", r.text())
	}
	r = &recorder{}
	r.run(func() { New(r, ExaBGPRouting).Node("a").ExaBGP("nonsense\n") })
	if !strings.Contains(r.text(), "issue setting the configuration") {
		t.Errorf("ExaBGP: said %q", r.text())
	}
}
