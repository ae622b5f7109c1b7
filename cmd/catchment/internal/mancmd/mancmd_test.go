package mancmd

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
)

// tree is a small program, one of whose defaults comes from the environment.
func tree(env *cli.Env) *cobra.Command {
	verb := &cobra.Command{Use: "show NODE", Short: "One node", Long: "show shows.\n.dots at the beginning\nand \\ too", Example: "  catchment node show msk1", Run: func(*cobra.Command, []string) {}}
	verb.Flags().String("edge", env.Getenv("CATCHMENT_EDGE"), "a socket")
	return cli.Group("catchment", "All of it", "catchment does it.", cli.Group("node", "Nodes", "node is about nodes.", verb), New(env, tree))
}

func man(t *testing.T, vars map[string]string, args ...string) (code int, stderr string) {
	t.Helper()
	var errs bytes.Buffer
	env := &cli.Env{Stdin: strings.NewReader(""), Stdout: &bytes.Buffer{}, Stderr: &errs, Getenv: func(k string) string { return vars[k] },
		Now: func() time.Time { return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) }}
	code = cli.Execute(t.Context(), env, tree(env), append([]string{"man"}, args...))
	return code, errs.String()
}

// macros are those of man(7) that pages may use.
var macros = regexp.MustCompile(`^\.(TH|SH|SS|PP|TP|IP|RS|RE|EX|EE|nh|ti|br|fi|nf|sp|in|\\")( |$)`)

// checkPage is a little of what mandoc -Tlint looks for.
func checkPage(t *testing.T, name, text string) {
	t.Helper()
	at := -1
	for _, want := range []string{".TH ", ".SH NAME\n", ".SH SYNOPSIS\n", ".SH DESCRIPTION\n"} {
		next := strings.Index(text, want)
		if next <= at {
			t.Errorf("%s: %q is not where it should be:\n%.400s", name, want, text)
		}
		at = next
	}
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, ".") && !macros.MatchString(line) || strings.HasPrefix(line, "'") {
			t.Errorf("%s:%d: no macro of man(7): %q", name, i+1, line)
		}
	}
}

func TestPagesAreWrittenForEveryCommandAndDaemon(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man")
	if code, stderr := man(t, map[string]string{"SOURCE_DATE_EPOCH": "1700000000", "CATCHMENT_EDGE": "mine"}, dir); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, name := range []string{"man1/catchment.1", "man1/catchment-node.1", "man1/catchment-node-show.1", "man1/catchment-completion-bash.1", "man8/catchment-edge.8", "man8/catchment-central.8"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		checkPage(t, name, string(text))
		if !strings.Contains(string(text), "Nov 2023") || strings.Contains(string(text), "mine") {
			t.Errorf("%s has another date, or what the environment says:\n%.300s", name, text)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "man1/catchment-man.1")); err == nil {
		t.Error("a hidden command has a page")
	}
}

func TestWrongUsageIsTold(t *testing.T) {
	for name, tt := range map[string]struct {
		vars map[string]string
		args []string
	}{"no folder": {nil, nil}, "two": {nil, []string{"a", "b"}}, "date": {map[string]string{"SOURCE_DATE_EPOCH": "today"}, []string{t.TempDir()}}} {
		if code, stderr := man(t, tt.vars, tt.args...); code != 2 || stderr == "" {
			t.Errorf("%s: exit %d, %q", name, code, stderr)
		}
	}
	if code, _ := man(t, nil, "/dev/null/x"); code != 1 {
		t.Errorf("a folder that cannot be: exit %d", code)
	}
}
