package mrt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/update"
)

var at = time.Unix(1771774200, 0).UTC()

// tagged is an announcement to 203.0.113.0/24.
func tagged(peer string, asn uint32, tags ...string) Entry {
	var values []community.Value
	for _, text := range tags {
		v, err := community.Parse(text)
		if err != nil {
			panic(err)
		}
		values = append(values, v)
	}
	return Entry{Time: at, PeerASN: asn, Peer: netip.MustParseAddr(peer), Prefix: prefix("203.0.113.0/24"), Path: Path{{Type: update.Sequence, ASNs: []uint32{asn, 64500}}},
		NextHop: netip.MustParseAddr("192.0.2.9"), Communities: community.NewSet(values...)}
}

// skipped is a table and updates none of which have the prefix that is asked for.
func skipped(prefixes int) []byte {
	var b []byte
	for i := range prefixes {
		e := tagged("192.0.2.1", 64496, "64500:101", "64500:1:2", "rt:64500:7")
		e.Prefix = netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 51, byte(i >> 8), byte(i)}), 32)
		other := e
		other.Peer = netip.MustParseAddr("192.0.2.2")
		b = append(b, tableOf([]Entry{e, other, e, other}, false)...)
		b = append(b, message(e, i%2 == 0, false, 4)...)
		e.Prefix = netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 1, 13: byte(i >> 8), 15: byte(i)}), 128)
		e.NextHop = netip.MustParseAddr("2001:db8::9")
		b = append(b, message(e, false, true, 2)...)
	}
	return b
}

func TestARecordThatIsPassedOverCostsNoMemory(t *testing.T) {
	// The index is read once; what is passed over are the records behind it.
	few, many := skipped(1), skipped(500)
	allocs := func(b []byte) float64 {
		return testing.AllocsPerRun(5, func() {
			for e := range readerOf(b).Routes(prefix("203.0.113.0/24")) {
				t.Errorf("%v", e)
			}
		})
	}
	if a, b := allocs(few), allocs(many); b > a+4 { // the buffer may grow
		t.Errorf("%v allocations for 4 records, %v for 2000", a, b)
	}
}

