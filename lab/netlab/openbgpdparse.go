package netlab

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
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

// parseOpenBGPDRoutes reads the paths to prefix; bgpctl lists those to shorter ones, too. OpenBGPD shows no MED as 0, so
// that 0 is read as none, and takes the LOCAL_PREF of a route over eBGP as 100.
func parseOpenBGPDRoutes(text []byte, prefix netip.Prefix) ([]Path, error) {
	var table struct{ Rib []openBGPDRoute }
	if err := json.Unmarshal(text, &table); err != nil {
		return nil, fmt.Errorf("bgpctl's routes: %w: %s", err, tail(string(text), 1<<10))
	}
	var paths []Path
	for _, r := range table.Rib {
		if r.Prefix != prefix || r.Announced {
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

// openBGPDNeighbor is the part that is read of `bgpctl -j show neighbor ADDRESS`.
type openBGPDNeighbor struct {
	Address   netip.Addr `json:"remote_addr"`
	State     string     `json:"state"`
	UpSeconds int64      `json:"last_updown_sec"`
	Sent      string     `json:"last_error_sent"`
	Received  string     `json:"last_error_received"`
	Reason    string     `json:"last_shutdown_reason"`
	Stats     struct {
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

func parseOpenBGPDNeighbor(text []byte, peer netip.Addr) (openBGPDNeighbor, error) {
	var all struct{ Neighbors []openBGPDNeighbor }
	if err := json.Unmarshal(text, &all); err != nil {
		return openBGPDNeighbor{}, fmt.Errorf("bgpctl's neighbour %s: %w: %s", peer, err, tail(string(text), 1<<10))
	}
	i := slices.IndexFunc(all.Neighbors, func(n openBGPDNeighbor) bool { return n.Address == peer })
	if i < 0 {
		return openBGPDNeighbor{}, fmt.Errorf("OpenBGPD has no neighbour %s", peer)
	}
	return all.Neighbors[i], nil
}

// session counts sessions in the log, as OpenBGPD has no counter of them. It forgets the last error in the next session.
func (n openBGPDNeighbor) session(proc logged) Session {
	s := Session{State: n.State, LastError: strings.Join(nonEmpty(n.Sent, n.Received, n.Reason), ": ")}
	if n.State != Established {
		return s
	}
	count := 0
	for line := range strings.Lines(proc.Log()) {
		if strings.HasPrefix(line, "neighbor "+n.Address.String()) && strings.Contains(line, "-> Established") {
			count++
		}
	}
	s.Uptime = time.Duration(n.UpSeconds) * time.Second
	s.Instance = fmt.Sprintf("openbgpd %d, session %d", proc.PID(), count)
	return s
}

// counts takes them as they are: those of routes start at 0 with each session.
func (n openBGPDNeighbor) counts() Counts {
	return Counts{
		Updates: &n.Stats.Message.Received.Updates, Sent: &n.Stats.Message.Sent.Updates, Refreshes: &n.Stats.Refresh.Received.Request,
		Announced: &n.Stats.Update.Received.Updates, Withdrawn: &n.Stats.Update.Received.Withdraws,
	}
}
