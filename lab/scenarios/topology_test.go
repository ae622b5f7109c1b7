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
)

// site is the topology of most tests: an edge with nginx behind two VIPs, between FRR (MD5) and BIRD (MD5, GTSM, a
// 4-byte ASN), each with IPv4 and IPv6 on one session.
type site struct {
	*netlab.Upstreams
	t testing.TB

	frrASN, birdASN uint32

	frr   *netlab.FRR
	bird  *netlab.BIRD
	nginx *netlab.Nginx
	edge  *daemon
}

const (
	frrPassword  = "of-frr"
	birdPassword = "of-bird"
)

// newSite starts the routers and nginx; the edge is the test's.
func newSite(t testing.TB) *site {
	t.Helper()
	return newSiteOf(t, frrASN, birdASN)
}

// newSiteOf is newSite with other ASNs; with the edge's own a session is internal.
func newSiteOf(t testing.TB, frrASN, birdASN uint32) *site {
	t.Helper()
	s := &site{t: t, frrASN: frrASN, birdASN: birdASN}
	s.Upstreams = netlab.TwoUpstreams(t, netlab.FRRouting, netlab.BIRDRouting, netlab.NginxServer)
	s.frr = s.Upstreams.FRR.FRR(netlab.FRRConfig{ASN: frrASN, RouterID: "10.77.1.2", Neighbors: []netlab.FRRNeighbor{
		{Address: s.ToFRR.Edge4, ASN: edgeASN, IPv4: true, IPv6: true, Password: frrPassword},
	}}.String())
	s.startBIRD()
	s.nginx = s.Edge.Nginx("0.0.0.0:8080", "[::]:8080")
	return s
}

// startBIRD starts BIRD, again after it has ended.
func (s *site) startBIRD() {
	s.t.Helper()
	s.bird = s.Upstreams.BIRD.BIRD(netlab.BIRDConfig{ASN: s.birdASN, RouterID: "10.77.2.2", Neighbors: []netlab.BIRDNeighbor{
		{Name: "edge", Address: s.ToBIRD.Edge4, ASN: edgeASN, IPv4: true, IPv6: true, Password: birdPassword, TTLSecurity: true},
	}}.String())
}

// start starts the edge and waits for both sessions.
func (s *site) start(c configuration) {
	s.t.Helper()
	s.edge = startEdge(s.t, s.Edge, c.String())
	for _, p := range s.peers() {
		awaitSession(s.t, p.router, p.wire.Edge4)
	}
}

func kind(asn uint32) string {
	if asn == edgeASN {
		return "kind: internal"
	}
	return "kind: transit"
}

// neighborFRR is the entry of FRR under neighbors: in the edge's configuration. Further fields may be given.
func (s *site) neighborFRR(fields ...string) string {
	return mapping(append([]string{
		"name: frr", "address: " + s.ToFRR.Peer4.String(), fmt.Sprintf("asn: %d", s.frrASN), kind(s.frrASN),
		"local_address: " + s.ToFRR.Edge4.String(), "password: " + frrPassword, "families: [ipv4, ipv6]",
		fmt.Sprintf("next_hop: {ipv6: %q}", s.ToFRR.Edge6),
	}, fields...)...)
}

// neighborBIRD is the entry of BIRD.
func (s *site) neighborBIRD(fields ...string) string {
	return mapping(append([]string{
		"name: bird", "address: " + s.ToBIRD.Peer4.String(), fmt.Sprintf("asn: %d", s.birdASN), kind(s.birdASN),
		"local_address: " + s.ToBIRD.Edge4.String(), "password: " + birdPassword, "ttl_security: true", "families: [ipv4, ipv6]",
		fmt.Sprintf("next_hop: {ipv6: %q}", s.ToBIRD.Edge6),
	}, fields...)...)
}

// video is the service of most tests: nginx behind the VIPs. Of a field that is given the default is left out.
func video(fields ...string) string {
	return service([]string{
		"name: video", fmt.Sprintf("prefixes: [%s, %q]", video4, video6), fmt.Sprintf("vips: [%s/32, %q]", vip4, vip6+"/128"),
		"drain: 1s", "checks: [" + webCheck() + "]",
	}, fields)
}

