package mrt

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/catchment-bgp/catchment/community"
)

// nodeTags are the tags of two nodes.
func nodeTags(v community.Value) (string, bool) {
	node, ok := map[string]string{"64500:101": "Moscow", "64500:102": "Amsterdam", "64500:1:101": "Moscow"}[v.String()]
	return node, ok
}

func TestOriginNamesTheNodeOfEachPeersRoute(t *testing.T) {
	gone := tagged("192.0.2.7", 64503)
	gone.Withdrawn = true
	local := tagged("192.0.2.8", 64504, "64500:101")
	local.Local = true
	b := slices.Concat(
		tableOf([]Entry{
			tagged("192.0.2.1", 64496, "64500:101", "64500:7"),
			tagged("192.0.2.2", 64497, "64500:101", "64500:1:101"), // twice the same node
			tagged("192.0.2.1", 64496, "64500:102"),                // unmerged
			tagged("192.0.2.3", 64498),
			tagged("192.0.2.4", 64499, "64500:102", "64500:101"),
		}, false),
		message(tagged("192.0.2.5", 64501, "64500:101"), false, false, 4),
		message(gone, false, false, 4), message(local, false, false, 4))
	got, err := json.Marshal(Origin(readerOf(b), prefix("203.0.113.9/24"), nodeTags))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"prefix":"203.0.113.0/24","peers":[` +
		`{"asn":64496,"address":"192.0.2.1","as_path":"64496 64500","communities":["64500:7","64500:101"],"node":"Moscow"},` +
		`{"asn":64497,"address":"192.0.2.2","as_path":"64497 64500","communities":["64500:101","64500:1:101"],"node":"Moscow"},` +
		`{"asn":64496,"address":"192.0.2.1","as_path":"64496 64500","communities":["64500:102"],"node":"Amsterdam"},` +
		`{"asn":64498,"address":"192.0.2.3","as_path":"64498 64500","communities":[],"node":""},` +
		`{"asn":64499,"address":"192.0.2.4","as_path":"64499 64500","communities":["64500:101","64500:102"],"node":""},` +
		`{"asn":64501,"address":"192.0.2.5","as_path":"64501 64500","communities":["64500:101"],"node":"Moscow"}],` +
		`"totals":{"Amsterdam":1,"Moscow":3},"untagged":2,"withdrawn":1,` +
		`"problems":[{"offset":0,"reason":"the route of AS 64499 at 192.0.2.4 has tags of several nodes, Amsterdam, Moscow; it is counted for none"}]}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestOriginOfNothingHasNoNull(t *testing.T) {
	got, err := json.Marshal(Origin(readerOf(message(tagged("192.0.2.1", 64496), false, false, 4)), prefix("2001:db8::/32"), nil))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"prefix":"2001:db8::/32","peers":[],"totals":{},"untagged":0,"withdrawn":0,"problems":[]}`; string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestOriginShowsThePathIdentifier(t *testing.T) {
	e, f := tagged("192.0.2.1", 64496, "64500:101"), tagged("192.0.2.1", 64496, "64500:102")
	e.PathID, f.PathID = 7, 8
	report := Origin(readerOf(slices.Concat(message(f, false, true, 4), message(e, false, true, 4))), e.Prefix, nodeTags)
	if len(report.Peers) != 2 || report.Peers[0].PathID != 7 || report.Peers[1].Node != "Amsterdam" {
		t.Errorf("got %+v", report)
	}
}
