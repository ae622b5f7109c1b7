package routegen

import (
	"net/netip"
	"slices"
	"testing"
)

// pass reads one pass over a table.
func pass(t *testing.T, table Table, number int) []Update {
	t.Helper()
	var updates []Update
	for i := range table.Updates() {
		u, err := ParseUpdate(table.Update(number*table.Updates() + i)[headerLen:])
		if err != nil {
			t.Fatalf("UPDATE %d of pass %d: %v", i, number, err)
		}
		updates = append(updates, u)
	}
	return updates
}

func TestTableAnnouncesEachPrefixOnce(t *testing.T) {
	for _, count := range []int{1, 44, 45, 46, 10_007} {
		seen := map[netip.Prefix]bool{}
		for i, u := range pass(t, Table{Count: count, ASN: 65010, NextHop: netip.MustParseAddr("192.0.2.1")}, 0) {
			for _, p := range u.Announced {
				if seen[p] || p != p.Masked() {
					t.Errorf("table of %d: UPDATE %d has %s again, or with host bits", count, i, p)
				}
				seen[p] = true
			}
			if n := len(u.Announced); n > 10 || n < 5 && len(seen) < count {
				t.Errorf("table of %d: UPDATE %d has %d prefixes", count, i, n)
			}
			if path := u.ASPath(); path[0] != 65010 {
				t.Errorf("table of %d: UPDATE %d has the path %v", count, i, path)
			}
		}
		if len(seen) != count {
			t.Errorf("table of %d: %d prefixes", count, len(seen))
		}
	}
}

func TestTableChangesFromPassToPass(t *testing.T) {
	table := Table{Count: 4500, ASN: 65010, NextHop: netip.MustParseAddr("192.0.2.1")}
	before, withdrawn := pass(t, table, 0), 0
	for i, u := range pass(t, table, 1) {
		if u.Announced == nil {
			withdrawn++
			if !slices.Equal(u.Withdrawn, before[i].Announced) {
				t.Errorf("UPDATE %d withdraws %v, want %v", i, u.Withdrawn, before[i].Announced)
			}
			continue
		}
		was, _ := before[i].Attr(AttrMED)
		if now, _ := u.Attr(AttrMED); slices.Equal(was, now) {
			t.Errorf("UPDATE %d is as before", i)
		}
	}
	if want := len(before) / 8; withdrawn != want {
		t.Errorf("%d of %d UPDATEs withdraw, want %d", withdrawn, len(before), want)
	}
}

func TestTableVariesItsAttributes(t *testing.T) {
	kinds, lengths := map[byte]int{}, map[int]int{}
	updates := pass(t, Table{Count: 4500, ASN: 65010, NextHop: netip.MustParseAddr("192.0.2.1")}, 0)
	for _, u := range updates {
		for _, a := range u.Attrs {
			kinds[a.Type]++
		}
		for _, p := range u.Announced {
			lengths[p.Bits()]++
		}
	}
	for _, kind := range []byte{AttrAtomicAggregate, AttrAggregator, AttrCommunities, AttrLargeCommunities} {
		if n := kinds[kind]; n == 0 || n == len(updates) {
			t.Errorf("attribute %d is in %d of %d UPDATEs", kind, n, len(updates))
		}
	}
	if len(lengths) < 4 || lengths[24] < 3000 {
		t.Errorf("prefix lengths %v", lengths)
	}
}

func BenchmarkTable(b *testing.B) {
	table := Table{Count: 1_000_000, ASN: 65010, NextHop: netip.MustParseAddr("192.0.2.1")}
	size := 0
	for i := 0; b.Loop(); i++ {
		size += len(table.Update(i))
	}
	b.ReportMetric(float64(size)/float64(b.N), "B/update")
}