// webCheck is an HTTP check of the IPv4 VIP, with the daemon's defaults for whatever is not given.
func webCheck(fields ...string) string {
	return service([]string{"name: web", `http: {url: "http://` + vip4 + `:8080/health"}`}, fields)
}

// service is a mapping of defaults and what replaces or is added to them.
func service(defaults, fields []string) string {
	key := func(field string) string { k, _, _ := strings.Cut(field, ":"); return k }
	var out []string
	for _, d := range defaults {
		if !slices.ContainsFunc(fields, func(f string) bool { return key(f) == key(d) }) {
			out = append(out, d)
		}
	}
	return mapping(append(out, fields...)...)
}

// config is the configuration of most tests.
func (s *site) config() configuration {
	return configuration{Neighbors: []string{s.neighborFRR(), s.neighborBIRD()}, Services: []string{video()}}
}

// peer is one of the two routers with the link to it.
type peer struct {
	name   string
	router netlab.Router
	wire   netlab.Wire
}

// hops are the prefixes of the service video with the next hops that the router must see.
func (p peer) hops() map[netip.Prefix]netip.Addr {
	return map[netip.Prefix]netip.Addr{video4: p.wire.Edge4, video6: p.wire.Edge6}
}

func (s *site) peers() []peer {
	return []peer{{"frr", s.frr, s.ToFRR}, {"bird", s.bird, s.ToBIRD}}
}

// awaitRoutes waits until both routers have both prefixes of the service video, each as it should look there.
func (s *site) awaitRoutes(within time.Duration, want look) {
	s.t.Helper()
	for _, p := range s.peers() {
		s.awaitRoutesAt(p, within, want)
	}
}

func (s *site) awaitRoutesAt(p peer, within time.Duration, want look) {
	s.t.Helper()
	awaitPath(s.t, within, p.router, video4, want.at(p.wire.Edge4))
	awaitPath(s.t, within, p.router, video6, want.at(p.wire.Edge6))
}

// awaitNone waits until neither router has a prefix of the service video.
func (s *site) awaitNone(within time.Duration) {
	s.t.Helper()
	for _, p := range s.peers() {
		awaitGone(s.t, within, p.router, video4)
		awaitGone(s.t, within, p.router, video6)
	}
}

// none wants neither router to have a prefix of the service video.
func (s *site) none() error {
	for _, p := range s.peers() {
		four, err4 := p.router.Routes(video4)
		six, err6 := p.router.Routes(video6)
		if err4 != nil || err6 != nil || len(four)+len(six) > 0 {
			return fmt.Errorf("%s has %v %v (%v, %v)", p.name, four, six, err4, err6)
		}
	}
	return nil
}

// present wants both routers to have both prefixes of the service video.
func (s *site) present() error {
	for _, p := range s.peers() {
		for prefix, hop := range p.hops() {
			paths, err := p.router.Routes(prefix)
			if err != nil {
				return err
			}
			if len(paths) != 1 {
				return differ("paths at "+p.name, []int{len(paths)}, []int{1})
			}
			if err := (look{}).at(hop)(paths[0]); err != nil {
				return err
			}
		}
	}
	return nil
}

// gone measures how long after start each router had lost both prefixes of the service video.
func (s *site) gone(start time.Time, within time.Duration) map[string]time.Duration {
	s.t.Helper()
	took := map[string]time.Duration{}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for len(took) < len(s.peers()) {
		<-tick.C
		for _, p := range s.peers() {
			four, err4 := p.router.Routes(video4)
			six, err6 := p.router.Routes(video6)
			if err4 != nil || err6 != nil {
				s.t.Fatal(err4, err6)
			}
			if len(four)+len(six) == 0 && took[p.name] == 0 {
				took[p.name] = time.Since(start)
			}
		}
		if time.Since(start) > within {
			s.t.Fatalf("not withdrawn %v after the event; %v", within, took)
		}
	}
	return took
}

