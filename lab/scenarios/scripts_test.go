package scenarios

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// scriptsDir holds the scenarios; its README says what each command does.
const scriptsDir = "scripts"

// TestScripts runs each scenario of scriptsDir in a lab of its own.
func TestScripts(t *testing.T) {
	t.Parallel()
	requireLab(t)
	p := scriptParams(t)
	p.Dir = scriptsDir
	testscript.Run(t, p)
}

// requireLab ends the test where labs of lab/topologies cannot run.
func requireLab(t *testing.T) {
	t.Helper()
	netlab.Require(t, netlab.Root, netlab.FRRouting, netlab.BIRDRouting, netlab.NginxServer, netlab.OpenBGPDRouting, netlab.ExaBGPRouting)
	removeOrphans(t)
}

// programs builds what the nodes run, and returns the folder.
func programs(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"catchment-edge", "catchment-central"} {
		netlab.Binary(t, "./cmd/"+name)
	}
	return filepath.Dir(netlab.Binary(t, "./cmd/catchment"))
}

// worldKey finds a script's world among its values.
type worldKey struct{}

// scriptParams are what all scripts run with.
func scriptParams(t testing.TB) testscript.Params {
	dir := programs(t)
	return testscript.Params{
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			w := &world{t: env.T().(reporter), dir: env.WorkDir, programs: dir}
			env.Values[worldKey{}] = w
			env.Defer(w.down)
			return nil
		},
		Cmds: commands(),
	}
}
