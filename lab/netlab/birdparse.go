package netlab

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// birdProtocol is the part that is read of one BGP protocol in `show protocols all`.
type birdProtocol struct {
	name, since          string
	state                string
	lastError, message   string
	role                 string // the neighbour's: its capabilities come after our own
	address              netip.Addr
	announced, withdrawn uint64
}

// parseBIRDProtocols reads the BGP protocols of `show protocols all`. A protocol begins with a line that is not
// indented: name, kind, table, state, since (two words), info.
func parseBIRDProtocols(text string) []birdProtocol {
	var list []birdProtocol
	bgp := false
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); line[0] != ' ' && len(fields) >= 6 {
			if bgp = fields[1] == "BGP"; bgp {
				list = append(list, birdProtocol{name: fields[0], since: fields[4] + " " + fields[5]})
			}
			continue
		}
		if key, value, _ := strings.Cut(line, ":"); bgp {
			list[len(list)-1].set(strings.TrimSpace(key), strings.TrimSpace(value))
		}
	}
	return list
}

// set takes one "key: value" line over. A value that cannot be read stays zero.
func (p *birdProtocol) set(key, value string) {
	first, _, _ := strings.Cut(value, " ")
	switch key {
	case "BGP state":
		p.state = value
	case "Neighbor address":
		p.address, _ = netip.ParseAddr(first)
	case "Last error":
		p.lastError = value
	case "Role":
		p.role = strings.ReplaceAll(value, "_", "-")
	case "Neighbor capabilities":
		p.role = ""
	case "Message":
		p.message = value
	case "Import updates":
		n, _ := strconv.ParseUint(first, 10, 64)
		p.announced += n
	case "Import withdraws":
		n, _ := strconv.ParseUint(first, 10, 64)
		p.withdrawn += n
	}
}

// logged is what session needs of the bird process.
type logged interface {
	PID() int
	Log() string
}

// session tells the uptime against now, since BIRD prints when the state was reached, in local time. Sessions are
// counted in the log: BIRD has no counter, and the time that it prints for one event moves with the clock's adjustment.
func (p birdProtocol) session(now time.Time, proc logged) (Session, error) {
	s := Session{State: p.state, LastError: strings.Join(nonEmpty(p.lastError, p.message), ": ")}
	if s.State != Established {
		return s, nil
	}
	since, err := time.ParseInLocation("2006-01-02 15:04:05.999999", p.since, time.Local)
	if err != nil {
		return s, fmt.Errorf("bird's protocol %s: since: %w (is `timeformat protocol iso long us;` set?)", p.name, err)
	}
	count := strings.Count(proc.Log(), "> "+p.name+": BGP session established")
	if count == 0 {
		return s, fmt.Errorf("bird's protocol %s: its log tells of no session (is `debug protocols { events };` set?)", p.name)
	}
	s.Uptime, s.Instance, s.PeerRole = now.Sub(since), fmt.Sprintf("bird %d, session %d", proc.PID(), count), p.role
	return s, nil
}

// birdRoute is the line that begins a path: prefix (only at the first path), type, [protocol time ...], "*" for the best.
var birdRoute = regexp.MustCompile(`^(\S*)\s+\w+ \[(\S+) [^\]]*\] (\*?)`)

// parseBIRDRoutes reads `show route PREFIX all`. Paths that are not from one of the BGP neighbours, given by protocol
// name, are left out.
func parseBIRDRoutes(text string, neighbors map[string]netip.Addr) ([]Path, error) {
	var paths []Path
	var prefix netip.Prefix
	var at *Path // the path that attribute lines belong to
	for line := range strings.Lines(text) {
		if line[0] == '\t' {
			if err := at.setBIRD(strings.TrimSpace(line)); err != nil {
				return nil, fmt.Errorf("bird's route %s: %q: %w", prefix, strings.TrimSpace(line), err)
			}
			continue
		}
		match := birdRoute.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		if match[1] != "" {
			var err error
			if prefix, err = netip.ParsePrefix(match[1]); err != nil {
				return nil, fmt.Errorf("bird's route %q: %w", match[1], err)
			}
		}
		at = nil
		if from, ok := neighbors[match[2]]; ok {
			paths = append(paths, Path{Prefix: prefix, From: from, Best: match[3] == "*"})
			at = &paths[len(paths)-1]
		}
	}
	return paths, nil
}

// setBIRD takes one attribute line over; p is nil below a path that is left out.
func (p *Path) setBIRD(line string) error {
	key, value, ok := strings.Cut(line, ": ")
	if p == nil || !ok {
		return nil
	}
	var err error
	switch key {
	case "BGP.origin":
		p.Origin = strings.ToLower(value)
	case "BGP.as_path":
		p.ASPath, err = birdASPath(value)
	case "BGP.next_hop":
		for word := range strings.FieldsSeq(value) {
			hop, e := netip.ParseAddr(word)
			if e != nil {
				return e
			}
			p.NextHop = append(p.NextHop, hop)
		}
	case "BGP.med":
		p.MED, err = number(value)
	case "BGP.local_pref":
		p.LocalPref, err = number(value)
	case "BGP.otc":
		p.OTC, err = number(value)
	case "BGP.community":
		p.Communities = birdTuples(value)
	case "BGP.large_community":
		p.LargeCommunities = birdTuples(value)
	case "BGP.ext_community":
		p.ExtCommunities = birdTuples(value)
	}
	return err
}

func number(text string) (*uint32, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 32)
	value := uint32(n)
	return &value, err
}

// birdASPath reads the numbers of a path; the brackets of sets are dropped.
func birdASPath(text string) ([]uint32, error) {
	var path []uint32
	for word := range strings.FieldsSeq(strings.NewReplacer("{", " ", "}", " ", "(", " ", ")", " ").Replace(text)) {
		asn, err := number(word)
		if err != nil {
			return nil, err
		}
		path = append(path, *asn)
	}
	return path, nil
}

// birdTuples turns "(1,2) (rt, 3, 4)" into "1:2" and "rt:3:4".
func birdTuples(text string) []string {
	var list []string
	for tuple := range strings.SplitSeq(text, ")") {
		if tuple = strings.Trim(tuple, " ("); tuple != "" {
			list = append(list, strings.ReplaceAll(strings.ReplaceAll(tuple, " ", ""), ",", ":"))
		}
	}
	return list
}
