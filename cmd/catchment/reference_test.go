package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/internal/pages"
)

func commandsPage(t *testing.T) pages.Page {
	t.Helper()
	page, err := pages.Read("docs/reference/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// all are the root's commands and those below them.
func all(t *testing.T) map[string]*cobra.Command {
	t.Helper()
	env := cli.NewEnv(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
	env.Getenv = func(string) string { return "" }
	out := map[string]*cobra.Command{}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Hidden {
			return
		}
		out[c.CommandPath()] = c
		for _, below := range c.Commands() {
			visit(below)
		}
	}
	visit(rootOf(env))
	delete(out, "catchment")
	return out
}

// flagRows are the flags of a command as the reference writes them: those of its
// own, and for a group those that all below it have.
func flagRows(c *cobra.Command) [][]string {
	var out [][]string
	c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		if value == "" && f.Value.Type() != "bool" {
			value = f.Value.Type()
		}
		flag := strings.TrimSpace("--" + f.Name + " " + value)
		flag = "`" + flag + "`"
		if f.Shorthand != "" {
			flag = "`-" + f.Shorthand + "`, " + flag
		}
		standard := ""
		if zero := []string{"", "false", "0", "0s", "[]"}; !slices.Contains(zero, f.DefValue) {
			standard = "`" + f.DefValue + "`"
		}
		out = append(out, []string{flag, standard, usage})
	})
	return out
}

func TestTheReferenceHasEveryCommandAndNoOther(t *testing.T) {
	page, known := commandsPage(t), all(t)
	var sections []string
	for _, s := range page.Sections() {
		if strings.HasPrefix(s, "catchment ") {
			sections = append(sections, s)
		}
	}
	for _, s := range sections {
		if known[s] == nil {
			t.Errorf("%s: there is no command %q", page.Path, s)
		}
	}
	for path := range known {
		if !slices.Contains(sections, path) {
			t.Errorf("%s has no section %q", page.Path, path)
		}
	}
}

func TestTheReferenceHasEveryFlagAndItsMeaning(t *testing.T) {
	page := commandsPage(t)
	for path, c := range all(t) {
		want := flagRows(c)
		table, err := page.Table(path)
		if len(want) == 0 && err != nil {
			continue // a command without flags has no table
		}
		if err != nil {
			t.Error(err)
			continue
		}
		if fmt.Sprintf("%q", table.Rows) != fmt.Sprintf("%q", want) {
			t.Errorf("%s:%d: the flags of %s are\n%q, want\n%q", page.Path, table.Line, path, table.Rows, want)
		}
	}
}

func TestTheReferenceShowsEachCommandAtWork(t *testing.T) {
	page := commandsPage(t)
	for path, c := range all(t) {
		if c.HasSubCommands() {
			continue
		}
		var shown []string
		for _, b := range page.Blocks() {
			if b.Section == path && b.Lang == "sh" {
				shown = append(shown, strings.Split(strings.TrimSpace(b.Text), "\n")...)
			}
		}
		for example := range strings.Lines(c.Example) {
			if !slices.Contains(shown, strings.TrimSpace(example)) {
				t.Errorf("%s, section %s: it does not show %q", page.Path, path, strings.TrimSpace(example))
			}
		}
		if c.Example == "" {
			t.Errorf("%s has no example", path)
		}
	}
}

func TestTheReferenceHasTheExitCodes(t *testing.T) {
	table, err := commandsPage(t).Table("Exit codes")
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, row := range table.Rows {
		codes = append(codes, row[0])
	}
	if want := fmt.Sprint([]int{exit.OK, exit.Failed, exit.Usage, exit.Refused}); fmt.Sprint(codes) != want {
		t.Errorf("the codes are %v, want %s", codes, want)
	}
}
