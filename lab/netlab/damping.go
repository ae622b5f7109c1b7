package netlab

import (
	"encoding/json"
	"fmt"
	"net/netip"
)

// Damping is FRR's route flap damping (RFC 2439) for the routes of eBGP neighbours. FRR charges 1000 for a withdrawal, 500
// for a change of attributes and nothing for an announcement; it lets penalties fall every five seconds only, counted from
// the last charge.
type Damping struct {
	HalfLife        int // minutes, 1 to 45: the time in which a penalty falls to its half
	Reuse, Suppress int // penalties, the first below the second
	MaxSuppress     int // minutes: no penalty passes Reuse * 2^(MaxSuppress/HalfLife)
}

// Flaps is what FRR's damping has against one path.
type Flaps struct {
	From       netip.Addr
	Penalty    int // as it was at the last charge, decayed until now
	Count      int // charges since the penalty was last forgotten
	Suppressed bool
	History    bool // the path is withdrawn: only its penalty is left
}

// Flaps lists the paths to a prefix that have a penalty.
func (f *FRR) Flaps(prefix netip.Prefix) ([]Flaps, error) {
	text, err := f.ask(fmt.Sprintf("show bgp %s unicast %s json", frrFamily(prefix.Addr()), prefix))
	if err != nil {
		return nil, err
	}
	return parseFRRFlaps([]byte(text))
}

// Suppressed lists the prefixes of a family that FRR suppresses, as `show bgp ipv4 unicast dampening dampened-paths` does.
func (f *FRR) Suppressed(six bool) ([]netip.Prefix, error) {
	family := "ipv4"
	if six {
		family = "ipv6"
	}
	text, err := f.ask(fmt.Sprintf("show bgp %s unicast dampening dampened-paths json", family))
	if err != nil {
		return nil, err
	}
	return parseFRRSuppressed([]byte(text))
}

func parseFRRFlaps(text []byte) ([]Flaps, error) {
	var route struct {
		Paths []struct {
			Penalty    *int `json:"dampeningPenalty"`
			Count      int  `json:"dampeningFlapCount"`
			Suppressed bool `json:"dampeningSuppressed"`
			History    bool `json:"dampeningHistoryEntry"`
			Peer       struct {
				ID netip.Addr `json:"peerId"`
			} `json:"peer"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(text, &route); err != nil {
		return nil, fmt.Errorf("bgpd's damping: %w: %s", err, tail(string(text), 1<<10))
	}
	var list []Flaps
	for _, p := range route.Paths {
		if p.Penalty != nil {
			list = append(list, Flaps{From: p.Peer.ID, Penalty: *p.Penalty, Count: p.Count, Suppressed: p.Suppressed, History: p.History})
		}
	}
	return list, nil
}

func parseFRRSuppressed(text []byte) ([]netip.Prefix, error) {
	if len(text) == 0 { // no route at all
		return nil, nil
	}
	var table struct {
		Routes map[netip.Prefix]json.RawMessage `json:"routes"`
	}
	if err := json.Unmarshal(text, &table); err != nil {
		return nil, fmt.Errorf("bgpd's suppressed paths: %w: %s", err, tail(string(text), 1<<10))
	}
	var list []netip.Prefix
	for prefix := range table.Routes {
		list = append(list, prefix)
	}
	return list, nil
}
