package router

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Journal is what ExaBGP's JSON lines told so far; the zero value has read nothing. ExaBGP keeps no table: the journal
// makes one of what ExaBGP wrote down. It is not safe for concurrent use.
type Journal struct {
	peers map[netip.Addr]*exaPeer
}

// exaPeer is one neighbour in the journal.
type exaPeer struct {
	asn                           uint32
	state, reason                 string
	up                            time.Time
	sessions                      uint64
	table                         map[netip.Prefix]Path
	updates, announced, withdrawn uint64
}

// exaLine is the part that is read of a line.
type exaLine struct {
	Type     string
	Time     float64 // seconds since 1970
	Neighbor struct {
		Address struct{ Peer netip.Addr }
		ASN     struct{ Peer uint32 }
		State   string
		Reason  string
		Message struct {
			EOR    json.RawMessage
			Update exaUpdate
		}
	}
}

type exaUpdate struct {
	Attribute struct {
		Origin    string
		ASPath    []uint32    `json:"as-path"`
		MED       *uint32     `json:"med"`
		LocalPref *uint32     `json:"local-preference"`
		Community [][2]uint32 `json:"community"`
		Large     [][3]uint32 `json:"large-community"`
		Extended  []struct {
			Value  uint64
			String string
		} `json:"extended-community"`
	}
	Announce map[string]map[netip.Addr][]exaNLRI // by family and next hop
	Withdraw map[string][]exaNLRI
}

type exaNLRI struct{ NLRI netip.Prefix }

// Add reads whole lines. An error names the first line that cannot be read; those before it were taken over.
func (j *Journal) Add(text []byte) error {
	for line := range bytes.Lines(text) {
		var l exaLine
		if err := json.Unmarshal(line, &l); err != nil {
			return fmt.Errorf("exabgp's line %s: %w", excerpt(string(line)), err)
		}
		if address := l.Neighbor.Address.Peer; address.IsValid() {
			j.peer(address).add(address, l)
		}
	}
	return nil
}

func (j *Journal) peer(address netip.Addr) *exaPeer {
	if j.peers == nil {
		j.peers = map[netip.Addr]*exaPeer{}
	}
	if j.peers[address] == nil {
		j.peers[address] = &exaPeer{state: "down", table: map[netip.Prefix]Path{}}
	}
	return j.peers[address]
}

func (p *exaPeer) add(from netip.Addr, l exaLine) {
	p.asn = l.Neighbor.ASN.Peer
	switch {
	case l.Type == "state":
		p.state, p.table = l.Neighbor.State, map[netip.Prefix]Path{}
		switch p.state {
		case "up":
			p.state, p.up, p.sessions = Established, time.UnixMicro(int64(l.Time*1e6)), p.sessions+1
		case "down":
			p.reason = l.Neighbor.Reason
		}
	case l.Type == "update":
		p.updates++
		p.update(from, l.Neighbor.Message.Update)
	}
}

func (p *exaPeer) update(from netip.Addr, u exaUpdate) {
	for _, list := range u.Withdraw {
		for _, n := range list {
			p.withdrawn++
			delete(p.table, n.NLRI)
		}
	}
	seen := map[netip.Prefix]bool{}
	for _, hops := range u.Announce {
		for _, hop := range slices.SortedFunc(maps.Keys(hops), netip.Addr.Compare) { // link-local ones come last
			for _, n := range hops[hop] {
				if !seen[n.NLRI] {
					p.announced++
					p.table[n.NLRI] = u.path(n.NLRI, from)
				}
				seen[n.NLRI] = true
				path := p.table[n.NLRI]
				path.NextHop = append(path.NextHop, hop)
				p.table[n.NLRI] = path
			}
		}
	}
}

func (u exaUpdate) path(prefix netip.Prefix, from netip.Addr) Path {
	a := u.Attribute
	p := Path{Prefix: prefix, Origin: a.Origin, ASPath: a.ASPath, MED: a.MED, LocalPref: a.LocalPref, From: from}
	for _, c := range a.Community {
		p.Communities = append(p.Communities, fmt.Sprintf("%d:%d", c[0], c[1]))
	}
	for _, c := range a.Large {
		p.LargeCommunities = append(p.LargeCommunities, fmt.Sprintf("%d:%d:%d", c[0], c[1], c[2]))
	}
	for _, c := range a.Extended {
		p.ExtCommunities = append(p.ExtCommunities, exaExtended(c.Value, c.String))
	}
	return p
}

