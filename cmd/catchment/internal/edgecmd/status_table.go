package edgecmd

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
)

// statusView writes a status for people.
type statusView struct {
	now      time.Time
	coloured bool
}

func (v statusView) write(w io.Writer, m *edgev1.StatusResponse) error {
	var out bytes.Buffer
	v.header(&out, m)
	v.load(&out, m)
	for _, s := range m.GetServices() {
		out.WriteByte('\n')
		v.service(&out, s)
	}
	if len(m.GetServices()) == 0 {
		out.WriteString("no services\n")
	}
	_, err := w.Write(out.Bytes())
	return err
}

func (v statusView) header(out *bytes.Buffer, m *edgev1.StatusResponse) {
	parts := []string{m.GetNode(), "central " + m.GetCentral()}
	if up := ago(v.now, m.GetStarted()); up != "" {
		parts = append(parts, "up "+up)
	}
	if m.GetVersion() != "" {
		parts = append(parts, "version "+m.GetVersion())
	}
	if text := wayBackText(m.GetWayBack()); text != "" {
		parts = append(parts, text)
	}
	fmt.Fprintln(out, strings.Join(parts, "  "))
	if p := m.GetPendingApply(); p != nil {
		fmt.Fprintln(out, v.paint(output.Yellow, trialText(v.now, p.GetRevertsAt())))
	}
	for _, w := range m.GetWarnings() {
		fmt.Fprintln(out, v.paint(output.Yellow, "warning: ")+w)
	}
}

func (v statusView) service(out *bytes.Buffer, s *edgev1.Service) {
	fmt.Fprintf(out, "%s  %s (%s)", s.GetName(), v.paint(stateColour(s.GetState()), s.GetState()), s.GetReason())
	if since := ago(v.now, s.GetSince()); since != "" {
		fmt.Fprintf(out, " for %s", since)
	}
	if s.GetDetail() != "" {
		fmt.Fprintf(out, ": %s", s.GetDetail())
	}
	out.WriteByte('\n')
	for _, o := range s.GetOverrides() {
		fmt.Fprintf(out, "  override %s", overrideText(o))
		if o.GetUntil() != nil {
			fmt.Fprintf(out, " (%s left)", left(v.now, o.GetUntil()))
		}
		out.WriteByte('\n')
	}
	v.checks(out, s.GetChecks())
	v.neighbors(out, s)
}

func (v statusView) checks(out *bytes.Buffer, checks []*edgev1.Check) {
	g := output.Grid{Indent: "  ", Titles: []string{"CHECK", "STATE", "SCOPE", "LAST", "TOOK", "ERROR"}}
	for _, c := range checks {
		state := v.cell(output.Red, "down")
		switch {
		case c.GetObserving():
			state = v.cell(output.Yellow, "observing")
		case c.GetUp():
			state = v.cell(output.Green, "up")
		}
		last := "never"
		if c.GetLast() != nil {
			last = ago(v.now, c.GetLast()) + " ago"
		}
		g.Row(plain(c.GetName()), state, plain(c.GetScope()), plain(last),
			plain(figure(c.GetDurationSeconds())), plain(c.GetError()))
	}
	_ = g.Write(out) // a buffer takes everything
}

func (v statusView) neighbors(out *bytes.Buffer, s *edgev1.Service) {
	sessions := output.Grid{Indent: "  ", Titles: []string{"NEIGHBOR", "PEER", "SESSION", "HOLD", "STATE", "RUNG", "SHED", "LINK", "RETURN", "NOTE"}}
	routes := output.Grid{Indent: "  ", Titles: []string{"SENT TO", "PREFIX", "NEXT HOP", "PREPEND", "COMMUNITIES", "MED", "LOCAL PREF"}}
	for _, n := range s.GetNeighbors() {
		sessions.Row(v.neighbor(s, n)...)
		for _, r := range n.GetRoutes() {
			routes.Row(route(n.GetName(), r)...)
		}
	}
	_ = sessions.Write(out)
	v.replies(out, s)
	_ = routes.Write(out)
	if len(s.GetNeighbors()) > 0 && len(routes.Rows) == 0 {
		out.WriteString("  nothing is sent to any neighbor\n")
	}
}

