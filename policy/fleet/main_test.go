package fleet

import (
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var t0 = time.Date(2026, 3, 29, 0, 30, 0, 0, time.UTC)

// well is a node that announces video and carries part of what it can.
func well(name string, capacity, load float64) Node {
	return Node{Name: name, Seen: true, Capacity: capacity, Load: Known(load),
		Services: map[string]Standing{"video": {Announcing: true, Healthy: true}}}
}

// alike is a fleet of n nodes n00, n01, ... that can carry 100 each.
func alike(n int, load float64, limits Limits) Fleet {
	f := Fleet{Now: t0, Limits: map[string]Limits{"video": limits}, Lands: Landing{}}
	for i := range n {
		f.Nodes = append(f.Nodes, well(fmt.Sprintf("n%02d", i), 100, load))
	}
	return f
}

// stand changes how video stands at a node.
func (f Fleet) stand(node string, change func(*Standing)) {
	for _, n := range f.Nodes {
		if n.Name == node {
			s := n.Services["video"]
			change(&s)
			n.Services["video"] = s
		}
	}
}

// ask is a request of a node for a window.
func ask(node string) Request {
	return Request{ID: node + ".1", Node: node, Service: "video", Kind: Window, Window: "mw-1", Number: 7}
}

// held is a grant for a window that a node acts on.
func held(node string) Grant {
	return Grant{ID: node + ".0", Node: node, Service: "video", Kind: Window, Window: "mw-0", State: Held, Issued: t0.Add(-time.Hour), TTL: TTL}
}