// exaExtended reads an extended community's eight bytes, since ExaBGP's words have "0.0.0.7" for a 7 (RFC 4360, RFC
// 5668: type 0 has two bytes of ASN and four of value, type 2 the other way round; subtype 2 is a route target, 3 a
// route origin). Others stay as ExaBGP writes them.
func exaExtended(value uint64, text string) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], value)
	kind := map[byte]string{2: "rt:", 3: "ro:"}[b[1]]
	number := func(bytes []byte) string {
		var n uint64
		for _, each := range bytes {
			n = n<<8 | uint64(each)
		}
		return strconv.FormatUint(n, 10)
	}
	switch {
	case kind != "" && b[0] == 0:
		return kind + number(b[2:4]) + ":" + number(b[4:])
	case kind != "" && b[0] == 2:
		return kind + number(b[2:6]) + ":" + number(b[6:])
	}
	return text
}

// Paths are those of all neighbours to a prefix, in the order of the neighbours' addresses; none is marked as the best.
func (j *Journal) Paths(prefix netip.Prefix) []Path {
	var paths []Path
	for _, address := range j.addresses() {
		if path, ok := j.peers[address].table[prefix]; ok {
			paths = append(paths, path)
		}
	}
	return paths
}

// Table is all paths, in the order of their prefixes and then of the neighbours' addresses.
func (j *Journal) Table() []Path {
	prefixes := map[netip.Prefix]bool{}
	for _, p := range j.peers {
		for prefix := range p.table {
			prefixes[prefix] = true
		}
	}
	var paths []Path
	for _, prefix := range slices.SortedFunc(maps.Keys(prefixes), netip.Prefix.Compare) {
		paths = append(paths, j.Paths(prefix)...)
	}
	return paths
}

func (j *Journal) addresses() []netip.Addr {
	return slices.SortedFunc(maps.Keys(j.peers), netip.Addr.Compare)
}

// Neighbors are those that ExaBGP wrote of, in the order of their addresses. A state is "Established", "connected" or
// "down".
func (j *Journal) Neighbors(now time.Time) []Neighbor {
	var list []Neighbor
	for _, address := range j.addresses() {
		p := j.peers[address]
		updates, announced, withdrawn := p.updates, p.announced, p.withdrawn
		n := Neighbor{Address: address, ASN: p.asn, Ups: p.sessions,
			Counts: Counts{Updates: &updates, Announced: &announced, Withdrawn: &withdrawn}}
		n.State, n.LastError = p.state, strings.TrimSpace(p.reason)
		if p.state == Established {
			n.Uptime = max(0, now.Sub(p.up))
		}
		list = append(list, n)
	}
	return list
}

// exaSetting is a line of a configuration that is read: the neighbour that begins, and what is said of it.
var exaSetting = regexp.MustCompile(`(?m)^\s*(neighbor|peer-as|description)\s+("[^"\n]*"|'[^'\n]*'|[^\s;{]+)`)

// ParseExaBGPConfig reads which neighbours an exabgp.conf has, with one setting on a line; the state of each is "down".
// Templates that neighbours inherit from are not followed.
func ParseExaBGPConfig(text string) []Neighbor {
	var list []Neighbor
	for _, match := range exaSetting.FindAllStringSubmatch(text, -1) {
		value := strings.Trim(match[2], `"'`)
		if match[1] == "neighbor" {
			if address, err := netip.ParseAddr(value); err == nil {
				zero := new(uint64)
				list = append(list, Neighbor{Address: address, Session: Session{State: "down"},
					Counts: Counts{Updates: zero, Announced: zero, Withdrawn: zero}})
			}
			continue
		}
		if len(list) == 0 {
			continue
		}
		last := &list[len(list)-1]
		if match[1] == "description" {
			last.Description = value
		} else if asn, err := number(value); err == nil {
			last.ASN = *asn
		}
	}
	return list
}
