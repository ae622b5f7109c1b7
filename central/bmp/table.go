package bmp

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/catchment-bgp/catchment/community/update"
)

const (
	// MaxPeers is how many peers of a router may be up.
	MaxPeers = 10_000
	// MaxRoutes is how many routes of a view are kept.
	MaxRoutes = 100_000
	// MaxOctets is how much memory the AS paths and communities of a view's routes take.
	MaxOctets = 64 << 20
	// DumpTime is how long after it has come up a peer's table counts as whole without
	// an End-of-RIB: there is one at the start of a session only, and some send none.
	DumpTime = 30 * time.Second
)

// table is what one session of a router has told. It has no clock and does no I/O.
type table struct {
	rib    RIB
	want   map[netip.Prefix]bool
	began  bool // it has said who it is
	router string
	peers  map[peerKey]*peer
	routes int
	octets int // of what MaxOctets bounds
	done   [2]bool
	spoke  [2]bool
	attrs  update.Attributes
}

// peer is one that is up.
type peer struct {
	addr          netip.Addr
	asn, localASN uint32
	up            time.Time
	addPath, done [2]bool
	routes        map[routeKey]Route
}

type routeKey struct {
	prefix netip.Prefix
	id     uint32
}

func newTable(rib RIB, want map[netip.Prefix]bool) *table {
	return &table{rib: rib, want: want, peers: map[peerKey]*peer{}}
}

// errEnded is that of a router that ends its session.
var errEnded = errors.New("the router ended the session")

// apply takes a message in, and reports whether that changed what state returns. After
// an error the session is over; the table stands as before it.
func (t *table) apply(kind byte, body []byte, now time.Time) (changed bool, err error) {
	if !t.began && kind != typeInitiation { // RFC 7854, section 4.3
		return false, fmt.Errorf("a message of type %d before the Initiation", kind)
	}
	c := update.Cursor{B: body}
	switch kind {
	case typeInitiation:
		t.began = true
		return true, named("Initiation", eachTLV(body, func(kind uint16, value []byte) {
			if kind == tlvName {
				t.router = text(value)
			}
		}))
	case typeTermination:
		why, err := readTermination(body)
		if err != nil {
			return false, named("Termination", err)
		}
		return false, fmt.Errorf("%w: %s", errEnded, why)
	case typePeerUp:
		err := t.peerUp(&c, now)
		return err == nil, named("Peer Up", err)
	case typePeerDown:
		changed, err := t.peerDown(&c)
		return changed, named("Peer Down", err)
	case typeRoutes:
		changed, err := t.monitor(&c)
		return changed, named("Route Monitoring", err)
	case typeStatistics, typeMirroring:
		return false, nil
	}
	return false, fmt.Errorf("a message of type %d; the types are 0 to 6", kind)
}

func named(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// counts reports whether a peer has a part in the table that is read.
func (t *table) counts(key peerKey) bool { return (key.kind == peerLocRIB) == (t.rib == Loc) }

func (t *table) peerUp(c *update.Cursor, now time.Time) error {
	h, err := readPeer(c)
	if err != nil {
		return err
	}
	sent, received, err := opens(c)
	if err != nil {
		return fmt.Errorf("peer %s: %w", h.address(), err)
	}
	if !t.counts(h.key) {
		return nil
	}
	if t.peers[h.key] == nil && len(t.peers) == MaxPeers {
		return fmt.Errorf("more than %d peers", MaxPeers)
	}
	p := &peer{addr: h.address(), asn: h.asn, localASN: sent.asn, up: now, routes: map[routeKey]Route{}}
	if h.key.kind == peerLocRIB {
		p.localASN = h.asn
	}
	for _, f := range Families {
		p.addPath[f] = received.sends[f] && sent.receives[f]
	}
	t.drop(h.key)
	t.peers[h.key] = p
	return nil
}

// peerDown takes a peer away. One that is not there is passed over: FRR tells of those
// that never came up.
func (t *table) peerDown(c *update.Cursor) (bool, error) {
	h, err := readPeer(c)
	if err != nil {
		return false, err
	}
	if c.U8(); c.Short { // the reason
		return false, errShort
	}
	return t.drop(h.key), nil
}

func (t *table) drop(key peerKey) bool {
	p := t.peers[key]
	if p == nil {
		return false
	}
	t.routes -= len(p.routes)
	for _, r := range p.routes {
		t.octets -= weight(r)
	}
	delete(t.peers, key)
	return true
}

// read reports whether a message is of the table that is read.
func (t *table) read(h perPeer) bool {
	switch {
	case !t.counts(h.key):
		return false
	case t.rib == Loc:
		return true
	}
	return h.flags&flagRIBOut == 0 && (h.flags&flagPost != 0) == (t.rib == Post)
}

// monitor reads Route Monitoring (RFC 7854, section 4.6). What comes of a peer that is
// not up is passed over: FRR has a peer with no address for its own routes.
func (t *table) monitor(c *update.Cursor) (changed bool, err error) {
	h, err := readPeer(c)
	if err != nil {
		return false, err
	}
	p := t.peers[h.key]
	if p == nil || !t.read(h) {
		return false, nil
	}
	body, rest, err := message(c.B, bgpUpdate)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d octets are left behind the UPDATE", len(rest))
	}
	if err == nil {
		changed, err = t.update(p, body, h.width())
	}
	if err != nil {
		return false, fmt.Errorf("peer %s: %w", p.addr, err)
	}
	return changed, nil
}

