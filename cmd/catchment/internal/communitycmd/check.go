package communitycmd

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/importer"
	"github.com/catchment-bgp/catchment/community/registry"
)

func (g *group) lint() *cobra.Command {
	var inUse string
	cmd := verb("lint", "What is wrong with what is documented",
		`lint finds values with two meanings, patterns that say nothing, values that some form
cannot carry, and with --in-use what is used and not documented, and the other way round.
It exits with 1 if one of the findings is an error.`,
		"  catchment community lint --from as65001.txt\n"+
			"  catchment community lint --from as65001.txt --in-use routes.txt -o json", 0,
		func(ctx context.Context, _ []string) error { return g.runLint(ctx, inUse) })
	cmd.Flags().StringVar(&inUse, "in-use", "", "the values that routes carry: any paste in `FILE`")
	return g.documented(g.printed(cmd))
}

func (g *group) runLint(ctx context.Context, inUse string) error {
	docs, err := g.load(ctx)
	if err != nil {
		return err
	}
	opt := registry.LintOptions{Problems: docs.Problems}
	uses := docs.InUse
	if inUse == "" {
		// Policy lines are not all that is in use.
		opt.Without = []registry.LintCode{registry.Unused}
	} else {
		more, err := g.uses(inUse)
		if err != nil {
			return err
		}
		uses = append(uses, more...)
	}
	out := struct {
		Findings []registry.Defect  `json:"findings"`
		Problems []registry.Problem `json:"problems"`
	}{registry.Lint(docs.Entries, uses, opt), append([]registry.Problem{}, docs.Problems...)}
	bad := 0
	for _, d := range out.Findings {
		if d.Level == registry.Error {
			bad++
		}
	}
	err = g.show(out, func(w io.Writer) {
		for _, d := range out.Findings {
			fmt.Fprintln(w, output.OneLine(d.String()))
		}
	})
	switch {
	case err != nil:
		return err
	case bad > 0:
		return fmt.Errorf("findings: %d, of which errors: %d", len(out.Findings), bad)
	case len(out.Findings) == 0:
		g.say("nothing is wrong with %d entries", len(docs.Entries))
	}
	return nil
}

// uses are the values in a paste, each where it stands first.
func (g *group) uses(name string) ([]registry.Use, error) {
	f, err := g.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // of a file that was read only
	found, problems := importer.Values(f)
	for _, p := range problems {
		p.File = name
		g.say("%s", p)
	}
	if len(found) == 0 {
		return nil, exit.Inputf("%s has no community", name)
	}
	var out []registry.Use
	seen := map[community.Value]bool{}
	for _, v := range found {
		if !seen[v.Value] {
			seen[v.Value] = true
			out = append(out, registry.Use{Pattern: community.PatternOf(v.Value), Source: registry.Source{File: name, Line: v.Line}})
		}
	}
	return out, nil
}

// differences are the answer of diff and verify.
type differences struct {
	Differences []registry.Difference `json:"differences"`
	Problems    []registry.Problem    `json:"problems"`
}

func (g *group) showDifferences(d []registry.Difference, problems ...[]registry.Problem) error {
	out := differences{Differences: d, Problems: []registry.Problem{}}
	for _, p := range problems {
		out.Problems = append(out.Problems, p...)
	}
	return g.show(out, func(w io.Writer) {
		for _, d := range out.Differences {
			fmt.Fprintln(w, output.OneLine(d.String()))
		}
	})
}

func (g *group) diff() *cobra.Command {
	return g.printed(verb("diff A [B]", "How what B documents differs from what A does",
		`diff compares two documents; without B the fleet's tags are the second. Spelling, case
and order do not count. It exits with 0 whether they differ or not.`,
		"  catchment community diff old.txt new.txt\n  catchment community diff published.txt -o json", 2, g.runDiff))
}

func (g *group) runDiff(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return exit.Usagef("what shall be compared? Write two FILEs, or one to compare it with the fleet's tags")
	}
	if len(args) == 1 {
		args = append(args, fleetTags)
	}
	var sides [2]documents
	for i, name := range args {
		var err error
		g.from = []string{name}
		if sides[i], err = g.load(ctx); err != nil {
			return err
		}
	}
	d := registry.Diff(sides[0].Entries, sides[1].Entries)
	if len(d) == 0 {
		g.say("no difference: %d entries in %s, %d in %s", len(sides[0].Entries), args[0], len(sides[1].Entries), args[1])
	}
	return g.showDifferences(d, sides[0].Problems, sides[1].Problems)
}
