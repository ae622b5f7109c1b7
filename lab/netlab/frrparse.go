package netlab

import (
	"encoding/json"
	"fmt"
	"net/netip"
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

func parseFRRRoutes(text []byte) ([]Path, error) {
	var route frrRoute
	if err := json.Unmarshal(text, &route); err != nil {
		return nil, fmt.Errorf("bgpd's route: %w: %s", err, tail(string(text), 1<<10))
	}
	var paths []Path
	for _, p := range route.Paths {
		if p.Sourced || p.Local {
			continue
		}
		path, err := p.path(route.Prefix)
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
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

// wellKnown are the names that routers print for the communities of RFC 1997, 3765, 7999 and 8326.
var wellKnown = map[string]string{
	"gracefulShutdown": "65535:0", "graceful-shutdown": "65535:0", "GRACEFUL_SHUTDOWN": "65535:0",
	"blackhole": "65535:666", "BLACKHOLE": "65535:666",
	"noExport": "65535:65281", "no-export": "65535:65281",
	"noAdvertise": "65535:65282", "no-advertise": "65535:65282",
	"localAs": "65535:65283", "local-AS": "65535:65283", "local-as": "65535:65283",
	"noPeer": "65535:65284", "no-peer": "65535:65284",
	"NO_EXPORT": "65535:65281", "NO_ADVERTISE": "65535:65282", "NO_EXPORT_SUBCONFED": "65535:65283", "NO_PEER": "65535:65284",
}

func canonical(list []string) []string {
	var out []string
	for _, word := range list {
		if number, ok := wellKnown[word]; ok {
			word = number
		}
		out = append(out, word)
	}
	return out
}

// frrNeighbor is the part that is read of `show bgp neighbors ADDRESS json`.
type frrNeighbor struct {
	State       string `json:"bgpState"`
	UpMsec      int64  `json:"bgpTimerUpMsec"`
	UpSince     int64  `json:"bgpTimerUpEstablishedEpoch"`
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

func parseFRRNeighbor(text []byte, peer netip.Addr) (frrNeighbor, error) {
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &all); err != nil {
		return frrNeighbor{}, fmt.Errorf("bgpd's neighbour %s: %w: %s", peer, err, tail(string(text), 1<<10))
	}
	one, ok := all[peer.String()]
	if !ok {
		return frrNeighbor{}, fmt.Errorf("bgpd has no neighbour %s", peer)
	}
	var neighbor frrNeighbor
	if err := json.Unmarshal(one, &neighbor); err != nil {
		return frrNeighbor{}, fmt.Errorf("bgpd's neighbour %s: %w", peer, err)
	}
	return neighbor, nil
}

// session needs bgpd's process number, since its count of sessions starts anew with the process.
func (n frrNeighbor) session(pid int) Session {
	s := Session{State: n.State, LastError: strings.Join(nonEmpty(n.LastReset, n.LastNotify, n.LastText), ": ")}
	if n.State == Established {
		if n.PeerRole != "undefined" {
			s.PeerRole = n.PeerRole
		}
		s.Uptime = time.Duration(n.UpMsec) * time.Millisecond
		s.Instance = fmt.Sprintf("bgpd %d, session %d", pid, n.Established)
	}
	return s
}

func (n frrNeighbor) counts() Counts {
	return Counts{Updates: &n.Stats.UpdatesReceived, Sent: &n.Stats.UpdatesSent, Refreshes: &n.Stats.RefreshReceived}
}

func nonEmpty(words ...string) []string {
	var out []string
	for _, word := range words {
		if word != "" {
			out = append(out, word)
		}
	}
	return out
}
