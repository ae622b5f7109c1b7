package scenarios

import (
	"errors"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/runner"
)

// A process that only shares a node's network outlives the node, and keeps its namespace and interfaces.
func TestWhatALabLeavesBehindIsFound(t *testing.T) {
	t.Parallel()
	requireLab(t)
	w := &world{t: t, dir: t.TempDir(), programs: programs(t)}
	t.Cleanup(w.down)
	if err := w.up("two-upstreams"); err != nil {
		t.Fatal(err)
	}
	node := runner.List(w.topology)[0]
	stray := exec.Command("nsenter", "--net", "--target", strconv.Itoa(node.PID), "sleep", "600")
	stray.Env = []string{} // without the lab's label
	if err := stray.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stray.Process.Kill() })
	is := func(text string) bool { return strings.HasPrefix(text, "process "+strconv.Itoa(stray.Process.Pid)+" ") }
	var held []holder
	err := until(soon, func() error {
		held = holdersOf(w.topology)
		if !slices.ContainsFunc(held, func(h holder) bool { return is(h.what) && strings.Contains(h.what, "sleep") }) {
			return errors.New("not yet")
		}
		return nil
	})
	if err != nil {
		t.Fatalf("the process is not seen beside the nodes': %+v", held)
	}
	if _, err := runner.Down(w.topology.Name); err != nil {
		t.Fatal(err)
	}
	if left := w.remains(held, time.Second); len(left) != 1 || !is(left[0]) {
		t.Errorf("what is left is the process %d alone, not %q", stray.Process.Pid, left)
	}
	if err := stray.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = stray.Wait() // it was killed
	if left := w.remains(held, soon); len(left) > 0 {
		t.Errorf("nothing is left, but not %q", left)
	}
}

func TestSessionStatesAreCompared(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state, wanted string
		is            bool
	}{
		{"Established", "established", true},
		{"Established", "down", false},
		{"Active", "down", true},
		{"Active", "active", true},
		{"Connect", "active", false},
		{"", "down", true},
	} {
		if is := inState(c.state, c.wanted); is != c.is {
			t.Errorf("%q as %q: %v", c.state, c.wanted, is)
		}
	}
}

func TestLastLines(t *testing.T) {
	t.Parallel()
	for text, wanted := range map[string]string{"a\nb\nc\n": "b\nc\n", "a": "a\n", "a\nb": "a\nb\n", "": "\n"} {
		if got := lastLines(text, 2); got != wanted {
			t.Errorf("of %q: %q, want %q", text, got, wanted)
		}
	}
}
