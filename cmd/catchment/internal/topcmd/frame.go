package topcmd

import (
	"fmt"
	"strings"
	"time"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
)

// The sequences of styles; each ends with plainStyle.
const (
	bold       = "\x1b[1m"
	dim        = "\x1b[2m"
	reverse    = "\x1b[7m"
	plainStyle = "\x1b[0m"
)

const (
	footer       = "q quit  ↑↓ j k move  enter detail  s sort: %s  / filter  p pause  ? help"
	footerDetail = "q quit  ↑↓ j k scroll  enter back  p pause  ? help"
	footerTyping = "enter keep  esc clear"
)

// frame is what a terminal of that size shows: height lines, none wider than width.
func frame(m *model, width, height int) []string {
	if width < 1 || height < 1 {
		return nil
	}
	p := painter{m: m, width: width}
	head, foot := p.head(), p.foot()
	if height <= len(head)+1 { // too low for rows
		return p.exactly(head, height)
	}
	body := height - len(head) - len(foot)
	if body < 1 {
		foot, body = nil, height-len(head)
	}
	return append(append(head, p.exactly(p.body(body), body)...), foot...)
}

// painter writes the lines of one frame.
type painter struct {
	m     *model
	width int
}

// line cuts a text to the width, and paints it.
func (p painter) line(style, text string) string {
	text = strings.TrimRight(output.Fit(text, p.width), " ")
	if style == "" || !p.m.coloured || text == "" {
		return text
	}
	return style + text + plainStyle
}

// exactly cuts lines or adds empty ones.
func (p painter) exactly(lines []string, n int) []string {
	for len(lines) < n {
		lines = append(lines, "")
	}
	return lines[:n]
}

func (p painter) head() []string {
	title := p.m.title
	if p.m.board.title != "" {
		title = p.m.board.title
	}
	title = "catchment top  " + title
	clock := p.m.now.UTC().Format("15:04:05") + " UTC"
	if room := p.width - output.Width(clock) - 2; room > output.Width(title) {
		title = output.Fit(title, room) + "  " + clock
	}
	out := []string{p.line(bold, title)}
	if p.m.fed {
		out = append(out, p.line("", p.m.board.summary))
	}
	if p.m.away != "" {
		out = append(out, p.line(string(output.Red), "no news since "+p.m.since.UTC().Format("15:04:05")+", trying again: "+p.m.away))
	}
	for i, note := range p.m.board.notes {
		if i == mostNotes {
			out = append(out, p.line(string(output.Yellow), fmt.Sprintf("and %d more: catchment fleet status", len(p.m.board.notes)-i)))
			break
		}
		out = append(out, p.line(string(output.Yellow), note))
	}
	return out
}

// mostNotes are shown above the rows.
const mostNotes = 3

func (p painter) foot() []string {
	text := fmt.Sprintf(footer, p.m.order)
	switch {
	case p.m.typing:
		text = footerTyping
	case p.m.help:
		text = "any key: back"
	case p.m.detail:
		text = footerDetail
	}
	var before []string
	if p.m.paused {
		before = append(before, fmt.Sprintf("PAUSED, %d news", p.m.news))
	}
	if p.m.typing || p.m.filter != "" {
		cursor := ""
		if p.m.typing {
			cursor = "_"
		}
		before = append(before, "filter: "+p.m.filter+cursor)
	}
	return []string{p.line(reverse, strings.Join(append(before, text), "  "))}
}

// body is the part between: at most n lines.
func (p painter) body(n int) []string {
	rows := p.m.visible()
	at := p.m.index(rows)
	switch {
	case p.m.help:
		return p.plain(helpText)
	case !p.m.fed:
		return p.plain([]string{"waiting for the first status ..."})
	case p.m.detail && at >= 0:
		more := rows[at].more
		return p.plain(more[min(p.m.scroll, max(len(more)-1, 0)):])
	case len(p.m.board.rows) == 0:
		return p.plain([]string{"nothing to show: no node has said hello yet, or the node has no service"})
	case len(rows) == 0:
		return p.plain([]string{fmt.Sprintf("none of %d matches the filter; esc clears it", len(p.m.board.rows))})
	}
	return p.table(rows, at, n)
}

func (p painter) plain(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = p.line("", l)
	}
	return out
}

var helpText = []string{
	"q, Ctrl-C        quit",
	"↑ ↓, j k         select the row above or below; page up and down, home and end, g and G",
	"enter            the selected row in full, and back",
	"s                sort by group, name, load, state",
	"/                show only rows with a text; enter keeps it, esc clears it",
	"p, blank         stop taking news in, and go on",
	"Ctrl-L           draw everything again",
	"?                this help",
	"",
	"LOAD is the fullest link: its share of the capacity, and | where the load controller aims.",
	"Figures in ( ) are stale. States: announced, steered, draining, withdrawn, unseen.",
}

// table has the titles and those rows around the selected one that fit.
func (p painter) table(rows []row, at, n int) []string {
	c := p.columns(rows)
	lines, selected := []string{}, 0
	group := "\x00" // no group is called so
	for i, r := range rows {
		if p.m.order == byGroup && r.group != group {
			group = r.group
			lines = append(lines, p.line(dim, r.heading))
		}
		if i == at {
			selected = len(lines)
		}
		lines = append(lines, c.row(p, r, i == at))
	}
	out := []string{p.line(bold, "  "+c.titles())}
	room := n - 1
	if room < 1 {
		return out
	}
	first := min(max(selected-room/2, 0), max(len(lines)-room, 0))
	return append(out, lines[first:min(first+room, len(lines))]...)
}

// clockEvery is how often a frame is drawn without news.
const clockEvery = time.Second
