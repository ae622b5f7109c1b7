package labcmd

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
	"github.com/catchment-bgp/catchment/lab/runner"
)

func TestTopologiesAndTheirNodesAreProposedToShells(t *testing.T) {
	file := write(t, topology)
	for line, want := range map[string]string{
		"up |": "yml yaml :8", "down |": "yml yaml :8", "graph |": "yml yaml :8", "list |": "yml yaml :8", "up x |": ":4",
		"exec " + file + "|": "a b :4", "lg " + file + "|": "a b :4", "exec none|": ":4", "exec " + file + " a|": ":4",
	} {
		var out bytes.Buffer
		env := cli.NewEnv(strings.NewReader(""), &out, &bytes.Buffer{})
		root := cli.Group("catchment", "", "", newLab(env, func() (runner.Options, error) { return runner.Options{}, errors.New("nothing is run here") }))
		args := append(strings.Fields(strings.TrimSuffix(line, "|")), "")
		if code := cli.Execute(t.Context(), env, root, append([]string{"__complete", "lab"}, args...)); code != 0 {
			t.Errorf("%s: exit %d", line, code)
		}
		if got := strings.Join(strings.Fields(out.String()), " "); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
