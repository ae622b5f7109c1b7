package registry

import "github.com/catchment-bgp/catchment/community"

// wellKnown are the communities of IANA's list "BGP Well-known Communities", which mean
// the same at every network.
func wellKnown() []Entry {
	var out []Entry
	for _, w := range []struct {
		value   uint16 // beside 65535
		kind    Kind
		verb    Verb
		meaning string
		source  string
	}{
		{0, KindAction, GracefulShutdown, "GRACEFUL_SHUTDOWN: prefer any other path, this one goes away soon", "RFC 8326"},
		{1, KindAction, Other, "ACCEPT_OWN: take the route though it is one's own", "RFC 7611"},
		{2, KindUnknown, "", "ROUTE_FILTER_TRANSLATED_v4", "draft-l3vpn-legacy-rtc"},
		{3, KindUnknown, "", "ROUTE_FILTER_v4", "draft-l3vpn-legacy-rtc"},
		{4, KindUnknown, "", "ROUTE_FILTER_TRANSLATED_v6", "draft-l3vpn-legacy-rtc"},
		{5, KindUnknown, "", "ROUTE_FILTER_v6", "draft-l3vpn-legacy-rtc"},
		{6, KindInfo, "", "LLGR_STALE: kept by Long-Lived Graceful Restart", "RFC 9494"},
		{7, KindAction, Other, "NO_LLGR: do not keep the route by Long-Lived Graceful Restart", "RFC 9494"},
		{8, KindUnknown, "", "accept-own-nexthop", "draft-agrewal-idr-accept-own-nexthop"},
		{9, KindInfo, "", "Standby PE of a multicast VPN", "RFC 9026"},
		{666, KindAction, Blackhole, "BLACKHOLE: discard the traffic to this prefix", "RFC 7999"},
		{65281, KindAction, NoExport, "NO_EXPORT: keep the route inside the AS or confederation that gets it", "RFC 1997"},
		{65282, KindAction, NoAdvertise, "NO_ADVERTISE: keep the route at the router that gets it", "RFC 1997"},
		{65283, KindAction, NoExport, "NO_EXPORT_SUBCONFED: keep the route inside the member AS that gets it", "RFC 1997"},
		{65284, KindAction, Other, "NOPEER: do not pass the route on over bilateral peerings", "RFC 3765"},
	} {
		e := Entry{Pattern: community.PatternOf(community.NewStandard(0xFFFF, w.value)), Kind: w.kind, Meaning: w.meaning, Lang: "en", Source: Source{File: w.source}, Confidence: 1}
		if w.verb != "" {
			e.Action, e.Targets = &Action{Verb: w.verb}, []Target{{Kind: All}}
		}
		out = append(out, e)
	}
	return out
}
