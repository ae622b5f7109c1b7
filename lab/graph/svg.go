package graph

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// The space around the rows, in pixels: the title stands above them, the legend below.
const (
	margin   = 24
	headroom = 56
	legend   = 34
)

// SVG draws the graph. It fails when there is no node, when two have one name, when a link or a session ends at no node or
// twice at the same one, when a pair of nodes has two sessions or one of impossible numbers, and when there are more than
// 250 nodes or 1000 lines.
func (g Graph) SVG() ([]byte, error) {
	known, err := g.check()
	if err != nil {
		return nil, err
	}
	d := g.plan(known)
	d.write()
	return d.out.Bytes(), nil
}

// plan gives everything its place.
func (g Graph) plan(known map[string]int) *drawing {
	d := &drawing{graph: g, lines: g.lines(known)}
	var widths []int
	for _, n := range g.Nodes {
		widths = append(widths, max(64, width(short(n.Name))+16, width(short(n.second()))*wordSize/13+16))
	}
	d.layout = arrange(g.Nodes, d.lines, widths)
	d.place()
	d.routes = d.layout.routes()
	d.move()
	return d
}

// second is the second text in a node's box.
func (n Node) second() string {
	switch {
	case n.Label == "":
		return n.Kind
	case n.Kind == "":
		return n.Label
	}
	return n.Kind + ", " + n.Label
}

// drawing is a picture that is being written.
type drawing struct {
	graph Graph
	lines []line
	*layout
	routes        [][]piece
	origin        point // of the rows
	width, height int
	out           bytes.Buffer
}

// move puts the rows into the picture and measures it.
func (d *drawing) move() {
	left, right := d.bounds()
	top := 0
	for _, pieces := range d.routes {
		for _, p := range pieces {
			for n := range 9 {
				left, right, top = min(left, p.at(n).x), max(right, p.at(n).x), min(top, p.at(n).y)
			}
		}
	}
	d.width = max(right-left+2*margin, width(d.graph.Title)*18/13+2*margin, 360)
	d.origin = point{(d.width-(right-left))/2 - left, headroom - top}
	for _, pieces := range d.routes {
		shift(pieces, d.origin)
	}
	d.height = d.origin.y + len(d.rows)*(boxHeight+channel) - channel + margin
}

func (d *drawing) print(format string, args ...any) { fmt.Fprintf(&d.out, format+"\n", args...) }

func (d *drawing) write() {
	var body bytes.Buffer
	d.print("<g>")
	for i := range d.lines {
		d.line(i)
	}
	d.print("</g>")
	d.print("<g>")
	for i := range d.graph.Nodes {
		d.node(i)
	}
	d.print("</g>")
	d.words()
	d.legend()
	body, d.out = d.out, body
	title := escape(d.graph.Title)
	d.print(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`, d.width, d.height, d.width, d.height)
	d.print("<title>%s</title>", title)
	d.print("<style>%s</style>", style)
	d.print(`<rect class="paper" width="%d" height="%d"/>`, d.width, d.height)
	d.print(`<text class="head" x="%d" y="34">%s</text>`, margin, title)
	d.out.Write(body.Bytes())
	d.print("</svg>")
}

// class of a line's element.
func (l line) class() string {
	words := []string{"link"}
	if l.far {
		words[0] = "session"
	}
	if l.state != plain {
		words = append(words, string(l.state))
	}
	return strings.Join(words, " ")
}

func (d *drawing) line(i int) {
	d.print(`<path class="%s" d="%s"><title>%s</title></path>`, d.lines[i].class(), path(d.routes[i]), escape(d.lines[i].title))
}

// area is a node's box in the picture.
func (d *drawing) area(node int) box {
	it := d.items[node]
	left, top := d.origin.x+it.x-it.width/2, d.origin.y+d.top(node)
	return box{left, top, left + it.width, top + boxHeight}
}

func (d *drawing) node(i int) {
	n, b := d.graph.Nodes[i], d.area(i)
	title := n.Name
	if second := n.second(); second != "" {
		title += ": " + second
	}
	round := map[string]int{"client": 20, "centre": 0}
	corner, ok := round[n.class()]
	if !ok {
		corner = 5
	}
	middle := (b.left + b.right) / 2
	d.print(`<g class="node %s"><title>%s</title><rect x="%d" y="%d" width="%d" height="%d" rx="%d"/>`+
		`<text x="%d" y="%d">%s</text><text class="kind" x="%d" y="%d">%s</text></g>`,
		n.class(), escape(title), b.left, b.top, b.right-b.left, b.bottom-b.top, corner,
		middle, b.top+18, escape(short(n.Name)), middle, b.top+33, escape(short(n.second())))
}

// words writes the states that are told beside lines, those of single links first.
func (d *drawing) words() {
	var taken []box
	for i := range d.graph.Nodes {
		taken = append(taken, d.area(i))
	}
	for i, l := range d.lines {
		if l.word == "" {
			continue
		}
		if area, at, ok := settleWord(d.routes[i], l.word, taken); ok {
			taken = append(taken, area)
			d.print(`<g class="word %s"><rect class="paper" x="%d" y="%d" width="%d" height="%d"/><text x="%d" y="%d">%s</text></g>`,
				l.state, area.left, area.top, area.right-area.left, area.bottom-area.top, at.x, at.y+4, l.word)
		}
	}
}

// legend explains each kind of line that there is.
func (d *drawing) legend() {
	x, y := margin, d.height
	for _, entry := range []struct {
		text  string
		match line
	}{
		{"link", line{}},
		{"BGP up", line{state: up}},
		{"BGP partly up", line{state: partly}},
		{"BGP down", line{state: down}},
		{"BGP up, without a link", line{state: up, far: true}},
		{"BGP partly up, without a link", line{state: partly, far: true}},
		{"BGP down, without a link", line{state: down, far: true}},
	} {
		if !slices.ContainsFunc(d.lines, func(l line) bool { return l.class() == entry.match.class() }) {
			continue
		}
		wide := 60 + width(entry.text)
		if x > margin && x+wide > d.width-margin {
			x, y = margin, y+legend-10
		}
		d.print(`<g class="legend"><path class="key %s" d="M%d %dL%d %d"/><text x="%d" y="%d">%s</text></g>`,
			strings.Replace(entry.match.class(), "link", "wire", 1), x, y+8, x+36, y+8, x+44, y+12, entry.text)
		x += wide
	}
	d.height = y + legend
}
