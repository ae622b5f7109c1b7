package netlab

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab/routegen"
)

var (
	frr4  = netip.MustParsePrefix("198.51.100.0/24")
	frr6  = netip.MustParsePrefix("2001:db8:100::/48")
	bird4 = netip.MustParsePrefix("203.0.113.0/24")
	bird6 = netip.MustParsePrefix("2001:db8:200::/48")
)

const outMap = `route-map OUT permit 10
 set community 65001:5 graceful-shutdown
 set large-community 4200000000:1:2
 set extcommunity rt 65001:7
 set as-path prepend 65001 65001`

// peers starts FRR on the frr node and BIRD on the edge node, with MD5 and GTSM, IPv4 and IPv6 on one session.
func peers(t TB) (u *Upstreams, frr *FRR, bird *BIRD) {
	u = TwoUpstreams(t, FRRouting, BIRDRouting)
	frr = u.FRR.FRR(FRRConfig{
		ASN: 65001, RouterID: "10.77.1.2", Networks: []netip.Prefix{frr4, frr6}, Global: []string{outMap},
		Neighbors: []FRRNeighbor{{
			Address: u.ToFRR.Edge4, ASN: 4200000002, IPv4: true, IPv6: true, Password: "secret", TTLSecurity: true, LocalRole: "provider",
			IPv4Opts: []string{"route-map OUT out"},
		}},
	}.String())
	bird = u.Edge.BIRD(BIRDConfig{
		ASN: 4200000002, RouterID: "10.77.1.1", Networks: []netip.Prefix{bird4, bird6},
		Neighbors: []BIRDNeighbor{{
			Name: "up", Address: u.ToFRR.Peer4, ASN: 65001, IPv4: true, IPv6: true, Password: "secret", TTLSecurity: true,
			LocalRole: "customer", RequireRoles: true,
		}},
	}.String())
	return u, frr, bird
}

func awaitSession(t TB, r Router, peer netip.Addr) Session {
	t.Helper()
	var s Session
	Eventually(t, 15*time.Second, "a session with "+peer.String(), func() (err error) {
		if s, err = r.Session(peer); err == nil && s.State != Established {
			err = fmt.Errorf("%+v", s)
		}
		return err
	})
	return s
}

// awaitRoute waits for exactly one path.
func awaitRoute(t TB, r Router, prefix netip.Prefix) Path {
	t.Helper()
	var paths []Path
	Eventually(t, 15*time.Second, "route "+prefix.String(), func() (err error) {
		if paths, err = r.Routes(prefix); err == nil && (len(paths) != 1 || !paths[0].Best) {
			err = fmt.Errorf("%+v", paths)
		}
		return err
	})
	return paths[0]
}

func TestFRRAndBIRDPeerAndLearnFromEachOther(t *testing.T) {
	start := time.Now()
	u, frr, bird := peers(t)
	up := time.Now()
	s := awaitSession(t, frr, u.ToFRR.Edge4)
	b := awaitSession(t, bird, u.ToFRR.Peer4)
	t.Logf("lab and routers in %v, Established in %v", up.Sub(start), time.Since(start))
	if s.PeerRole != "customer" || b.PeerRole != "provider" {
		t.Errorf("roles %q and %q", s.PeerRole, b.PeerRole)
	}

	got := awaitRoute(t, bird, frr4)
	want := Path{
		Prefix: frr4, ASPath: []uint32{65001, 65001, 65001}, Origin: "igp", NextHop: []netip.Addr{u.ToFRR.Peer4},
		Communities: []string{"65001:5", "65535:0"}, LargeCommunities: []string{"4200000000:1:2"}, ExtCommunities: []string{"rt:65001:7"},
		MED: new(uint32(0)), LocalPref: new(uint32(100)), OTC: new(uint32(65001)), From: u.ToFRR.Peer4, Best: true,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("at BIRD\ngot  %+v\nwant %+v", got, want)
	}
	if got := awaitRoute(t, bird, frr6); got.NextHop[0] != u.ToFRR.Peer6 || !slices.Equal(got.ASPath, []uint32{65001}) {
		t.Errorf("at BIRD: %+v", got)
	}
	got = awaitRoute(t, frr, bird4)
	want = Path{
		Prefix: bird4, ASPath: []uint32{4200000002}, Origin: "igp", NextHop: []netip.Addr{u.ToFRR.Edge4}, From: u.ToFRR.Edge4, Best: true,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("at FRR\ngot  %+v\nwant %+v", got, want)
	}
	if got := awaitRoute(t, frr, bird6); got.NextHop[0] != u.ToFRR.Edge6 {
		t.Errorf("at FRR: %+v", got)
	}
	for _, r := range []Router{frr, bird} {
		if paths, err := r.Routes(netip.MustParsePrefix("192.0.2.0/24")); err != nil || len(paths) != 0 {
			t.Errorf("an unknown prefix: %+v, %v", paths, err)
		}
	}
	if own, err := frr.Routes(frr4); err != nil || len(own) != 0 {
		t.Errorf("FRR learned its own network: %+v, %v", own, err)
	}
	if own, err := bird.Routes(bird4); err != nil || len(own) != 0 {
		t.Errorf("BIRD learned its own network: %+v, %v", own, err)
	}
}

