package simcmd

import (
	"fmt"
	"io"
	"math"
	"strconv"

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
			row = append(row, output.Cell{Text: short(c[f].Median) + "/" + short(c[f].Worst)})
		}
		if there {
			g.Row(row...)
		}
	}
	return g.Write(w)
}

// short gives a number in a few characters.
func short(x float64) string {
	switch a := math.Abs(x); {
	case x == 0:
		return "0"
	case a < 10:
		return strconv.FormatFloat(math.Round(x*1000)/1000, 'f', -1, 64)
	case a < 1e5:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case a < 1e9:
		return strconv.FormatFloat(x/1e6, 'f', 1, 64) + "M"
	case a < 1e12:
		return strconv.FormatFloat(x/1e9, 'f', 1, 64) + "G"
	}
	return strconv.FormatFloat(x/1e12, 'f', 1, 64) + "T"
}
