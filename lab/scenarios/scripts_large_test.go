package scenarios

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/catchment-bgp/catchment/lab/clab"
	"github.com/catchment-bgp/catchment/lab/runner"
)

// TestFleetScripts runs the scenarios of the fleet, whose labs have 32 nodes each: one after the other.
func TestFleetScripts(t *testing.T) {
	t.Parallel()
	requireLab(t)
	p := scriptParams(t)
	p.Dir = filepath.Join(scriptsDir, "fleet")
	testscript.RunT(inTurn{t}, p)
}

// inTurn is a test whose scripts do not run beside each other.
type inTurn struct{ *testing.T }

// Parallel overrides that of the test: it does nothing.
func (inTurn) Parallel() {}

// Run runs a script to its end.
func (t inTurn) Run(name string, f func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { f(inTurn{t}) })
}

// Verbose says whether scripts shall show their steps.
func (inTurn) Verbose() bool { return testing.Verbose() }

// TestTheTourShowsWhoMoves runs what README offers to newcomers, on a lab with a name of its own.
func TestTheTourShowsWhoMoves(t *testing.T) {
	t.Parallel()
	requireLab(t)
	dir := t.TempDir()
	if err := overlay(dir, topologiesDir, "fleet"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "fleet.clab.yml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("%s%d-tour", labPrefix, os.Getpid())
	if err := os.WriteFile(file, bytes.Replace(text, []byte("\nname: fleet\n"), []byte("\nname: "+name+"\n"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, "../tour.sh")
	cmd.Env = append(os.Environ(), "TOUR_LAB="+file, "TOUR_CATCHMENT="+filepath.Join(programs(t), "catchment"))
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(os.Interrupt) }, 20*time.Second
	if err := cmd.Run(); err != nil {
		t.Errorf("%v: %s", err, said.String())
	}
	for _, want := range []string{
		"msk1   Moscow         AS64601 AS64602 AS64603 AS64604 AS64605 AS64606\n",
		"msk1   Moscow         nobody\n",
		"* 6 of 20 networks moved, all of them those of msk1; the other 14 stayed.",
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("the tour does not say %q: %s", want, said.String())
		}
	}
	lab, err := clab.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range runner.List(lab) {
		if n.State != runner.Ended {
			t.Errorf("the tour has left %s", n.Name)
		}
	}
}
