package community

// The communities that RFCs give a meaning in every network. All are standard
// communities of the range 65535:0 to 65535:65535 (IANA, "BGP Well-known
// Communities").
var (
	// GracefulShutdown (65535:0) asks the receiver to prefer any other path:
	// GSHUT (RFC 8326, section 4).
	GracefulShutdown = standard(0xFFFF0000)
	// AcceptOwn (65535:1) lets a PE accept its own route back from a route
	// reflector (RFC 7611, section 2).
	AcceptOwn = standard(0xFFFF0001)
	// LLGRStale (65535:6) marks a route kept by Long-Lived Graceful Restart
	// (RFC 9494, section 3.2).
	LLGRStale = standard(0xFFFF0006)
	// NoLLGR (65535:7) forbids keeping the route by Long-Lived Graceful Restart
	// (RFC 9494, section 3.3).
	NoLLGR = standard(0xFFFF0007)
	// StandbyPE (65535:9) marks the standby path of multicast VPN (RFC 9026).
	StandbyPE = standard(0xFFFF0009)
	// Blackhole (65535:666) asks the receiver to discard the prefix's traffic
	// (RFC 7999, section 2).
	Blackhole = standard(0xFFFF029A)
	// NoExport (65535:65281) keeps the route inside the receiving AS or
	// confederation (RFC 1997, "Well-known Communities").
	NoExport = standard(0xFFFFFF01)
	// NoAdvertise (65535:65282) keeps the route at the receiving router (RFC
	// 1997, "Well-known Communities").
	NoAdvertise = standard(0xFFFFFF02)
	// NoExportSubconfed (65535:65283) keeps the route inside the receiving
	// member AS of a confederation (RFC 1997, "Well-known Communities").
	NoExportSubconfed = standard(0xFFFFFF03)
	// NoPeer (65535:65284) asks not to pass the route over bilateral peerings
	// (RFC 3765, section 2).
	NoPeer = standard(0xFFFFFF04)
)

// wellKnown holds every well-known community in the order of the values.
var wellKnown = []struct {
	name  string
	value Value
}{
	{"graceful-shutdown", GracefulShutdown},
	{"accept-own", AcceptOwn},
	{"llgr-stale", LLGRStale},
	{"no-llgr", NoLLGR},
	{"standby-pe", StandbyPE},
	{"blackhole", Blackhole},
	{"no-export", NoExport},
	{"no-advertise", NoAdvertise},
	{"no-export-subconfed", NoExportSubconfed},
	{"no-peer", NoPeer},
}

// Name returns the well-known name of v in lower case, as [Parse] reads it, or
// "" if an RFC gives it none.
func (v Value) Name() string {
	for _, w := range wellKnown {
		if w.value == v {
			return w.name
		}
	}
	return ""
}

// named returns the community with a well-known name.
func named(name string) (Value, bool) {
	for _, w := range wellKnown {
		if w.name == name {
			return w.value, true
		}
	}
	return Value{}, false
}
