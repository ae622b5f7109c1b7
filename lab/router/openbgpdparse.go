package router

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// openBGPDRoute is the part that is read of a path in `bgpctl -j show rib detail PREFIX`.
type openBGPDRoute struct {
	Prefix   netip.Prefix `json:"prefix"`
	ASPath   string       `json:"aspath"`
	NextHop  netip.Addr   `json:"exit_nexthop"`
	Neighbor struct {
		Address string `json:"remote_addr"`
	} `json:"neighbor"`
	Best        bool     `json:"best"`
	Announced   bool     `json:"announced"` // the router's own
	Origin      string   `json:"origin"`
	MED         uint32   `json:"metric"`
	LocalPref   uint32   `json:"localpref"`
	Communities []string `json:"communities"`
	Large       []string `json:"large_communities"`
	Extended    []string `json:"extended_communities"`
}

// ParseOpenBGPDRoutes reads `bgpctl -j show rib detail`, with a prefix or without. The router's own routes are left out.
// OpenBGPD shows no MED as 0, so that 0 is read as none, and takes the LOCAL_PREF of a route over eBGP as 100.
func ParseOpenBGPDRoutes(text []byte) ([]Path, error) {
	var table struct{ Rib []openBGPDRoute }
	if err := json.Unmarshal(text, &table); err != nil {
		return nil, fmt.Errorf("bgpctl's routes: %w: %s", err, excerpt(string(text)))
	}
	var paths []Path
	for _, r := range table.Rib {
		if r.Announced {
			continue
		}
		path, err := r.path()
		if err != nil {
			return nil, fmt.Errorf("bgpctl's route %s: %w", r.Prefix, err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

func (r openBGPDRoute) path() (Path, error) {
	from, err := netip.ParseAddr(r.Neighbor.Address)
	if err != nil {
		return Path{}, err
	}
	p := Path{
		Prefix: r.Prefix, Origin: strings.ToLower(r.Origin), NextHop: []netip.Addr{r.NextHop}, LocalPref: &r.LocalPref,
		Communities: canonical(r.Communities), LargeCommunities: r.Large, From: from, Best: r.Best,
	}
	if r.MED != 0 {
		p.MED = &r.MED
	}
	for _, word := range r.Extended { // "rt 57629:101", "soo 57629:7"
		kind, rest, found := strings.Cut(word, " ")
		if name := map[string]string{"rt": "rt:", "soo": "ro:"}[kind]; found && name != "" {
			word = name + rest
		}
		p.ExtCommunities = append(p.ExtCommunities, word)
	}
	p.ASPath, err = birdASPath(r.ASPath) // it is written as BIRD writes it
	return p, err
}

// openBGPDNeighbor is the part that is read of one neighbour in `bgpctl -j show neighbor`.
type openBGPDNeighbor struct {
	Address     netip.Addr `json:"remote_addr"`
	ASN         string     `json:"remote_as"`
	Description string     `json:"description"`
	State       string     `json:"state"`
	UpSeconds   int64      `json:"last_updown_sec"`
	Sent        string     `json:"last_error_sent"`
	Received    string     `json:"last_error_received"`
	Reason      string     `json:"last_shutdown_reason"`
	Stats       struct {
		Message struct {
			Sent, Received struct {
				Updates uint64
			}
		}
		Update struct {
			Received struct {
				Updates, Withdraws uint64
			}
		}
		Refresh struct {
			Received struct {
				Request uint64
			}
		} `json:"route-refresh"`
	}
}

// ParseOpenBGPDNeighbors reads `bgpctl -j show neighbor`, in its order. OpenBGPD forgets the last error in the next
// session; its counts of routes start at 0 with each session.
func ParseOpenBGPDNeighbors(text []byte) ([]Neighbor, error) {
	var all struct{ Neighbors []openBGPDNeighbor }
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("bgpctl's neighbours: %w: %s", err, excerpt(string(text)))
	}
	var list []Neighbor
	for _, n := range all.Neighbors {
		asn, err := number(n.ASN)
		if err != nil {
			return nil, fmt.Errorf("bgpctl's neighbour %s: %w", n.Address, err)
		}
		out := Neighbor{Address: n.Address, ASN: *asn, Description: n.Description, Counts: n.counts()}
		out.State, out.LastError = n.State, joined(n.Sent, n.Received, n.Reason)
		if n.State == Established {
			out.Uptime = time.Duration(n.UpSeconds) * time.Second
		}
		list = append(list, out)
	}
	return list, nil
}

func (n openBGPDNeighbor) counts() Counts {
	return Counts{
		Updates: &n.Stats.Message.Received.Updates, Sent: &n.Stats.Message.Sent.Updates, Refreshes: &n.Stats.Refresh.Received.Request,
		Announced: &n.Stats.Update.Received.Updates, Withdrawn: &n.Stats.Update.Received.Withdraws,
	}
}
