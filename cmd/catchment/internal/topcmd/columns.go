package topcmd

import (
	"fmt"
	"math"
	"strings"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
)

const (
	gap      = "  "
	barWide  = 20
	barShort = 10
	// full is the share of a link where its bar turns red.
	full = 0.95
)

// layout is how wide each column is; 0 leaves it out.
type layout struct {
	names [columns]string
	width [columns]int
	bar   int
}

// columns makes room for what there is, and where that is too much lets bars, then
// sessions and extras, then loads go before states and names.
func (p painter) columns(rows []row) layout {
	c := layout{names: p.m.board.titles, bar: barWide}
	if p.m.order != byGroup {
		c.names[columnName] += "@" + p.m.board.groups
	}
	for {
		c.width = [columns]int{}
		for _, r := range rows {
			for i, cell := range p.cells(c, r) {
				c.width[i] = max(c.width[i], output.Width(cell))
			}
		}
		used := 2 // the mark of the selected row
		for i, w := range c.width {
			if w > 0 && i != columnReason {
				c.width[i] = max(w, output.Width(c.names[i]))
				used += c.width[i] + len(gap)
			}
		}
		room := p.width - used
		if room >= leastReason || !c.shrink() {
			c.width[columnReason] = max(room, 0)
			return c
		}
	}
}

// leastReason is the room that reasons shall have.
const leastReason = 20

// shrink lets something go; false: there is nothing left that may.
func (c *layout) shrink() bool {
	switch {
	case c.bar == barWide:
		c.bar = barShort
	case c.bar == barShort:
		c.bar = 0
	case c.names[columnSessions] != "":
		c.names[columnSessions] = ""
	case c.names[columnExtra] != "":
		c.names[columnExtra] = ""
	case c.names[columnLoad] != "":
		c.names[columnLoad] = ""
	default:
		return false
	}
	return true
}

// cells are the texts of a row; a column without a name has none.
func (p painter) cells(c layout, r row) [columns]string {
	out := [columns]string{r.name, r.state, r.load.text(c.bar), r.sessions, r.extra, r.reason}
	if p.m.order != byGroup && r.group != "" {
		out[columnName] += "@" + r.group
	}
	for i, name := range c.names {
		if name == "" {
			out[i] = ""
		}
	}
	return out
}

func (c layout) titles() string {
	var out strings.Builder
	for i, w := range c.width {
		if w > 0 {
			out.WriteString(output.Fit(c.names[i], w) + gap)
		}
	}
	return strings.TrimRight(out.String(), " ")
}

// row is a row as a line of the frame.
func (c layout) row(p painter, r row, selected bool) string {
	cells := p.cells(c, r)
	mark := "  "
	if selected {
		mark = "> "
	}
	// Cells are painted one by one, so the width is counted here and not on the line.
	out, left := output.Fit(mark, min(len(mark), p.width)), p.width-len(mark)
	for i, w := range c.width {
		if w = min(w, left); w < 1 {
			continue
		}
		text := output.Fit(cells[i], w)
		switch {
		case !p.m.coloured:
		case selected:
			text = reverse + text + plainStyle
		case i == columnState:
			text = r.colour.Paint(text)
		case i == columnLoad:
			text = r.load.colour().Paint(text)
		}
		out, left = out+text, left-w
		if pad := min(len(gap), left); pad > 0 {
			out, left = out+gap[:pad], left-pad
		}
	}
	return strings.TrimRight(out, " ")
}

// text is a bar of that many columns, and the figure.
func (g gauge) text(columns int) string {
	if !g.known || math.IsNaN(g.value) {
		return ""
	}
	figure := fmt.Sprintf("%3.0f%%", 100*min(max(g.value, 0), 99.99))
	if g.stale {
		figure = "(" + strings.TrimSpace(figure) + ")"
	}
	if g.name != "" {
		figure += " " + g.name
	}
	if columns < 1 {
		return strings.TrimSpace(figure)
	}
	return g.bar(columns) + " " + figure
}

// bar is full at the capacity; the target is marked.
func (g gauge) bar(columns int) string {
	filled := int(math.Round(min(max(g.value, 0), 1) * float64(columns)))
	mark := -1
	if g.target > 0 && g.target <= 1 {
		mark = min(int(math.Round(g.target*float64(columns))), columns-1)
	}
	var out strings.Builder
	for i := range columns {
		switch {
		case i == mark:
			out.WriteRune('|')
		case i < filled:
			out.WriteRune('█')
		default:
			out.WriteRune('░')
		}
	}
	return out.String()
}

func (g gauge) colour() output.Colour {
	switch {
	case !g.known || g.stale:
		return output.Plain
	case g.value >= full:
		return output.Red
	case g.target > 0 && g.value > g.target:
		return output.Yellow
	}
	return output.Green
}
