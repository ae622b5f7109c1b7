package scenarios

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/lab/netlab"
)

// RFC 9234. A BIRD with a role adds OTC itself where it should have come, so what we send is read at one without.
func TestRoleAndOTCFollowTheKind(t *testing.T) {
	t.Parallel()
	h := newHub(t, netlab.BIRDRouting, netlab.FRRouting)
	cases := []struct {
		name, kind, role, ours string // role is BIRD's, with `require roles`; empty: none
		otc                    bool
	}{
		{name: "transit", kind: "transit", role: "provider", ours: "customer"},
		{name: "transit-none", kind: "transit"},
		{name: "peer", kind: "peer", role: "peer", ours: "peer", otc: true},
		{name: "peer-none", kind: "peer", otc: true},
		{name: "ix-none", kind: "ix", otc: true},
		{name: "rs", kind: "rs", role: "rs_server", ours: "rs-client"},
		{name: "rs-none", kind: "rs"},
	}
	spokes, birds := map[string]*spoke{}, map[string]*netlab.BIRD{}
	var neighbors []string
	for _, c := range cases {
		s := h.spoke(c.name)
		spokes[c.name] = s
		birds[c.name] = s.node.BIRD(netlab.BIRDConfig{ASN: birdASN, RouterID: s.Peer4.String(), Neighbors: []netlab.BIRDNeighbor{
			{Address: s.Edge4, ASN: edgeASN, IPv4: true, IPv6: true, LocalRole: c.role, RequireRoles: c.role != ""},
		}}.String())
		neighbors = append(neighbors, s.neighbor(birdASN, append(s.bothFamilies(), "kind: "+c.kind)...))
	}
	strict := h.spoke("frr")
	frr := strict.node.FRR(netlab.FRRConfig{ASN: frrASN, RouterID: strict.Peer4.String(), Neighbors: []netlab.FRRNeighbor{
		{Address: strict.Edge4, ASN: edgeASN, LocalRole: "provider", StrictRole: true},
	}}.String())
	h.start(always(append(neighbors, strict.neighbor(frrASN))...))
	for _, c := range cases {
		session := awaitSession(t, birds[c.name], spokes[c.name].Edge4)
		if c.role != "" && session.PeerRole != c.ours {
			t.Errorf("%s: BIRD heard the role %q, want %q", c.name, session.PeerRole, c.ours)
		}
		for _, prefix := range []struct{ netlab.Path }{
			{awaitPath(t, soon, birds[c.name], video4, nil)}, {awaitPath(t, soon, birds[c.name], video6, nil)},
		} {
			if otc := prefix.OTC; (otc != nil) != c.otc || otc != nil && *otc != edgeASN {
				t.Errorf("%s: %s has OTC %v, want one: %v", c.name, prefix.Prefix, optional(otc), c.otc)
			}
		}
	}
	if session := awaitSession(t, frr, strict.Edge4); session.PeerRole != "customer" {
		t.Errorf("FRR heard the role %q", session.PeerRole)
	}
	awaitPath(t, soon, frr, video4, nil)
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
