package simcmd

import (
	"fmt"
	"io"
	"math"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
	"github.com/catchment-bgp/catchment/lab/sim"
)

// table writes a grid for each scenario and variant: figures by controller, each
// as median/worst.
func table(w io.Writer, results sim.Results) error {
	for i, r := range results {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := grid(w, r.Scenario, r); err != nil {
			return err
		}
		for _, v := range r.Variants {
			fmt.Fprintln(w)
			if err := grid(w, r.Scenario+", "+v.Scenario, v); err != nil {
				return err
			}
		}
	}
	return nil
}

func grid(w io.Writer, title string, r sim.Result) error {
	if _, err := fmt.Fprintf(w, "%s: median/worst of %d seeds\n", title, r.Seeds); err != nil {
		return err
	}
	g := output.Grid{Titles: []string{""}}
	var columns []sim.Summaries
	for _, name := range sim.Controllers() {
		if s, ok := r.Controllers[name]; ok {
			g.Titles, columns = append(g.Titles, name), append(columns, s)
		}
	}
	if r.Oracle != nil {
		g.Titles, columns = append(g.Titles, sim.Oracle), append(columns, *r.Oracle)
	}
	for _, f := range sim.AllFigures() {
		row := []output.Cell{{Text: f.String()}}
		there := false
		for _, c := range columns {
			there = there || !math.IsNaN(c[f].Median)
			row = append(row, output.Cell{Text: sim.Short(c[f].Median) + "/" + sim.Short(c[f].Worst)})
		}
		if there {
			g.Row(row...)
		}
	}
	return g.Write(w)
}
