package output

import (
	"io"
	"strings"
)

// Colour is the colour of a cell's text.
type Colour string

// The colours, as the ANSI sequences that start them.
const (
	Plain  Colour = ""
	Green  Colour = "\x1b[32m"
	Yellow Colour = "\x1b[33m"
	Red    Colour = "\x1b[31m"
)

const plainAgain = "\x1b[39m"

// Paint returns s in a colour.
func (c Colour) Paint(s string) string {
	if c == Plain || s == "" {
		return s
	}
	return string(c) + s + plainAgain
}

// Cell is one cell of a grid.
type Cell struct {
	Text   string
	Colour Colour
}

// Grid is a table with aligned columns. A column without any text below its
// title is left out; no text is cut.
type Grid struct {
	Indent string
	Titles []string
	Rows   [][]Cell
}

// Row adds a row. Cells that are missing at its end are empty.
func (g *Grid) Row(cells ...Cell) { g.Rows = append(g.Rows, cells) }

const gap = "  "

// Write writes the titles and the rows; nothing when there are no rows.
func (g *Grid) Write(w io.Writer) error {
	if len(g.Rows) == 0 {
		return nil
	}
	widths := g.widths()
	var out strings.Builder
	title := make([]Cell, len(g.Titles))
	for i, t := range g.Titles {
		title[i].Text = t
	}
	for _, row := range append([][]Cell{title}, g.Rows...) {
		out.WriteString(g.Indent)
		out.WriteString(line(row, widths))
		out.WriteByte('\n')
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// widths are in columns of a terminal; 0 leaves a column out.
func (g *Grid) widths() []int {
	widths := make([]int, len(g.Titles))
	for _, row := range g.Rows {
		for i := range min(len(row), len(widths)) {
			widths[i] = max(widths[i], Width(row[i].Text))
		}
	}
	for i, w := range widths {
		if w > 0 {
			widths[i] = max(w, Width(g.Titles[i]))
		}
	}
	return widths
}

// line leaves no blanks at its end.
func line(row []Cell, widths []int) string {
	var out strings.Builder
	pending := 0
	for i, cell := range row {
		if i >= len(widths) || widths[i] == 0 {
			continue
		}
		if cell.Text != "" {
			out.WriteString(strings.Repeat(" ", pending))
			out.WriteString(cell.Colour.Paint(cell.Text))
			pending = 0
		}
		pending += widths[i] - Width(cell.Text) + len(gap)
	}
	return out.String()
}
