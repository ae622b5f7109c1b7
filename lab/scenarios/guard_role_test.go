package scenarios

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/lab/netlab"
)

// kindCase is a neighbour of a kind, played by BIRD.
type kindCase struct {
	name, kind, role, ours string // role is BIRD's, with `require roles`; empty: none
	otc                    bool

	*spoke
	bird *netlab.BIRD
}

// everyKind starts an edge with a neighbour of every kind of eBGP, with and without a role, and waits for all routes.
func everyKind(t *testing.T) (*daemon, []kindCase) {
	t.Helper()
	h := newHub(t, netlab.BIRDRouting)
	cases := []kindCase{
		{name: "transit", kind: "transit", role: "provider", ours: "customer"},
		{name: "transit-none", kind: "transit"},
		{name: "peer", kind: "peer", role: "peer", ours: "peer", otc: true},
		{name: "peer-none", kind: "peer", otc: true},
		{name: "ix-none", kind: "ix", otc: true},
		{name: "rs", kind: "rs", role: "rs_server", ours: "rs-client"},
		{name: "rs-none", kind: "rs"},
	}
	var neighbors []string
	for i := range cases {
		c := &cases[i]
		c.spoke = h.spoke(c.name)
		c.bird = c.node.BIRD(netlab.BIRDConfig{ASN: birdASN, RouterID: c.Peer4.String(), Neighbors: []netlab.BIRDNeighbor{
			{Address: c.Edge4, ASN: edgeASN, IPv4: true, IPv6: true, LocalRole: c.role, RequireRoles: c.role != ""},
		}}.String())
		neighbors = append(neighbors, c.neighbor(birdASN, append(c.bothFamilies(), "kind: "+c.kind)...))
	}
	d := h.start(always(neighbors...))
	for _, c := range cases {
		awaitPath(t, sessionWait, c.bird, video4, nil)
		awaitPath(t, soon, c.bird, video6, nil)
	}
	return d, cases
}

// RFC 9234. A BIRD with a role adds OTC itself where it should have come, so what we send is read at one without.
func TestRoleAndOTCFollowTheKind(t *testing.T) {
	t.Parallel()
	_, cases := everyKind(t)
	for _, c := range cases {
		if session := awaitSession(t, c.bird, c.Edge4); c.role != "" && session.PeerRole != c.ours {
			t.Errorf("%s: BIRD heard the role %q, want %q", c.name, session.PeerRole, c.ours)
		}
		for _, prefix := range []netip.Prefix{video4, video6} {
			if otc := awaitPath(t, soon, c.bird, prefix, nil).OTC; (otc != nil) != c.otc || otc != nil && *otc != edgeASN {
				t.Errorf("%s: %s has the OTC %v, want one: %v", c.name, prefix, optional(otc), c.otc)
			}
		}
	}
}

func TestRoleSuitsFRRInStrictMode(t *testing.T) {
	t.Parallel()
	h := newHub(t, netlab.FRRouting)
	s := h.spoke("frr")
	frr := s.node.FRR(netlab.FRRConfig{ASN: frrASN, RouterID: s.Peer4.String(), Neighbors: []netlab.FRRNeighbor{
		{Address: s.Edge4, ASN: edgeASN, LocalRole: "provider", StrictRole: true},
	}}.String())
	h.start(always(s.neighbor(frrASN)))
	if session := awaitSession(t, frr, s.Edge4); session.PeerRole != "customer" {
		t.Errorf("FRR heard the role %q", session.PeerRole)
	}
	awaitPath(t, soon, frr, video4, nil)
}

// U10.
func TestU10DrainReachesNeighboursOfEveryKind(t *testing.T) {
	t.Parallel()
	d, cases := everyKind(t)
	d.must("drain", "video", "--reason", "tested")
	for _, c := range cases {
		for _, prefix := range []netip.Prefix{video4, video6} {
			awaitPath(t, soon, c.bird, prefix, func(p netlab.Path) error {
				return differ("communities at "+c.name, p.Communities, []string{"65535:0"})
			})
		}
	}
}

func TestRoleMismatchIsRefusedAndExplained(t *testing.T) {
	t.Parallel()
	h := newHub(t, netlab.BIRDRouting)
	s := h.spoke("bird")
	bird := s.node.BIRD(netlab.BIRDConfig{ASN: birdASN, RouterID: s.Peer4.String(), Neighbors: []netlab.BIRDNeighbor{
		{Address: s.Edge4, ASN: edgeASN, LocalRole: "peer"},
	}}.String())
	d := h.start(always(s.neighbor(birdASN)))
	awaitStatus(t, d.api(), s.name, sessionWait, func(n *edgev1.Neighbor) error {
		if text := strings.ToLower(n.GetLastError()); n.GetSession() == "established" || !strings.Contains(text, "role") {
			return errors.New("no word of the role")
		}
		return nil
	})
	netlab.Eventually(t, soon, "BIRD to know why", func() error {
		session, err := bird.Session(s.Edge4)
		if err == nil && (session.State == netlab.Established || !strings.Contains(strings.ToLower(session.LastError), "role mismatch")) {
			err = fmt.Errorf("%+v", session)
		}
		return err
	})
	if strings.Contains(bird.Proc().Log(), "BGP session established") {
		t.Error("there was a session")
	}
}
