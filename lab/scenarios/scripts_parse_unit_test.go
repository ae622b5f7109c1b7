package scenarios

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/router"
)

func TestWithinIsTakenOffTheEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		words  string
		rest   int
		within time.Duration
		err    string
	}{
		{words: "a b", rest: 2, within: conditionWait},
		{words: "a b within 1500ms", rest: 2, within: 1500 * time.Millisecond},
		{words: "within 2s", within: 2 * time.Second},
		{words: "a within", err: "at the end"},
		{words: "a within 1s b", err: "at the end"},
		{words: "a within soon", err: "no time"},
		{words: "a within -1s", err: "no time"},
		{words: "", within: conditionWait},
	} {
		rest, within, err := cutWithin(strings.Fields(c.words), conditionWait)
		if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: error %v, want %q", c.words, err, c.err)
		}
		if err == nil && (len(rest) != c.rest || within != c.within) {
			t.Errorf("%q: %q within %v", c.words, rest, within)
		}
	}
}

func TestRouteRefusesWordsThatMeanNothing(t *testing.T) {
	t.Parallel()
	for words, wanted := range map[string]string{
		"":                                  "write: route",
		"r1":                                "write: route",
		"r1 198.51.100.0":                   "198.51.100.0",
		"r1 198.51.100.0/24 path":           "no condition",
		"r1 198.51.100.0/24 path=":          "no condition",
		"r1 198.51.100.0/24 path=1,x":       "path=1,x",
		"r1 198.51.100.0/24 med=-1":         "med=-1",
		"r1 198.51.100.0/24 color=red":      "no condition",
		"r1 198.51.100.0/24 localpref=2^32": "localpref",
	} {
		if _, err := parseRoute(strings.Fields(words)); err == nil || !strings.Contains(err.Error(), wanted) {
			t.Errorf("%q: %v, want an error with %q", words, err, wanted)
		}
	}
}

func TestRouteFits(t *testing.T) {
	t.Parallel()
	ten := uint32(10)
	best := router.Path{
		ASPath: []uint32{65001, 57629}, Communities: []string{"57629:101"}, LargeCommunities: []string{"57629:1:101"}, ExtCommunities: []string{"rt:57629:101"},
		MED: &ten, LocalPref: &ten, From: netip.MustParseAddr("10.0.0.1"), Best: true,
	}
	other := router.Path{ASPath: []uint32{65002, 57629}, From: netip.MustParseAddr("10.0.0.2")}
	for words, fits := range map[string]bool{
		"":                           true,
		"path=65001,57629":           true,
		"path=65001,57629,57629":     false,
		"path=65002,57629":           false,
		"path=65002,57629 any":       true,
		"community=57629:101":        true,
		"community=57629:1:101":      true,
		"community=rt:57629:101":     true,
		"community=57629:102":        false,
		"nocommunity=65535:0":        true,
		"nocommunity=57629:101":      false,
		"nocommunity=57629:101 any":  true,
		"med=10 localpref=10":        true,
		"med=11":                     false,
		"localpref=11":               false,
		"med=10 any":                 true,
		"from=a":                     true,
		"from=b":                     false,
		"from=b any":                 true,
		"from=a path=65002,57629":    false,
		"from=b med=0 any":           false,
		"community=57629:101 from=b": false,
	} {
		want, err := parseRoute(slices.Concat([]string{"r1", "198.51.100.0/24"}, strings.Fields(words)))
		if err != nil {
			t.Errorf("%q: %v", words, err)
			continue
		}
		want.addressesOfFrom = map[string][]netip.Addr{"a": {best.From}, "b": {other.From}}[want.from]
		if err := want.fits([]router.Path{other, best}); (err == nil) != fits {
			t.Errorf("%q: %v", words, err)
		}
		if want.fits(nil) == nil {
			t.Errorf("%q: no path at all fits", words)
		}
	}
}