// endless is a record's header that claims much, and then zeros.
func endless(kind uint16, size uint32, octets int64) io.Reader {
	head := recordOf(at, kind, 2, nil)
	be.PutUint32(head[8:], size)
	return io.MultiReader(bytes.NewReader(head), io.LimitReader(zeros{}, octets))
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestMemoryIsBoundedByWhatIsThereAndByTheLimit(t *testing.T) {
	for _, c := range []struct {
		name   string
		src    io.Reader
		limit  uint64
		reason string
	}{
		{"a short file with a long record", endless(typeTableDumpV2, MaxRecord, 10), 1 << 20, "the data ends at octet 22 of the 16777228"},
		{"a record above the limit", endless(typeTableDumpV2, MaxRecord+1, 1<<30), 1 << 20, "more than 16777216"},
		{"a long stream", endless(typeBGP4MP, 0, 1<<24), 1 << 20, "type 0, subtype 0: not read; 1398101 such records"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := NewReader(c.src)
		for e := range r.Routes(prefix("203.0.113.0/24")) {
			t.Errorf("%s: %v", c.name, e)
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > c.limit {
			t.Errorf("%s: %d octets of memory", c.name, used)
		}
		if text := fmt.Sprint(r.Problems()); !strings.Contains(text, c.reason) {
			t.Errorf("%s: %s", c.name, text)
		}
	}
}

func TestTheRoutesOfOnePrefixAreBounded(t *testing.T) {
	// Routes of updates with 5000 communities each, of ever more path identifiers; and the
	// same as tables.
	e := tagged("192.0.2.1", 64496)
	values := make([]community.Value, 5000)
	for i := range values {
		values[i] = community.NewLarge(1, 2, uint32(i))
	}
	e.Communities = community.NewSet(values...)
	update := message(e, false, true, 4)
	id := bytes.LastIndex(update, nlriOf(e, true))
	table := tableOf([]Entry{e}, false)
	count := 0
	repeated := func(b []byte, before func()) io.Reader {
		return &repeating{b: b, left: 600, before: before}
	}
	for name, src := range map[string]io.Reader{
		"updates": repeated(update, func() { count++; be.PutUint32(update[id:], uint32(count)) }),
		"tables":  repeated(table, func() {}),
	} {
		r, n := NewReader(src), 0
		for range r.Routes(e.Prefix) {
			n++
		}
		if want := MaxRoutes / 60000; n < want*9/10 || n > want+1 {
			t.Errorf("%s: %d routes, want about %d", name, n, want)
		}
		if p := r.Problems(); len(p) != 1 || !strings.Contains(p[0].Reason, "more than 33554432 octets") {
			t.Errorf("%s: %v", name, p)
		}
	}
	// One route that changes over and over is one route.
	r, n := NewReader(repeated(update, func() {})), 0
	for range r.Routes(e.Prefix) {
		n++
	}
	if n != 1 || len(r.Problems()) > 0 {
		t.Errorf("one route: %d, %v", n, r.Problems())
	}
}

// repeating gives b over and over.
type repeating struct {
	b      []byte
	at     int
	left   int
	before func()
}

func (r *repeating) Read(p []byte) (int, error) {
	if r.at == 0 {
		if r.left == 0 {
			return 0, io.EOF
		}
		r.left--
		r.before()
	}
	n := copy(p, r.b[r.at:])
	r.at = (r.at + n) % len(r.b)
	return n, nil
}

func TestProblemsAreCountedBeyondTheFirstHundred(t *testing.T) {
	broken := recordOf(at, typeBGP4MP, mpMessage, nil)
	r := readerOf(bytes.Repeat(broken, 250))
	same(t, "entries", lines(r.All()), nil)
	p := r.Problems()
	if len(p) != 101 || p[99].Offset != 99*headerSize || p[100].String() != "offset 1188: and behind it 150 more, not listed" {
		t.Errorf("%d problems, %v", len(p), p[len(p)-2:])
	}
	// Types without end are no reason to remember each.
	var many []byte
	for i := range 1000 {
		many = append(many, recordOf(at, 100, uint16(i), nil)...)
	}
	r = readerOf(many)
	same(t, "entries", lines(r.All()), nil)
	if n := len(r.Problems()); n != 100+1+maxKinds {
		t.Errorf("%d problems of 1000 types", n)
	}
}

func TestAnErrorOfTheSourceIsNamed(t *testing.T) {
	b := octetsOf(t, goldens[0].hex)
	r := NewReader(io.MultiReader(bytes.NewReader(b), iotest.ErrReader(errors.New("the disk is gone"))))
	same(t, "entries", lines(r.All()), goldens[0].want)
	same(t, "problems", texts(r.Problems()), []string{fmt.Sprintf("offset %d: the data ends at octet 0 of the 12 of a record's header: the disk is gone", len(b))})
	r = NewReader(stuck{})
	same(t, "entries", lines(r.All()), nil)
	same(t, "problems", texts(r.Problems()), []string{"offset 0: the data ends at octet 0 of the 12 of a record's header: " + io.ErrNoProgress.Error()})
}

// stuck gives nothing, and no error.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestReadingStopsWhenNoMoreIsWanted(t *testing.T) {
	e, f := tagged("192.0.2.1", 64496), tagged("192.0.2.2", 64497)
	for name, b := range map[string][]byte{
		"tables":  slices.Concat(oldTableOf(e), oldTableOf(f)),
		"one":     tableOf([]Entry{e, f}, false),
		"updates": slices.Concat(message(e, false, false, 2), message(f, false, false, 2)),
	} {
		r := readerOf(b)
		for range r.Routes(e.Prefix) {
			break
		}
		for got := range r.Routes(e.Prefix) {
			t.Errorf("%s: a second time: %v", name, got)
		}
		r = readerOf(b)
		for range r.All() {
			break
		}
		if n := r.Stats().Records; n == 0 || len(r.Problems()) > 0 {
			t.Errorf("%s: %d records, %v", name, n, r.Problems())
		}
	}
	if got := lines(readerOf(oldTableOf(e)).Routes(netip.Prefix{})); len(got) > 0 {
		t.Errorf("no prefix: %q", got)
	}
}

func TestARouteComesBackAfterItsSessionWentDown(t *testing.T) {
	e, local := tagged("192.0.2.1", 64496), tagged("192.0.2.1", 64496)
	local.Local = true
	other := tagged("192.0.2.2", 64496)
	down := e
	down.Time = at.Add(time.Minute)
	again := e
	again.Time = at.Add(2 * time.Minute)
	up := downOf(down, established)
	for _, c := range []struct {
		name string
		b    []byte
		want []Entry
	}{
		{"up", slices.Concat(message(e, false, false, 4), up), []Entry{e}},
		{"down, with what was sent there", slices.Concat(message(e, false, false, 4), message(local, false, false, 4), message(other, false, false, 4), downOf(down, 1)),
			[]Entry{{Time: down.Time, PeerASN: e.PeerASN, Peer: e.Peer, Prefix: e.Prefix, Withdrawn: true},
				{Time: down.Time, PeerASN: e.PeerASN, Peer: e.Peer, Prefix: e.Prefix, Withdrawn: true, Local: true}, other}},
		{"back", slices.Concat(message(e, false, false, 4), downOf(down, 1), message(again, false, false, 4)), []Entry{again}},
	} {
		same(t, c.name, lines(readerOf(c.b).Routes(e.Prefix)), lines(slices.Values(c.want)))
	}
}

func BenchmarkRecordsPassedOver(b *testing.B) {
	data := skipped(10000)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	records := int64(0)
	for b.Loop() {
		r := readerOf(data)
		for e := range r.Routes(prefix("203.0.113.0/24")) {
			b.Fatal(e)
		}
		records = r.Stats().Records
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(records), "ns/record")
}

func BenchmarkAllRoutes(b *testing.B) {
	data := skipped(10000)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for range readerOf(data).All() {
			n++
		}
		if n != 60000 {
			b.Fatal(n)
		}
	}
}