func TestWithdrawalIsSeenAndCountedWhileTheSessionLives(t *testing.T) {
	u, frr, bird := peers(t)
	awaitRoute(t, frr, bird4)
	awaitRoute(t, bird, frr4)
	before := awaitSession(t, frr, u.ToFRR.Edge4)
	birdBefore := awaitSession(t, bird, u.ToFRR.Peer4)
	counted, err := bird.Counts(u.ToFRR.Peer4)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bird.Birdc("disable networks_ipv4"); err != nil {
		t.Fatal(err)
	}
	if _, err := frr.Vtysh("configure terminal", "router bgp 65001", "address-family ipv4 unicast", "no network "+frr4.String()); err != nil {
		t.Fatal(err)
	}
	for router, prefix := range map[Router]netip.Prefix{frr: bird4, bird: frr4} {
		Eventually(t, 10*time.Second, "the withdrawal of "+prefix.String(), func() error {
			paths, err := router.Routes(prefix)
			if err == nil && len(paths) > 0 {
				err = fmt.Errorf("%+v", paths)
			}
			return err
		})
	}
	if after := awaitSession(t, frr, u.ToFRR.Edge4); after.Instance != before.Instance {
		t.Errorf("FRR's session was restarted: %+v, then %+v", before, after)
	}
	if after := awaitSession(t, bird, u.ToFRR.Peer4); after.Instance != birdBefore.Instance {
		t.Errorf("BIRD's session was restarted: %+v, then %+v", birdBefore, after)
	}
	if c, err := frr.Counts(u.ToFRR.Edge4); err != nil || *c.Updates < 4 { // two routes, a withdrawal, and ends of RIB
		t.Errorf("FRR's counts: %v, %v", c, err)
	}
	if c, err := bird.Counts(u.ToFRR.Peer4); err != nil || *c.Withdrawn <= *counted.Withdrawn {
		t.Errorf("BIRD's counts: %v, then %v, %v", counted, c, err)
	}
}

func TestSoftInAsksForTheRoutesAgain(t *testing.T) {
	u, frr, bird := peers(t)
	awaitRoute(t, frr, bird6)
	awaitRoute(t, bird, frr4)
	count := func() uint64 {
		t.Helper()
		c, err := frr.Counts(u.ToFRR.Edge4)
		if err != nil {
			t.Fatal(err)
		}
		return *c.Refreshes
	}
	before := count()
	if err := bird.SoftIn(u.ToFRR.Peer4); err != nil {
		t.Fatal(err)
	}
	Eventually(t, 10*time.Second, "ROUTE-REFRESH at FRR", func() error {
		if n := count(); n < before+2 { // one for each family
			return fmt.Errorf("%d, then %d", before, n)
		}
		return nil
	})
	if err := frr.SoftIn(u.ToFRR.Edge4); err != nil {
		t.Error(err)
	}
	for _, r := range []Router{frr, bird} {
		if err := r.SoftIn(netip.MustParseAddr("192.0.2.9")); err == nil {
			t.Errorf("%T: an unknown neighbour is no error", r)
		}
	}
}

func TestRestartedSessionHasANewInstance(t *testing.T) {
	u, frr, bird := peers(t)
	f, b := awaitSession(t, frr, u.ToFRR.Edge4), awaitSession(t, bird, u.ToFRR.Peer4)
	if _, err := bird.Birdc(`restart up "tested"`); err != nil {
		t.Fatal(err)
	}
	Eventually(t, 15*time.Second, "new sessions", func() error {
		f2, err := frr.Session(u.ToFRR.Edge4)
		if err != nil {
			return err
		}
		b2, err := bird.Session(u.ToFRR.Peer4)
		if err == nil && (f2.State != Established || b2.State != Established || f2.Instance == f.Instance || b2.Instance == b.Instance) {
			err = fmt.Errorf("%+v and %+v", f2, b2)
		}
		return err
	})
}

