package edgecmd

import (
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
)

// An example that does not work is worse than none.
func TestEveryVerbHasAnExampleThatWorks(t *testing.T) {
	t.Chdir(t.TempDir())
	s := at((&fakeEdge{}).serve(t))
	s.stdin = someConfig
	root := newGroup(&cli.Env{Getenv: func(string) string { return "" }}).command()
	verbs := map[string]bool{}
	for _, verb := range root.Commands() {
		verbs[verb.Name()] = true
		args := split(strings.TrimSpace(verb.Example))
		if len(args) < 3 || args[0] != "catchment" || args[1] != "edge" || args[2] != verb.Name() || verb.Short == "" {
			t.Errorf("%s: short %q, example %q", verb.Name(), verb.Short, verb.Example)
			continue
		}
		for i := range args {
			if args[i] == "new.yaml" {
				args[i] = "-"
			}
		}
		if r := s.run(limited(t), args[2:]...); r.code != exit.OK {
			t.Errorf("%s: exit %d, stderr %q", verb.Example, r.code, r.stderr)
		}
	}
	for _, verb := range strings.Fields("status why drain withdraw announce auto plan apply confirm rollback") {
		if !verbs[verb] {
			t.Errorf("no verb %s", verb)
		}
	}
}

func TestHelpGoesToStdout(t *testing.T) {
	for _, args := range []string{"--help", "drain --help"} {
		r := shell{env: map[string]string{}}.run(limited(t), split(args)...)
		if r.code != exit.OK || r.stderr != "" || !strings.Contains(r.stdout, "Usage:\n  catchment edge ") {
			t.Errorf("%s: exit %d, stderr %q, stdout %q", args, r.code, r.stderr, r.stdout)
		}
	}
	r := shell{}.run(limited(t), "drain", "--help")
	golden(t, "drain_help.txt", r.stdout)
}

func TestCompletionProposesWhatTheNodeHas(t *testing.T) {
	s := at((&fakeEdge{status: fullStatus()}).serve(t))
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"drain", ""}, "video\ndns\n"},
		{[]string{"why", ""}, "video\ndns\n"},
		{[]string{"withdraw", "video", "--neighbor", ""}, "transit-a\ntransit-b\ncore\n"},
		{[]string{"status", "-o", ""}, "table\njson\nyaml\n"},
	} {
		r := s.complete(limited(t), tt.args...)
		if r.code != exit.OK || !strings.HasPrefix(r.stdout, tt.want+":") {
			t.Errorf("%q: exit %d, stdout %q, want %q", tt.args, r.code, r.stdout, tt.want)
		}
	}
	if r := at("/nonexistent").complete(limited(t), "drain", ""); r.code != exit.OK || !strings.HasPrefix(r.stdout, ":") {
		t.Errorf("without a node: exit %d, stdout %q", r.code, r.stdout)
	}
}
