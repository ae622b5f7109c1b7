package graph

import "fmt"

// Graph is what is drawn.
type Graph struct {
	Title    string
	Nodes    []Node
	Links    []Link
	Sessions []Session
}

// Node is one machine. Its name must be the only one of its kind in the graph.
type Node struct {
	Name  string
	Kind  string // "catchment-central", "catchment-edge" and "client" have rows of their own; others are routers
	Label string // a word more for people, "AS 65001" for example; may be empty
}

// Link joins two nodes. There may be several between the same two.
type Link struct{ A, B End }

// End is one end of a link.
type End struct{ Node, Interface string }

// Session is what is known of the BGP sessions between two nodes, all of them together. Where the two have a link, the link
// shows it; where they have none, it is a line of its own.
type Session struct {
	A, B   string
	Up, Of int    // so many of so many are established
	Detail string // for the tooltip: what is wrong
}

// state is the class of a session, which stands in the document.
type state string

const (
	plain  state = ""
	up     state = "up"
	partly state = "partly"
	down   state = "down"
)

func (s Session) state() state {
	switch {
	case s.Up >= s.Of:
		return up
	case s.Up > 0:
		return partly
	}
	return down
}

// word tells the state without colour.
func (s Session) word() string {
	if s.state() == partly {
		return fmt.Sprintf("%d of %d", s.Up, s.Of)
	}
	return string(s.state())
}

// The most that is drawn: beyond it a picture tells nothing.
const (
	maxNodes = 250
	maxLines = 1000
)

// check refuses what cannot be drawn, and finds nodes by name.
func (g Graph) check() (map[string]int, error) {
	if len(g.Nodes) == 0 {
		return nil, fmt.Errorf("graph: there is no node to draw")
	}
	if len(g.Nodes) > maxNodes || len(g.Links)+len(g.Sessions) > maxLines {
		return nil, fmt.Errorf("graph: %d nodes and %d links are too many to draw; at most %d and %d", len(g.Nodes), len(g.Links), maxNodes, maxLines)
	}
	known := map[string]int{}
	for i, n := range g.Nodes {
		if _, twice := known[n.Name]; twice {
			return nil, fmt.Errorf("graph: there are two nodes %q", n.Name)
		}
		known[n.Name] = i
	}
	both := func(what, a, b string) error {
		for _, name := range []string{a, b} {
			if _, ok := known[name]; !ok {
				return fmt.Errorf("graph: a %s ends at %q, which is no node", what, name)
			}
		}
		if a == b {
			return fmt.Errorf("graph: both ends of a %s are at %q", what, a)
		}
		return nil
	}
	for _, l := range g.Links {
		if err := both("link", l.A.Node, l.B.Node); err != nil {
			return nil, err
		}
	}
	pairs := map[[2]string]bool{}
	for _, s := range g.Sessions {
		if err := both("session", s.A, s.B); err != nil {
			return nil, err
		}
		if pairs[pair(s.A, s.B)] {
			return nil, fmt.Errorf("graph: the sessions between %q and %q are told twice", s.A, s.B)
		}
		if s.Of < 1 || s.Up < 0 || s.Up > s.Of {
			return nil, fmt.Errorf("graph: %d of %d sessions between %q and %q", s.Up, s.Of, s.A, s.B)
		}
		pairs[pair(s.A, s.B)] = true
	}
	return known, nil
}

// pair is two names in one order.
func pair(a, b string) [2]string {
	if b < a {
		a, b = b, a
	}
	return [2]string{a, b}
}

// line is something to draw between two nodes: a link, or a session without one.
type line struct {
	a, b  int // indices of nodes
	state state
	far   bool   // it is a session without a link
	word  string // told beside the line, unless it is empty
	title string
}

// lines are the links in their order, then the sessions without a link.
func (g Graph) lines(known map[string]int) []line {
	sessions := map[[2]string]Session{}
	for _, s := range g.Sessions {
		sessions[pair(s.A, s.B)] = s
	}
	linked := map[[2]string]bool{}
	var all []line
	for _, l := range g.Links {
		one := line{a: known[l.A.Node], b: known[l.B.Node], title: l.A.String() + " to " + l.B.String()}
		key := pair(l.A.Node, l.B.Node)
		linked[key] = true
		if s, ok := sessions[key]; ok {
			one.state = s.state()
			one.title += s.tell()
			if one.state != up {
				one.word = s.word()
			}
		}
		all = append(all, one)
	}
	for _, s := range g.Sessions {
		if !linked[pair(s.A, s.B)] {
			all = append(all, line{a: known[s.A], b: known[s.B], state: s.state(), far: true, word: s.word(), title: s.A + " to " + s.B + s.tell()})
		}
	}
	return all
}

// String writes an end as topology files do: "frr1:eth1".
func (e End) String() string {
	if e.Interface == "" {
		return e.Node
	}
	return e.Node + ":" + e.Interface
}

func (s Session) tell() string {
	text := fmt.Sprintf(": BGP %s", s.word())
	if s.Detail != "" {
		text += ", " + s.Detail
	}
	return text
}
