package router

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// edgeReader asks a catchment-edge node for its status. What it needs beside that, the node's own ASN, stands in its
// configuration.
type edgeReader struct{ asker }

// edgeStatus is the part that is read of `catchment edge status -o json`.
type edgeStatus struct {
	Services []struct {
		Neighbors []edgeNeighbor `json:"neighbors"`
	} `json:"services"`
}

type edgeNeighbor struct {
	Name    string      `json:"name"`
	Address netip.Addr  `json:"address"`
	ASN     uint32      `json:"asn"`
	Session string      `json:"session"`
	Since   *time.Time  `json:"session_since"`
	Error   string      `json:"last_error"`
	Routes  []edgeRoute `json:"routes"`
}

type edgeRoute struct {
	Prefix      netip.Prefix `json:"prefix"`
	NextHop     netip.Addr   `json:"next_hop"`
	Prepend     int          `json:"prepend"`
	Communities []string     `json:"communities"`
	MED         *uint32      `json:"med"`
	LocalPref   *uint32      `json:"local_pref"`
}

func parseEdgeStatus(text []byte) (edgeStatus, error) {
	var s edgeStatus
	if err := json.Unmarshal(text, &s); err != nil {
		return edgeStatus{}, fmt.Errorf("the node's status: %w: %s", err, excerpt(string(text)))
	}
	return s, nil
}

// ParseEdgeNeighbors reads the neighbours of `catchment edge status -o json`: each once, in its order.
func ParseEdgeNeighbors(text []byte, now time.Time) ([]Neighbor, error) {
	s, err := parseEdgeStatus(text)
	if err != nil {
		return nil, err
	}
	var list []Neighbor
	seen := map[string]bool{}
	for _, service := range s.Services {
		for _, n := range service.Neighbors {
			if !seen[n.Name] {
				list = append(list, n.neighbor(now))
			}
			seen[n.Name] = true
		}
	}
	return list, nil
}

func (n edgeNeighbor) neighbor(now time.Time) Neighbor {
	out := Neighbor{Name: n.Name, Address: n.Address, ASN: n.ASN, Session: Session{State: n.Session, LastError: n.Error}}
	if n.Session == "established" {
		out.State = Established
		if n.Since != nil {
			out.Uptime = max(0, now.Sub(*n.Since))
		}
	}
	return out
}

// ParseEdgeRoutes reads what the node announces from `catchment edge status -o json`. The AS_PATH is that which goes out:
// own, as often as it is prepended and once more towards another AS (RFC 4271, section 5.1.2). An own of 0 is not known,
// and leaves it empty.
func ParseEdgeRoutes(text []byte, own uint32) ([]Path, error) {
	s, err := parseEdgeStatus(text)
	if err != nil {
		return nil, err
	}
	var paths []Path
	for _, service := range s.Services {
		for _, n := range service.Neighbors {
			for _, r := range n.Routes {
				if r.Prepend < 0 || r.Prepend > mostPrepends {
					return nil, fmt.Errorf("the node's route %s: prepend %d", r.Prefix, r.Prepend)
				}
				paths = append(paths, r.path(n, own))
			}
		}
	}
	return paths, nil
}

// mostPrepends is more than a node ever adds.
const mostPrepends = 255

func (r edgeRoute) path(n edgeNeighbor, own uint32) Path {
	p := Path{Prefix: r.Prefix, Origin: "igp", MED: r.MED, LocalPref: r.LocalPref, To: n.Address}
	if r.NextHop.IsValid() {
		p.NextHop = []netip.Addr{r.NextHop}
	}
	if own != 0 && own != n.ASN {
		for range r.Prepend + 1 {
			p.ASPath = append(p.ASPath, own)
		}
	}
	for _, c := range r.Communities {
		switch {
		case strings.HasPrefix(c, "rt:"), strings.HasPrefix(c, "ro:"):
			p.ExtCommunities = append(p.ExtCommunities, c)
		case strings.Count(c, ":") == 2:
			p.LargeCommunities = append(p.LargeCommunities, c)
		default:
			p.Communities = append(p.Communities, c)
		}
	}
	return p
}

func (r edgeReader) status(ctx context.Context) ([]byte, error) {
	text, err := r.ask(ctx, "catchment", "edge", "status", "-o", "json")
	return []byte(text), err
}

func (r edgeReader) Table(ctx context.Context) ([]Path, error) {
	text, err := r.status(ctx)
	if err != nil {
		return nil, err
	}
	config, err := r.ask(ctx, "cat", "/etc/catchment/edge.yaml")
	if err != nil {
		return nil, err
	}
	var own struct {
		ASN uint32 `yaml:"asn"`
	}
	if err := yaml.Unmarshal([]byte(config), &own); err != nil {
		return parsed[Path](r.asker, nil, fmt.Errorf("/etc/catchment/edge.yaml: %w", err))
	}
	paths, err := ParseEdgeRoutes(text, own.ASN)
	return parsed(r.asker, paths, err)
}

func (r edgeReader) Routes(ctx context.Context, prefix netip.Prefix) ([]Path, error) {
	paths, err := r.Table(ctx)
	return to(prefix, paths), err
}

func (r edgeReader) Sessions(ctx context.Context) ([]Neighbor, error) {
	text, err := r.status(ctx)
	if err != nil {
		return nil, err
	}
	list, err := ParseEdgeNeighbors(text, time.Now())
	return parsed(r.asker, list, err)
}
