package edgecmd

import (
	"bytes"
	"io"
	"time"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
)

func (g *group) view() view {
	w := g.env.Stdout
	switch {
	case g.format == output.JSON:
		return documents(func(m *edgev1.StatusResponse) error { return output.WriteJSONLine(w, m) })
	case g.format == output.YAML:
		return documents(func(m *edgev1.StatusResponse) error {
			if _, err := io.WriteString(w, "---\n"); err != nil {
				return err
			}
			return output.WriteYAML(w, m)
		})
	case g.env.Terminal:
		return &screen{group: g}
	}
	return &changes{output.Changes{W: w, Now: g.env.Now}}
}

// documents shows each status as a document of its own.
type documents func(*edgev1.StatusResponse) error

func (d documents) show(m *edgev1.StatusResponse) error {
	if m == nil {
		return nil
	}
	return d(m)
}

func (documents) ticks() (<-chan time.Time, func()) { return nil, func() {} }

// The escape sequences of a redraw. Lines are cleared one by one, since clearing
// the whole screen first makes it flicker.
const (
	clearScreen = "\x1b[2J"
	home        = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// screen redraws a terminal. It does so every now and then without news too,
// since the table tells how long ago things were.
type screen struct {
	group *group
	last  *edgev1.StatusResponse
}

func (s *screen) show(m *edgev1.StatusResponse) error {
	var out bytes.Buffer
	switch {
	case m != nil:
		if s.last == nil {
			out.WriteString(clearScreen)
		}
		s.last = output.Printable(m)
	case s.last == nil:
		return nil
	}
	var table bytes.Buffer
	if err := s.group.statusTable(&table, s.last); err != nil {
		return err
	}
	out.WriteString(home)
	out.Write(bytes.ReplaceAll(table.Bytes(), []byte("\n"), []byte(clearLine+"\n")))
	out.WriteString(clearBelow)
	_, err := s.group.env.Stdout.Write(out.Bytes())
	return err
}

func (s *screen) ticks() (<-chan time.Time, func()) {
	t := time.NewTicker(s.group.redraw)
	return t.C, t.Stop
}

// changes writes one line for each subject that is not as it was.
type changes struct{ output.Changes }

func (c *changes) show(m *edgev1.StatusResponse) error {
	if m == nil {
		return nil
	}
	return c.Show(Subjects(output.Printable(m)))
}

func (*changes) ticks() (<-chan time.Time, func()) { return nil, func() {} }
