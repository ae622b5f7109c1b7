package mrt

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// stream is MRT that was drawn, and what is in it.
type stream struct {
	octets  []byte
	starts  []int   // of the records
	entries []Entry // in the order of the file
	updates []Entry // of these what updates say, and where a session goes down an Entry without a prefix
	tables  []Entry // the others
}

var drawn = []netip.Prefix{prefix("203.0.113.0/24"), prefix("203.0.112.0/23"), prefix("0.0.0.0/0"), prefix("203.0.113.128/25"),
	prefix("2001:db8::/32"), prefix("2001:db8::/47"), prefix("2001:db8::1/128"), prefix("::/0")}

func (s *stream) add(b []byte) {
	s.starts = append(s.starts, len(s.octets))
	s.octets = append(s.octets, b...)
}

// drawStream draws records of all types.
func drawStream(t *rapid.T) stream {
	var s stream
	for range rapid.IntRange(0, 12).Draw(t, "records") {
		p := rapid.SampledFrom(drawn).Draw(t, "prefix")
		addPath := rapid.Bool().Draw(t, "ADD-PATH")
		id := rapid.Uint32Range(0, 2)
		switch rapid.IntRange(0, 4).Draw(t, "record") {
		case 0:
			e := drawEntry(t, p, 0xffff, false)
			s.add(oldTableOf(e))
			s.entries, s.tables = append(s.entries, e), append(s.tables, e)
		case 1:
			var routes []Entry
			at := time.Unix(7, 0).UTC()
			for range rapid.IntRange(1, 3).Draw(t, "routes") {
				e := drawEntry(t, p, 0xffffffff, false)
				if e.Time = at; addPath {
					e.PathID = id.Draw(t, "identifier")
				}
				routes = append(routes, e)
			}
			b := tableOf(routes, addPath)
			cut := headerSize + int(be.Uint32(b[8:]))
			s.add(b[:cut])
			s.add(b[cut:])
			s.entries, s.tables = append(s.entries, routes...), append(s.tables, routes...)
		case 2:
			e := drawEntry(t, p, 0xffffffff, false)
			s.add(downOf(e, 1))
			s.updates = append(s.updates, Entry{Time: e.Time, PeerASN: e.PeerASN, Peer: e.Peer})
		default:
			et := rapid.Bool().Draw(t, "ET")
			width, widest := 4, uint32(0xffffffff)
			if rapid.Bool().Draw(t, "two octets") {
				width, widest = 2, 0xffff
			}
			e := drawEntry(t, p, widest, et)
			if addPath {
				e.PathID = id.Draw(t, "identifier")
			}
			if rapid.Bool().Draw(t, "withdrawn") {
				e = Entry{Time: e.Time, PeerASN: e.PeerASN, Peer: e.Peer, PathID: e.PathID, Prefix: p, Withdrawn: true}
			}
			e.Local = rapid.IntRange(0, 9).Draw(t, "local") == 0
			s.add(message(e, et, addPath, width))
			s.entries, s.updates = append(s.entries, e), append(s.updates, e)
		}
	}
	return s
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawStream(t)
		r := readerOf(s.octets)
		if got, want := lines(r.All()), lines(slices.Values(s.entries)); !slices.Equal(got, want) {
			t.Fatalf("got\n%q\nwant\n%q", got, want)
		}
		if p := r.Problems(); len(p) > 0 && len(s.octets) > 0 {
			t.Fatalf("problems %v", p)
		}
		if st := r.Stats(); st.Records != int64(len(s.starts)) || st.Octets != int64(len(s.octets)) {
			t.Fatalf("%+v of %d records, %d octets", st, len(s.starts), len(s.octets))
		}
	})
}

// routesOf is what Routes is to yield: slowly, by looking back from the end for what is last
// of each peer and identifier.
func routesOf(s stream, p netip.Prefix) []string {
	var out []string
	for _, e := range s.tables {
		if e.Prefix == p {
			out = append(out, line(e))
		}
	}
	type key struct {
		asn   uint32
		addr  netip.Addr
		local bool
		id    uint32
	}
	done := map[key]bool{}
	var last []Entry
	for i, e := range slices.Backward(s.updates) {
		k := key{e.PeerASN, e.Peer, e.Local, e.PathID}
		if e.Prefix != p || done[k] {
			continue
		}
		done[k] = true
		for _, down := range slices.Backward(s.updates[i:]) { // the last one
			if !e.Withdrawn && !down.Prefix.IsValid() && down.PeerASN == e.PeerASN && down.Peer == e.Peer {
				e = Entry{Time: down.Time, PeerASN: e.PeerASN, Peer: e.Peer, Local: e.Local, PathID: e.PathID, Prefix: p, Withdrawn: true}
			}
		}
		last = append(last, e)
	}
	rank := func(e Entry) int64 {
		n := int64(e.PathID)
		if e.Local {
			n += 1 << 40
		}
		return n
	}
	slices.SortFunc(last, func(a, b Entry) int {
		if a.PeerASN != b.PeerASN {
			return int(int64(a.PeerASN) - int64(b.PeerASN))
		}
		if c := a.Peer.Compare(b.Peer); c != 0 {
			return c
		}
		return int(rank(a)>>8 - rank(b)>>8 + rank(a) - rank(b))
	})
	return append(out, lines(slices.Values(last))...)
}

func TestRoutesAreThoseOfTablesAndWhatIsLastOfEachPeer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawStream(t)
		for _, p := range drawn {
			if got, want := lines(readerOf(s.octets).Routes(p)), routesOf(s, p); !slices.Equal(got, want) {
				t.Fatalf("%v: got\n%q\nwant\n%q", p, got, want)
			}
		}
	})
}

// Of a torn file every record before the tear is read, and the tear is named with the start of
// the record that it cuts.
func TestATornFileGivesWhatIsBeforeTheTear(t *testing.T) {
	s := rapid.Custom(func(t *rapid.T) stream { return drawStream(t) }).
		Filter(func(s stream) bool { return len(s.starts) >= 6 && len(s.octets) < 6000 }).Example(3)
	whole := lines(readerOf(s.octets).All())
	for cut := range s.octets {
		r := readerOf(s.octets[:cut])
		got := lines(r.All())
		if len(got) > len(whole) || !slices.Equal(got, whole[:len(got)]) {
			t.Fatalf("torn at %d: got\n%q", cut, got)
		}
		at, exact := slices.BinarySearch(s.starts, cut)
		problems := r.Problems()
		if exact && cut > 0 {
			if len(problems) > 0 || r.Stats().Records != int64(at) {
				t.Fatalf("torn at %d, between records: %v, %+v", cut, problems, r.Stats())
			}
			continue
		}
		start := 0
		if !exact {
			start = s.starts[at-1]
		}
		if len(problems) != 1 || problems[0].Offset != int64(start) {
			t.Fatalf("torn at %d, in the record at %d: %v", cut, start, problems)
		}
		packed := gzipped(t, s.octets)
		packed = packed[:len(packed)*cut/len(s.octets)]
		r = readerOf(packed)
		if got := lines(r.All()); len(got) > len(whole) || !slices.Equal(got, whole[:len(got)]) {
			t.Fatalf("gzip torn at %d: got\n%q", len(packed), got)
		}
		if len(r.Problems()) == 0 {
			t.Fatalf("gzip torn at %d: no problem", len(packed))
		}
	}
}
