package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
)

func TestEveryCommandHasAManPage(t *testing.T) {
	dir := t.TempDir()
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"man", dir}, strings.NewReader(""), &stdout, &stderr); code != exit.OK || stdout.Len()+stderr.Len() > 0 {
		t.Fatalf("exit %d: %s%s", code, stdout.String(), stderr.String())
	}
	want := map[string]bool{"catchment.1": true}
	for path := range all(t) {
		want[strings.ReplaceAll(path, " ", "-")+".1"] = true
	}
	pages, err := filepath.Glob(filepath.Join(dir, "man1", "*.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		name := filepath.Base(p)
		if !want[name] && !strings.HasPrefix(name, "catchment-completion") {
			t.Errorf("%s is of no command", name)
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("there is no %s", name)
	}
}

func TestShellsGetTheirCompletions(t *testing.T) {
	for shell, text := range map[string]string{"bash": "__start_catchment", "zsh": "#compdef catchment", "fish": "complete -c catchment"} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), []string{"completion", shell}, strings.NewReader(""), &stdout, &stderr); code != exit.OK || !strings.Contains(stdout.String(), text) {
			t.Errorf("%s: exit %d, %s, %.200s", shell, code, stderr.String(), stdout.String())
		}
	}
	for line, word := range map[string]string{"to": "top", "doctor --vr": "--vrps", "support-bundle --out": "--output"} {
		var stdout, stderr bytes.Buffer
		run(t.Context(), append([]string{"__complete"}, strings.Fields(line)...), strings.NewReader(""), &stdout, &stderr)
		if !strings.HasPrefix(stdout.String(), word+"\t") {
			t.Errorf("%s: %q", line, stdout.String())
		}
	}
}
