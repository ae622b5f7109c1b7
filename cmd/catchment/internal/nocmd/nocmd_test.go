package nocmd

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
)

func fullCentre() *fakeCentre {
	w := someWindow()
	return &fakeCentre{answers: map[string]proto.Message{
		"ListNodes": &centralv1.ListNodesResponse{Nodes: someFleet().Nodes}, "GetNode": someNode(), "TagNode": someNode(), "UntagNode": someNode(), "SetNode": someNode(),
		"CreateJoinToken": &centralv1.CreateJoinTokenResponse{Token: "secret.pin", Expires: at(time.Hour)},
		"AddWindow":       &centralv1.AddWindowResponse{Window: w, Warnings: []string{"this hour comes twice"}}, "ConfirmWindow": &centralv1.AddWindowResponse{Window: w},
		"ListWindows": &centralv1.ListWindowsResponse{Windows: []*centralv1.Window{w}}, "GetWindow": w, "EndWindow": w, "CancelWindow": w,
		"ImportWindows": &centralv1.ImportWindowsResponse{Proposals: []*centralv1.Window{w}, Problems: []*centralv1.ImportProblem{{File: "mail.ics", Line: 7, Reason: "no start"}}},
		"GetFleet":      someFleet(), "Freeze": someFleet(), "Thaw": someFleet(), "History": someFleet(),
		"ListGrants": &centralv1.ListGrantsResponse{Grants: someGrants()}, "RevokeGrant": someGrants()[0],
		"Plan":             &centralv1.PlanResponse{Reason: "spb1 would come to 90 %", Limit: "brim", Landings: []*centralv1.Landing{{Node: "spb1", Utilization: 0.4, WouldBe: 0.9}}},
		"SetFleetOverride": someFleet().Overrides[0], "ClearFleetOverride": someFleet().Overrides[0],
		"ListAudit": &centralv1.ListAuditResponse{Records: []*centralv1.AuditRecord{{Number: 2, At: at(0), Who: "noc/anna", Role: "operator", Method: "TagNode", Target: "msk1",
			Outcome: "refused", Detail: "no meaning", Reason: "x", Ticket: "T-7", Hash: "ab"}}},
		"VerifyAudit":    &centralv1.VerifyAuditResponse{Ok: true, Records: 2},
		"Backup":         &centralv1.BackupPart{Data: []byte("whole\n")},
		"CreateWebLogin": &centralv1.CreateWebLoginResponse{Code: "AbC_-9", Expires: at(5 * time.Minute), Url: "https://noc.example.net/", Port: 7180},
	}}
}

