package config

import (
	"fmt"
	"net/netip"
	"strings"
)

func parseAddr(s string) (any, error) {
	a, err := netip.ParseAddr(s)
	switch {
	case err != nil && strings.Contains(s, "/"):
		return nil, fmt.Errorf("%s is not an IP address; write it without a length", show(s))
	case err != nil:
		return nil, fmt.Errorf("%s is not an IP address; write for example 192.0.2.1 or 2001:db8::1", show(s))
	case a.Zone() != "":
		return nil, fmt.Errorf("%s has a zone; write %s, and the interface as bind_device", show(s), a.WithZone(""))
	case a.Is4In6():
		return nil, fmt.Errorf("%s is an IPv4 address; write %s", show(s), a.Unmap())
	}
	return a, nil
}

// rawPrefix reads ADDRESS/LENGTH and leaves host bits alone.
func rawPrefix(s string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(s); err == nil {
		return netip.Prefix{}, fmt.Errorf("%s has no length; write for example %s", show(s), common(a))
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%s is not a prefix; write for example 198.51.100.0/24 or 2001:db8:100::/48", show(s))
	}
	if p.Addr().Is4In6() {
		return netip.Prefix{}, fmt.Errorf("%s is an IPv4 address in IPv6; write an IPv4 prefix such as 198.51.100.0/24", show(s))
	}
	return p, nil
}

// common is a's prefix of the usual length in the Internet.
func common(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	p, _ := a.Prefix(internetLength(a))
	return p
}

// internetLength is the longest prefix that networks take from each other.
func internetLength(a netip.Addr) int {
	if a.Is4() {
		return 24
	}
	return 48
}

// unannounceable are the blocks that are nobody's to announce. Private and
// documentation prefixes are not among them: labs and tests use those.
var unannounceable = []struct {
	prefix netip.Prefix
	what   string
}{
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("::1/128"), "loopback"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("0.0.0.0/8"), "reserved"},
	{netip.MustParsePrefix("::/128"), "unspecified"},
}

func parsePrefix(s string) (any, error) {
	p, err := rawPrefix(s)
	if err != nil {
		return nil, err
	}
	if p != p.Masked() {
		return nil, fmt.Errorf("%s has host bits; write %s", show(s), p.Masked())
	}
	if p.Bits() == 0 {
		return nil, fmt.Errorf("%s is the default route; write the service's own prefix", show(s))
	}
	for _, b := range unannounceable {
		if p.Overlaps(b.prefix) {
			return nil, fmt.Errorf("%s holds %s addresses; write the service's own prefix", show(s), b.what)
		}
	}
	return p, nil
}

func parseVIP(s string) (any, error) {
	if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" && !a.Is4In6() {
		return nil, fmt.Errorf("%s has no length; write %s/%d", show(s), a, a.BitLen())
	}
	p, err := netip.ParsePrefix(s)
	if err != nil || p.Addr().Is4In6() {
		return nil, fmt.Errorf("%s is not an address with its length; write for example 198.51.100.1/32 or 2001:db8:100::1/128", show(s))
	}
	if !p.IsSingleIP() {
		return nil, fmt.Errorf("%s is more than one address; write %s/%d", show(s), p.Addr(), p.Addr().BitLen())
	}
	return vip{p}, nil
}

func family(a netip.Addr) string {
	if a.Is4() {
		return "IPv4"
	}
	return "IPv6"
}
