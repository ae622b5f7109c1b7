package communitycmd

import (
	"fmt"
	"io"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
	"github.com/catchment-bgp/catchment/community/registry"
)

// cells makes cells of texts that documents have, which may hold anything.
func cells(texts ...string) []output.Cell {
	out := make([]output.Cell, len(texts))
	for i, t := range texts {
		out[i].Text = output.OneLine(t)
	}
	return out
}

// entriesTable writes entries for people.
func entriesTable(w io.Writer, entries []registry.Entry) {
	grid := output.Grid{Titles: []string{"PATTERN", "KIND", "ACTION", "MEANING", "OWNER", "DOCUMENTED", "CONFIDENCE"}}
	for _, e := range entries {
		grid.Row(cells(e.Pattern.String(), string(e.Kind), registry.ActionText(e.Action, e.Targets), e.Text(), owner(e), e.Source.String(), share(e.Confidence))...)
	}
	_ = grid.Write(w) // a buffer takes everything
}

// owner is the AS that documents an entry; empty where it is everybody's.
func owner(e registry.Entry) string {
	if e.Owner == 0 {
		return ""
	}
	return fmt.Sprintf("AS%d", e.Owner)
}

func share(confidence float64) string { return fmt.Sprintf("%.2g", confidence) }