func TestWrongConfigurationEndsTheTest(t *testing.T) {
	r := &recorder{}
	r.run(func() { New(r, FRRouting).Node("a").FRR("router bgp 65001\n neighbour 10.0.0.1 remote-as 1\n") })
	if !strings.Contains(r.text(), "neighbour 10.0.0.1") {
		t.Errorf("FRR: said %q", r.text())
	}
	r = &recorder{}
	r.run(func() { New(r, BIRDRouting).Node("a").BIRD("protocol nonsense {}\n") })
	if !strings.Contains(r.text(), "syntax error") {
		t.Errorf("BIRD: said %q", r.text())
	}
}

func TestConfigureKeepsTheSession(t *testing.T) {
	u, frr, bird := peers(t)
	before := awaitSession(t, frr, u.ToFRR.Edge4)
	extra := netip.MustParsePrefix("192.0.2.0/24")
	config, err := os.ReadFile(u.Edge.HostPath("/run/bird/bird.conf"))
	if err != nil {
		t.Fatal(err)
	}
	with := strings.Replace(string(config), "route 203.0.113.0/24 blackhole;", "route 203.0.113.0/24 blackhole; route 192.0.2.0/24 blackhole;", 1)
	if err := bird.Configure(with); err != nil {
		t.Fatal(err)
	}
	awaitRoute(t, frr, extra)
	if after := awaitSession(t, frr, u.ToFRR.Edge4); after.Instance != before.Instance {
		t.Errorf("the session was restarted: %+v, then %+v", before, after)
	}
	if err := bird.Configure("nonsense"); err == nil {
		t.Error("a wrong configuration is no error")
	}
}

func TestRoutegenSpeaksToFRRFromItsNode(t *testing.T) {
	u := TwoUpstreams(t, FRRouting)
	frr := u.FRR.FRR(FRRConfig{ASN: 65001, RouterID: "10.77.1.2", Networks: []netip.Prefix{frr4}, Neighbors: []FRRNeighbor{
		{Address: u.ToFRR.Edge4, ASN: 4200000002, Passive: true, TTLSecurity: true},
	}}.String())
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var speaker *routegen.Speaker
	Eventually(t, 10*time.Second, "a session of routegen", func() error {
		return u.Edge.Do(func() (err error) {
			speaker, err = routegen.Dial(ctx, u.ToFRR.Peer4.String()+":179", routegen.Config{LocalASN: 4200000002, TTL: 255})
			return err
		})
	})
	defer speaker.Close()
	if got := speaker.Peer().ASN; got != 65001 {
		t.Errorf("FRR is AS%d", got)
	}
	routes := routegen.Routes{Count: 1000, PerUpdate: 100, Path: []uint32{4200000002}, NextHop: u.ToFRR.Edge4}
	if sent, err := speaker.Flood(ctx, 3*routes.Updates(), routes.Update); err != nil || sent != 30 {
		t.Fatalf("sent %d: %v", sent, err)
	}
	Eventually(t, 10*time.Second, "the third pass at FRR", func() error {
		paths, err := frr.Routes(netip.MustParsePrefix("20.3.231.0/24")) // the 1000th
		if err == nil && (len(paths) != 1 || *paths[0].MED != 2) {
			err = fmt.Errorf("%+v", paths)
		}
		return err
	})
	for {
		select {
		case m := <-speaker.Received():
			if m.Type != routegen.TypeUpdate {
				continue
			}
			update, err := routegen.ParseUpdate(m.Body)
			if err != nil {
				t.Fatal(err)
			}
			if slices.Contains(update.Announced, frr4) {
				return
			}
		case <-ctx.Done():
			t.Fatal("FRR announced nothing")
		}
	}
}

func TestCaptureRecordsPackets(t *testing.T) {
	u := TwoUpstreams(t, Tcpdump)
	capture := u.Edge.Capture(u.ToFRR.EdgeIf, "udp port 5000")
	conn, err := u.Edge.DialContext(t.Context(), "udp", u.ToFRR.Peer4.String()+":5000")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("remarkable")); err != nil {
		t.Fatal(err)
	}
	Eventually(t, 5*time.Second, "the packet in the file", func() error {
		pcap, err := os.ReadFile(u.Edge.HostPath(capture.file))
		if err == nil && !strings.Contains(string(pcap), "remarkable") {
			err = fmt.Errorf("%d bytes", len(pcap))
		}
		return err
	})
	if path, err := capture.Stop(); err != nil || !strings.HasSuffix(path, ".pcap") {
		t.Errorf("%q, %v", path, err)
	}
}

// BenchmarkLabToEstablished measures what a scenario costs before it begins and when it ends.
func BenchmarkLabToEstablished(b *testing.B) {
	for b.Loop() {
		r := &recorder{}
		r.run(func() {
			u, frr, _ := peers(r)
			awaitSession(r, frr, u.ToFRR.Edge4)
		})
		if r.failed {
			b.Fatal(r.text())
		}
	}
}