// replies tells where replies do not leave as configured, and where per-link
// control is off.
func (v statusView) replies(out *bytes.Buffer, s *edgev1.Service) {
	for _, n := range s.GetNeighbors() {
		_, fault, failed := strings.Cut(n.GetReturnPath(), ": ")
		off := n.GetLinkControl() == "off" && n.GetLink() != nil
		if failed && !(off && strings.Contains(n.GetLinkControlReason(), fault)) {
			fmt.Fprintf(out, "  %s: %s: %s\n", n.GetName(), v.paint(output.Red, "return path failed"), fault)
		}
		if off {
			fmt.Fprintf(out, "  %s: %s: %s\n", n.GetName(), v.paint(output.Yellow, "link control off"), n.GetLinkControlReason())
		}
	}
}

func (v statusView) neighbor(s *edgev1.Service, n *edgev1.Neighbor) []output.Cell {
	peer := n.GetAddress()
	if n.GetAsn() != 0 {
		peer = strings.TrimSpace(peer + " AS" + strconv.FormatUint(uint64(n.GetAsn()), 10))
	}
	session, colour := n.GetSession(), output.Red
	if session == established {
		colour = output.Green
	}
	if since := ago(v.now, n.GetSessionSince()); since != "" {
		session += " " + since
	}
	shed := ""
	if n.GetShed() > 0 {
		shed = percent(n.GetShed())
	}
	return []output.Cell{plain(n.GetName()), plain(peer), v.cell(colour, session), plain(figure(n.GetHoldTimeSeconds())),
		v.cell(stateColour(n.GetState()), stateAt(s, n)), plain(rungText(n)), plain(shed), plain(linkText(n.GetLink())),
		v.returnCell(n), plain(noteText(s, n))}
}

// returnCell is the return path in one word.
func (v statusView) returnCell(n *edgev1.Neighbor) output.Cell {
	word, _, failed := strings.Cut(n.GetReturnPath(), ": ")
	if failed {
		return v.cell(output.Red, word)
	}
	return plain(word)
}

func route(neighbor string, r *edgev1.Route) []output.Cell {
	return []output.Cell{plain(neighbor), plain(r.GetPrefix()), plain(r.GetNextHop()), plain(strconv.Itoa(int(r.GetPrepend()))),
		plain(strings.Join(r.GetCommunities(), " ")), plain(optional(r.Med, "")), plain(optional(r.LocalPref, ""))}
}

func noteText(s *edgev1.Service, n *edgev1.Neighbor) string {
	var notes []string
	if !n.GetSettled() {
		notes = append(notes, "not settled")
	}
	if n.GetDetail() != "" && n.GetDetail() != s.GetDetail() {
		notes = append(notes, n.GetDetail())
	}
	if why := n.GetRungReason(); why != "" && n.GetRung() > 0 && why != n.GetDetail() {
		notes = append(notes, why)
	}
	if n.GetFlapPenalty() >= 1 && n.GetRungs() > 0 { // it holds back steps of a ladder
		notes = append(notes, fmt.Sprintf("flap penalty %.0f", n.GetFlapPenalty()))
	}
	if n.GetLastError() != "" && n.GetSession() != "established" { // else it is over
		notes = append(notes, "last error: "+n.GetLastError())
	}
	return strings.Join(notes, "; ")
}

func stateColour(state string) output.Colour {
	switch state {
	case "announced":
		return output.Green
	case "withdrawn":
		return output.Red
	}
	return output.Yellow
}

func (v statusView) paint(c output.Colour, s string) string {
	cell := v.cell(c, s)
	return cell.Colour.Paint(cell.Text)
}

func (v statusView) cell(c output.Colour, s string) output.Cell {
	if !v.coloured {
		c = output.Plain
	}
	return output.Cell{Text: s, Colour: c}
}

func plain(s string) output.Cell { return output.Cell{Text: s} }