// change is a route that is new, or gone.
type change struct {
	key   routeKey
	route Route
	gone  bool
}

// update takes an UPDATE in, whole or not at all.
func (t *table) update(p *peer, body []byte, width int) (changed bool, err error) {
	fields, size, err := t.attrs.Fields(body)
	if err != nil {
		return false, err
	}
	if afi, ok := update.EndOfRIB(fields, size, &t.attrs); ok {
		f := Family(afi) - update.AFIv4
		changed = !p.done[f] || !t.spoke[f]
		p.done[f], t.spoke[f] = true, true
		return changed, nil
	}
	var changes []change
	spoke := t.spoke
	for _, field := range fields {
		if len(field.NLRI) == 0 {
			continue
		}
		f, _ := familyOf(field.AFI, field.SAFI)
		spoke[f] = true
		more, err := t.changes(p, field, f, width)
		if err != nil {
			return false, err
		}
		changes = append(changes, more...)
	}
	if t.routes+len(changes) > MaxRoutes {
		return false, fmt.Errorf("more than %d routes to wanted prefixes", MaxRoutes)
	}
	more := 0
	for _, c := range changes {
		more += weight(c.route) - weight(p.routes[c.key])
	}
	if more > 0 && t.octets+more > MaxOctets {
		return false, fmt.Errorf("more than %d MiB of paths and communities of wanted prefixes", MaxOctets>>20)
	}
	changed = t.spoke != spoke || len(changes) > 0
	t.spoke = spoke
	t.routes -= len(p.routes)
	for _, c := range changes {
		t.octets += weight(c.route) - weight(p.routes[c.key])
		if p.routes[c.key] = c.route; c.gone {
			delete(p.routes, c.key)
		}
	}
	t.routes += len(p.routes)
	return changed, nil
}

// weight is about the memory, in octets, of a route's AS path and communities.
func weight(r Route) int {
	n := 16 * len(r.Communities)
	for _, segment := range r.Path {
		n += 32 + 4*len(segment.ASNs)
	}
	return n
}

// everyPrefix has the wanted ones picked out of all.
var everyPrefix = update.Every()

// changes are those of one field; its attributes are decoded only if a prefix is wanted.
func (t *table) changes(p *peer, field update.Field, f Family, width int) (all []change, err error) {
	err = everyPrefix.EachPrefix(field.AFI, field.NLRI, p.addPath[f], func(prefix netip.Prefix, id uint32) {
		if t.want[prefix] {
			all = append(all, change{key: routeKey{prefix, id}, gone: !field.Announced})
		}
	})
	switch {
	case err != nil && p.addPath[f]:
		return nil, fmt.Errorf("%w; the session has ADD-PATH for %s, and routers that mirror it without are not read", err, f)
	case err != nil || len(all) == 0 || !field.Announced:
		return all, err
	}
	r, err := t.attrs.Decode(width, field.MP)
	if err != nil {
		return nil, err
	}
	for i := range all {
		key := all[i].key
		all[i].route = Route{Prefix: key.prefix, PathID: key.id, Peer: p.addr, PeerASN: p.asn, LocalASN: p.localASN,
			NextHop: r.NextHop, Path: r.Path, Communities: r.Communities}
	}
	return all, nil
}

// whole marks the families whose tables have come whole. It stays so while the session
// lasts: a peer that comes up later brings what it has.
func (t *table) whole(now time.Time) {
	for _, f := range Families {
		all := len(t.peers) > 0
		for _, p := range t.peers {
			all = all && (p.done[f] || now.Sub(p.up) >= DumpTime)
		}
		t.done[f] = t.done[f] || all
	}
}

// state is what State has of a session.
func (t *table) state(now time.Time) State {
	t.whole(now)
	s := State{Router: t.router, Peers: len(t.peers), Done: t.done, Spoke: t.spoke}
	for _, p := range t.peers {
		for _, r := range p.routes {
			s.Routes = append(s.Routes, r)
		}
	}
	return s
}
