package scenarios

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// prefixes are all that a router learned by BGP, in order.
func (p peer) prefixes() ([]netip.Prefix, error) {
	var list []netip.Prefix
	var err error
	switch router := p.router.(type) {
	case *netlab.FRR:
		list, err = frrPrefixes(router)
	case *netlab.BIRD:
		list, err = birdPrefixes(router)
	default:
		err = fmt.Errorf("no way to list the routes of %T", router)
	}
	slices.SortFunc(list, netip.Prefix.Compare)
	return slices.Compact(list), err
}

func frrPrefixes(router *netlab.FRR) ([]netip.Prefix, error) {
	var list []netip.Prefix
	for _, family := range []string{"ipv4", "ipv6"} {
		text, err := router.Vtysh("show bgp " + family + " unicast json")
		if err != nil {
			return nil, err
		}
		var table struct {
			Routes map[netip.Prefix]json.RawMessage
		}
		if err := json.Unmarshal([]byte(text), &table); err != nil {
			return nil, err
		}
		for prefix := range table.Routes {
			list = append(list, prefix)
		}
	}
	return list, nil
}

func birdPrefixes(router *netlab.BIRD) ([]netip.Prefix, error) {
	text, err := router.Birdc("show route protocol edge")
	if err != nil {
		return nil, err
	}
	var list []netip.Prefix
	for line := range strings.Lines(text) {
		word, _, _ := strings.Cut(line, " ")
		if prefix, err := netip.ParsePrefix(word); err == nil {
			list = append(list, prefix)
		}
	}
	return list, nil
}
