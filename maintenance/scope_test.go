package maintenance

import (
	"fmt"
	"strings"
	"testing"
)

func TestScopesAreAsFewAsCanBe(t *testing.T) {
	var targets []Target
	for _, service := range []string{"video", "dns"} {
		for _, neighbor := range []string{"a", "b"} {
			targets = append(targets, Target{Node: "msk1", Neighbor: neighbor, Service: service})
		}
	}
	for _, tt := range []struct{ hit, want string }{
		{"", "[]"},
		{"a/video b/video a/dns b/dns", "[{ }]"},
		{"a/video a/dns", "[{a }]"},
		{"a/video b/video", "[{ video}]"},
		{"a/video b/dns", "[{a video} {b dns}]"},
		{"a/video b/video a/dns", "[{a } { video}]"},
	} {
		got := Scopes(targets, func(t Target) bool {
			for _, h := range strings.Fields(tt.hit) {
				if h == t.Neighbor+"/"+t.Service {
					return true
				}
			}
			return false
		})
		if fmt.Sprint(got) != tt.want {
			t.Errorf("%q: %v, want %s", tt.hit, got, tt.want)
		}
	}
	if got := Scopes(nil, func(Target) bool { return true }); got != nil {
		t.Errorf("of a node without targets: %v", got)
	}
}
