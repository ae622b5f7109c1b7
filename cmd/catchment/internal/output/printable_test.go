package output

import (
	"testing"

	"google.golang.org/protobuf/proto"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
)

func TestControlCharactersAreSpelledOutEverywhere(t *testing.T) {
	hostile, want := "a\x1b[2J\n\t\x00\x7f\u009b\u202eб", `a\x1b[2J\x0a\x09\x00\x7f\x9b\u202eб`
	m := &edgev1.StatusResponse{Node: hostile, Warnings: []string{hostile},
		Services: []*edgev1.Service{{Name: hostile, Neighbors: []*edgev1.Neighbor{{LastError: hostile}}}}}
	got := Printable(m)
	n := got.GetServices()[0].GetNeighbors()[0]
	for _, text := range []string{got.GetNode(), got.GetWarnings()[0], got.GetServices()[0].GetName(), n.GetLastError()} {
		if text != want {
			t.Errorf("got %q, want %q", text, want)
		}
	}
	if m.GetNode() != hostile || !proto.Equal(Printable(got), got) {
		t.Error("the message itself was changed, or a printable one is not left as it is")
	}
}

func TestLinesKeepsLineEndsAndTabs(t *testing.T) {
	if got := Lines("a\n\tb\r\x1b"); got != "a\n\tb\\x0d\\x1b" {
		t.Errorf("got %q", got)
	}
}

func TestFormatTakesItsThreeNames(t *testing.T) {
	var f Format
	for _, name := range Formats() {
		if err := f.Set(name); err != nil || f.String() != name {
			t.Errorf("%s: error %v, value %q", name, err, f)
		}
	}
	if err := f.Set("xml"); err == nil || f != YAML {
		t.Errorf("xml: error %v, value %q", err, f)
	}
}
