package communitycmd

import (
	"fmt"
	"io"
	"strings"

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
		grid.Row(cells(e.Pattern.String(), string(e.Kind), actionText(e.Action, e.Targets), meaning(e), owner(e), e.Source.String(), share(e.Confidence))...)
	}
	_ = grid.Write(w) // a buffer takes everything
}

// meaning is an entry's, with its legend.
func meaning(e registry.Entry) string {
	parts := []string{strings.Join(strings.Fields(e.Meaning), " ")}
	for _, l := range e.Legends {
		if !e.Tells(l) {
			parts = append(parts, l.String())
		}
	}
	return strings.Join(parts, "; ")
}

// owner is the AS that documents an entry; empty where it is everybody's.
func owner(e registry.Entry) string {
	if e.Owner == 0 {
		return ""
	}
	return fmt.Sprintf("AS%d", e.Owner)
}

func share(confidence float64) string { return fmt.Sprintf("%.2g", confidence) }

// actionText is what is done, and towards whom.
func actionText(a *registry.Action, targets []registry.Target) string {
	if a == nil {
		return ""
	}
	var whom []string
	for _, t := range targets {
		if t.Kind != registry.All {
			whom = append(whom, t.String())
		}
	}
	if len(whom) == 0 {
		return a.String()
	}
	return a.String() + " towards " + strings.Join(whom, ", ")
}
