package fleet

import (
	"maps"
	"math"
	"slices"
)

// Landing says for each node which share of what it sheds lands on which other.
// Shares that name nobody of the service, and what is left to 1, land on the one
// receiver that they hurt most.
type Landing map[string]map[string]float64

// touches reports whether what one of the two sheds may land on the other.
func (l Landing) touches(a, b Node) bool {
	if a.Site != "" && a.Site == b.Site {
		return true
	}
	rowA, knownA := l[a.Name]
	rowB, knownB := l[b.Name]
	return !knownA || !knownB || rowA[b.Name] > 0 || rowB[a.Name] > 0
}

// flow is who carries what of a service, in one supposed case.
type flow struct {
	nodes []Node
	out   []bool    // does not announce
	load  []float64 // bit/s
	room  []float64 // capacity; +Inf: not known; 0 when out
}

// landed is what comes of a flow.
type landed struct {
	in     []float64 // bit/s that land on a node, by its place in the flow
	finite bool      // false: it comes to rest nowhere
}

// settle finds where all of it comes to rest: the least x with
// x = max(0, load - capacity + Hx).
func (f flow) settle(l Landing) landed {
	columns := f.columns(l)
	excess := make([]float64, len(f.nodes))
	for i := range excess {
		excess[i] = f.load[i] - f.room[i]
	}
	shed, finite := leastFixedPoint(excess, columns)
	res := landed{in: make([]float64, len(f.nodes)), finite: finite}
	for j, x := range shed {
		for i, h := range columns[j] {
			res.in[i] += h * x
		}
	}
	return res
}

// columns returns for each node the shares of its shed load by receiver.
func (f flow) columns(l Landing) []map[int]float64 {
	place := make(map[string]int, len(f.nodes))
	for i, n := range f.nodes {
		place[n.Name] = i
	}
	columns := make([]map[int]float64, len(f.nodes))
	open := make([]float64, len(f.nodes))
	var unknown float64
	for i, n := range f.nodes {
		open[i] = 1
		row := l[n.Name]
		if len(row) > 0 {
			columns[i] = map[int]float64{}
		}
		for _, name := range slices.Sorted(maps.Keys(row)) {
			if j, ok := place[name]; ok && j != i && row[name] > 0 {
				share := min(row[name], open[i])
				columns[i][j] = share
				open[i] -= share
			}
		}
		if open[i] > 1e-9 {
			unknown += open[i] * max(0, f.load[i]-f.room[i])
		}
	}
	first, second := f.worst(unknown)
	all := map[int]float64{first: 1} // for the many of whom nothing is known
	for i := range f.nodes {
		if open[i] <= 1e-9 {
			continue
		}
		j := first
		if j == i {
			j = second
		}
		if j < 0 {
			j = i // nobody takes it: it never comes to rest
		}
		switch {
		case columns[i] != nil:
			columns[i][j] += open[i]
		case j == first:
			columns[i] = all
		default:
			columns[i] = map[int]float64{j: 1}
		}
	}
	return columns
}

// worst returns the two announcing nodes that more load hurts most; -1: there is
// none.
func (f flow) worst(more float64) (first, second int) {
	first, second = -1, -1
	most, next := math.Inf(-1), math.Inf(-1)
	for j := range f.nodes {
		if f.out[j] {
			continue
		}
		switch u := (f.load[j] + more) / f.room[j]; {
		case u > most:
			second, next = first, most
			first, most = j, u
		case u > next:
			second, next = j, u
		}
	}
	return first, second
}

// leastFixedPoint returns the least x >= 0 with x = max(0, b + Hx), and whether it
// is finite. columns[j][i] is H at row i, column j, none of them negative.
//
// It goes up from zero: where b + Hx is above zero now it is so at every greater
// x, so those rows are solved as equations, until no row joins them.
func leastFixedPoint(b []float64, columns []map[int]float64) ([]float64, bool) {
	x := make([]float64, len(b))
	active := make([]bool, len(b))
	for {
		r := append([]float64(nil), b...)
		for j, v := range x {
			if v > 0 {
				for i, h := range columns[j] {
					r[i] += h * v
				}
			}
		}
		joined := false
		for i := range r {
			if !active[i] && r[i] > tiny(b[i]) {
				active[i], joined = true, true
			}
		}
		if !joined {
			return x, true
		}
		rise := make([]float64, len(b))
		for i := range r {
			if active[i] {
				rise[i] = max(0, r[i]-x[i])
			}
		}
		if !solve(rise, columns, active) {
			return x, false
		}
		for i := range x {
			x[i] += rise[i]
		}
	}
}

// tiny is what counts as nothing beside v.
func tiny(v float64) float64 {
	if math.IsInf(v, 0) {
		return 0
	}
	return 1e-9 * max(1, math.Abs(v))
}

// solve replaces c by the least d >= 0 with d = c + Hd over the active rows, and
// reports whether it is finite. It eliminates row by row as one does with paths:
// a loop of weight a counts 1/(1-a) times, for ever from 1 on. So nothing is
// subtracted but there, and "for ever" times nothing is nothing.
func solve(c []float64, columns []map[int]float64, active []bool) bool {
	h := make(map[int]map[int]float64) // by row
	var rows []int
	for i, on := range active {
		if on {
			rows = append(rows, i)
			h[i] = map[int]float64{}
		}
	}
	for _, j := range rows {
		for i, v := range columns[j] {
			if active[i] {
				h[i][j] = v
			}
		}
	}
	for at, k := range rows {
		loops := 1 / (1 - h[k][k])
		if h[k][k] >= 1-1e-9 {
			loops = math.Inf(1)
		}
		delete(h[k], k)
		c[k] = times(loops, c[k])
		for j, v := range h[k] {
			h[k][j] = times(loops, v)
		}
		for _, i := range rows {
			w := h[i][k]
			if i == k || w == 0 {
				continue
			}
			delete(h[i], k)
			c[i] += times(w, c[k])
			for _, j := range rows[at+1:] {
				if v := h[k][j]; v != 0 {
					h[i][j] += times(w, v)
				}
			}
		}
	}
	for _, i := range rows {
		if math.IsInf(c[i], 1) {
			return false
		}
	}
	return true
}

// times multiplies, with nothing times infinity being nothing.
func times(a, b float64) float64 {
	if a == 0 || b == 0 {
		return 0
	}
	return a * b
}
