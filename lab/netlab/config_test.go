package netlab

import (
	"net/netip"
	"strings"
	"testing"
	"time"
)

// A line that a router does not understand ends the test inside Node.FRR and Node.BIRD; what they made of the lines is
// read back.

func TestFRRUnderstandsEveryOption(t *testing.T) {
	u := TwoUpstreams(t, FRRouting)
	frr := u.FRR.FRR(FRRConfig{
		ASN: 4200000001, RouterID: "10.77.1.2", Networks: []netip.Prefix{frr4, frr6}, Global: []string{outMap},
		MinimumHoldTime: 20 * time.Second, BGP: []string{"bgp graceful-restart-disable"},
		Neighbors: []FRRNeighbor{
			{Address: u.ToFRR.Edge4, ASN: 65002, IPv4: true, IPv6: true, Password: "secret", TTLSecurity: true, Passive: true, Port: 1179,
				LocalRole: "rs-server", StrictRole: true, HoldTime: 9 * time.Second,
				Options: []string{"description all of it"}, IPv4Opts: []string{"route-map OUT out"},
				IPv6Opts: []string{"maximum-prefix 5"}, DefaultOriginate: true},
			{Address: u.ToFRR.Edge6, ASN: 4200000001, IPv4: true, ExtendedNextHop: true},
			{Address: netip.MustParseAddr("192.0.2.1"), ASN: 65003, Multihop: 5, LocalRole: "peer"},
		},
	}.String())
	running, err := frr.Vtysh("show running-config")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"neighbor 10.77.1.1 password secret", "neighbor 10.77.1.1 ttl-security hops 1", "neighbor 10.77.1.1 passive",
		"neighbor 10.77.1.1 port 1179", "neighbor 10.77.1.1 local-role rs-server strict-mode", "neighbor 10.77.1.1 timers 3 9",
		"bgp minimum-holdtime 20", "neighbor 10.77.1.1 description all of it", "neighbor 10.77.1.1 route-map OUT out",
		"neighbor 10.77.1.1 maximum-prefix 5", "neighbor 10.77.1.1 default-originate", "neighbor fd77:1::1 capability extended-nexthop",
		"neighbor 192.0.2.1 ebgp-multihop 5", "neighbor 192.0.2.1 local-role peer", "network 198.51.100.0/24",
		"network 2001:db8:100::/48", "no bgp ebgp-requires-policy", "no bgp network import-check",
	} {
		if !strings.Contains(running, line) {
			t.Errorf("the running configuration lacks %q:\n%s", line, running)
		}
	}
	if _, err := frr.Vtysh("show nonsense"); err == nil {
		t.Error("an unknown command is no error")
	}
}

func TestBIRDUnderstandsEveryOption(t *testing.T) {
	u := TwoUpstreams(t, BIRDRouting)
	bird := u.BIRD.BIRD(BIRDConfig{
		ASN: 4200000001, RouterID: "10.77.2.2", Networks: []netip.Prefix{bird4, bird6}, Global: []string{"define X = 1;"},
		Neighbors: []BIRDNeighbor{
			{Name: "full", Address: u.ToBIRD.Edge4, Local: u.ToBIRD.Peer4, ASN: 65002, IPv4: true, IPv6: true, Password: "sec ret",
				TTLSecurity: true, Passive: true, Port: 1179, LocalRole: "rs_server", RequireRoles: true, HoldTime: 9 * time.Second,
				ExtendedNextHop: true, Options: []string{`description "all of it";`}, ChannelOptions: []string{"import limit 5 action block;"},
				Export: "none"},
			{Address: netip.MustParseAddr("192.0.2.1"), Local: u.ToBIRD.Peer4, ASN: 65003, Multihop: 5},
		},
	}.String())
	answer, err := bird.Birdc("show protocols all full")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"Description:    all of it", "Channel ipv4", "Channel ipv6", "Import limit:   5", "Output filter:  REJECT"} {
		if !strings.Contains(answer, line) {
			t.Errorf("the protocol lacks %q:\n%s", line, answer)
		}
	}
	if s, err := bird.Session(netip.MustParseAddr("192.0.2.1")); err != nil || s.State == Established {
		t.Errorf("the second neighbour: %+v, %v", s, err)
	}
	if _, err := bird.Session(netip.MustParseAddr("192.0.2.2")); err == nil {
		t.Error("an unknown neighbour is no error")
	}
}
