package graph

import (
	"cmp"
	"slices"
)

// item is what takes a place in a row: a node, or a bend of a line that passes the row.
type item struct {
	node       int // its index; -1: a bend
	width      int
	x          int   // its middle, once it is placed
	above      []int // items that lines lead to, in the row before
	below      []int
	level      []int // nodes of the same row
	row, order int   // where it stands
}

// layout is the rows with their items. Whoever moves an item keeps item.order true.
type layout struct {
	items  []item
	rows   [][]int // items, from the left
	chains [][]int // of each line: the items that it passes, downwards; two of one row where it is level
}

const bendWidth = 14

// arrange puts nodes and bends into rows so that few lines cross.
func arrange(nodes []Node, lines []line, widths []int) *layout {
	row, count := rows(nodes, lines)
	l := &layout{rows: make([][]int, count)}
	add := func(node, width, row int) int {
		l.items = append(l.items, item{node: node, width: width, row: row, order: len(l.rows[row])})
		l.rows[row] = append(l.rows[row], len(l.items)-1)
		return len(l.items) - 1
	}
	for i := range nodes {
		add(i, widths[i], row[i])
	}
	for _, one := range lines {
		from, to := one.a, one.b // an item has its node's index
		if row[from] > row[to] {
			from, to = to, from
		}
		chain := []int{from}
		for r := row[from] + 1; r < row[to]; r++ {
			chain = append(chain, add(-1, bendWidth, r))
		}
		chain = append(chain, to)
		l.chains = append(l.chains, chain)
		if row[from] == row[to] {
			l.items[from].level = append(l.items[from].level, to)
			l.items[to].level = append(l.items[to].level, from)
			continue
		}
		for i, upper := range chain[:len(chain)-1] {
			lower := chain[i+1]
			l.items[upper].below = append(l.items[upper].below, lower)
			l.items[lower].above = append(l.items[lower].above, upper)
		}
	}
	l.sweep()
	l.swap()
	return l
}

// sweeps is how often the rows are put in order, downwards and upwards.
const sweeps = 12

// sweep orders each row by the middle of what its items are joined to in the row before, then in the row after, and keeps
// the best order of all.
func (l *layout) sweep() {
	best, least := l.copyRows(), l.cost()
	for s := range sweeps {
		for i := range l.rows {
			r := i
			near := func(it item) []int { return it.above }
			if s%2 == 1 {
				r = len(l.rows) - 1 - i
				near = func(it item) []int { return it.below }
			}
			l.sort(r, near)
		}
		if c := l.cost(); c < least {
			best, least = l.copyRows(), c
		}
	}
	l.rows = best
	for r := range l.rows {
		l.number(r)
	}
}

func (l *layout) copyRows() [][]int {
	all := make([][]int, len(l.rows))
	for i, row := range l.rows {
		all[i] = slices.Clone(row)
	}
	return all
}

func (l *layout) number(r int) {
	for i, it := range l.rows[r] {
		l.items[it].order = i
	}
}

// sort orders a row by the mean place of the neighbours; an item that has none keeps its own.
func (l *layout) sort(r int, near func(item) []int) {
	place := map[int]int{}
	for _, it := range l.rows[r] {
		place[it] = l.items[it].order * 1000
		if list := near(l.items[it]); len(list) > 0 {
			sum := 0
			for _, n := range list {
				sum += l.items[n].order * 1000
			}
			place[it] = sum / len(list)
		}
	}
	slices.SortStableFunc(l.rows[r], func(a, b int) int { return cmp.Compare(place[a], place[b]) })
	l.number(r)
}

// cost is how many lines cross, and how many items stand between the ends of level lines.
func (l *layout) cost() int {
	total := 0
	for r := range l.rows {
		total += l.rowCost(r)
	}
	return total
}

// rowCost is the crossings between a row and the next, and what the level lines of the row pass.
func (l *layout) rowCost(r int) int {
	total := 0
	var seen []int // the lower ends of lines so far, in order
	for _, it := range l.rows[r] {
		var ends []int
		for _, b := range l.items[it].below {
			ends = append(ends, l.items[b].order)
		}
		slices.Sort(ends)
		for _, end := range ends {
			at, _ := slices.BinarySearch(seen, end+1)
			total += len(seen) - at
		}
		seen = append(seen, ends...)
		slices.Sort(seen)
		for _, other := range l.items[it].level {
			if d := l.items[other].order - l.items[it].order; d > 0 {
				total += d - 1
			}
		}
	}
	return total
}

// swap exchanges neighbours in a row as long as that lowers the cost.
func (l *layout) swap() {
	for better, rounds := true, 0; better && rounds < sweeps; rounds++ {
		better = false
		for _, row := range l.rows {
			for i := 0; i+1 < len(row); i++ {
				before := l.between(row[i], row[i+1])
				l.exchange(row, i)
				if l.between(row[i], row[i+1]) < before {
					better = true
				} else {
					l.exchange(row, i)
				}
			}
		}
	}
}

func (l *layout) exchange(row []int, i int) {
	row[i], row[i+1] = row[i+1], row[i]
	l.items[row[i]].order, l.items[row[i+1]].order = i, i+1
}

// between is the part of the cost that the order of two neighbours, left before right, changes.
func (l *layout) between(left, right int) int {
	a, b := l.items[left], l.items[right]
	total := l.crossings(a.above, b.above) + l.crossings(a.below, b.below)
	for _, it := range []item{a, b} {
		for _, other := range it.level {
			d := l.items[other].order - it.order
			total += max(d, -d)
		}
	}
	return total
}

// crossings are those of the lines to a row from two neighbours, the left one's first.
func (l *layout) crossings(left, right []int) int {
	total := 0
	for _, a := range left {
		for _, b := range right {
			if l.items[a].order > l.items[b].order {
				total++
			}
		}
	}
	return total
}
