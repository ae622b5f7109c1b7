// Package upstream is a BGP router in this process, for the demo and for tests
// where no router is installed.
//
// In goes the address it listens on and the neighbours it expects; out comes the
// table of what they announced to it. It is GoBGP in an ordinary setting, and so
// shares no code with the announcer. It never announces anything and never
// belongs into an edge node.
package upstream

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	api "github.com/osrg/gobgp/v3/api"
	"github.com/osrg/gobgp/v3/pkg/apiutil"
	"github.com/osrg/gobgp/v3/pkg/packet/bgp"

	"github.com/catchment-bgp/catchment/announcer/internal/gobgp"
	"github.com/catchment-bgp/catchment/community"
)

// Config describes the router and its one neighbour.
type Config struct {
	ASN      uint32
	RouterID netip.Addr
	Listen   netip.AddrPort // a port must be given
	// Neighbor may connect from this address; it has this ASN.
	Neighbor    netip.Addr
	NeighborASN uint32
	Password    string // TCP MD5 key; empty: none
}

// Router is a running router.
type Router struct{ bgp *gobgp.Server }

// Path is one route that the router has learnt.
type Path struct {
	Prefix      netip.Prefix
	ASPath      []uint32
	NextHop     netip.Addr
	Communities community.Set
	MED         *uint32
}

// Start starts a router. GoBGP keeps a goroutine of it for ever.
func Start(c Config) (*Router, error) {
	r := &Router{bgp: gobgp.New(nil)}
	ctx := context.Background()
	err := r.bgp.Start(&api.Global{
		Asn: c.ASN, RouterId: c.RouterID.String(),
		ListenPort: int32(c.Listen.Port()), ListenAddresses: []string{c.Listen.Addr().String()},
	})
	if err != nil {
		return nil, fmt.Errorf("upstream: listen on %s: %w", c.Listen, err)
	}
	family := func(afi api.Family_Afi) *api.AfiSafi {
		return &api.AfiSafi{Config: &api.AfiSafiConfig{Enabled: true, Family: &api.Family{Afi: afi, Safi: api.Family_SAFI_UNICAST}}}
	}
	err = r.bgp.AddPeer(ctx, &api.AddPeerRequest{Peer: &api.Peer{
		Conf:      &api.PeerConf{NeighborAddress: c.Neighbor.String(), PeerAsn: c.NeighborASN, AuthPassword: c.Password},
		Transport: &api.Transport{PassiveMode: true},
		Timers:    &api.Timers{Config: &api.TimersConfig{IdleHoldTimeAfterReset: 1}},
		AfiSafis:  []*api.AfiSafi{family(api.Family_AFI_IP), family(api.Family_AFI_IP6)},
	}})
	if err != nil {
		return nil, fmt.Errorf("upstream: neighbour %s: %w", c.Neighbor, err)
	}
	return r, nil
}

// Stop ends the sessions and the listener. It can take GoBGP some seconds.
func (r *Router) Stop() error {
	return r.bgp.StopBgp(context.Background(), &api.StopBgpRequest{})
}

// Reset drops the session, as an operator who clears it does.
func (r *Router) Reset() error {
	var addr string
	ctx := context.Background()
	err := r.bgp.ListPeer(ctx, &api.ListPeerRequest{}, func(p *api.Peer) { addr = p.GetConf().GetNeighborAddress() })
	if err != nil {
		return err
	}
	return r.bgp.ResetPeer(ctx, &api.ResetPeerRequest{Address: addr})
}

// Established says whether the session with the neighbour is up.
func (r *Router) Established() bool {
	up := false
	_ = r.bgp.ListPeer(context.Background(), &api.ListPeerRequest{}, func(p *api.Peer) {
		up = p.GetState().GetSessionState() == api.PeerState_ESTABLISHED
	})
	return up
}

// Routes returns all that the router has learnt, in order of the prefix.
func (r *Router) Routes() ([]Path, error) {
	var out []Path
	for _, afi := range []api.Family_Afi{api.Family_AFI_IP, api.Family_AFI_IP6} {
		err := r.bgp.ListPath(context.Background(), &api.ListPathRequest{
			TableType: api.TableType_GLOBAL, Family: &api.Family{Afi: afi, Safi: api.Family_SAFI_UNICAST},
		}, func(d *api.Destination) {
			for _, p := range d.Paths {
				if path, ok := read(d.Prefix, p); ok {
					out = append(out, path)
				}
			}
		})
		if err != nil {
			return nil, fmt.Errorf("upstream: list the table: %w", err)
		}
	}
	slices.SortFunc(out, func(a, b Path) int { return a.Prefix.Addr().Compare(b.Prefix.Addr()) })
	return out, nil
}

func read(prefix string, p *api.Path) (Path, bool) {
	var out Path
	var err error
	if out.Prefix, err = netip.ParsePrefix(prefix); err != nil {
		return out, false
	}
	attrs, err := apiutil.GetNativePathAttributes(p)
	if err != nil {
		return out, false
	}
	var set []community.Value
	for _, attr := range attrs {
		switch a := attr.(type) {
		case *bgp.PathAttributeAsPath:
			for _, segment := range a.Value {
				out.ASPath = append(out.ASPath, segment.GetAS()...)
			}
		case *bgp.PathAttributeNextHop:
			out.NextHop, _ = netip.AddrFromSlice(a.Value)
		case *bgp.PathAttributeMpReachNLRI:
			out.NextHop, _ = netip.AddrFromSlice(a.Nexthop)
		case *bgp.PathAttributeMultiExitDisc:
			out.MED = &a.Value
		case *bgp.PathAttributeCommunities:
			for _, c := range a.Value {
				set = append(set, community.NewStandard(uint16(c>>16), uint16(c)))
			}
		case *bgp.PathAttributeExtendedCommunities:
			for _, c := range a.Value {
				if b, err := c.Serialize(); err == nil && len(b) == 8 {
					set = append(set, community.NewExtended([8]byte(b)))
				}
			}
		case *bgp.PathAttributeLargeCommunities:
			for _, c := range a.Values {
				set = append(set, community.NewLarge(c.ASN, c.LocalData1, c.LocalData2))
			}
		}
	}
	out.Communities = community.NewSet(set...)
	out.NextHop = out.NextHop.Unmap()
	return out, true
}

// String is one line for people: prefix, path, communities.
func (p Path) String() string {
	path := strings.Trim(fmt.Sprint(p.ASPath), "[]")
	s := fmt.Sprintf("%s  AS_PATH %s  next hop %s", p.Prefix, path, p.NextHop)
	if p.MED != nil {
		s += fmt.Sprintf("  MED %d", *p.MED)
	}
	if len(p.Communities) > 0 {
		s += "  communities " + strings.Join(p.Communities.Strings(), " ")
	}
	return s
}
