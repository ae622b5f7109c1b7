package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// recorder is the test of a script that has to fail.
type recorder struct {
	mu     sync.Mutex
	failed bool
	text   strings.Builder
}

var (
	_ testscript.T = (*recorder)(nil)
	_ reporter     = (*recorder)(nil)
)

func (r *recorder) note(failed bool, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = r.failed || failed
	r.text.WriteString(text + "\n")
}

func (r *recorder) Skip(args ...any)                  { r.Fatal(args...) }
func (r *recorder) Log(args ...any)                   { r.note(false, fmt.Sprint(args...)) }
func (r *recorder) Logf(format string, args ...any)   { r.note(false, fmt.Sprintf(format, args...)) }
func (r *recorder) Errorf(format string, args ...any) { r.note(true, fmt.Sprintf(format, args...)) }
func (r *recorder) Fatal(args ...any)                 { r.note(true, fmt.Sprint(args...)); runtime.Goexit() }
func (r *recorder) FailNow()                          { r.note(true, ""); runtime.Goexit() }
func (r *recorder) Parallel()                         {}
func (r *recorder) Verbose() bool                     { return false }

// Run runs a part to its end.
func (r *recorder) Run(_ string, f func(testscript.T)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
}

// Failed says whether anything has failed.
func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// runFailing runs a script that has to fail, and returns what it said.
func runFailing(t *testing.T, script string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "failing.txtar")
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	p := scriptParams(t)
	p.Files = []string{file}
	r := &recorder{}
	r.Run("", func(testscript.T) { testscript.RunT(r, p) })
	said := r.text.String()
	if !r.Failed() {
		t.Errorf("the script passed:\n%s\n%s", script, said)
	}
	return said
}

func TestScriptThatFailsTellsTablesReasonsAndLogs(t *testing.T) {
	t.Parallel()
	requireLab(t)
	said := runFailing(t, `lab two-upstreams
route transit1 198.51.100.0/24
route transit1 198.51.100.0/24 path=65009 within 1s
`)
	for _, wanted := range []string{
		"path=65009", "not [65009]",
		"---- transit1: sessions and table", "* 198.51.100.0/24 by 10.77.1.1: path [57629]", "---- transit2: sessions and table",
		"---- edge1: catchment edge status", "---- edge1: catchment edge why",
		"---- edge1: log", "---- transit1: log", "---- client2: log",
	} {
		if !strings.Contains(said, wanted) {
			t.Errorf("it does not tell %q:\n%s", wanted, said)
		}
	}
	if strings.Contains(said, "there is left") {
		t.Errorf("it left something:\n%s", said)
	}
}

func TestScriptMistakesFailTheScript(t *testing.T) {
	t.Parallel()
	requireLab(t)
	for script, wanted := range map[string]string{
		"route r1 198.51.100.0/24":    "there is no lab yet",
		"sessions":                    "there is no lab yet",
		"node a true":                 "there is no lab yet",
		"noc fleet status":            "there is no lab yet",
		"agree all":                   "agree",
		"alive c1":                    "after: download",
		"lab no-such-topology":        "no-such-topology",
		"! gone r1 198.51.100.0/24":   "shall be true instead",
		"holds 1s node a true":        "holds 5s CONDITION",
		"holds soon sessions":         "no time",
		"edge! x edge1 status":        "invalid syntax",
		"session a b":                 "STATE",
		"state edge1":                 "STATE",
		"cut a":                       "cut A B",
		"serves c1":                   "serves CLIENT NODE",
		"gone r1 198.51.100.0 within": "at the end",
	} {
		if said := runFailing(t, script+"\n"); !strings.Contains(said, wanted) {
			t.Errorf("%q does not say %q but\n%s", script, wanted, said)
		}
	}
}