func TestAnswersAreTablesAndDocuments(t *testing.T) {
	f := fullCentre()
	address := f.serve(t)
	mail := filepath.Join(t.TempDir(), "mail.ics")
	if err := os.WriteFile(mail, []byte("BEGIN:VCALENDAR"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string]string{
		"node_list": "node list", "node_show": "node show msk1", "maintenance_list": "maintenance list", "maintenance_show": "maintenance show w-abcdefgh",
		"maintenance_import": "maintenance import " + mail, "fleet_status": "fleet status", "fleet_limits": "fleet limits", "fleet_grants": "fleet grants",
		"fleet_history": "fleet history --at 2026-03-01T12:00:00Z", "audit_list": "audit list", "audit_verify": "audit verify", "join_token": "node join-token msk1 --reason new",
		"maintenance_add": "maintenance add --node msk1 --start now --for 10m --reason x", "fleet_override": "fleet override drain --site spb --reason fire",
		"web_login": "web login",
	} {
		for _, format := range []string{"table", "json", "yaml"} {
			r := try(t, "", append(strings.Fields("--central "+address+" "+args), "-o", format)...)
			if r.code != exit.OK {
				t.Errorf("%s: exit %d, %s", args, r.code, r.stderr)
			}
			golden(t, name+"."+format, r.stdout)
		}
	}
}

func TestNothingIsAnEmptyArray(t *testing.T) {
	f := &fakeCentre{answers: map[string]proto.Message{"ListNodes": &centralv1.ListNodesResponse{}, "ListWindows": &centralv1.ListWindowsResponse{},
		"ListGrants": &centralv1.ListGrantsResponse{}, "ListAudit": &centralv1.ListAuditResponse{}, "GetFleet": &centralv1.FleetStatus{}}}
	address := f.serve(t)
	for _, args := range []string{"node list", "maintenance list", "fleet grants", "fleet limits", "audit list"} {
		if r := try(t, "", strings.Fields("--central "+address+" "+args+" -o json")...); r.stdout != "[]\n" || r.code != exit.OK {
			t.Errorf("%s: exit %d, %q", args, r.code, r.stdout)
		}
	}
	if r := try(t, "", strings.Fields("--central "+address+" fleet status -o json")...); strings.Contains(r.stdout, `": null`) && strings.Contains(r.stdout, `"nodes": null`) {
		t.Errorf("%s", r.stdout)
	}
}

func TestWhatIsTypedIsWhatIsAsked(t *testing.T) {
	f := fullCentre()
	address := f.serve(t)
	yes, no := true, false
	for args, want := range map[string]proto.Message{
		"node tag msk1 57629:101 --meaning Moscow --shared": &centralv1.TagNodeRequest{Node: "msk1", Value: "57629:101", Meaning: "Moscow", Shared: true},
		"node untag msk1 57629:101":                         &centralv1.UntagNodeRequest{Node: "msk1", Value: "57629:101"},
		"node disable msk1 --reason x --override-safety":    &centralv1.SetNodeRequest{Name: "msk1", Disabled: &yes, Reason: "x", OverrideSafety: true},
		"node enable msk1 --reason x":                       &centralv1.SetNodeRequest{Name: "msk1", Disabled: &no, Reason: "x"},
		"node standby msk1 --reason x":                      &centralv1.SetNodeRequest{Name: "msk1", Standby: &yes, Reason: "x"},
		"node standby msk1 --off --reason x":                &centralv1.SetNodeRequest{Name: "msk1", Standby: &no, Reason: "x"},
		"node forget msk1 --reason x":                       &centralv1.SetNodeRequest{Name: "msk1", Forget: true, Reason: "x"},
		"maintenance add --node msk1 --neighbor msk1/transit-a --label rack=r1 --start 2026-12-01T02:00:00Z --for 1d2h --lead 30s --rrule FREQ=DAILY --zone UTC --reason x --ticket T --override-safety": &centralv1.AddWindowRequest{
			Selector: &centralv1.Selector{Nodes: []string{"msk1"}, Neighbors: []string{"msk1/transit-a"}, Labels: map[string]string{"rack": "r1"}}, Start: "2026-12-01T02:00:00Z", Zone: "UTC",
			Duration: durationpb.New(26 * time.Hour), Lead: durationpb.New(30 * time.Second), Rrule: "FREQ=DAILY", Reason: "x", Ticket: "T", OverrideSafety: true},
		"maintenance add --all --expect 3 --start now --for 10m --reason x": &centralv1.AddWindowRequest{Selector: &centralv1.Selector{All: true, Expect: 3}, Start: "now", Duration: durationpb.New(10 * time.Minute), Reason: "x"},
		"maintenance list --all":                       &centralv1.ListWindowsRequest{All: true},
		"maintenance end w-1":                          &centralv1.EndWindowRequest{Id: "w-1"},
		"maintenance cancel w-1 --reason x":            &centralv1.CancelWindowRequest{Id: "w-1", Reason: "x"},
		"maintenance confirm w-1 --reason x --lead 1m": &centralv1.ConfirmWindowRequest{Id: "w-1", Reason: "x", Lead: durationpb.New(time.Minute)},
		"fleet freeze --reason x --ticket T":           &centralv1.FreezeRequest{Reason: "x", Ticket: "T"},
		"fleet thaw --reason x":                        &centralv1.ThawRequest{Reason: "x"},
		"fleet revoke g-1 --reason x":                  &centralv1.RevokeGrantRequest{Id: "g-1", Reason: "x"},
		"fleet clear o-1 --reason x":                   &centralv1.ClearFleetOverrideRequest{Id: "o-1", Reason: "x"},
		"fleet plan --drain msk1 --drain spb1":         &centralv1.PlanRequest{Drain: []string{"msk1", "spb1"}},
		"audit list -n 5 --who noc/anna --before 9":    &centralv1.ListAuditRequest{Limit: 5, Who: "noc/anna", Before: 9},
	} {
		r := try(t, "", strings.Fields("--central "+address+" "+args)...)
		if got := f.last(t); !proto.Equal(got, want) {
			t.Errorf("%s: asked %v, want %v (%s)", args, got, want, r.stderr)
		}
	}
}

func TestTheExitCodeSaysWhatHappened(t *testing.T) {
	f := fullCentre()
	address := f.serve(t)
	f.answers["VerifyAudit"] = &centralv1.VerifyAuditResponse{Records: 1, BrokenAt: 2, Detail: "its text was changed"}
	for _, tt := range []struct {
		err  error
		args string
		code int
		text string
	}{
		{status.Error(codes.FailedPrecondition, "min_announcing"), "node disable msk1 --reason x", exit.Refused, "refused by a safety rule: min_announcing; --override-safety does it all the same, and is audited"},
		{status.Error(codes.FailedPrecondition, "shared"), "node tag msk1 57629:1 --meaning x", exit.Refused, "refused by a safety rule: shared\n"},
		{status.Error(codes.FailedPrecondition, "min"), "fleet override drain --node a --reason x", exit.Refused, "min; --override-safety --for TIME does it"},
		{status.Error(codes.FailedPrecondition, "min"), "maintenance confirm w-1 --reason x", exit.Refused, "min; --override-safety does it"},
		{status.Error(codes.InvalidArgument, "no zone"), "maintenance add --node a --start now --for 1m --reason x", exit.Usage, "no zone"},
		{status.Error(codes.NotFound, "there is no node"), "node show msk9", exit.Usage, "there is no node"},
		{status.Error(codes.PermissionDenied, "a viewer"), "fleet freeze --reason x", exit.Failed, "denied: a viewer"},
		{status.Error(codes.Unavailable, "away"), "fleet status", exit.Failed, "cannot reach the centre"},
		{nil, "fleet plan --drain msk1", exit.Refused, "it would be refused: spb1 would come to 90 % (limit brim)"},
		{nil, "audit verify", exit.Failed, "record 2: its text was changed"},
		{nil, "node list", exit.OK, ""},
	} {
		f.err = tt.err
		if r := try(t, "", strings.Fields("--central "+address+" "+tt.args)...); r.code != tt.code || !strings.Contains(r.stderr, tt.text) {
			t.Errorf("%s: exit %d, %s", tt.args, r.code, r.stderr)
		}
	}
}

func TestWhoeverTagsIsToldOfTagsThatWait(t *testing.T) {
	f := fullCentre()
	r := try(t, "", "--central", f.serve(t), "node", "tag", "msk1", "57629:102", "--meaning", "hall 2")
	if want := "warning: routes carry 57629:102 from 2026-03-01T12:09:00Z on"; r.code != exit.OK || strings.Count(r.stderr, want) != 1 || strings.Contains(r.stderr, "57629:101") {
		t.Errorf("exit %d, %q; want %q", r.code, r.stderr, want)
	}
}

func TestWhatCouldHitMoreThanMeantIsUsage(t *testing.T) {
	add := []string{"maintenance", "add", "--start", "now", "--for", "1m", "--reason", "x"}
	for _, tt := range []struct {
		args []string
		text string
	}{
		{add, "it hits nothing"},
		{append(add, "--node", ""), "a name is empty"},
		{append(add, "--all"), "--all needs --expect N"},
		{append(add, "--node", "a", "--expect", "1"), "--expect goes with --all"},
		{append(add, "--label", "rack"), "write KEY=VALUE"},
		{[]string{"maintenance", "add", "--node", "a", "--for", "1m", "--reason", "x"}, "--start is needed"},
		{[]string{"maintenance", "add", "--node", "a", "--start", "now", "--reason", "x"}, "--for TIME is needed"},
		{[]string{"maintenance", "add", "--node", "a", "--start", "now", "--for", "1m"}, "--reason TEXT is needed"},
		{[]string{"maintenance", "add", "--node", "a", "--start", "now", "--for", "5"}, "--for 5: write a time with its unit"},
		{[]string{"node", "tag", "msk1"}, "needs VALUE"},
		{[]string{"node", "show", ""}, "argument 1 is empty"},
		{[]string{"node", "show", "a", "b"}, `what is "b"`},
		{[]string{"node", "disable", "msk1"}, "--reason TEXT is needed"},
		{[]string{"fleet", "plan"}, "--drain NODE is needed"},
		{[]string{"fleet", "history"}, "write a moment"},
		{[]string{"--central", "192.0.2.1:7179", "node", "list"}, "wants to know who calls"},
		{[]string{"--central", "nowhere", "node", "list"}, "is no address"},
		{[]string{"central", "restore", "x"}, "--data FOLDER is needed"},
		{[]string{"node", "join", "msk1"}, "--token-file FILE is needed"},
		{[]string{"maintenance", "import", "/nonexistent"}, "no such file"},
	} {
		if r := try(t, "", tt.args...); r.code != exit.Usage || !strings.Contains(r.stderr, tt.text) {
			t.Errorf("%q: exit %d, %s", tt.args, r.code, r.stderr)
		}
	}
}

func TestABackupIsANewFileOrNone(t *testing.T) {
	f := fullCentre()
	address := f.serve(t)
	file := filepath.Join(t.TempDir(), "backup")
	if r := try(t, "", "--central", address, "central", "backup", file); r.code != exit.OK {
		t.Fatalf("exit %d, %s", r.code, r.stderr)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "whole\n" {
		t.Errorf("%q, %v", text, err)
	}
	if r := try(t, "", "--central", address, "central", "backup", file); r.code != exit.Usage {
		t.Errorf("over a file: exit %d, %s", r.code, r.stderr)
	}
	f.err = status.Error(codes.PermissionDenied, "a viewer")
	if r := try(t, "", "--central", address, "central", "backup", file+"2"); r.code != exit.Failed {
		t.Errorf("denied: exit %d, %s", r.code, r.stderr)
	}
	if _, err := os.Stat(file + "2"); err == nil {
		t.Error("a file was left")
	}
}

func TestCertificatesAreMadeShownAndRenewed(t *testing.T) {
	dir := t.TempDir()
	ca, out := filepath.Join(dir, "ca"), filepath.Join(dir, "anna")
	for _, args := range [][]string{
		{"pki", "init", "example.net", "--dir", ca}, {"pki", "issue", "noc/anna", "--role", "operator", "--dir", ca, "--out", out}, {"pki", "renew", out + ".pem", "--dir", ca},
	} {
		if r := try(t, "", args...); r.code != exit.OK {
			t.Fatalf("%q: exit %d, %s", args, r.code, r.stderr)
		}
	}
	r := try(t, "", "pki", "show", out+".pem", "-o", "json")
	if r.code != exit.OK || !strings.Contains(r.stdout, `"spiffe://example.net/noc/anna"`) || !strings.Contains(r.stdout, `"operator"`) {
		t.Errorf("exit %d, %s%s", r.code, r.stdout, r.stderr)
	}
	if r := try(t, "", "pki", "show", out+".pem"); !strings.Contains(r.stdout, "spiffe://example.net/noc/anna") {
		t.Errorf("%s", r.stdout)
	}
	for _, args := range [][]string{
		{"pki", "init", "example.net", "--dir", ca}, {"pki", "issue", "noc/anna", "--role", "operator", "--dir", ca, "--out", out}, {"pki", "issue", "anna", "--dir", ca},
		{"pki", "issue", "noc/bob", "--role", "root", "--dir", ca, "--out", out + "2"}, {"pki", "show", filepath.Join(dir, "none")},
	} {
		if r := try(t, "", args...); r.code != exit.Usage {
			t.Errorf("%q: exit %d, %s", args, r.code, r.stderr)
		}
	}
}

func TestWhoeverPlansAWindowIsToldWhatWasUnderstood(t *testing.T) {
	f := fullCentre()
	address := f.serve(t)
	r := try(t, "", strings.Fields("--central "+address+" maintenance add --node msk1 --start now --for 2h --reason x")...)
	const want = "hits msk1 from 2026-03-01T13:00:00Z to 2026-03-01T15:00:00Z, asking clients to leave 5m before, and again by FREQ=WEEKLY; " +
		"catchment maintenance show w-abcdefgh tells when it is safe to begin\n"
	if r.stdout != "w-abcdefgh\n" || !strings.HasSuffix(r.stderr, want) {
		t.Errorf("stdout %q, stderr %q; want %q", r.stdout, r.stderr, want)
	}
	if r := try(t, "", strings.Fields("--central "+address+" maintenance confirm w-1 --reason x -o json")...); r.stderr != "" {
		t.Errorf("beside JSON there is %q", r.stderr)
	}
}

func TestACentreThatIsNotThereIsToldInTheNetworksWords(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	want := "cannot reach the centre at " + address + ": dial tcp " + address + ": connect: connection refused. Another is named by --central"
	if r := try(t, "", "--central", address, "node", "list"); r.code != exit.Failed || !strings.Contains(r.stderr, want) {
		t.Errorf("exit %d, %q; want %q", r.code, r.stderr, want)
	}
}

func TestWhatIsNotKnownIsNotShownAsZero(t *testing.T) {
	f := &fakeCentre{answers: map[string]proto.Message{"GetFleet": &centralv1.FleetStatus{Services: []*centralv1.FleetService{{Name: "video", Nodes: 1}}},
		"GetNode": &centralv1.Node{Name: "msk1", State: "unseen", Services: []*centralv1.ServiceReport{{Name: "video", State: "announced"}}}}}
	address := f.serve(t)
	if r := try(t, "", "--central", address, "fleet", "limits"); r.code != exit.OK || strings.Contains(r.stdout, "LOAD") {
		t.Errorf("exit %d, %q", r.code, r.stdout)
	}
	if r := try(t, "", "--central", address, "node", "show", "msk1"); strings.Contains(r.stdout, "site") || !strings.Contains(r.stdout, "not connected: what follows is what it said last") {
		t.Errorf("exit %d, %q", r.code, r.stdout)
	}
	f.answers["GetNode"] = &centralv1.Node{Name: "msk1", State: "unseen", Reason: "no_capacity", Connected: true, NoCapacity: "video: unseen at transit-a-rr (ipv4)",
		Services: []*centralv1.ServiceReport{{Name: "video", State: "unseen"}}}
	if r := try(t, "", "--central", address, "node", "show", "msk1"); strings.Contains(r.stdout, "not connected") || !strings.Contains(r.stdout, "no capacity: video: unseen at transit-a-rr (ipv4)\n") {
		t.Errorf("exit %d, %q", r.code, r.stdout)
	}
	f.answers["GetFleet"] = &centralv1.FleetStatus{}
	if r := try(t, "", "--central", address, "fleet", "limits"); r.stdout != "no node has a service\n" {
		t.Errorf("%q", r.stdout)
	}
}
