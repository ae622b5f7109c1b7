package edgecmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
)

const someConfig = "node: msk1\n"

func configFileAt(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "new.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestVerbsSendWhatWasAsked(t *testing.T) {
	file := configFileAt(t, someConfig)
	config := &edgev1.ConfigFile{Name: file, Content: []byte(someConfig)}
	video := &edgev1.Selector{Services: []string{"video"}}
	for _, tt := range []struct {
		args []string
		want proto.Message
	}{
		{[]string{"status"}, &edgev1.StatusRequest{}},
		{[]string{"why"}, &edgev1.WhyRequest{Limit: 20}},
		{[]string{"why", "video", "-n", "3"}, &edgev1.WhyRequest{Service: "video", Limit: 3}},
		{[]string{"drain", "video", "--reason", "r"}, &edgev1.SetOverrideRequest{Selector: video, Verb: "drain", Reason: "r"}},
		{[]string{"drain", "video", "--reason", "r", "--for", "90m"},
			&edgev1.SetOverrideRequest{Selector: video, Verb: "drain", Reason: "r", Duration: durationpb.New(90 * time.Minute)}},
		{[]string{"drain", "video", "--reason", "r", "--for", "1h", "--override-safety"},
			&edgev1.SetOverrideRequest{Selector: video, Verb: "drain", Reason: "r", Duration: durationpb.New(time.Hour), OverrideSafety: true}},
		{[]string{"withdraw", "a", "b", "--neighbor", "x,1", "--neighbor", "y", "--reason", "r"},
			&edgev1.SetOverrideRequest{Verb: "withdraw", Reason: "r",
				Selector: &edgev1.Selector{Services: []string{"a", "b"}, Neighbors: []string{"x,1", "y"}}}},
		{[]string{"withdraw", "--all", "--expect", "3", "--reason", "r"},
			&edgev1.SetOverrideRequest{Verb: "withdraw", Reason: "r", Selector: &edgev1.Selector{All: true, Expect: 3}}},
		{[]string{"announce", "video", "--reason", "r", "--even-if-dead"},
			&edgev1.SetOverrideRequest{Selector: video, Verb: "announce", Reason: "r", EvenIfDead: true}},
		{[]string{"auto", "video", "--reason", "r"}, &edgev1.ClearOverrideRequest{Selector: video, Reason: "r"}},
		{[]string{"auto", "--all", "--expect", "2", "--neighbor", "x", "--reason", "r"},
			&edgev1.ClearOverrideRequest{Reason: "r",
				Selector: &edgev1.Selector{Neighbors: []string{"x"}, All: true, Expect: 2}}},
		{[]string{"pin", "transit-a", "2", "--reason", "r"}, &edgev1.SetPinRequest{Neighbor: "transit-a", Rung: 2, Reason: "r"}},
		{[]string{"pin", "transit-a", "0", "--reason", "r", "--for", "1h", "--override-safety"},
			&edgev1.SetPinRequest{Neighbor: "transit-a", Reason: "r", Duration: durationpb.New(time.Hour), OverrideSafety: true}},
		{[]string{"unpin", "transit-a", "--reason", "r"}, &edgev1.ClearPinRequest{Neighbor: "transit-a", Reason: "r"}},
		{[]string{"why", "--transcript", "-"}, &edgev1.TranscriptRequest{}},
		{[]string{"plan", "--config", file}, &edgev1.PlanRequest{Config: config}},
		{[]string{"plan", "--config", "-"},
			&edgev1.PlanRequest{Config: &edgev1.ConfigFile{Name: "stdin", Content: []byte("node: from-stdin\n")}}},
		{[]string{"apply", "--config", file}, &edgev1.ApplyRequest{Config: config}},
		{[]string{"apply", "--config", file, "--confirm-within", "2m"},
			&edgev1.ApplyRequest{Config: config, ConfirmWithin: durationpb.New(2 * time.Minute)}},
		{[]string{"apply", "--config", file, "--override-safety", "--reason", "r"}, &edgev1.ApplyRequest{Config: config, OverrideSafety: true, Reason: "r"}},
		{[]string{"confirm"}, &edgev1.ConfirmRequest{}},
		{[]string{"rollback"}, &edgev1.RollbackRequest{}},
	} {
		t.Run("", func(t *testing.T) {
			f := &fakeEdge{}
			s := at(f.serve(t))
			s.stdin = "node: from-stdin\n"
			if r := s.run(limited(t), tt.args...); r.code != exit.OK || r.stderr != "" {
				t.Fatalf("%v: exit %d, stderr %q", tt.args, r.code, r.stderr)
			}
			if asked := f.requests(); len(asked) != 1 || !proto.Equal(asked[0], tt.want) {
				t.Errorf("%v: asked %v, want %v", tt.args, asked, tt.want)
			}
		})
	}
}

