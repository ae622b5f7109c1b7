package host

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

// WayBack says for each family whether packets find a way from this node to any
// client.
type WayBack struct{ IPv4, IPv6 bool }

// covers is, for one family, the prefixes that make up all of the Internet, and
// for each the prefixes that may hold its route, the most specific first. In IPv6
// all that is global lies in 2000::/3.
type covers [][]netip.Prefix

var (
	coversIPv4 = covers{
		{netip.MustParsePrefix("0.0.0.0/1"), netip.MustParsePrefix("0.0.0.0/0")},
		{netip.MustParsePrefix("128.0.0.0/1"), netip.MustParsePrefix("0.0.0.0/0")},
	}
	coversIPv6 = covers{
		{netip.MustParsePrefix("2000::/3"), netip.MustParsePrefix("::/1"), netip.MustParsePrefix("::/0")},
	}
)

// holds tells whether p is one of the prefixes that the decision rests on.
func (c covers) holds(p netip.Prefix) bool {
	for _, chain := range c {
		for _, q := range chain {
			if p == q {
				return true
			}
		}
	}
	return false
}

// table is what was read of the routes of one family: those that the decision
// rests on, and how many unicast routes with a living next hop there are in all.
type table struct {
	wide  []route
	count int
}

func (t *table) add(r route, c covers) {
	if !r.searched() {
		return
	}
	if r.kind == unix.RTN_UNICAST && r.hops&hopLives != 0 {
		t.count++
	}
	if c.holds(r.dst) {
		t.wide = append(t.wide, r)
	}
}

// wayBack decides for one family: its wide routes lead everywhere, or it has
// more than fullView routes, as only a full view has.
func wayBack(t table, c covers, fullView int) bool {
	return everywhere(t.wide, c) || t.count > fullView
}

func everywhere(wide []route, c covers) bool {
	for _, chain := range c {
		if !leads(wide, chain) {
			return false
		}
	}
	return true
}

// leads does what the kernel does with a packet that only the routes of chain
// can match: the table main, then the table default; in each the most specific
// prefix, then the lowest metric; a throw route ends the search of
// its table.
func leads(wide []route, chain []netip.Prefix) bool {
	for _, id := range []uint8{unix.RT_TABLE_MAIN, unix.RT_TABLE_DEFAULT} {
	search:
		for _, p := range chain {
			switch outcome(wide, id, p) {
			case wayLives:
				return true
			case wayLost:
				return false
			case wayThrown:
				break search
			}
		}
	}
	return false
}

// way is what becomes of a packet at one prefix of one table.
type way uint8

const (
	wayNone   way = iota // no route that the kernel would choose
	wayThrown            // sent on to the next table
	wayLost              // chosen and dropped, or sent into a dead link
	wayLives
)

// outcome looks at the routes for exactly p. The kernel passes over routes whose
// next hops are all dead and takes the lowest metric of the others, so a
// blackhole hides a higher metric and is no harm behind a lower one. Among
// routes of one metric the best counts.
func outcome(wide []route, id uint8, p netip.Prefix) way {
	best, metric := wayNone, uint32(0)
	for _, r := range wide {
		w := r.way()
		if r.table != id || r.dst != p || w == wayNone {
			continue
		}
		if best == wayNone || r.metric < metric || r.metric == metric && w > best {
			best, metric = w, r.metric
		}
	}
	return best
}

func (r route) way() way {
	switch {
	case r.kind == unix.RTN_THROW:
		return wayThrown
	case r.kind != unix.RTN_UNICAST:
		return wayLost
	case r.hops&hopLives != 0:
		return wayLives
	case r.hops&hopLost != 0:
		return wayLost
	}
	return wayNone
}
