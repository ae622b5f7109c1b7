package guard

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

const maxPassword = unix.TCP_MD5SIG_MAXKEYLEN

// check finds everything that is wrong with the configuration at once.
func (c *Config) check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Name == "" {
		bad("Name is empty: give the neighbour's name")
	}
	for _, asn := range []uint32{c.LocalASN, c.PeerASN} {
		if asn == 0 || asn == asTrans || asn == 1<<32-1 {
			bad("AS number %d is reserved: give a real one", asn)
		}
	}
	if !c.RouterID.Is4() || c.RouterID.IsUnspecified() {
		bad("RouterID %s: give an IPv4 address other than 0.0.0.0", c.RouterID)
	}
	c.checkAddresses(bad)
	c.checkOffer(bad)
	if c.SendHoldTime < 0 {
		bad("SendHoldTime %s is negative: give zero for the default", c.SendHoldTime)
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("guard of neighbour %q: %w", c.Name, errors.Join(errs...))
}

func (c *Config) checkAddresses(bad func(string, ...any)) {
	peer := c.Peer.Addr()
	switch {
	case !peer.IsValid() || peer.IsUnspecified() || peer.IsMulticast() || peer.Is4In6() || c.Peer.Port() == 0:
		bad("Peer %s: give the router's unicast address and port", c.Peer)
	case peer.Is6() && peer.IsLinkLocalUnicast() && peer.Zone() == "":
		bad("Peer %s is link-local: add its interface, as in %s%%eth0", peer, peer)
	}
	if l := c.LocalAddress; l.IsValid() && (l.Is4() != peer.Is4() || l.Is4In6()) {
		bad("LocalAddress %s has another family than the neighbour's %s", l, peer)
	}
	if len(c.BindDevice) >= unix.IFNAMSIZ {
		bad("BindDevice %q is too long for an interface: %d bytes at most", c.BindDevice, unix.IFNAMSIZ-1)
	}
	if c.Listener != nil && c.Listener.Addr().Addr().Is4() != peer.Is4() {
		bad("Listener %s has another family than the neighbour's %s", c.Listener.Addr(), peer)
	}
	if leg := c.Leg.Addr(); !leg.Is4() || !leg.IsLoopback() || c.Leg.Port() == 0 {
		bad("Leg %s: give an IPv4 loopback address and a port", c.Leg)
	}
	for name, key := range map[string]string{"Password": c.Password, "LegPassword": c.LegPassword} {
		if len(key) > maxPassword {
			bad("%s has %d bytes: TCP MD5 keys have %d at most", name, len(key), maxPassword)
		}
	}
	if c.TTLSecurity && c.Multihop == 255 {
		bad("Multihop 255 with TTLSecurity lets everything in: give the number of hops")
	}
}

func (c *Config) checkOffer(bad func(string, ...any)) {
	if h := c.HoldTime; h < 3*time.Second || h > 65535*time.Second || h%time.Second != 0 {
		bad("HoldTime %s: give whole seconds from 3 to 65535 (RFC 4271)", h)
	}
	if len(c.Families) == 0 {
		bad("Families is empty: give IPv4, IPv6 or both")
	}
	var seen familySet
	for _, f := range c.Families {
		if f != IPv4 && f != IPv6 || seen.has(f) {
			bad("Families has %s twice, or as an unknown value", f)
			continue
		}
		seen.add(f)
	}
	if c.ExtendedNextHop && !seen.has(IPv4) {
		bad("ExtendedNextHop is for IPv4 routes: add IPv4 to Families")
	}
	switch {
	case c.Role > Peer:
		bad("Role %d is unknown", c.Role)
	case c.Role != NoRole && c.LocalASN == c.PeerASN:
		bad("Role %s: roles are for eBGP sessions (RFC 9234, section 4)", c.Role)
	}
}

// withDefaults fills in what was left zero.
func (c Config) withDefaults() Config {
	c.Families = append([]Family(nil), c.Families...)
	t := &c.Timers
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&t.RetryMin, time.Second}, {&t.RetryMax, 15 * time.Second},
		{&t.PrefixLimitMin, time.Minute}, {&t.PrefixLimitMax, 10 * time.Minute},
		{&t.Shutdown, 30 * time.Second}, {&t.HoldRetry, 200 * time.Millisecond},
		{&t.Dial, 10 * time.Second}, {&t.Open, 30 * time.Second}, {&t.Collision, 3 * time.Second},
		{&t.Leg, 7 * time.Second}, {&t.LegRetry, 20 * time.Millisecond}, {&t.LegWrite, 5 * time.Second},
		{&t.Linger, time.Second},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	return c
}

// sendHold is the longest time that a write to the router may take (RFC 9687,
// section 4.4: it defaults to the greater of 8 minutes and twice the hold time).
func (c *Config) sendHold(negotiated time.Duration) time.Duration {
	if c.SendHoldTime > 0 {
		return c.SendHoldTime
	}
	return max(8*time.Minute, 2*negotiated)
}

// holdTimes is the ladder of hold times to propose to a neighbour that finds
// one unacceptable.
func (c *Config) holdTimes() []time.Duration {
	out := []time.Duration{c.HoldTime}
	for _, h := range []time.Duration{30 * time.Second, 90 * time.Second} {
		if h > c.HoldTime {
			out = append(out, h)
		}
	}
	return out
}

// wins reports whether the connection that we (dialled) or they (accepted)
// initiated is the one to keep (RFC 4271, section 6.8; RFC 6286, section 2.3).
func (c *Config) wins(dialled bool, them netip.Addr) bool {
	order := c.RouterID.Compare(them)
	weWin := order > 0 || order == 0 && c.LocalASN > c.PeerASN
	return weWin == dialled
}
