package doctor

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
)

// RouteObject is a route or route6 object of a routing registry (RFC 2622, section 4;
// RFC 4012, section 3).
type RouteObject struct {
	Prefix netip.Prefix
	Origin uint32
}

// longestLine of a registry's dump, in octets.
const longestLine = 1 << 20

// ReadRoutes reads the route and route6 objects of a text in RPSL, as whois answers or
// a registry's dump has it. Objects of other classes and prefixes that cover none of
// ours are passed over. A text without any object is an error.
func ReadRoutes(r io.Reader, ours []netip.Prefix) ([]RouteObject, error) {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 64<<10), longestLine)
	var out []RouteObject
	var prefix netip.Prefix
	objects, inside := 0, false
	for in.Scan() {
		line := in.Text()
		if strings.TrimSpace(line) == "" {
			prefix, inside = netip.Prefix{}, false
			continue
		}
		if strings.ContainsAny(line[:1], "%# \t+") { // comments, and what goes on with the line before
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		value, _, _ = strings.Cut(value, "#")
		name, value = strings.ToLower(name), strings.TrimSpace(value)
		if !inside {
			inside = true
			objects++
			if name == "route" || name == "route6" {
				prefix = routePrefix(value, ours)
			}
			continue
		}
		if name == "origin" && prefix.IsValid() {
			if asn, err := strconv.ParseUint(strings.TrimPrefix(strings.ToUpper(value), "AS"), 10, 32); err == nil {
				out = append(out, RouteObject{prefix, uint32(asn)})
			}
		}
	}
	switch err := in.Err(); {
	case err != nil:
		return nil, err
	case objects == 0:
		return nil, errors.New("it holds no object: give RPSL, as whois answers and registries publish")
	}
	return out, nil
}

// routePrefix is invalid unless it covers one of ours.
func routePrefix(text string, ours []netip.Prefix) netip.Prefix {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}
	}
	for _, q := range ours {
		if (VRP{Prefix: p}).covers(q) {
			return p.Masked()
		}
	}
	return netip.Prefix{}
}

// irr checks that every prefix has an object with our origin.
func (r *report) irr(n *Node) {
	const check = "route object"
	switch {
	case n.IRRProblem != "":
		r.add(Warn, check, "the registry's text cannot be read: "+n.IRRProblem, "give RPSL: catchment doctor --irr FILE")
		return
	case n.IRRSource == "":
		r.skip(check, "not looked at: --irr FILE names a text with route and route6 objects")
		return
	}
	for _, p := range external(n.Config) {
		class := "route"
		if p.Addr().Is6() {
			class = "route6"
		}
		mend := fmt.Sprintf("in the registry, create %q: %q, %q", class+": "+p.String(), "origin: AS"+strconv.FormatUint(uint64(n.Config.ASN), 10), "mnt-by: yours")
		exact, others, wider := false, []string{}, ""
		for _, o := range n.Routes {
			switch {
			case o.Prefix == p && o.Origin == n.Config.ASN:
				exact = true
			case o.Prefix == p:
				others = append(others, fmt.Sprintf("AS%d", o.Origin))
			case o.Origin == n.Config.ASN && (VRP{Prefix: o.Prefix}).covers(p):
				wider = o.Prefix.String()
			}
		}
		switch {
		case exact && len(others) > 0:
			r.add(Warn, check, fmt.Sprintf("%s has AS%d, and also %s", p, n.Config.ASN, strings.Join(others, ", ")), "if those do not announce it any more, have their objects deleted")
		case exact:
			r.ok(check, "%s %s with origin AS%d", class, p, n.Config.ASN)
		case wider != "":
			r.add(Warn, check, fmt.Sprintf("%s has none of its own; %s has: exact filters drop it", p, wider), mend)
		case len(others) > 0:
			r.add(Fail, check, fmt.Sprintf("%s has only %s as origin", p, strings.Join(others, ", ")), mend)
		default:
			r.add(Fail, check, fmt.Sprintf("%s has none: networks that filter by the registry drop it", p), mend)
		}
	}
}
