package graph

import "slices"

// The least space between two neighbours in a row, in pixels: between a node and anything, between two nodes that a line
// joins, which needs room for a word, and between two bends.
const (
	gap     = 22
	wordGap = 66
	bendGap = 6
)

// apart is the least distance of the middles of two neighbours in a row.
func (l *layout) apart(a, b int) int {
	space := gap
	switch {
	case l.items[a].node < 0 && l.items[b].node < 0:
		space = bendGap
	case slices.Contains(l.items[a].level, b):
		space = wordGap
	}
	return (l.items[a].width+l.items[b].width+1)/2 + space
}

// place gives every item its x: near the middle of what it is joined to, in the order of its row, none over another.
func (l *layout) place() {
	for _, row := range l.rows {
		for i, it := range row {
			if l.items[it].x = 0; i > 0 {
				l.items[it].x = l.items[row[i-1]].x + l.apart(row[i-1], it)
			}
		}
		middle := l.items[row[len(row)-1]].x / 2
		for _, it := range row {
			l.items[it].x -= middle
		}
	}
	for s := range 2 * sweeps {
		for i := range l.rows {
			r := i
			if s%2 == 1 {
				r = len(l.rows) - 1 - i
			}
			l.settle(l.rows[r])
		}
	}
}

// settle moves a row's items as near as may be to where each wants to be: the least squares that keep order and distance
// (pooling neighbours that would collide into blocks).
func (l *layout) settle(row []int) {
	type block struct{ sum, count int }
	var blocks []block
	offset := make([]int, len(row)) // of each item from the first, when all stand as close as they may
	for i, it := range row {
		if i > 0 {
			offset[i] = offset[i-1] + l.apart(row[i-1], it)
		}
		blocks = append(blocks, block{l.wish(it) - offset[i], 1})
		for n := len(blocks); n > 1 && blocks[n-2].sum*blocks[n-1].count > blocks[n-1].sum*blocks[n-2].count; n-- {
			blocks[n-2] = block{blocks[n-2].sum + blocks[n-1].sum, blocks[n-2].count + blocks[n-1].count}
			blocks = blocks[:n-1]
		}
	}
	i := 0
	for _, b := range blocks {
		for range b.count {
			l.items[row[i]].x = floorDiv(b.sum, b.count) + offset[i]
			i++
		}
	}
}

// wish is the mean x of what an item is joined to; its own x when that is nothing.
func (l *layout) wish(it int) int {
	sum, count := 0, 0
	for _, near := range [][]int{l.items[it].above, l.items[it].below} {
		for _, n := range near {
			sum, count = sum+l.items[n].x, count+1
		}
	}
	if count == 0 {
		return l.items[it].x
	}
	return floorDiv(sum, count)
}

// floorDiv rounds down for negative numbers too, so that a/b <= c/d stays so.
func floorDiv(a, b int) int {
	q := a / b
	if a%b != 0 && a < 0 {
		q--
	}
	return q
}

// bounds are the leftmost and the rightmost x that an item covers.
func (l *layout) bounds() (left, right int) {
	first := true
	for _, it := range l.items {
		a, b := it.x-it.width/2, it.x+(it.width+1)/2
		if first || a < left {
			left = a
		}
		if first || b > right {
			right = b
		}
		first = false
	}
	return left, right
}
