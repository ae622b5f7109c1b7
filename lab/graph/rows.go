package graph

// widest is how many nodes stand side by side; more of one tier make another row.
const widest = 12

// class is what a node is drawn as.
func (n Node) class() string {
	switch n.Kind {
	case "catchment-central":
		return "centre"
	case "catchment-edge":
		return "edge"
	case "client":
		return "client"
	}
	return "router"
}

// rows puts each node into a row, from the top: the centre, the edges, the routers by their distance from the edges, the
// clients. No row is empty.
func rows(nodes []Node, lines []line) (row []int, count int) {
	distance := distances(nodes, lines)
	var tiers [][]int
	put := func(tier, node int) {
		for len(tiers) <= tier {
			tiers = append(tiers, nil)
		}
		tiers[tier] = append(tiers[tier], node)
	}
	last := 0
	for _, d := range distance {
		last = max(last, d)
	}
	for i, n := range nodes {
		switch n.class() {
		case "centre":
			put(0, i)
		case "client":
			put(last+2, i)
		default:
			put(1+distance[i], i)
		}
	}
	row = make([]int, len(nodes))
	for _, tier := range tiers {
		split := (len(tier) + widest - 1) / widest
		for i, node := range tier {
			row[node] = count + i%split
		}
		count += split
	}
	return row, count
}

// distances are counted over links from the edges, or from the router with most links where there is no edge; clients and
// centres lie on no way. What is not reached stands beside the first routers.
func distances(nodes []Node, lines []line) []int {
	near := make([][]int, len(nodes))
	for _, l := range lines {
		if !l.far {
			near[l.a], near[l.b] = append(near[l.a], l.b), append(near[l.b], l.a)
		}
	}
	distance := make([]int, len(nodes))
	var queue []int
	busiest := -1
	for i, n := range nodes {
		distance[i] = -1
		switch n.class() {
		case "edge":
			distance[i] = 0
			queue = append(queue, i)
		case "router":
			if busiest < 0 || len(near[i]) > len(near[busiest]) {
				busiest = i
			}
		}
	}
	if len(queue) == 0 && busiest >= 0 {
		distance[busiest], queue = 0, []int{busiest}
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, next := range near[at] {
			if distance[next] < 0 && nodes[next].class() == "router" {
				distance[next] = distance[at] + 1
				queue = append(queue, next)
			}
		}
	}
	for i, n := range nodes {
		if distance[i] < 0 {
			distance[i] = 0
			if n.class() == "router" {
				distance[i] = 1
			}
		}
	}
	return distance
}
