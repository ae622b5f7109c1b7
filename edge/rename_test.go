package edge

import (
	"context"
	"net/netip"
	"testing"

	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/healthcheck"
	"github.com/catchment-bgp/catchment/policy"
)

// TestServiceThatTakesPrefixesOverKeepsTheirVerdict renames and splits a service that is up, and one that is down.
func TestServiceThatTakesPrefixesOverKeepsTheirVerdict(t *testing.T) {
	web := healthcheck.Check{Name: "web", TCP: &healthcheck.TCP{Address: "127.0.0.1:80"}, Rise: 2}
	renamed, other := web, web
	renamed.Name, renamed.Rise = "www", 3
	other.TCP = &healthcheck.TCP{Address: "127.0.0.1:81"}
	a, b := netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24")
	service := func(name string, check healthcheck.Check, prefixes ...netip.Prefix) config.Service {
		return config.Service{Name: name, Prefixes: prefixes, Checks: []healthcheck.Check{check}}
	}
	for name, tt := range map[string]struct {
		next []config.Service
		keep bool // the last of next goes on from the verdict
	}{
		"renamed":           {[]config.Service{service("film", web, a, b)}, true},
		"with another name": {[]config.Service{service("film", renamed, a, b)}, true},
		"split":             {[]config.Service{service("video", web, a), service("film", web, b)}, true},
		"other check":       {[]config.Service{service("film", other, a, b)}, false},
		"other prefix":      {[]config.Service{service("video", web, a), service("film", web, netip.MustParsePrefix("192.0.2.0/24"))}, false},
	} {
		for _, up := range []bool{true, false} {
			cs := newChecks()
			cs.runner = func(ctx context.Context, _ healthcheck.Check, _ func(healthcheck.Status)) error {
				<-ctx.Done()
				return nil
			}
			was := &config.Config{Services: []config.Service{service("video", web, a, b)}}
			cs.set(t.Context(), was, nil)
			cs.run[checkKey{"video", "web"}].status = healthcheck.Status{Name: "web", Up: up, Decided: true}
			cs.set(t.Context(), &config.Config{Services: tt.next}, was)
			want := policy.Unknown
			switch {
			case tt.keep && up:
				want = policy.Up
			case tt.keep:
				want = policy.Down
			}
			if got := cs.health(tt.next[len(tt.next)-1], nil).Hard; got != want {
				t.Errorf("%s, up %v: %s, want %s", name, up, got, want)
			}
			cs.stop()
		}
	}
}
