package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// point is a place in the picture, in pixels from its upper left corner.
type point struct{ x, y int }

// piece is a part of a line: straight, or a cubic Bézier curve.
type piece struct {
	from, c1, c2, to point
	curved           bool
}

func straight(from, to point) piece { return piece{from: from, c1: from, c2: to, to: to} }

// at is the place on a piece after n of eight steps.
func (p piece) at(n int) point {
	m := 8 - n
	if !p.curved {
		return point{(m*p.from.x + n*p.to.x) / 8, (m*p.from.y + n*p.to.y) / 8}
	}
	mix := func(a, b, c, d int) int { return (m*m*m*a + 3*m*m*n*b + 3*m*n*n*c + n*n*n*d) / 512 }
	return point{mix(p.from.x, p.c1.x, p.c2.x, p.to.x), mix(p.from.y, p.c1.y, p.c2.y, p.to.y)}
}

// path is the pieces as the d of a path element.
func path(pieces []piece) string {
	var b strings.Builder
	for i, p := range pieces {
		if i == 0 {
			fmt.Fprintf(&b, "M%d %d", p.from.x, p.from.y)
		}
		if p.curved {
			fmt.Fprintf(&b, "C%d %d %d %d %d %d", p.c1.x, p.c1.y, p.c2.x, p.c2.y, p.to.x, p.to.y)
		} else {
			fmt.Fprintf(&b, "L%d %d", p.to.x, p.to.y)
		}
	}
	return b.String()
}

// The geometry of rows, in pixels.
const (
	boxHeight = 42
	channel   = 84 // between two rows
)

// top and middle are the y of an item; its place is counted from the first row.
func (l *layout) top(it int) int    { return l.items[it].row * (boxHeight + channel) }
func (l *layout) bottom(it int) int { return l.top(it) + boxHeight }

// port is where a line leaves a node, on its upper or lower side.
type port struct {
	line, other int // the line, and the item that it leads to next
	at          point
}

// side names a side of an item.
type side struct {
	item  int
	below bool
}

// ports spread the lines of each node over its sides, in the order of where they lead.
func (l *layout) ports() map[side][]port {
	all := map[side][]port{}
	put := func(item int, below bool, line, other int) {
		s := side{item, below}
		all[s] = append(all[s], port{line: line, other: other})
	}
	for i, chain := range l.chains {
		first, last := chain[0], chain[len(chain)-1]
		switch {
		case l.items[first].row != l.items[last].row:
			put(first, true, i, chain[1])
			put(last, false, i, chain[len(chain)-2])
		case !l.beside(first, last):
			put(first, false, i, last)
			put(last, false, i, first)
		}
	}
	for s, list := range all {
		slices.SortStableFunc(list, func(a, b port) int {
			return cmp.Or(cmp.Compare(l.items[a.other].x, l.items[b.other].x), cmp.Compare(a.line, b.line))
		})
		it := l.items[s.item]
		for i := range list {
			list[i].at = point{it.x - it.width/2 + it.width*(i+1)/(len(list)+1), l.top(s.item)}
			if s.below {
				list[i].at.y = l.bottom(s.item)
			}
		}
	}
	return all
}

// beside says whether no other node stands between two of a row.
func (l *layout) beside(a, b int) bool {
	row := l.rows[l.items[a].row]
	from, to := l.items[a].order, l.items[b].order
	for i := min(from, to) + 1; i < max(from, to); i++ {
		if l.items[row[i]].node >= 0 {
			return false
		}
	}
	return true
}

// routes are the pieces of each line.
func (l *layout) routes() [][]piece {
	ports, level := l.ports(), map[[2]int]int{}
	find := func(item int, below bool, line int) point {
		list := ports[side{item, below}]
		return list[slices.IndexFunc(list, func(p port) bool { return p.line == line })].at
	}
	all := make([][]piece, len(l.chains))
	for i, chain := range l.chains {
		first, last := chain[0], chain[len(chain)-1]
		switch {
		case l.items[first].row != l.items[last].row:
			all[i] = l.descend(chain, find(first, true, i), find(last, false, i))
		case l.beside(first, last):
			key := [2]int{min(first, last), max(first, last)}
			all[i] = l.across(first, last, level[key])
			level[key]++
		default:
			all[i] = l.arch(find(first, false, i), find(last, false, i))
		}
	}
	return all
}

// descend leads from one row to a later one, upright past the rows between.
func (l *layout) descend(chain []int, from, to point) []piece {
	if len(chain) == 2 {
		return []piece{straight(from, to)}
	}
	var pieces []piece
	curve := func(to point) {
		half := (to.y - from.y) / 2
		pieces = append(pieces, piece{from: from, c1: point{from.x, from.y + half}, c2: point{to.x, to.y - half}, to: to, curved: true})
		from = to
	}
	for _, bend := range chain[1 : len(chain)-1] {
		x := l.items[bend].x
		curve(point{x, l.top(bend)})
		pieces = append(pieces, straight(from, point{x, l.bottom(bend)}))
		from = point{x, l.bottom(bend)}
	}
	curve(to)
	return pieces
}

// across joins two nodes that stand side by side; the nth line between the same two is a little lower or higher.
func (l *layout) across(a, b, nth int) []piece {
	if l.items[a].x > l.items[b].x {
		a, b = b, a
	}
	shift := (nth + 1) / 2 * 7
	if nth%2 == 1 {
		shift = -shift
	}
	y := l.top(a) + boxHeight/2 + shift%(boxHeight/2)
	return []piece{straight(point{l.items[a].x + (l.items[a].width+1)/2, y}, point{l.items[b].x - l.items[b].width/2, y})}
}

// arch joins two nodes of a row above those between; the wider, the higher.
func (l *layout) arch(a, b point) []piece {
	span := max(a.x-b.x, b.x-a.x)
	height := min(channel-8, 28+span/12)
	return []piece{{from: a, c1: point{a.x, a.y - height}, c2: point{b.x, b.y - height}, to: b, curved: true}}
}

// shift moves pieces.
func shift(pieces []piece, by point) {
	for i := range pieces {
		for _, p := range []*point{&pieces[i].from, &pieces[i].c1, &pieces[i].c2, &pieces[i].to} {
			p.x, p.y = p.x+by.x, p.y+by.y
		}
	}
}