// Each of these could hit more than was meant, or nothing at all.
func TestWrongUsageNeverReachesTheNode(t *testing.T) {
	f := &fakeEdge{}
	s := at(f.serve(t))
	blank := configFileAt(t, " \n\t\n")
	huge := configFileAt(t, strings.Repeat("#", maxConfig+1))
	for _, tt := range []struct{ args, want string }{
		{"", "needs a command: announce, apply"},
		{"drian", `no command "drian"; did you mean drain?`},
		{"status video", `takes no argument: what is "video"?`},
		{"status --bogus", "unknown flag: --bogus"},
		{"status -o xml", "catchment: -o xml: write table, json or yaml"},
		{"status --edge 127.0.0.1:7", "is not the address of a unix socket: write one like unix:///run/catchment/edge.sock"},
		{"status --edge unix://", "is not the address of a unix socket"},
		{"status --edge unix:///" + strings.Repeat("x", 108), "at most 107"},
		{"why a b", `"b" is one too many`},
		{"why ''", "the name of the service is empty"},
		{"why -n 0", "-n 0: write how many"},
		{"why -n -1", "-n -1: write how many"},
		{"why -n x", "catchment: -n x: write a whole number\n"},
		{"why --limit 1.5", "catchment: -n 1.5: write a whole number\n"},
		{"why -n 3000000000", "catchment: -n 3000000000: write a smaller whole number\n"},
		{"drain", "write drain SERVICE --reason TEXT, or --all --expect N"},
		{"drain --reason r --neighbor x", "hits nothing without a service"},
		{"drain --reason r --expect 1", "hits nothing without a service"},
		{"drain --all --reason r", "drain --all needs --expect N"},
		{"drain --all --expect 0 --reason r", "--expect 0: write how many"},
		{"drain --all --expect -2 --reason r", "--expect -2: write how many"},
		{"drain video --all --expect 1 --reason r", "not both"},
		{"drain video --expect 1 --reason r", "--expect goes with --all"},
		{"drain '' --reason r", "the name of a service is empty"},
		{"drain video '' --reason r", "the name of a service is empty"},
		{"drain video --neighbor '' --reason r", "--neighbor: the name is empty"},
		{"drain video", "drain needs --reason TEXT"},
		{"apply --config - --override-safety", "apply --override-safety needs --reason TEXT"},
		{"drain video --reason ''", "drain needs --reason TEXT"},
		{"drain video --reason r --for 0s", "--for 0s: write a duration over zero"},
		{"drain video --reason r --for -5m", "--for -5m0s: write a duration over zero"},
		{"drain video --reason r --for soon", "catchment: --for soon: write a time with its unit, such as 5m\n"},
		{"drain video --reason r --for 5", "catchment: --for 5: write a time with its unit, such as 5m\n"},
		{"drain --all=perhaps --expect 1 --reason r", "--all perhaps: write true or false, or the flag alone"},
		{"drain video --reason r --neighbour x", "unknown flag: --neighbour; did you mean --neighbor?"},
		{"drain video --reason r --neighbour=x", "unknown flag: --neighbour; did you mean --neighbor?"},
		{"status --ouput json", "unknown flag: --ouput; did you mean --output?"},
		{"drain video --reason r --even-if-dead", "unknown flag: --even-if-dead"},
		{"withdraw --reason r", "write withdraw SERVICE"},
		{"announce --reason r", "write announce SERVICE"},
		{"auto --reason r", "write auto SERVICE"},
		{"auto video", "auto needs --reason TEXT"},
		{"auto video --reason r --for 1m", "unknown flag: --for"},
		{"pin", "pin takes a neighbour and a rung"},
		{"pin a --reason r", "pin takes a neighbour and a rung"},
		{"pin a 1 2 --reason r", "pin takes a neighbour and a rung"},
		{"pin a top --reason r", `"top" is not a rung`},
		{"pin a -1 --reason r", "unknown shorthand flag"},
		{"pin a 99999999999 --reason r", `"99999999999" is not a rung`},
		{"pin '' 1 --reason r", "the name of the neighbour is empty"},
		{"pin a 1", "pin needs --reason TEXT"},
		{"pin a 1 --reason r --for 0s", "--for 0s: write a duration over zero"},
		{"unpin", "unpin takes one neighbour"},
		{"unpin a b --reason r", "unpin takes one neighbour"},
		{"unpin '' --reason r", "the name of the neighbour is empty"},
		{"unpin a", "unpin needs --reason TEXT"},
		{"why video --transcript -", "of the whole node"},
		{"why -n 3 --transcript -", "of the whole node"},
		{"plan", "name the configuration: --config FILE"},
		{"plan --config /nonexistent/new.yaml", "reading the configuration from /nonexistent/new.yaml"},
		{"plan --config " + t.TempDir(), "is a directory"},
		{"plan --config " + blank, "is empty"},
		{"plan --config " + huge, "is no configuration"},
		{"apply", "name the configuration"},
		{"apply --config -", "stdin is empty"},
		{"apply --config - --confirm-within 0s", "--confirm-within 0s: write a duration over zero"},
		{"apply --config - --confirm-within 5", "catchment: --confirm-within 5: write a time with its unit, such as 5m\n"},
		{"confirm now", "takes no argument"},
		{"rollback now", "takes no argument"},
	} {
		r := s.run(limited(t), split(tt.args)...)
		if r.code != exit.Usage || !strings.Contains(r.stderr, tt.want) || r.stdout != "" {
			t.Errorf("%q: exit %d, stdout %q, stderr %q; want exit 2 and %q", tt.args, r.code, r.stdout, r.stderr, tt.want)
		}
	}
	if asked := f.requests(); len(asked) != 0 {
		t.Errorf("the node was asked %v", asked)
	}
}

