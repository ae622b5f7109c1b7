package netlab

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// exaJournal is what ExaBGP's JSON lines told so far.
type exaJournal struct {
	peers map[netip.Addr]*exaPeer
}

// exaPeer is one neighbour in the journal.
type exaPeer struct {
	state, reason                 string
	up                            time.Time
	sessions                      int
	table                         map[netip.Prefix]Path
	updates, announced, withdrawn uint64
}

// exaLine is the part that is read of a line.
type exaLine struct {
	Type     string
	Time     float64 // seconds since 1970
	Neighbor struct {
		Address struct{ Peer netip.Addr }
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

// add reads whole lines. An error names the first line that cannot be read; those before it were taken over.
func (j *exaJournal) add(text []byte) error {
	for line := range bytes.Lines(text) {
		var l exaLine
		if err := json.Unmarshal(line, &l); err != nil {
			return fmt.Errorf("exabgp's line %s: %w", tail(string(line), 1<<10), err)
		}
		if address := l.Neighbor.Address.Peer; address.IsValid() {
			j.peer(address).add(address, l)
		}
	}
	return nil
}

func (j *exaJournal) peer(address netip.Addr) *exaPeer {
	if j.peers == nil {
		j.peers = map[netip.Addr]*exaPeer{}
	}
	if j.peers[address] == nil {
		j.peers[address] = &exaPeer{state: "down", table: map[netip.Prefix]Path{}}
	}
	return j.peers[address]
}

func (p *exaPeer) add(from netip.Addr, l exaLine) {
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

// paths are those of all neighbours to a prefix.
func (j *exaJournal) paths(prefix netip.Prefix) []Path {
	var paths []Path
	for _, address := range slices.SortedFunc(maps.Keys(j.peers), netip.Addr.Compare) {
		if path, ok := j.peers[address].table[prefix]; ok {
			paths = append(paths, path)
		}
	}
	return paths
}

func (p exaPeer) session(now time.Time, pid int) Session {
	s := Session{State: p.state, LastError: strings.TrimSpace(p.reason)}
	if p.state == Established {
		s.Uptime, s.Instance = now.Sub(p.up), fmt.Sprintf("exabgp %d, session %d", pid, p.sessions)
	}
	return s
}
