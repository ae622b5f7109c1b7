package communitycmd

import (
	"context"
	"encoding/json"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/importer"
	"github.com/catchment-bgp/catchment/community/registry"
)

// explained is what is known of a value.
type explained struct {
	Value   string  `json:"value"`
	Matches []match `json:"matches"`
}

// match is an entry with what it says of one value.
type match struct{ registry.Match }

// MarshalJSON writes the entry, as import prints it, and behind its keys explained: the
// meaning, action and targets with the value's own numbers.
func (m match) MarshalJSON() ([]byte, error) {
	entry, err := json.Marshal(m.Entry)
	if err != nil {
		return nil, err
	}
	targets := m.Targets
	if targets == nil {
		targets = []registry.Target{}
	}
	own, err := json.Marshal(struct {
		Meaning string            `json:"meaning"`
		Action  *registry.Action  `json:"action"`
		Targets []registry.Target `json:"targets"`
	}{m.Text(), m.Action, targets})
	if err != nil {
		return nil, err
	}
	// The entry's own method writes an object.
	return slices.Concat(entry[:len(entry)-1], []byte(`,"explained":`), own, []byte("}")), nil
}

func (g *group) explain() *cobra.Command {
	return g.documented(g.printed(verb("explain [VALUE]...", "What values mean, and who says so",
		`explain says what each VALUE means, the most specific entry first. Without a VALUE it
reads them from stdin: what a looking glass prints, JSON of FRR's "show bgp", BIRD's
"show route all", or any list. A value that no document has may still mean something.`,
		"  catchment community explain 57629:101 65535:666\n"+
			"  catchment community explain 64515:102 --from as64515.txt,central -o json", -1, g.runExplain)))
}

func (g *group) runExplain(ctx context.Context, args []string) error {
	var values []community.Value
	for _, text := range args {
		v, err := community.Parse(text)
		if err != nil {
			return exit.Inputf("%w", err)
		}
		values = append(values, v)
	}
	if len(args) == 0 && slices.Contains(g.from, "-") {
		return exit.Usagef("the values are read from stdin: write the VALUEs as arguments, or another --from")
	}
	docs, err := g.load(ctx)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		found, problems := importer.Values(g.env.Stdin)
		for _, p := range problems {
			p.File = "stdin"
			g.say("%s", p)
		}
		for _, f := range found {
			if !slices.Contains(values, f.Value) {
				values = append(values, f.Value)
			}
		}
		if len(values) == 0 {
			g.say("there is no community in the input")
		}
	}
	known := registry.New(docs.Entries...)
	out := make([]explained, len(values))
	for i, v := range values {
		out[i] = explained{Value: v.String(), Matches: []match{}}
		for _, m := range known.Explain(v) {
			out[i].Matches = append(out[i].Matches, match{m})
		}
	}
	return g.show(out, func(w io.Writer) { explainTable(w, out) })
}

func explainTable(w io.Writer, all []explained) {
	grid := output.Grid{Titles: []string{"VALUE", "MEANING", "ACTION", "OWNER", "DOCUMENTED", "CONFIDENCE"}}
	for _, x := range all {
		for _, m := range x.Matches {
			grid.Row(cells(x.Value, m.Text(), registry.ActionText(m.Action, m.Targets), owner(m.Entry), m.Entry.Source.String(), share(m.Entry.Confidence))...)
		}
		if len(x.Matches) == 0 {
			grid.Row(cells(x.Value, "undocumented by the documents at hand")...)
		}
	}
	_ = grid.Write(w) // a buffer takes everything
}
