package edgecmd

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
)

// load tells of links and pins, where there are any.
func (v statusView) load(out *bytes.Buffer, m *edgev1.StatusResponse) {
	for _, p := range m.GetPins() {
		fmt.Fprintf(out, "%s%s", v.paint(output.Yellow, "pin: "), pinText(p))
		if p.GetUntil() != nil {
			fmt.Fprintf(out, " (%s left)", left(v.now, p.GetUntil()))
		}
		out.WriteByte('\n')
	}
	g := output.Grid{Titles: []string{"LINK", "LOAD", "OF", "USED", "TARGET", "AGE", "TO SHED", "NOTE"}}
	for _, l := range m.GetLinks() {
		g.Row(plain(l.GetName()), plain(rate(l.GetLoadBps(), l.Utilization != nil)), plain(rate(l.GetCapacityBps(), l.GetCapacityBps() > 0)),
			v.used(l), plain(shareText(l.GetTarget())), plain(ageText(l)), plain(shareText(l.GetShed())), plain(linkNote(l)))
	}
	if len(g.Rows) > 0 && m.GetLoadMode() != "off" {
		fmt.Fprintf(out, "\nload control %s\n", m.GetLoadMode())
		_ = g.Write(out) // a buffer takes everything
	}
}

// used is the link's load as a share of its capacity.
func (v statusView) used(l *edgev1.Link) output.Cell {
	colour := output.Green
	switch {
	case l.Utilization == nil:
		return plain(linkText(l))
	case l.GetStale(), l.GetShed() > 0:
		colour = output.Yellow
	}
	if l.GetUtilization() > 1 || l.GetAbsorb() {
		colour = output.Red
	}
	return v.cell(colour, linkText(l))
}

func linkNote(l *edgev1.Link) string {
	var notes []string
	if l.GetAbsorb() {
		notes = append(notes, "absorbs: nothing can take more")
	}
	if l.GetDetail() != "" {
		notes = append(notes, l.GetDetail())
	}
	return strings.Join(notes, "; ")
}

func ageText(l *edgev1.Link) string {
	if l.AgeSeconds == nil {
		return ""
	}
	if l.GetAgeSeconds() < 1 {
		return "0s"
	}
	return figure(l.GetAgeSeconds())
}

func shareText(share float64) string {
	if share <= 0 {
		return ""
	}
	return percent(share)
}

// rate writes bit/s as links are sold: in powers of ten.
func rate(bps float64, known bool) string {
	if !known {
		return ""
	}
	for _, u := range []struct {
		name string
		size float64
	}{{"Tbps", 1e12}, {"Gbps", 1e9}, {"Mbps", 1e6}, {"kbps", 1e3}} {
		if bps >= u.size {
			return strconv.FormatFloat(bps/u.size, 'g', 3, 64) + u.name
		}
	}
	return strconv.FormatFloat(bps, 'f', 0, 64) + "bps"
}

func linkText(l *edgev1.Link) string {
	switch {
	case l == nil:
		return ""
	case l.Utilization == nil:
		return "no figure"
	case l.GetStale():
		return percent(l.GetUtilization()) + " stale"
	}
	return percent(l.GetUtilization())
}
