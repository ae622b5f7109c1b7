package router

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// frrRoute is the part that is read of `show bgp ipv4 unicast PREFIX json`.
type frrRoute struct {
	Prefix netip.Prefix `json:"prefix"`
	Paths  []frrPath    `json:"paths"`
}

type frrPath struct {
	ASPath struct {
		Segments []struct {
			List []uint32 `json:"list"`
		} `json:"segments"`
	} `json:"aspath"`
	Origin   string  `json:"origin"`
	Metric   *uint32 `json:"metric"`
	LocPrf   *uint32 `json:"locPrf"`
	OTC      *uint32 `json:"otc"`
	Sourced  bool    `json:"sourced"`
	Local    bool    `json:"local"`
	Bestpath struct {
		Overall bool `json:"overall"`
	} `json:"bestpath"`
	Comm  frrList `json:"community"`
	Large frrList `json:"largeCommunity"`
	Ext   struct {
		String string `json:"string"`
	} `json:"extendedCommunity"`
	Nexthops []struct {
		IP netip.Addr `json:"ip"`
	} `json:"nexthops"`
	Peer struct {
		ID string `json:"peerId"`
	} `json:"peer"`
}

type frrList struct {
	List []string `json:"list"`
}

// ParseFRRRoutes reads `show bgp ipv4 unicast PREFIX json`. The router's own routes are left out.
func ParseFRRRoutes(text []byte) ([]Path, error) {
	var route frrRoute
	if err := json.Unmarshal(text, &route); err != nil {
		return nil, fmt.Errorf("bgpd's route: %w: %s", err, excerpt(string(text)))
	}
	return frrLearned(route.Prefix, route.Paths)
}

func frrLearned(prefix netip.Prefix, all []frrPath) ([]Path, error) {
	var paths []Path
	for _, p := range all {
		if p.Sourced || p.Local {
			continue
		}
		path, err := p.path(prefix)
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// ParseFRRTable reads `show bgp ipv4 unicast json detail`, which is empty when there is no route. The paths are in the
// order of their prefixes; the router's own are left out.
func ParseFRRTable(text []byte) ([]Path, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	var table struct {
		Routes map[netip.Prefix][]json.RawMessage `json:"routes"`
	}
	if err := json.Unmarshal(text, &table); err != nil {
		return nil, fmt.Errorf("bgpd's table: %w: %s", err, excerpt(string(text)))
	}
	var paths []Path
	for _, prefix := range slices.SortedFunc(maps.Keys(table.Routes), netip.Prefix.Compare) {
		var all []frrPath
		for _, one := range table.Routes[prefix] {
			var p frrPath
			if err := json.Unmarshal(one, &p); err != nil {
				return nil, fmt.Errorf("bgpd's route %s: %w", prefix, err)
			}
			if p.Peer.ID != "" { // the first element is about the prefix
				all = append(all, p)
			}
		}
		learned, err := frrLearned(prefix, all)
		if err != nil {
			return nil, err
		}
		paths = append(paths, learned...)
	}
	return paths, nil
}

func (p frrPath) path(prefix netip.Prefix) (Path, error) {
	from, err := netip.ParseAddr(p.Peer.ID)
	if err != nil {
		return Path{}, fmt.Errorf("bgpd's route %s: peer: %w", prefix, err)
	}
	path := Path{
		Prefix: prefix, Origin: strings.ToLower(p.Origin), MED: p.Metric, LocalPref: p.LocPrf, OTC: p.OTC, From: from,
		Best:        p.Bestpath.Overall,
		Communities: canonical(p.Comm.List), LargeCommunities: p.Large.List,
		ExtCommunities: frrExtended(p.Ext.String),
	}
	for _, segment := range p.ASPath.Segments {
		path.ASPath = append(path.ASPath, segment.List...)
	}
	for _, hop := range p.Nexthops {
		path.NextHop = append(path.NextHop, hop.IP)
	}
	return path, nil
}

// frrExtended turns "RT:57629:101 SoO:57629:102" into catchment's spelling.
func frrExtended(text string) []string {
	var list []string
	for word := range strings.FieldsSeq(text) {
		kind, rest, _ := strings.Cut(word, ":")
		switch kind {
		case "RT":
			word = "rt:" + rest
		case "SoO":
			word = "ro:" + rest
		}
		list = append(list, word)
	}
	return list
}

// frrNeighbor is the part that is read of one neighbour in `show bgp neighbors json`.
type frrNeighbor struct {
	ASN         uint32 `json:"remoteAs"`
	Description string `json:"nbrDesc"`
	Foreign     string `json:"hostForeign"`
	State       string `json:"bgpState"`
	UpMsec      int64  `json:"bgpTimerUpMsec"`
	Established uint64 `json:"connectionsEstablished"`
	PeerRole    string `json:"remoteRole"`
	LastReset   string `json:"lastResetDueTo"`
	LastNotify  string `json:"lastNotificationReason"`
	LastText    string `json:"lastShutdownDescription"`
	Stats       struct {
		UpdatesReceived uint64 `json:"updatesRecv"`
		UpdatesSent     uint64 `json:"updatesSent"`
		RefreshReceived uint64 `json:"routeRefreshRecv"`
	} `json:"messageStats"`
}

// ParseFRRNeighbors reads `show bgp neighbors json`, or that of one neighbour. They are in the order of their addresses,
// those at an interface by its name behind them.
func ParseFRRNeighbors(text []byte) ([]Neighbor, error) {
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("bgpd's neighbours: %w: %s", err, excerpt(string(text)))
	}
	var list []Neighbor
	for key, one := range all {
		if !bytes.HasPrefix(bytes.TrimSpace(one), []byte("{")) {
			continue // "bgpNoSuchNeighbor": true
		}
		var n frrNeighbor
		if err := json.Unmarshal(one, &n); err != nil {
			return nil, fmt.Errorf("bgpd's neighbour %s: %w", key, err)
		}
		list = append(list, n.neighbor(key))
	}
	slices.SortFunc(list, func(a, b Neighbor) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), a.Address.Compare(b.Address))
	})
	return list, nil
}

// neighbor takes the key, which is an address or the name of an interface.
func (n frrNeighbor) neighbor(key string) Neighbor {
	out := Neighbor{ASN: n.ASN, Description: n.Description, Ups: n.Established, Counts: Counts{
		Updates: &n.Stats.UpdatesReceived, Sent: &n.Stats.UpdatesSent, Refreshes: &n.Stats.RefreshReceived,
	}}
	var err error
	if out.Address, err = netip.ParseAddr(key); err != nil {
		out.Name = key
		out.Address, _ = netip.ParseAddr(n.Foreign) // "Unknown" while there is no connection
	}
	out.State, out.LastError = n.State, joined(n.LastReset, n.LastNotify, n.LastText)
	if n.State == Established {
		if n.PeerRole != "undefined" {
			out.PeerRole = n.PeerRole
		}
		out.Uptime = time.Duration(n.UpMsec) * time.Millisecond
	}
	return out
}
