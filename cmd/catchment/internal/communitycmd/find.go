package communitycmd

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
	"github.com/catchment-bgp/catchment/community/registry"
)

// wanted is what find looks for, as it was typed.
type wanted struct {
	at, action, towards string
	times, value        uint32
}

// findings are the answer of find.
type findings struct {
	Found    []registry.Finding `json:"found"`
	Nearest  []registry.Entry   `json:"nearest"`
	Problems []registry.Problem `json:"problems"`
}

func (g *group) find() *cobra.Command {
	var want wanted
	cmd := verb("find", "The value that gets something done",
		`find prints the values that ask the AS --at for the --action, best first, and where
each is documented. If none is, it names the nearest entries and exits with 1.`,
		"  catchment community find --at 65001 --action prepend --times 2 --towards AS174 --from as65001.txt\n"+
			"  catchment community find --at 65001 --action no-export --towards peers --from as65001.txt -o json", 0,
		func(ctx context.Context, _ []string) error { return g.runFind(ctx, want) })
	f := cmd.Flags()
	f.StringVar(&want.action, "action", "", "what shall be done: `VERB`, such as prepend, no-export, announce-only, local-pref, blackhole (needed)")
	f.StringVar(&want.at, "at", "", "the `AS` that shall do it: the neighbour (needed)")
	f.Uint32Var(&want.times, "times", 0, "prepend how many times (`N`)")
	f.StringVar(&want.towards, "towards", "", "`WHOM`: AS174, peers, transits, customers, all, or the name of a region or an exchange (left out: all)")
	f.Uint32Var(&want.value, "value", 0, "local-pref and med: which value (`N`)")
	// It fails for a flag that does not exist only.
	_ = cmd.RegisterFlagCompletionFunc("action", cobra.FixedCompletions(verbNames(), cobra.ShellCompDirectiveNoFileComp))
	return g.documented(g.printed(cmd))
}

func verbNames() []string {
	var out []string
	for _, v := range registry.Verbs() {
		out = append(out, string(v))
	}
	return out
}

// query reads what was typed.
func (w wanted) query() (q registry.Query, readings []registry.Target, err error) {
	if w.at == "" || w.action == "" {
		return q, nil, exit.Usagef("--at AS and --action VERB are needed")
	}
	if q.At, err = number("--at", w.at); err != nil {
		return q, nil, err
	}
	if q.Verb, err = registry.ParseVerb(w.action); err != nil {
		return q, nil, exit.Usagef("--action: %w", err)
	}
	readings = []registry.Target{{}}
	if w.towards != "" {
		if readings, err = registry.ParseTowards(w.towards); err != nil {
			return q, nil, exit.Usagef("--towards: %w", err)
		}
	}
	switch prepend := q.Verb == registry.Prepend; {
	case prepend && w.times == 0:
		return q, nil, exit.Usagef("prepend how many times? Write for example --times 2")
	case !prepend && w.times > 0:
		return q, nil, exit.Usagef("%s is not done a number of times: leave --times out", q.Verb)
	case w.value > 0 && (prepend || !q.Verb.Numbered()):
		return q, nil, exit.Usagef("%s sets no value: leave --value out", q.Verb)
	}
	q.Number = max(w.times, w.value)
	return q, readings, nil
}

func (g *group) runFind(ctx context.Context, want wanted) error {
	q, readings, err := want.query()
	if err != nil {
		return err
	}
	docs, err := g.load(ctx)
	if err != nil {
		return err
	}
	out := findings{Found: []registry.Finding{}, Nearest: []registry.Entry{}, Problems: []registry.Problem{}}
	out.Problems = append(out.Problems, docs.Problems...)
	asked, found, nearest := registry.New(docs.Entries...).FindFirst(q, readings)
	out.Found, out.Nearest = append(out.Found, found...), append(out.Nearest, nearest...)
	if len(found) == 0 {
		asked = q
		asked.Target = readings[0]
	}
	if err := g.show(out, func(w io.Writer) { findTable(w, found) }); err != nil || len(found) > 0 {
		return err
	}
	if len(nearest) == 0 {
		return fmt.Errorf("nothing that was read says how to get this done: %s", asked)
	}
	entriesTable(g.env.Stderr, nearest)
	return fmt.Errorf("nothing that was read says how to get this done: %s; the nearest entries stand above", asked)
}

func findTable(w io.Writer, found []registry.Finding) {
	grid := output.Grid{Titles: []string{"VALUE", "MEANING", "DOCUMENTED", "CONFIDENCE"}}
	for _, f := range found {
		grid.Row(cells(f.Value.String(), f.Entry.Text(), f.Entry.Source.String(), share(f.Entry.Confidence))...)
	}
	_ = grid.Write(w) // a buffer takes everything
}
