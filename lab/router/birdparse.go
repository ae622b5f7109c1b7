package router

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// birdProtocol is what was read so far of one BGP protocol in `show protocols all`.
type birdProtocol struct {
	Neighbor
	since                string
	announced, withdrawn uint64
	lastError, message   string
}

// ParseBIRDNeighbors reads the BGP protocols of `show protocols all`, in its order; now is BIRD's own clock, since it
// prints when a state was reached. It reads the time formats iso short, iso long, and those with fractions of a second; in
// another one the Uptime stays 0.
func ParseBIRDNeighbors(text string, now time.Time) []Neighbor {
	var list []*birdProtocol
	bgp := false
	for line := range strings.Lines(text) {
		// A protocol begins with a line that is not indented: name, kind, table, state, since (one word or two), info.
		if fields := strings.Fields(line); line[0] != ' ' && len(fields) >= 5 {
			if bgp = fields[1] == "BGP"; bgp {
				list = append(list, &birdProtocol{Neighbor: Neighbor{Name: fields[0]}, since: birdSince(fields[4:])})
			}
			continue
		}
		if key, value, _ := strings.Cut(line, ":"); bgp {
			list[len(list)-1].set(strings.TrimSpace(key), strings.TrimSpace(value))
		}
	}
	var out []Neighbor
	for _, p := range list {
		out = append(out, p.neighbor(now))
	}
	return out
}

// birdSince joins a date and the time that follows it.
func birdSince(words []string) string {
	if len(words) > 1 && !strings.Contains(words[0], ":") && strings.Count(words[1], ":") == 2 {
		return words[0] + " " + words[1]
	}
	return words[0]
}

// set takes one "key: value" line over. A value that cannot be read stays zero. The neighbour's capabilities come after
// our own.
func (p *birdProtocol) set(key, value string) {
	first, _, _ := strings.Cut(value, " ")
	switch key {
	case "Description":
		p.Description = value
	case "BGP state":
		p.State = value
	case "Neighbor address":
		p.Address, _ = netip.ParseAddr(first)
	case "Neighbor AS":
		n, _ := strconv.ParseUint(first, 10, 32)
		p.ASN = uint32(n)
	case "Last error":
		p.lastError = value
	case "Role":
		p.PeerRole = strings.ReplaceAll(value, "_", "-")
	case "Neighbor capabilities":
		p.PeerRole = ""
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

func (p *birdProtocol) neighbor(now time.Time) Neighbor {
	n := p.Neighbor
	n.LastError = joined(p.lastError, p.message)
	n.Counts = Counts{Announced: &p.announced, Withdrawn: &p.withdrawn}
	if n.State != Established {
		n.PeerRole = ""
	} else if since, err := birdTime(p.since, now); err == nil {
		n.Uptime = max(0, now.Sub(since))
	}
	return n
}

// birdTime reads a time that lies before now, in now's zone: BIRD leaves the date out, or the time of day, where the
// format is the short one.
func birdTime(text string, now time.Time) (time.Time, error) {
	if at, err := time.ParseInLocation("15:04:05.999999", text, now.Location()); err == nil {
		year, month, day := now.Date()
		at = time.Date(year, month, day, at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), now.Location())
		if at.After(now.Add(time.Minute)) { // the two clocks are read one after the other
			at = at.AddDate(0, 0, -1)
		}
		return at, nil
	}
	if at, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return at, nil
	}
	return time.ParseInLocation("2006-01-02 15:04:05.999999", text, now.Location())
}

// birdRoute is the line that begins a path: prefix (only at the first path), type, [protocol time ...], "*" for the best.
var birdRoute = regexp.MustCompile(`^(\S*)\s+\w+ \[(\S+) [^\]]*\] (\*?)`)

// ParseBIRDRoutes reads `show route all`, with a prefix or without. Paths that are not from one of the BGP neighbours are
// left out, and so are routes of other kinds than IPv4 and IPv6 unicast.
func ParseBIRDRoutes(text string, neighbors []Neighbor) ([]Path, error) {
	from := map[string]netip.Addr{}
	for _, n := range neighbors {
		from[n.Name] = n.Address
	}
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
			at = nil
			continue
		}
		if match[1] != "" {
			var err error
			if prefix, err = netip.ParsePrefix(match[1]); err != nil {
				return nil, fmt.Errorf("bird's route %q: %w", match[1], err)
			}
		}
		at = nil
		if address, ok := from[match[2]]; ok {
			paths = append(paths, Path{Prefix: prefix, From: address, Best: match[3] == "*"})
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
