package guard

import (
	"net/netip"
	"time"
)

// agreement is what two OPENs come to.
type agreement struct {
	hold      time.Duration
	families  familySet
	extended  bool
	refresh   bool
	fourOctet bool
	asn       uint32
	id        netip.Addr
	role      Role
}

// ours is the OPEN that we send, with the hold time proposed.
func (c *Config) ours(hold time.Duration) open {
	o := open{
		asn: c.LocalASN, hold: uint16(hold / time.Second), id: c.RouterID,
		refresh: true, fourOctet: true, extended: c.ExtendedNextHop, role: c.Role,
	}
	for _, f := range c.Families {
		o.families.add(f)
	}
	return o
}

// negotiate judges the neighbour's OPEN by ours (RFC 4271, section 6.2).
//
// A hold time of zero, which would switch the hold timer off, is refused like
// 1 and 2: a session whose neighbour is gone would stay up for ever, and what
// it announces with it.
func (c *Config) negotiate(us, them open) (agreement, *fault) {
	switch {
	case them.asn != c.PeerASN:
		return agreement{}, openFault(openPeerAS, nil,
			"neighbour says it is AS %d, not %d: correct the ASN here or there", them.asn, c.PeerASN)
	case them.id.IsUnspecified():
		return agreement{}, openFault(openIdentifier, nil, "neighbour's router ID is 0.0.0.0")
	case them.id == c.RouterID && c.LocalASN == c.PeerASN:
		return agreement{}, openFault(openIdentifier, nil,
			"neighbour has our router ID %s: two speakers of one AS need two", them.id)
	case them.hold < 3:
		return agreement{}, openFault(openHoldTime, nil,
			"neighbour proposes a hold time of %d s: 3 s is the least, and 0 (never) is not accepted", them.hold)
	}
	if f := c.checkRole(them); f != nil {
		return agreement{}, f
	}
	common := us.families & them.families
	if common == 0 {
		// RFC 5492, section 5: the data lists the capabilities that we miss.
		return agreement{}, openFault(openCapability, appendMultiprotocol(nil, us.families),
			"neighbour carries none of our address families %v, only %v", c.Families, them.families.list())
	}
	return agreement{
		hold:      time.Duration(min(us.hold, them.hold)) * time.Second,
		families:  common,
		extended:  us.extended && them.extended && common.has(IPv4),
		refresh:   them.refresh,
		fourOctet: them.fourOctet,
		asn:       them.asn,
		id:        them.id,
		role:      them.role,
	}, nil
}

// checkRole obeys RFC 9234, section 4.2. A neighbour without a role is fine.
func (c *Config) checkRole(them open) *fault {
	if them.roleConflict {
		return openFault(openRole, nil, "neighbour sent several different BGP roles (RFC 9234)")
	}
	if c.Role == NoRole {
		return nil
	}
	if them.unknownRole {
		return openFault(openRole, nil, "neighbour sent a BGP role that RFC 9234 does not define")
	}
	if them.role == NoRole {
		return nil
	}
	fits := map[Role]Role{Provider: Customer, Customer: Provider, RouteServer: RSClient, RSClient: RouteServer, Peer: Peer}
	if fits[c.Role] != them.role {
		return openFault(openRole, nil,
			"neighbour's BGP role is %q, which does not fit our %q (RFC 9234): correct one of them", them.role, c.Role)
	}
	return nil
}

// compose is the OPEN that the leg gets in the neighbour's place: only what was
// agreed. Without the capability for 4-octet AS numbers the leg writes
// AS4_PATH, as such a neighbour needs it (RFC 6793, section 4.2.2).
func (a agreement) compose() open {
	return open{
		asn: a.asn, hold: uint16(a.hold / time.Second), id: a.id, families: a.families,
		refresh: a.refresh, fourOctet: a.fourOctet, extended: a.extended,
	}
}