func TestHelpIsNamedForWrongUsageOnly(t *testing.T) {
	if r := (shell{}).run(limited(t), "drain"); !strings.Contains(r.stderr, "See 'catchment edge drain --help'.") {
		t.Errorf("stderr %q", r.stderr)
	}
	if r := (shell{}).run(limited(t), "plan", "--config", "/nonexistent"); strings.Contains(r.stderr, "--help") {
		t.Errorf("stderr %q", r.stderr)
	}
}

func TestFlagGoesBeforeTheEnvironment(t *testing.T) {
	f := &fakeEdge{}
	path := f.serve(t)
	s := at("/nonexistent/edge.sock")
	for _, address := range []string{"unix://" + path, "unix:" + path} {
		if r := s.run(limited(t), "status", "--edge", address); r.code != exit.OK {
			t.Errorf("%s: exit %d, stderr %q", address, r.code, r.stderr)
		}
	}
	if n := len(f.requests()); n != 2 {
		t.Errorf("%d requests", n)
	}
}

// split cuts at blanks outside of single quotes.
func split(line string) []string {
	var out []string
	quoted := false
	word, started := "", false
	for _, r := range line {
		switch {
		case r == '\'':
			quoted, started = !quoted, true
		case r == ' ' && !quoted:
			if started {
				out = append(out, word)
			}
			word, started = "", false
		default:
			word, started = word+string(r), true
		}
	}
	if started {
		out = append(out, word)
	}
	return out
}
