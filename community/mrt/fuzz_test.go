package mrt

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/catchment-bgp/catchment/community"
)

// Whatever the input: no crash; an entry is in order; what All yields of a prefix and Routes
// agree on tables; and reading octet by octet gives the same.
func FuzzReader(f *testing.F) {
	for _, g := range goldens {
		f.Add(octetsOf(f, g.hex))
	}
	f.Add(skipped(1))
	f.Add(gzipped(f, octetsOf(f, goldens[0].hex)))
	f.Add(octetsOf(f, bzip2Golden))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := readerOf(b)
		var all []string
		for e := range r.All() {
			if !e.Prefix.IsValid() || e.Prefix != e.Prefix.Masked() || !slices.IsSortedFunc(e.Communities, community.Compare) {
				t.Fatalf("%+v", e)
			}
			if e.Withdrawn && (e.Path != nil || e.NextHop.IsValid() || e.Communities != nil) {
				t.Fatalf("withdrawn: %+v", e)
			}
			if len(all) < 1000 {
				all = append(all, line(e))
			}
		}
		problems := r.Problems()
		if r.Stats().Records == 0 && len(problems) == 0 {
			t.Fatal("neither a record nor a problem")
		}
		for _, p := range problems {
			if p.Reason == "" || p.Offset < 0 {
				t.Fatalf("%+v", p)
			}
		}
		if len(b) < 4096 {
			slow := NewReader(oneByOne(b))
			n := 0
			for e := range slow.All() {
				if n < len(all) && line(e) != all[n] {
					t.Fatalf("octet by octet: %s, not %s", line(e), all[n])
				}
				n++
			}
			if n < len(all) || !slices.Equal(texts(slow.Problems()), texts(problems)) {
				t.Fatalf("octet by octet: %d entries of %d; %v, not %v", n, len(all), slow.Problems(), problems)
			}
		}
		seen := map[string]bool{}
		for _, s := range all {
			seen[s] = true
		}
		for _, p := range []netip.Prefix{prefix("203.0.113.0/24"), prefix("::/0")} {
			for e := range readerOf(b).Routes(p) {
				// A route that went with its session is in no record.
				if e.Prefix != p || !e.Withdrawn && len(all) < 1000 && !seen[line(e)] {
					t.Fatalf("%v: %+v", p, e)
				}
			}
		}
	})
}
