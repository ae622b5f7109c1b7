package nocmd

import (
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/centre"
)

func TestTheFleetIsProposedToShells(t *testing.T) {
	f := &fakeCentre{answers: map[string]proto.Message{
		"GetFleet": &centralv1.FleetStatus{Services: []*centralv1.FleetService{{Name: "video"}}, Grants: []*centralv1.Grant{{Id: "video.1"}},
			Nodes: []*centralv1.Node{{Name: "spb1", Site: "spb", Neighbors: []*centralv1.EdgeNeighbor{{Name: "ix"}}}, {Name: "msk1", Site: "moscow", Neighbors: []*centralv1.EdgeNeighbor{{Name: "ix"}}}, {Name: "new"}}},
		"ListWindows":        &centralv1.ListWindowsResponse{Windows: []*centralv1.Window{{Id: "w-2"}, {Id: "w-1"}}},
		"ListFleetOverrides": &centralv1.ListFleetOverridesResponse{Overrides: []*centralv1.FleetOverride{{Id: "o-1"}}},
	}}
	address := f.serve(t)
	for line, want := range map[string]string{
		"node show ": "msk1 new spb1", "node tag ": "msk1 new spb1", "node tag msk1 ": "", "node list ": "", "node disable msk1 ": "",
		"maintenance show ": "w-1 w-2", "maintenance end ": "w-1 w-2", "maintenance import ": "FILES", "fleet clear ": "o-1", "fleet revoke ": "video.1", "fleet override ": "announce drain withdraw",
		"maintenance add --node ": "msk1 new spb1", "maintenance add --site ": "moscow spb", "maintenance add --neighbor ": "ix", "maintenance add --service ": "video",
		"fleet plan --drain ": "msk1 new spb1", "fleet revoke x --node ": "msk1 new spb1", "node list -o ": "table json yaml",
	} {
		args := strings.Split(line, " ")
		r := try(t, "", append([]string{"__complete", "--central", address}, args...)...)
		got, directive := proposals(r.stdout)
		if want == "FILES" {
			if directive != ":0" {
				t.Errorf("%s: files are not proposed: %s", line, r.stdout)
			}
			continue
		}
		if got != want || directive != ":4" {
			t.Errorf("%q: %q (%s), want %q", line, got, directive, want)
		}
	}
}

// proposals are the words, and the last line, which tells the shell what else to do.
func proposals(stdout string) (words, directive string) {
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	return strings.Join(lines[:len(lines)-1], " "), lines[len(lines)-1]
}

// A centre that takes connections and never answers does not hang the shell.
func TestACentreThatHangsProposesNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	answers := centre.New().Timeout // how long it would wait for an answer
	for _, address := range []string{l.Addr().String(), "127.0.0.1:1", "nonsense"} {
		began := time.Now()
		r := try(t, "", "__complete", "--central", address, "node", "show", "")
		if words, _ := proposals(r.stdout); words != "" || r.code != 0 {
			t.Errorf("%s: exit %d, %q, %s", address, r.code, words, r.stderr)
		}
		if took := time.Since(began); took > answers*3/4 {
			t.Errorf("%s: it took %s", address, took)
		}
	}
}
