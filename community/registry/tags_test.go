package registry

import (
	"slices"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/community"
)

func TestTagsOfOneMeaningAreOneEntry(t *testing.T) {
	since := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	entries, nodes, problems := Tags([]Tag{
		{Node: "msk1", ASN: 57629, Value: "57629:101", Meaning: "Moscow", Since: since},
		{Node: "msk2", ASN: 57629, Value: "57629:101", Meaning: " moscow. "},
		{Node: "spb1", ASN: 57629, Value: "57629:101", Meaning: "Petersburg"},
		{Node: "spb1", ASN: 57629, Value: "57629:1:102", Meaning: "Petersburg"},
		{Node: "old", ASN: 57629, Value: "57629:x", Meaning: "?"},
	})
	var got []string
	for _, e := range entries {
		got = append(got, e.Pattern.String()+" "+e.Text()+" "+e.Source.File)
	}
	want := []string{"57629:101 Moscow node msk1, msk2", "57629:101 Petersburg node spb1", "57629:1:102 Petersburg node spb1"}
	if !slices.Equal(got, want) {
		t.Errorf("the entries are %q, want %q", got, want)
	}
	if e := entries[0]; e.Owner != 57629 || e.Kind != KindInfo || e.Confidence != 1 || !e.Source.Date.Equal(since) {
		t.Errorf("the first entry is %+v", e)
	}
	v, _ := community.Parse("57629:101")
	if want := []string{"msk1", "msk2", "spb1"}; !slices.Equal(nodes[v], want) {
		t.Errorf("%s is the tag of %v, want %v", v, nodes[v], want)
	}
	if len(problems) != 1 || problems[0].File != "node old" || problems[0].Text != "57629:x" || problems[0].Reason == "" {
		t.Errorf("the problems are %v", problems)
	}
}

func TestActionTextSaysTowardsWhom(t *testing.T) {
	two := uint32(2)
	prepend := &Action{Verb: Prepend, Number: &two}
	for _, c := range []struct {
		action  *Action
		targets []Target
		want    string
	}{
		{nil, []Target{{Kind: All}}, ""},
		{prepend, nil, prepend.String()},
		{prepend, []Target{{Kind: All}}, prepend.String()},
		{prepend, []Target{{Kind: AS, ASN: 174}, {Kind: Peers}}, prepend.String() + " towards AS174, peers"},
	} {
		if got := ActionText(c.action, c.targets); got != c.want {
			t.Errorf("ActionText(%v, %v) = %q, want %q", c.action, c.targets, got, c.want)
		}
	}
}
