package edge

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestWhatLowersCapacity is the definition by example: what a change takes away,
// with all sessions up.
func TestWhatLowersCapacity(t *testing.T) {
	twice := []string{"prefixes: [198.51.100.0/24, ", "prefixes: [198.51.100.0/24, 192.0.2.0/24, "}
	for _, tt := range []struct {
		name  string
		edits []string
		down  string // a neighbour without a session
		want  string
	}{
		{"nothing", nil, "", ""},
		{"a service goes", []string{dnsPart, ""}, "", "dns [203.0.113.0/24] [203.0.113.53/32]"},
		{"a prefix goes", []string{`, "2001:db8:100::/48"]`, "]"}, "", "video [2001:db8:100::/48] []"},
		{"a VIP goes", []string{"    vips: [198.51.100.1/32]\n", ""}, "", "video [] [198.51.100.1/32]"},
		{"one of two neighbours goes", []string{"    drain: 30s\n", "    drain: 30s\n    neighbors: [transit]\n"}, "", ""},
		{"the neighbour with the session goes", []string{"    drain: 30s\n", "    drain: 30s\n    neighbors: [transit]\n"}, "transit", "video [198.51.100.0/24 2001:db8:100::/48] []"},
		{"one moves to another", []string{"neighbors: [transit]", "neighbors: [ix]"}, "", ""},
		{"the only session begins anew", []string{transitA, transitA + "hold_time: 30s, ", "    drain: 30s\n", "    drain: 30s\n    neighbors: [transit]\n"}, "",
			"dns [203.0.113.0/24] [], video [198.51.100.0/24 2001:db8:100::/48] []"},
		{"all sessions begin anew", []string{"router_id: 10.77.0.1", "router_id: 10.77.0.2"}, "", "dns [203.0.113.0/24] [], video [198.51.100.0/24 2001:db8:100::/48] []"},
		{"a link's capacity falls", []string{"capacity: 10Gbps", "capacity: 1Gbps"}, "", ""},
		{"other attributes", tagged, "", ""},
		{"a prefix comes", twice, "", ""},
		{"a new name", []string{"name: dns", "name: names"}, "", ""},
		{"what nobody heard goes", []string{dnsPart, ""}, "transit", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			up(t, func(t *testing.T, w *world) {
				var out []string
				if err := w.node.read(t.Context(), func(now time.Time) {
					c := w.config(tt.edits...)
					was, will := w.node.foresee(now, c)
					for _, l := range losses(was, will, func(n string) bool { return n != tt.down }) {
						out = append(out, fmt.Sprint(l.Service, " ", l.Prefixes, " ", l.VIPs))
					}
				}); err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(out, ", "); got != tt.want {
					t.Errorf("%q, want %q", got, tt.want)
				}
			})
		})
	}
}