// look is what a router must see of a route, whatever its family. Of communities the order does not matter.
type look struct {
	prepend                                       int
	communities, largeCommunities, extCommunities []string
	med, localPref                                *uint32
	internal                                      bool // over iBGP: an empty AS_PATH
}

// at adds the next hop. It returns what awaitPath wants.
func (l look) at(nextHop netip.Addr) func(netlab.Path) error {
	asPath := slices.Repeat([]uint32{edgeASN}, l.prepend+1)
	if l.internal {
		asPath = nil
	}
	return func(p netlab.Path) error {
		return errors.Join(
			differ("AS_PATH", p.ASPath, asPath),
			differ("next hop", withoutLinkLocal(p.NextHop), []netip.Addr{nextHop}),
			differ("origin", []string{p.Origin}, []string{"igp"}),
			differ("communities", sorted(p.Communities), sorted(l.communities)),
			differ("large communities", sorted(p.LargeCommunities), sorted(l.largeCommunities)),
			differ("extended communities", sorted(p.ExtCommunities), sorted(l.extCommunities)),
			differ("MED", optional(p.MED), optional(l.med)),
			differ("LOCAL_PREF", optional(wireLocalPref(p, l)), optional(l.localPref)),
		)
	}
}

// wireLocalPref is what came with the route: over eBGP the routers show their own default, which is none of ours.
func wireLocalPref(p netlab.Path, l look) *uint32 {
	if l.internal {
		return p.LocalPref
	}
	return nil
}

// withoutLinkLocal drops the second next hop of RFC 2545, which BIRD and FRR add by themselves.
func withoutLinkLocal(hops []netip.Addr) []netip.Addr {
	return slices.DeleteFunc(slices.Clone(hops), netip.Addr.IsLinkLocalUnicast)
}

func differ[T comparable](what string, got, want []T) error {
	if slices.Equal(got, want) {
		return nil
	}
	return fmt.Errorf("%s %v, want %v", what, got, want)
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

func optional(v *uint32) []uint32 {
	if v == nil {
		return nil
	}
	return []uint32{*v}
}

// sessions are the sessions of both routers as they are now, to compare later ones with.
type sessions map[string]netlab.Session

func (s *site) sessions() sessions {
	s.t.Helper()
	now := sessions{}
	for _, p := range s.peers() {
		now[p.name] = awaitSession(s.t, p.router, p.wire.Edge4)
	}
	return now
}

// sameSessions fails the test when a session is not the one of before any more.
func (s *site) sameSessions(before sessions) {
	s.t.Helper()
	for _, p := range s.peers() {
		sameSession(s.t, p.router, p.wire.Edge4, before[p.name])
	}
}

// counts is what each router has counted of our messages.
func (s *site) counts() map[string]string {
	s.t.Helper()
	out := map[string]string{}
	for _, p := range s.peers() {
		out[p.name] = countsAt(s.t, p)
	}
	return out
}

func countsAt(t testing.TB, p peer) string {
	t.Helper()
	c, err := p.router.Counts(p.wire.Edge4)
	if err != nil {
		t.Fatal(err)
	}
	c.Sent = nil // the router's own
	return c.String()
}

// untouched fails the test when a router has counted an UPDATE since before.
func (s *site) untouched(before map[string]string) {
	s.t.Helper()
	for name, now := range s.counts() {
		if now != before[name] {
			s.t.Errorf("%s got UPDATEs: %s, then %s", name, before[name], now)
		}
	}
}

// vips are the addresses of the edge's lo, but for the loopback ones.
func (s *site) vips() string {
	s.t.Helper()
	var found []string
	for _, field := range strings.Fields(s.Edge.MustRun("ip", "-brief", "address", "show", "dev", "lo"))[2:] {
		if prefix, err := netip.ParsePrefix(field); err != nil || !prefix.Addr().IsLoopback() {
			found = append(found, field)
		}
	}
	return strings.Join(found, " ")
}
