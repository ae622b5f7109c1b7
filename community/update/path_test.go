package update

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/catchment-bgp/catchment/internal/octets"
)

func seq(asns ...uint32) Segment    { return Segment{Sequence, asns} }
func set(asns ...uint32) Segment    { return Segment{Set, asns} }
func confed(asns ...uint32) Segment { return Segment{ConfedSequence, asns} }

func TestAS4PathIsMergedIntoASPath(t *testing.T) {
	for _, c := range []struct {
		name    string
		as, as4 Path
		want    string
	}{
		{"all of it is known", Path{seq(10, ASTrans)}, Path{seq(10, 65537)}, "10 65537"},
		{"the neighbours have 2-octet ASNs", Path{seq(10, 20, ASTrans, 30)}, Path{seq(65537, 30)}, "10 20 65537 30"},
		{"it is longer, thus ignored", Path{seq(10)}, Path{seq(10, 65537)}, "10"},
		{"a set counts as one", Path{seq(10), set(ASTrans, 30, 40)}, Path{set(65537, 30, 40)}, "10 {65537,30,40}"},
		{"a set leads", Path{set(1, 2), seq(ASTrans, 30)}, Path{seq(65537, 30)}, "{1,2} 65537 30"},
		{"a confederation leads", Path{confed(64512, 64513), seq(10, ASTrans)}, Path{seq(10, 65537)}, "(64512 64513) 10 65537"},
		{"a confederation is next to what is prepended", Path{seq(10), confed(64512), seq(ASTrans)}, Path{seq(65537)}, "10 (64512) 65537"},
		{"a confederation is not next to it", Path{seq(10), confed(64512), seq(ASTrans)}, Path{seq(10, 65537)}, "10 65537"},
		{"its own confederations are ignored", Path{seq(10, ASTrans)}, Path{confed(1, 2, 3), seq(65537)}, "10 65537"},
		{"it is empty", Path{seq(10, ASTrans)}, nil, "10 23456"},
		{"both are", nil, nil, ""},
	} {
		if got := merge(c.as, c.as4).String(); got != c.want {
			t.Errorf("%s: %s with %s: got %q, want %q", c.name, c.as, c.as4, got, c.want)
		}
	}
}

// "... so that the AS path information has a number of AS numbers identical to that of the
// AS_PATH attribute" (RFC 6793, section 4.2.3); and neither attribute is changed.
func TestAMergedPathIsAsLongAsASPath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		as, as4 := drawPath(t, 0xffff), drawPath(t, 0xffffffff)
		before, before4 := as.String(), as4.String()
		got := merge(as, as4)
		if got.hops() != as.hops() {
			t.Fatalf("%s with %s: %s", as, as4, got)
		}
		if as.String() != before || as4.String() != before4 {
			t.Fatalf("%s with %s was changed to %s with %s", before, before4, as, as4)
		}
	})
}

func TestAS4PathIsIgnoredFromANewAggregatorsNeighbour(t *testing.T) {
	const path = `40 02 1[ 02 02 fbf0 5ba0 ] c0 11 1[ 02 02 0000fbf0 00010001 ] `
	for _, c := range []struct{ name, more, want string }{
		{"AGGREGATOR has an ASN, AS4_AGGREGATOR is there", `c0 07 1[ fbf0 c0000202 ] c0 12 1[ 00010001 c0000202 ]`, "64496 23456"},
		{"AGGREGATOR has AS_TRANS", `c0 07 1[ 5ba0 c0000202 ] c0 12 1[ 00010001 c0000202 ]`, "64496 65537"},
		{"AGGREGATOR alone", `c0 07 1[ fbf0 c0000202 ]`, "64496 65537"},
		{"AS4_PATH that is malformed", ``, "64496 23456"},
	} {
		text := path + c.more
		if c.more == "" {
			text = `40 02 1[ 02 02 fbf0 5ba0 ] c0 11 1[ 02 02 0000fbf0 0001 ] `
		}
		var a Attributes
		if err := a.Split(octets.Of(t, text)); err != nil {
			t.Fatal(err)
		}
		if p, err := a.Path(2); err != nil || p.String() != c.want {
			t.Errorf("%s: got %q, error %v, want %q", c.name, p, err, c.want)
		}
	}
}

func TestOfAttributesTwiceTheFirstCounts(t *testing.T) {
	var a Attributes
	if err := a.Split(octets.Of(t, `40 02 1[ 02 02 fbf0 fbf1 ] 40 02 1[ ] c0 08 1[ fbf00065 fbf00065 ffffff01 ] c0 08 1[ 00010001 ]`)); err != nil {
		t.Fatal(err)
	}
	r, err := a.Decode(2, false)
	if err != nil || r.Path.String() != "64496 64497" || len(r.Communities) != 2 {
		t.Errorf("got %+v, error %v", r, err)
	}
}

func TestPathsArePrintedAsRoutersPrintThem(t *testing.T) {
	p := Path{confed(64512, 64513), {ConfedSet, []uint32{1, 2}}, seq(10, 4294967295), set(3, 4)}
	if got, want := p.String(), "(64512 64513) [1,2] 10 4294967295 {3,4}"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// drawPath draws a path whose ASNs are at most widest.
func drawPath(t *rapid.T, widest uint32) Path {
	asns := rapid.SliceOfN(rapid.Uint32Range(0, widest), 1, 4)
	segment := rapid.Custom(func(t *rapid.T) Segment {
		return Segment{SegmentType(rapid.IntRange(1, 4).Draw(t, "type")), asns.Draw(t, "ASNs")}
	})
	return rapid.SliceOfN(segment, 0, 3).Draw(t, "segments")
}
