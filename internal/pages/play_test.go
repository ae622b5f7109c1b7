package pages

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestCommandsOfABlock(t *testing.T) {
	b := Block{Text: "lost\n$ one  \nsays\nmore\nnode$ two \\\n  goes on\nsays\n$ three\n"}
	want := []Command{{"", "one", "says\nmore\n"}, {"node", "two \\\n  goes on", "says\n"}, {"", "three", ""}}
	got := b.Commands()
	if len(got) != len(want) {
		t.Fatalf("%q", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: %q, want %q", i, got[i], want[i])
		}
	}
}

func TestTextsAreTheSameButForWhatChanges(t *testing.T) {
	for _, c := range []struct {
		want, got string
		same      bool
	}{
		{"up 4s at 2026-11-30T20:31:08Z", "up 1m3s at 2027-01-02T03:04:05.678Z", true},
		{"window w-hc7l7oce", "window w-aaaa2222", true},
		{"A   B\n---\n1   2  ", "A  B\n----\n1  2", true},
		{"state up", "state down", false},
		{"one\n...\nfour", "one\ntwo\nthree\nfour", true},
		{"one\n...\nfour", "one\nfour", true},
		{"one\n...\nfour", "one\ntwo\nthree", false},
		{"...", "anything", false},
		{"", "something", false},
	} {
		if got := Same(c.want, c.got); got != c.same {
			t.Errorf("%q and %q: %t", c.want, c.got, got)
		}
	}
}

const played = "# P\n\nIn `dir/a.txt`:\n\n```text\nhello\n```\n\n```console\n$ cat dir/a.txt\nhello\n$ x=1\n$ echo $x; false\n1\n```\n\n" +
	"<!-- not run: it takes a year -->\n\n```console\n$ sleep 31536000\n```\n\nA word.\n\n```console\n$ echo two | cat >&2\ntwo\n```\n"

func TestAShellPlaysAPage(t *testing.T) {
	for _, c := range []struct{ name, page, fault string }{
		{"as it is", played, ""},
		{"another output", strings.Replace(played, ">&2\ntwo", ">&2\nthree", 1), "p.md:25: echo two | cat >&2: it prints\ntwo\nwant\nthree"},
		{"a file elsewhere", strings.Replace(played, "`dir/a.txt`", "`../a.txt`", 1), "p.md:5: ../a.txt is not below the folder"},
	} {
		t.Run(c.name, func(t *testing.T) {
			shell, err := NewShell(t.Context(), t.TempDir(), "/nonexistent")
			if err != nil {
				t.Fatal(err)
			}
			n, err := Player{Page: Parse("p.md", c.page), Run: shell.Run, Write: shell.Write}.Play(t.Context())
			if c.fault == "" && (err != nil || n != 4) || c.fault != "" && (err == nil || !strings.HasPrefix(err.Error(), c.fault)) {
				t.Errorf("%d, %v; want %q", n, err, c.fault)
			}
			if err := shell.Close(); err != nil {
				t.Error(err)
			}
			if _, _, err := shell.Do("true"); err == nil {
				t.Error("a shell that has ended answers")
			}
		})
	}
}

func TestWhatLooksIsRunUntilItPrintsWhatIsShown(t *testing.T) {
	n := 0
	p := Player{
		Page: Parse("p.md", "```console\n$ look\nthird\n```\n"), Patience: time.Minute, Pause: time.Millisecond,
		Looks: func(Command) bool { return true },
		Run:   func(Command) (string, error) { n++; return []string{"first\n", "second\n", "third\n"}[n-1], nil },
	}
	if played, err := p.Play(t.Context()); err != nil || played != 1 || n != 3 {
		t.Errorf("%d commands in %d runs: %v", played, n, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	p.Run = func(Command) (string, error) { cancel(); return "other\n", nil }
	if _, err := p.Play(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("it goes on after its end: %v", err)
	}
}

func TestUpdateWritesWhatCommandsPrintAndLeavesTheRest(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module x\n", "p.md": strings.Replace(played, "\n1\n", "\nold\n", 1)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	page, err := Read("p.md")
	if err != nil {
		t.Fatal(err)
	}
	shell, err := NewShell(t.Context(), dir, "/nonexistent")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (Player{Page: page, Run: shell.Run, Write: shell.Write, Update: true}).Play(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := shell.Close(); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile("p.md"); err != nil || string(text) != played {
		t.Errorf("%v\n%s", err, text)
	}
}
